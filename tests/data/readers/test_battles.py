"""Battle logs: who won, how often, and between whom."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import jaxrank as jr
from jaxrank import Comparisons
from jaxrank.data.readers import read
from jaxrank.errors import DataError, OptionError


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


BATTLES = "model_a,model_b,winner\na,b,model_a\nb,a,tie\na,c,tie (bothbad)\nc,b,model_b\n"


def test_battles(tmp_path):
    c = read(write(tmp_path / "b.csv", BATTLES))
    assert isinstance(c, Comparisons)
    assert c.models == ("a", "b", "c")
    np.testing.assert_array_equal(c.wins, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(c.ties, [[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    half = read(tmp_path / "b.csv", ties="half")
    np.testing.assert_array_equal(half.wins, [[0, 1.5, 0.5], [0.5, 0, 1], [0.5, 0, 0]])
    assert not half.ties.any()
    dropped = read(tmp_path / "b.csv", ties="drop", bothbad="drop")
    assert dropped.count.sum() == 2
    assert '1 "both bad" battles were dropped' in dropped.notes
    with pytest.raises(OptionError, match="ties='keep'"):
        read(tmp_path / "b.csv", ties="keep")


def test_half_ties_equal_the_sum_of_wins_and_ties(tmp_path):
    rng = np.random.default_rng(0)
    pairs = [rng.choice(5, 2, replace=False) for _ in range(200)]
    rows = "\n".join(f"m{i},m{j},{rng.choice(['model_a', 'model_b', 'tie'])}" for i, j in pairs)
    path = write(tmp_path / "b.csv", f"model_a,model_b,winner\n{rows}\n")
    kept, half = read(path), read(path, ties="half")
    np.testing.assert_array_equal(half.wins, kept.wins + kept.ties / 2)


def test_one_hot_battles(tmp_path):
    head = "id,model_a,model_b,winner_model_a,winner_model_b,winner_tie"
    c = read(write(tmp_path / "b.csv", f"{head}\n0,a,b,1,0,0\n1,a,b,0,0,1\n2,a,b,0,1,0\n"))
    np.testing.assert_array_equal(c.outcome, [0, 2, 1])
    with pytest.raises(DataError, match="row 1: 2 of"):
        read(write(tmp_path / "b.csv", f"{head}\n0,a,b,1,0,1\n"))


def named(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    return write(path, "\n".join(["model_a,model_b,winner", *map(",".join, rows)]) + "\n")


def wins(c: Comparisons, x: str, y: str) -> tuple[float, float]:
    i, j = c.models.index(x), c.models.index(y)
    return float(c.wins[i, j]), float(c.wins[j, i])


@pytest.mark.parametrize(("one", "other"), [("a", "b"), ("left", "right"), ("win", "loss"), ("model_a", "model_b")])
def test_names_that_are_words_for_sides(tmp_path, one, other):
    """interface 3: winner ``a`` six times of eight, model_a is b: two readings, neither is taken in silence."""
    path = named(tmp_path / "b.csv", [(other, one, one)] * 6 + [(other, one, other)] * 2)
    with pytest.raises(
        DataError, match=f"row 1, column 'winner': '{one}' is the name of a model and a word for a side"
    ):
        read(path)
    assert wins(read(path, winner_as="name"), one, other) == (6, 2)
    assert wins(read(path, winner_as="side"), one, other) == (2, 6)


def test_words_and_names_that_agree_need_no_choice(tmp_path):
    assert wins(read(named(tmp_path / "b.csv", [("a", "b", "a"), ("a", "b", "b"), ("a", "b", "a")])), "a", "b") == (
        2,
        1,
    )


def test_names_are_names_where_one_row_says_so(tmp_path):
    """interface 3: with models a, b and c, "c" shows that "a" is a name as well."""
    c = read(named(tmp_path / "b.csv", [("b", "a", "a"), ("b", "a", "a"), ("b", "c", "c"), ("c", "a", "tie")]))
    assert wins(c, "a", "b") == (2, 0)
    assert wins(c, "c", "b") == (1, 0)
    assert c.ties.sum() == 2


def test_sides_are_sides_where_one_row_says_so(tmp_path):
    """Models a, b, c, d: "a" cannot be a name in a battle of c and d, so it is the first side everywhere."""
    c = read(named(tmp_path / "b.csv", [("b", "a", "a"), ("c", "d", "a")]))
    assert wins(c, "b", "a") == (1, 0)
    assert wins(c, "c", "d") == (1, 0)


def test_a_name_of_a_model_that_is_not_in_the_row(tmp_path):
    with pytest.raises(DataError, match="row 2, column 'winner': 'x' is neither of the two models"):
        read(named(tmp_path / "b.csv", [("x", "y", "x"), ("y", "z", "x")]))
    with pytest.raises(DataError, match="row 2, column 'winner': 'model_a' is not an outcome"):
        read(named(tmp_path / "b.csv", [("x", "y", "x"), ("y", "z", "model_a")]), winner_as="name")
    with pytest.raises(OptionError, match="winner_as='names'"):
        read(named(tmp_path / "b.csv", [("x", "y", "x")]), winner_as="names")


@pytest.mark.parametrize("name", ["NA", "null", "nan", "None", "tie", "error"])
def test_models_that_are_called_like_missing_values(tmp_path, name):
    """interface 13: words for missing values and ties are names where models are called so."""
    c = read(named(tmp_path / "b.csv", [(name, "x", name), (name, "x", "x"), ("x", name, name)]))
    assert wins(c, name, "x") == (2, 1)
    with pytest.raises(DataError, match="winner_as="):
        read(named(tmp_path / "b.csv", [(name, "x", name)]))
    frame = pd.DataFrame({"model_a": [name] * 2, "model_b": ["x"] * 2, "winner": [name, "x"]})
    assert wins(jr.from_frame(frame), name, "x") == (1, 1)


@pytest.mark.parametrize("column", ["count", "Counts", "n_battles"])
def test_counts_of_battles(tmp_path, column):
    """interface 4: x beat y 90, y beat x 10 + 1 times, in three rows."""
    text = f"model_a,model_b,winner,{column}\nx,y,model_a,90\ny,x,model_a,10\nx,y,model_b,1\n"
    c = read(write(tmp_path / "b.csv", text))
    assert wins(c, "x", "y") == (90, 11)
    assert f"column '{column}' counts the battles of a row: 101 in 3 rows" in c.notes
    assert jr.fit(c, "bradley_terry_map").models[0] == "x"


@pytest.mark.parametrize("value", ["-1", "many", "", "inf", "nan"])
def test_counts_that_are_no_counts(tmp_path, value):
    text = f"model_a,model_b,winner,count\nx,y,model_a,2\ny,x,model_a,{value}\n"
    with pytest.raises(DataError, match=r"row 2, column 'count': .* is not a number of battles"):
        read(write(tmp_path / "b.csv", text))


def test_ties_and_zeros_of_counts(tmp_path):
    text = "model_a,model_b,winner,count\nx,y,tie,4\nx,y,model_a,0\nx,y,model_b,6\n"
    c = read(write(tmp_path / "b.csv", text))
    assert wins(c, "y", "x") == (6, 0)
    assert "1 rows with a count of 0 were dropped" in c.notes
    assert "4 of 10 battles are ties; the method says how it counts them" in c.notes
    assert wins(read(tmp_path / "b.csv", ties="half"), "y", "x") == (8, 2)


def test_columns_of_battles_by_name(tmp_path):
    """interface 3 (API): columns that are called otherwise can be named; usual ones in any case and spelling."""
    frame = pd.DataFrame({"first": ["x", "x"], "second": ["y", "y"], "who": ["x", "y"], "times": [3, 1]})
    names = {"a": "first", "b": "second", "winner": "who", "count": "times"}
    path = tmp_path / "b.csv"
    frame.to_csv(path, index=False)
    assert wins(read(path, **names), "x", "y") == wins(jr.from_frame(frame, **names), "x", "y") == (3, 1)
    path = write(tmp_path / "p.csv", "Player1,Player2,Winner\nx,y,x\n")
    assert wins(read(path), "x", "y") == (1, 0)
    path = write(tmp_path / "w.csv", "winner_name,loser_name,score\nx,y,6-2\ny,x,6-4\nx,y,6-0\n")
    assert wins(read(path), "x", "y") == (2, 1)
    with pytest.raises(DataError, match="no column 'nobody' for b; the columns are first, second, who, times"):
        jr.from_frame(frame, a="first", b="nobody")
    with pytest.raises(OptionError, match=r"^b=\.\.\. is needed as well"):
        jr.from_frame(frame, a="first")
    with pytest.raises(OptionError, match="give one kind"):
        jr.from_frame(frame, model="first", winner="who")
    with pytest.raises(DataError, match="two roles"):
        jr.from_frame(frame, a="first", b="first", winner="who")
    with pytest.raises(DataError, match="Name them with a="):
        jr.from_frame(frame, winner="who")
