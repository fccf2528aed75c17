"""Real scores, and what is known of questions and models: kinds, columns, directions, missing cells."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import jaxrank as jr
from jaxrank.errors import DataError, OptionError

REAL = np.array([[0.71, 12.5, 3.0], [0.69, 9.0, np.nan], [0.5, 20.0, 1.0]])


@pytest.mark.parametrize(
    ("R", "options", "kind"),
    [
        ([[0, 1], [1, 1]], {}, "binary"),
        ([[True, False], [True, True]], {}, "binary"),
        ([[0, 2], [1, 1]], {}, "graded"),
        ([[0.0, 0.5], [1.0, 1.0]], {}, "real"),
        ([[0.0, 0.5], [1.0, 1.0]], {"levels": (0, 0.5, 1)}, "graded"),
        ([[0.0, 0.5], [1.0, 1.0]], {"kind": "graded"}, "graded"),
        ([[0.2, 0.2], [0.7, 0.7]], {"kind": "binary"}, "binary"),
        ([[0, 1], [1, 1]], {"kind": "real"}, "real"),
        ([[-2, 1], [0, 1]], {}, "real"),
        ([[256, 1], [0, 1]], {}, "real"),
    ],
)
def test_what_the_scores_are(R, options, kind):
    data = jr.Responses(R, **options)
    assert data.kind == kind
    np.testing.assert_array_equal(data.values[:, :, 0], np.array(R, float))


def test_kinds_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match=r'kind="binary".*3 categories'):
        jr.Responses([[0, 1], [2, 1]], kind="binary")
    with pytest.raises(DataError, match=r'kind="graded".*distinct scores'):
        jr.Responses(np.random.default_rng(0).random((20, 20)), kind="graded")
    with pytest.raises(OptionError, match="kind='int'"):
        jr.Responses([[0, 1], [1, 1]], kind="int")
    with pytest.raises(OptionError, match="levels"):
        jr.Responses([[0, 1], [1, 1]], kind="real", levels=(0, 1))
    with pytest.raises(DataError, match=r"infinite at \(0, 1, 0\)"):
        jr.Responses([[0.5, np.inf], [1, 1]])


def test_minus_one_is_missing_among_whole_numbers_and_a_score_among_real_ones():
    assert jr.Responses([[-1, 1], [0, 1]]).trials[0, 0] == 0
    real = jr.Responses([[-1, 1.5], [0, 1]])
    assert real.trials.min() == 1 and "1 cells of -1 are scores" in real.notes[0]


def test_columns_of_questions_and_models():
    questions = {"question": ["a", "b", "c"], "weight": [1, 2, 0.5], "group": ["x", "x", "y"], "length": [3, 4, 5]}
    models = pd.DataFrame({"model": ["m", "n", "o"], "cost": [1.0, 2.0, 3.0]})
    data = jr.Responses(REAL, models, questions, lower_is_better=["b"])
    assert data.models == ("m", "n", "o") and data.questions == ("a", "b", "c")
    assert data.weights.tolist() == [1, 2, 0.5] and data.groups.tolist() == ["x", "x", "y"]
    assert data.higher_is_better.tolist() == [True, False, True]
    assert data.question_columns["length"].tolist() == [3, 4, 5] and data.model_columns["cost"].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(data.values[:, :, 0], REAL)
    np.testing.assert_array_equal(data.oriented[:, 1, 0], -REAL[:, 1])
    same = jr.Responses(REAL, models, questions | {"higher_is_better": [True, False, True]})
    np.testing.assert_array_equal(same.oriented, data.oriented)
    part = data.select(["o", "m"], ["c", "b"])
    assert part.weights.tolist() == [0.5, 2] and part.model_columns["cost"].tolist() == [3, 1]
    np.testing.assert_array_equal(part.values[:, :, 0], REAL[[2, 0]][:, [2, 1]])
    frame = data.to_frame()
    assert len(frame) == 8 and list(frame)[:4] == ["model", "question", "trial", "score"]
    assert frame.set_index(["model", "question"]).loc[("o", "b"), ["score", "weight", "cost"]].tolist() == [20, 2, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1, 2]}, "column 'weight' of questions has 2 values; it needs 3"),
        ({"weights": [1, -2, 1]}, "that of 'question 1' is -2"),
        ({"weights": [0, 0, 0]}, "all weights are 0"),
        ({"weights": ["a", 1, 1]}, "weights must be finite"),
        ({"groups": ["a", None, "b"]}, "'question 1' has no group"),
        ({"lower_is_better": ["q"]}, "names 'q', which the data do not have"),
        ({"lower_is_better": 3}, "lower_is_better=3"),
    ],
)
def test_columns_that_are_none(options, message):
    with pytest.raises(DataError, match=message):
        jr.Responses(REAL, **options)


def test_categories_keep_their_kind_when_all_are_turned():
    errors = jr.Responses([[[0, 1], [1, 1]], [[0, 0], [-1, 0]]], lower_is_better=True)
    assert errors.kind == "binary" and errors.levels == (-1, 0)
    np.testing.assert_array_equal(errors.values, [[[0, 1], [1, 1]], [[0, 0], [np.nan, 0]]])
    np.testing.assert_array_equal(errors.outcomes, [[[1, 0], [0, 0]], [[1, 1], [-1, 1]]])
    with pytest.raises(DataError, match="turn the scores"):
        jr.Responses([[0, 1], [1, 1]], kind="binary", lower_is_better=[True, False])
    mixed = jr.Responses([[0, 1], [1, 1]], lower_is_better=[True, False])
    assert mixed.kind == "real" and "taken as real numbers" in mixed.notes[-1]


def test_missing_cells():
    holes = [[0.9, None, 0.3], [0.4, 0.6, 0.1], [0.5, 0.2, None]]
    common, filled = jr.Responses(holes, missing="common"), jr.Responses(holes, missing="worst")
    assert common.questions == ("question 0",) and "2 of 3 questions" in common.notes[0] and common.missing == "common"
    assert filled.values[0, 1, 0] == 0.2 and filled.values[2, 2, 0] == 0.1 and "2 cells" in filled.notes[0]
    lower = jr.Responses(holes, missing="worst", lower_is_better=True)
    assert lower.values[0, 1, 0] == 0.6 and lower.values[2, 2, 0] == 0.3
    plain = jr.Responses(holes)
    np.testing.assert_array_equal(plain.filled("worst").values, filled.values)
    np.testing.assert_array_equal(plain.common().values, common.values)
    trials = jr.Responses([[[1, 1], [1, 0]], [[0, 1], [-1, -1]], [[1, 1], [0, 0]]], missing="worst")
    assert trials.kind == "binary" and trials.outcomes[1, 1].tolist() == [0, 0]
    counts = jr.Responses.from_counts([[3, 1], [2, 0]], [[4, 4], [4, 0]]).filled()
    assert counts.counts[1, 1].tolist() == [3, 1]
    with pytest.raises(DataError, match="no question has results of all models"):
        jr.Responses([[0.5, None], [None, 0.5]], missing="common")
    with pytest.raises(OptionError, match="missing='no'"):
        jr.Responses(holes, missing="no")


def test_joining_keeps_columns_and_directions():
    one = jr.Responses([[0.5, 2.0]], ["a"], ["p", "q"], weights=[1, 2], lower_is_better=["q"])
    two = jr.Responses([[1.5, 1.0]], ["b"], ["q", "r"], weights=[2, 3], lower_is_better=["q"])
    whole = one + two
    assert whole.weights.tolist() == [1, 2, 3] and whole.higher_is_better.tolist() == [True, False, True]
    np.testing.assert_array_equal(whole.values[:, :, 0], [[0.5, 2, np.nan], [np.nan, 1.5, 1]])
    with pytest.raises(DataError, match="'weight' differs for 'q'"):
        one + jr.Responses([[1.5]], ["b"], ["q"], lower_is_better=["q"])
    mixed = jr.Responses([[0, 1]], ["a"], ["p", "q"]) + jr.Responses([[0.5, 1]], ["b"], ["p", "q"])
    assert mixed.kind == "real"


def test_balanced_weights_give_groups_one_total():
    data = jr.Responses(np.ones((2, 4)), weights=[1, 3, 2, 2], groups=["a", "a", "a", "b"]).balanced("group")
    np.testing.assert_allclose(data.weights, [4 / 6, 2, 4 / 3, 4])
    with pytest.raises(OptionError, match="no such column"):
        data.balanced("subject")


def test_large_and_small_numbers_have_means():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = jr.Responses([[[1e300, 1e308, 1.7e308]], [[5e-324, 0, 1e-320]]])
        np.testing.assert_allclose(data.cell_means[0, 0], 0.9e308, rtol=1e-2)


@pytest.mark.parametrize("method", ["avg", "mean_rank", "iqm"])
def test_results_on_tables_are_saved_whole(method, tmp_path):
    data = jr.Responses(
        REAL, weights=[1, 2, 1], groups=["a", "a", "b"], lower_is_better=["question 1"], missing="worst"
    )
    fit = jr.fit(data, method)
    fit.save(tmp_path / "fit.npz")
    back = jr.load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(back.scores, fit.scores)
    np.testing.assert_array_equal(back.data.values, data.values)
    assert (
        back.data.groups.tolist() == ["a", "a", "b"] and back.data.missing == "worst" and back.data.notes == data.notes
    )
    assert back.summary() == fit.summary()


def test_diagnosis_and_matrix_of_real_scores():
    data = jr.Responses(REAL)
    said = str(jr.diagnose(data))
    assert "perfect" not in said and "without information" not in said and "coverage" in said
    _, frame = jr.plots.response_matrix(data, return_data=True)
    np.testing.assert_allclose(np.sort(frame.to_numpy(), axis=None)[:8], np.sort(REAL, axis=None)[:8])


def test_replicates_of_weighted_tables_are_weighted_means_of_the_drawn_questions():
    """Every replicate is the weighted mean over some draw of the questions, with its sign and its gaps."""
    rng = np.random.default_rng(0)
    R, weights = rng.normal(size=(3, 3)), np.array([1.0, 2, 0.5])
    data = jr.Responses(R, weights=weights, lower_is_better=[False, True, False])
    signed = R * np.array([1, -1, 1])
    every = set()
    for draw in np.ndindex(3, 3, 3):
        times = np.bincount(draw, minlength=3) * weights
        every.add(tuple(np.round((signed * times).sum(axis=1) / times.sum(), 9)))
    for scheme in ("questions", "questions_and_trials"):
        scores = jr.bootstrap(data, "avg", n_replicates=500, scheme=scheme).replicate_scores
        assert {tuple(x) for x in np.round(scores, 9)} == every
