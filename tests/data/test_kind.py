"""What the three kinds of data have in common: units, selection, joining, and that what was checked stays as it was."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.statistics import Pairs
from jaxrank.errors import DataError, OptionError
from tests.problems import graded

NAMES = ["ada", "bob", "cyd", "dan", "eve"]
RESPONSES = jr.Responses(graded(), NAMES, [f"q{m}" for m in range(6)])
BATTLES = jr.Comparisons(["ada", "bob", "cyd", "dan"], ["bob", "cyd", "ada", "eve"], [1, 0.5, 0, 1], models=NAMES)
LISTS = jr.Rankings([["ada", "bob", "cyd"], ["eve", ["dan", "ada"]], ["bob", "eve", "dan", "cyd"]], count=[1, 2, 1])
KINDS = [RESPONSES, BATTLES, LISTS]
ROWS = {"responses": "questions", "comparisons": "battles", "rankings": "orders"}


of_each_kind = pytest.mark.parametrize("data", KINDS, ids=lambda data: data.form)


@of_each_kind
def test_stored_arrays_are_read_only(data):
    """interface 14: a method may have read them already."""
    arrays = [getattr(data, name) for name in vars(data) if isinstance(getattr(data, name), np.ndarray)]
    assert len(arrays) >= 2
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_the_arrays_of_the_caller_stay_his():
    given = np.ones(3)
    lists = jr.Rankings([[0, 1], [1, 0], [0, 1]], count=given)
    given[0] = 7
    assert lists.count.tolist() == [1, 1, 1]


@of_each_kind
def test_units_count_what_a_bootstrap_draws(data):
    expected = {"responses": {"question": 6, "trial": 4}, "comparisons": {"battle": 4}, "rankings": {"order": 4}}
    assert data.units == expected[data.form]
    assert data.coverage.shape == (5,)


@of_each_kind
def test_names_indices_and_masks_select_the_same(data):
    """interface section 3: names and masks select as indices do."""
    mask = [name in ("ada", "bob", "eve") for name in data.models]
    picked = [data.select(models=m) for m in (["ada", "bob", "eve"], [0, 1, 4], mask, np.array(mask))]
    for part in picked:
        assert part.models == ("ada", "bob", "eve")
        for a, b in zip(part.arrays(), picked[0].arrays(), strict=True):
            np.testing.assert_array_equal(a, b)
    n = 6 if data.form == "responses" else len(data.arrays()[0])
    first, masked = (data.select(**{ROWS[data.form]: chosen}) for chosen in ([0], [True] + [False] * (n - 1)))
    np.testing.assert_array_equal(first.arrays()[0], masked.arrays()[0])


@of_each_kind
@pytest.mark.parametrize(
    ("models", "message"),
    [
        (["adda"], "'adda'; did you mean 'ada'"),
        ([True, False], "2 entries; it needs one for each of 5 models"),
        ([7], "7 does not exist; they are numbered 0 to 4"),
        ([1.5], "not a name or a whole number"),
        (["zzzzz"], "there are 'ada', 'bob'"),
    ],
)
def test_what_cannot_be_selected_is_said(data, models, message):
    with pytest.raises(OptionError, match=message):
        data.select(models=models)


def test_rows_are_no_names_and_something_must_be_left():
    with pytest.raises(OptionError, match="3 entries; it needs one for each of 4 battles"):
        BATTLES.select(battles=[True, False, True])
    with pytest.raises(OptionError, match="not a whole number"):
        LISTS.select(orders=["first"])
    with pytest.raises(OptionError, match="choose models that met"):
        BATTLES.select(models=["ada", "eve"])
    with pytest.raises(OptionError, match="ranked together"):
        jr.Rankings([["a", "b"], ["c", "d"]]).select(models=["a", "c"])


def test_selected_rows_keep_their_meaning():
    part = BATTLES.select(models=["cyd", "ada", "bob"])
    assert part.wins.tolist() == [[0, 0, 0], [1, 0, 1], [0, 0, 0]] and part.ties[0, 2] == 1
    assert "1 of 4 rows" in part.notes[-1]
    lists = LISTS.select(models=["eve", "dan"])
    assert lists.places.tolist() == [[1, 2], [1, 2]] and lists.count.tolist() == [2, 1]
    assert "1 of 3 orders" in lists.notes[-1]
    top = jr.Rankings([["a"], ["b", "c"]], ["a", "b", "c"], unlisted="below").select(models=["b", "c"])
    assert top.open_end.tolist() == [True, False]
    assert top.wins.tolist() == [[0, 1], [0, 0]] and top.ties.sum() == 0


@of_each_kind
def test_joining_matches_models_by_name(data):
    reordered = data.select(models=["cyd", "bob", "ada"])
    both = data + reordered
    assert both.models == data.models and "joined 5 and 3 models by name, 3 of them in both" in both.notes[-1]
    a, b, c = (Pairs.of(x) for x in (data, reordered.select(models=["ada", "bob", "cyd"]), both))
    np.testing.assert_array_equal(np.asarray(c.wins), np.asarray(a.wins) + np.pad(np.asarray(b.wins), (0, 2)))
    assert jr.concat([data]) is data


def test_joined_responses_line_up():
    left, right = RESPONSES.select(questions=["q0", "q1"]), RESPONSES.select(questions=["q2", "q3", "q4", "q5"])
    np.testing.assert_array_equal((left + right).outcomes, RESPONSES.outcomes)  # other questions
    top, rest = RESPONSES.select(models=[0, 1]), RESPONSES.select(models=[2, 3, 4])
    np.testing.assert_array_equal((top + rest).outcomes, RESPONSES.outcomes)  # other models, the same trials
    twice = RESPONSES + RESPONSES
    assert twice.shape == (5, 6, 8)  # further trials
    np.testing.assert_array_equal(twice.counts, 2 * RESPONSES.counts)
    some = jr.Responses([[1.0], [0.5]], NAMES[:2], ["q0"], levels=(0, 0.5, 1))
    mixed = RESPONSES + some
    assert mixed.levels == (0, 0.5, 1) and mixed.outcomes[0, 0, 4] == 2 and mixed.outcomes[1, 0, 4] == 1
    assert mixed.outcomes[0, 0, :4].tolist() == [2 * v for v in RESPONSES.outcomes[0, 0].tolist()]
    counts = jr.Responses.from_counts([[3], [1]], 4, NAMES[:2], ["q0"])
    assert (RESPONSES + counts).outcomes is None and "counts only" in (RESPONSES + counts).notes[-1]


def test_what_cannot_be_joined_is_said():
    with pytest.raises(DataError, match="responses and comparisons cannot be joined"):
        RESPONSES + BATTLES
    with pytest.raises(DataError, match="list cannot be joined"):
        jr.concat([LISTS, ["ada", "bob"]])
    with pytest.raises(DataError, match="nothing to join"):
        jr.concat([])


def test_wide_frames_and_labelled_arrays_keep_their_names():
    """interface 24."""
    pd = pytest.importorskip("pandas")
    wide = pd.DataFrame([[1, 0], [0, 1]], index=["ada", "bob"], columns=["q7", "q8"])
    data = jr.Responses(wide)
    assert data.models == ("ada", "bob") and data.questions == ("q7", "q8")
    assert jr.Responses(wide, models=["x", "y"]).models == ("x", "y")
    assert jr.Responses(pd.DataFrame([[1, 0], [0, 1]])).models == ("model 0", "model 1")


class Labelled:
    """What is read of an xarray.DataArray."""

    def __init__(self, values, dims, coords):
        self.values, self.dims = np.asarray(values), tuple(dims)
        self.coords = {k: type("Coord", (), {"values": np.asarray(v)}) for k, v in coords.items()}
        self._names = coords

    def transpose(self, *dims):
        return Labelled(self.values.transpose([self.dims.index(d) for d in dims]), dims, self._names)


def test_an_array_with_dimensions_is_an_array():
    """interface 24: not a table without columns."""
    array = Labelled([[1, 0, 1], [0, 1, 1]], ("question", "model"), {"model": ["x", "y", "z"]})
    data = jr.Responses(array)
    assert data.models == ("x", "y", "z") and data.questions == ("question 0", "question 1")
    assert data.outcomes[:, :, 0].tolist() == [[1, 0], [0, 1], [1, 1]]
