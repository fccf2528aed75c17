"""``Comparisons``: battles, words for outcomes, ties, counts and totals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxrank as jr
from jaxrank import Comparisons
from jaxrank.errors import DataError, OptionError

RNG = np.random.default_rng(3)


def test_totals_of_battles():
    c = Comparisons(["x", "y", "z", "x"], ["y", "x", "x", "z"], [1, 0.5, 0, 1], [2, 3, 1, 0.5])
    assert c.models == ("x", "y", "z")
    np.testing.assert_array_equal(c.wins, [[0, 2, 1.5], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(c.ties, [[0, 3, 0], [3, 0, 0], [0, 0, 0]])
    assert repr(c) == "Comparisons(3 models, 6.5 battles, 3 ties)"


@pytest.mark.parametrize(
    "words",
    [["a", "b", "tie"], ["model_a", "model_b", "TIE"], ["left", "right", "draw"], [1, 0, 0.5], ["1", "0", "0.5"]],
)
def test_words_for_outcomes(words):
    c = Comparisons([0, 0, 0], [1, 1, 1], words)
    np.testing.assert_array_equal(c.outcome, [0, 1, 2])


def test_names_may_be_given_in_another_order():
    c = Comparisons(["x", "y"], ["y", "x"], [1, 1], models=["z", "y", "x"])
    assert c.models == ("z", "y", "x")
    np.testing.assert_array_equal(c.wins, [[0, 0, 0], [0, 0, 1], [0, 1, 0]])


def test_totals_and_battles_agree():
    wins = RNG.integers(0, 4, (4, 4)).astype(float)
    np.fill_diagonal(wins, 0)
    ties = np.triu(RNG.integers(0, 3, (4, 4)), 1).astype(float)
    ties += ties.T
    c = Comparisons.from_matrix(wins, ties, models=list("pqrs"))
    np.testing.assert_array_equal(c.wins, wins)
    np.testing.assert_array_equal(c.ties, ties)
    again = Comparisons(c.a, c.b, np.array([1, 0, 0.5])[c.outcome], c.count, c.models)
    np.testing.assert_array_equal(again.wins, wins)
    np.testing.assert_array_equal(again.ties, ties)


@pytest.mark.parametrize(
    ("a", "b", "outcome", "options", "message"),
    [
        (["x"], ["y", "z"], [1], {}, "one equal length"),
        ([], [], [], {}, "there are no battles"),
        (["x"], ["x"], [1], {}, "'x' is compared with itself"),
        (["x", "y"], ["y", "x"], [1, 0.7], {}, "row 1: outcome 0.7 is unknown"),
        (["x"], ["y"], ["both"], {}, "row 0: outcome 'both' is unknown"),
        (["x"], ["y"], [None], {}, "row 0: outcome None is unknown"),
        (["x"], [None], [1], {}, "row 0: b has no name"),
        (["x"], [""], [1], {}, "row 0: b has no name"),
        ([0], [-1], [1], {}, "negative model indices"),
        ([1001, 1002], [1002, 1003], [1, 1], {}, "3 whole numbers from 1001 to 1003, .* write names as text"),
        ([0], [2], [1], {"models": ["x", "y"]}, "refers to model 2, but models has 2 names"),
        (["x"], ["y"], [1], {"models": ["x", "z"]}, "not in models: 'y'"),
        (["x"], ["y"], [1], {"models": ["x", "x", "y"]}, "duplicate names"),
        (["x"], ["y"], [1], {"models": 2}, "must be a list of names"),
        (["x"], ["y"], [1], {"count": [-1]}, "count must be 1 finite numbers"),
        (["x"], ["y"], [1], {"count": [np.nan]}, "count must be 1 finite numbers"),
        (["x"], ["y"], [1], {"count": ["many"]}, "count cannot be read"),
        ([["x"], ["x", "y"]], ["y", "z"], [1, 1], {}, "flat lists"),
    ],
)
def test_battles_that_cannot_be_read(a, b, outcome, options, message):
    with pytest.raises(DataError, match=message):
        Comparisons(a, b, outcome, **options)


@pytest.mark.parametrize(
    ("wins", "ties", "message"),
    [
        ([[0, 1]], None, "wins has shape"),
        ([[0]], None, "at least two models"),
        ([[1, 0], [0, 0]], None, "zero diagonal"),
        ([[0, -1], [0, 0]], None, "0 or more"),
        ([[0, np.nan], [0, 0]], None, "finite"),
        ([["a", "b"], ["c", "d"]], None, "array of numbers"),
        ([[0, 1], [1, 0]], [[0, 1], [0, 0]], "symmetric"),
        ([[0, 1], [1, 0]], np.zeros((3, 3)), "they must agree"),
    ],
)
def test_totals_that_cannot_be_read(wins, ties, message):
    with pytest.raises(DataError, match=message):
        Comparisons.from_matrix(wins, ties)


def test_columns_go_with_their_battles():
    """What else is known of a battle is kept by ``select`` and ``concat``, and comes back from ``to_frame``."""
    first = Comparisons(
        ["x", "y", "z"], ["y", "z", "x"], [1, 0, 0.5], columns={"voter": ["u", None, "v"], "length_a": [3, 4, np.nan]}
    )
    assert first.columns["length_a"].dtype == np.float64
    kept = first.select(models=["y", "z"])
    assert kept.columns["voter"].tolist() == [None]
    assert kept.columns["length_a"].tolist() == [4]
    both = first + Comparisons(["x"], ["y"], [1], columns={"voter": ["w"]})
    assert both.columns["voter"].tolist() == ["u", None, "v", "w"]
    np.testing.assert_array_equal(both.columns["length_a"], [3, 4, np.nan, np.nan])
    frame = both.to_frame()
    assert list(frame) == ["model_a", "model_b", "outcome", "count", "voter", "length_a"]
    with pytest.raises(ValueError, match="read-only"):
        first.columns["length_a"][0] = 1


@pytest.mark.parametrize(
    "columns", [{"voter": ["u"]}, {"voter": "u"}, {3: ["u", "v"]}, ["voter"], {"n": [[1], [2, 3]]}]
)
def test_columns_that_do_not_fit_are_refused(columns):
    with pytest.raises(DataError, match="column"):
        Comparisons(["x", "y"], ["y", "x"], [1, 0], columns=columns)


def test_codes_mean_what_winner_as_says(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("model_a,model_b,winner\nx,y,1\ny,z,2\nx,z,0\nz,y,0.0\n")
    ways: tuple[Any, ...] = ("0=a, 1=b, 2=tie", {0: "left", "1": "right", 2.0: "tie"}, ["0=a", "1=b", "2=tie"])
    for winner_as in ways:
        data: Any = jr.read(file, winner_as=winner_as)
        assert data.outcome.tolist() == [1, 2, 0, 0] and not any("codes" in note for note in data.notes)
        found: Any = jr.from_frame(
            {"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": [1, 0]}, winner_as=winner_as
        )
        assert found.outcome.tolist() == [1, 0]
    with pytest.raises(DataError, match="is no code of winner_as="):
        jr.read(file, winner_as="0=a,1=b")
    wrongs: tuple[Any, ...] = ("0=first", "0", "0=a=b", {}, {"0": None})
    for wrong in wrongs:
        with pytest.raises(OptionError, match='"1=a,2=b,0=tie"'):
            jr.read(file, winner_as=wrong)


def test_what_codes_are_read_as_is_said(tmp_path: Path) -> None:
    """Codes 0 left, 1 right, 2 tie were taken for 0 tie, 1 left, 2 right without a word: the last model was first."""
    file = tmp_path / "votes.csv"
    file.write_text("model_a,model_b,winner\nx,y,1\ny,z,2\nx,z,0\n")
    (said,) = [note for note in jr.read(file).notes if "codes" in note]
    assert "0 is a tie, 1 is model_a won, 2 is model_b won" in said and "'winner'" in said
    for words in ("x,y,x\ny,z,z", "x,y,model_a\ny,z,tie"):
        file.write_text(f"model_a,model_b,winner\n{words}\n")
        assert not any("codes" in note for note in jr.read(file).notes), words
