"""``Responses``: shapes, types, missing cells, names and counts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jaxrank as jr
from jaxrank import Responses
from jaxrank.errors import DataError, JaxrankWarning

ACCEPTS_ANYTHING = ["avg", "bayes", "bradley_terry_map"]


@pytest.mark.parametrize("method", ACCEPTS_ANYTHING)
def test_case_A06_one_model_is_refused_by_every_method(method):
    with pytest.raises(DataError, match="at least two models"):
        jr.fit([[[1, 0], [0, 1], [1, 1]]], method)


@pytest.mark.parametrize("method", ACCEPTS_ANYTHING)
@pytest.mark.parametrize(("shape", "axis"), [((3, 0, 4), "questions"), ((3, 5, 0), "trials"), ((0, 5, 2), "models")])
def test_case_A07_an_empty_axis_is_named(method, shape, axis):
    with pytest.raises(ValueError, match=f"the {axis} axis is empty"):
        jr.fit(np.zeros(shape, int), method)


def test_case_F06_ragged_trials_keep_their_own_numbers():
    r = Responses([[[1, 0, 0], [1, 0]], [[0, 0, 1], [0, 0]]])
    assert r.shape == (2, 2, 3)
    np.testing.assert_array_equal(r.trials, [[3, 2], [3, 2]])
    np.testing.assert_array_equal(r.counts[..., 1], [[1, 1], [1, 0]])
    assert not r.complete


MISSING = [[1, np.nan, 0], [0, 1, np.nan], [1, 1, 0]]


@pytest.mark.parametrize(
    "R",
    [
        Responses(MISSING),
        Responses(np.nan_to_num(MISSING), mask=np.isnan(MISSING)),
        Responses([[1, None, 0], [0, 1, None], [1, 1, 0]]),
        Responses([[1, -1, 0], [0, 1, -1], [1, 1, 0]]),
        Responses(np.ma.masked_invalid(MISSING)),
    ],
    ids=["nan", "mask", "none", "minus one", "masked array"],
)
def test_case_H01_missing_cells(R):
    with pytest.warns(JaxrankWarning, match="no result on some questions"):
        result = jr.fit(R, "avg")
    np.testing.assert_allclose(result.scores, [0.5, 0.5, 2 / 3], rtol=1e-6)
    np.testing.assert_array_equal(result.ranks, [2, 2, 1])


def test_case_H03_masked_arrays_are_not_read_below_the_mask():
    R = np.ma.masked_array([[1, 0], [0, 1]], mask=[[0, 1], [0, 0]])
    with pytest.warns(JaxrankWarning):
        result = jr.fit(R, "avg")
    np.testing.assert_allclose(result.scores, [1.0, 0.5])
    np.testing.assert_array_equal(result.ranks, [1, 2])


@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint64", "int16", "float32"])
def test_masked_arrays_of_every_type(dtype):
    R = np.ma.masked_array(np.array([[1, 0], [0, 1]], dtype), mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(Responses(R).outcomes[:, :, 0], [[1, -1], [0, 1]])


def test_case_H04_coverage_is_carried_and_warned_about():
    k = np.array([[9, 8, 0, 0], [9, 8, 4, 3]])
    R = np.arange(10) < k[:, :, None]
    mask = np.array([[False, False, True, True], [False] * 4])
    r = Responses(R, mask=mask)
    np.testing.assert_array_equal(r.coverage, [0.5, 1.0])
    with pytest.warns(JaxrankWarning, match="'model 0' 2/4"):
        result = jr.fit(r, "avg")
    np.testing.assert_allclose(result.scores, [0.85, 0.6], rtol=1e-6)
    common = r.select(questions=np.flatnonzero((r.trials > 0).all(axis=0)))
    np.testing.assert_allclose(jr.fit(common, "avg").scores, [0.85, 0.85], rtol=1e-6)


H06 = [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int64", "float32", "float16", "list"])
def test_case_H06_one_result_for_every_dtype(dtype):
    R = H06 if dtype == "list" else np.array(H06, dtype)
    np.testing.assert_array_equal(Responses(R).outcomes, Responses(H06).outcomes)
    result = jr.fit(R, "bradley_terry", dtype="float64")
    share = np.exp(result.scores - np.max(result.scores))
    np.testing.assert_allclose(share / share.sum(), [0.5, 0.25, 0.25], atol=1e-9)
    np.testing.assert_array_equal(result.ranks, [1, 2, 2])


@pytest.mark.parametrize(
    ("method", "want"),
    [  # accuracies 1/2, 1/4, 1/4; model 0 beats each of the others 2:1, these beat each other 1:1
        ("copeland", [2, -1, -1]),
        ("minimax", [0, -1, -1]),
        ("hodge_rank", [1 / 6, -1 / 12, -1 / 12]),
    ],
)
def test_case_H06_differences_of_counts_do_not_wrap(method, want):
    of_lists = jr.fit(H06, method)
    np.testing.assert_allclose(of_lists.scores, want, atol=1e-7)
    np.testing.assert_array_equal(of_lists.ranks, [1, 2, 2])
    for dtype in ("bool", "uint8", "int8", "int64", "float32", "float16"):
        np.testing.assert_array_equal(jr.fit(np.array(H06, dtype), method).scores, of_lists.scores)


def test_case_H08_a_tensor_too_large_is_refused_before_allocation():
    huge = np.broadcast_to(np.uint8(1), (64, 70_000, 500))
    with pytest.raises(DataError, match="from_counts"):
        Responses(huge)


def test_case_H08_counts_are_64_bit():
    n = 3_000_000_000
    r = Responses.from_counts([[n - 1, 1], [n, 2]], n)
    np.testing.assert_array_equal(r.counts[..., 1], [[n - 1, 1], [n, 2]])
    np.testing.assert_array_equal(r.trials, n)
    assert r.counts.sum() == 4 * n


H09 = ["gpt\u200b-x", "gpt-x", "GPT-X", "Zo\u00eb", "Zoe\u0308"]


def test_case_H09_look_alike_names_warn_and_keep_their_spelling():
    with pytest.warns(JaxrankWarning) as caught:
        r = Responses(np.eye(5, dtype=int), models=H09)
    texts = [str(w.message) for w in caught]
    assert len(texts) == 2
    assert "gpt-x" in texts[0]
    assert "Zo" in texts[1]
    assert r.models == tuple(H09)


def test_case_H09_case_variants_stay_distinct():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Responses(np.eye(2, dtype=int), models=["gpt-x", "GPT-X"]).models == ("gpt-x", "GPT-X")


def test_case_H09_exact_duplicates_are_listed():
    with pytest.raises(ValueError, match="duplicate names: 'b', 'c'"):
        Responses(np.zeros((5, 1)), models=["a", "b", "b", "c", "c"])


def test_case_H10_ranks_belong_to_rows_and_the_order_is_apart():
    result = jr.fit([[0, 0], [1, 1], [1, 0]], "avg")
    np.testing.assert_array_equal(result.ranks, [3, 1, 2])
    np.testing.assert_array_equal(np.argsort(result.ranks), [1, 2, 0])


@pytest.mark.parametrize(
    ("R", "message"),
    [
        ([[np.inf, 1], [0, 1]], r"infinite at \(0, 0, 0\)"),
        ([["a", "b"]], "values of type"),
        (np.zeros((2, 2), complex), "complex"),
        (np.zeros((2, 2), "datetime64[s]"), "datetime64"),
        (np.zeros((2, 2, 2, 2)), "R has 4 axes"),
        (np.zeros(3), "R has 1 axes"),
        ([[1, 0], [1]], "different numbers of questions"),
        ([[-1, -1], [0, 1]], "no observed trial for 'model 0'"),
        ({"a": 1}, "cannot be read"),
        (None, "R has 0 axes"),
    ],
)
def test_values_that_are_no_outcomes(R, message):
    with pytest.raises(DataError, match=message):
        Responses(R)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": ["a"]}, "models has 1 names for 2 models"),
        ({"models": ["a", ""]}, r"models\[1\] is empty"),
        ({"models": ["a", None]}, r"models\[1\] is empty"),
        ({"models": "ab"}, "must be a list of 2 names"),
        ({"models": 2}, "must be a list of 2 names"),
        ({"questions": ["q"]}, "questions has 1 names for 2 questions"),
        ({"mask": [[True, False]] * 3}, "mask has shape"),
        ({"mask": [[True], [True, False]]}, "mask is ragged"),
        ({"mask": "yes"}, "mask holds values of type"),
        ({"levels": (1, 0)}, "ascending"),
        ({"levels": "01"}, "levels must be"),
        ({"levels": (0, 0.5)}, "not one of the levels"),
    ],
)
def test_options_that_do_not_fit(options, message):
    with pytest.raises(DataError, match=message):
        Responses([[1, 0], [0, 1]], **options)


def test_levels_replace_values_by_their_index():
    r = Responses([[0, 0.5], [1, np.nan]], levels=(0, 0.5, 1))
    np.testing.assert_array_equal(r.outcomes[:, :, 0], [[0, 1], [2, -1]])
    assert r.levels == (0.0, 0.5, 1.0)
    assert r.n_categories == 3
    assert not r.binary


@pytest.mark.parametrize(
    ("k", "n", "message"),
    [
        ([1, 2], 3, "needs two axes"),
        ([[1, 2]], [[1, 1], [1, 1]], "they must agree"),
        ([[4]], 3, r"successes exceed trials at \(model 0, question 0\): 4 of 3"),
        ([[0.5]], 3, "whole numbers"),
        ([[-1]], 3, "whole numbers"),
        ([[1]], np.nan, "whole numbers"),
        ([["x"]], 3, "whole numbers"),
        ([[0, 0]], 0, "no observed trial"),
    ],
)
def test_counts_that_do_not_fit(k, n, message):
    with pytest.raises(DataError, match=message):
        Responses.from_counts(k, n)


def test_boolean_counts():
    np.testing.assert_array_equal(Responses.from_counts([[True], [False]], True).counts[..., 1], [[1], [0]])


def test_select_keeps_names_and_cells():
    r = Responses([[1, 0, 1], [0, -1, 1]], ["a", "b"], ["p", "q", "r"])
    s = r.select(models=[1, 0], questions=[2, 0])
    assert s.models == ("b", "a")
    assert s.questions == ("r", "p")
    np.testing.assert_array_equal(s.outcomes[:, :, 0], [[1, 0], [1, 1]])
    assert "unequal trials or missing cells" in repr(r)
    assert "counts only" in repr(Responses.from_counts([[1], [2]], 3))


def test_minus_one_is_a_value_where_levels_are_given():
    """interface 6: a declared level of -1 became a missing cell; other levels have no -1."""
    r = jr.Responses([[-1, 0], [1, np.nan]], levels=(-1, 0, 1))
    np.testing.assert_array_equal(r.outcomes[:, :, 0], [[0, 1], [2, -1]])
    assert r.levels == (-1.0, 0.0, 1.0)
    with pytest.raises(
        DataError, match=r"R\[0, 0, 0\] = -1 is not one of the levels .*missing cells are NaN or masked"
    ):
        jr.Responses([[-1, 0], [1, 1]], levels=(0, 1))
    masked = np.ma.masked_array([[-1, 0], [1, 1]], mask=[[True, False], [False, False]])
    np.testing.assert_array_equal(jr.Responses(masked, levels=(0, 1)).outcomes[:, :, 0], [[-1, 0], [1, 1]])
