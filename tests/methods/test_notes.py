"""What a result says of data that its method does not read: ties, and questions without results."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.statistics import Counts
from jaxrank.methods.catalogue import entries


def battles(ties: bool) -> jr.Comparisons:
    """Four models that all beat and lose to each other, and ties that favour the last."""
    rng = np.random.default_rng(3)
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    rows = [(*pairs[k], 1.0) for k in rng.permutation(np.repeat(np.arange(12), rng.integers(1, 4, 12)))]
    if ties:
        rows = [r for row in rows for r in (row, (3, row[0] if row[0] != 3 else row[1], 0.5))]
    a, b, outcome = zip(*rows, strict=True)
    return jr.Comparisons([str(i) for i in a], [str(i) for i in b], list(outcome), models=list("0123"))


WITH, WITHOUT = battles(True), battles(False)
READS_BATTLES = [
    pytest.param(e.name, marks=[pytest.mark.slow] if e.ranker().host or e.family == "luce" else [])
    for e in entries().values()
    if "comparisons" in (e.ranker().kinds or e.ranker().statistic.kinds)
]


@pytest.mark.parametrize("name", READS_BATTLES)
def test_ties_that_change_nothing_are_named_as_unread(name):
    """N34: a method whose scores are the same without the ties says so; one that reads them does not."""
    still = {"tau": 0} if name == "trueskill" else {}  # else time passes while nobody plays
    tied, plain = (jr.fit(d, name, dtype="float64", on_failure="return", **still) for d in (WITH, WITHOUT))
    same = np.allclose(tied.scores, plain.scores, rtol=0, atol=1e-9)
    said = [note for note in tied.notes if "not read" in note]
    assert bool(said) == same, (tied.scores, plain.scores, tied.notes)
    assert not any("not read" in note for note in plain.notes)
    if said:
        n_ties = int(np.sum(WITH.outcome == WITH.outcome[1]))
        assert said[0].startswith(f"{n_ties} of {len(WITH.a)} ")


def test_the_remedy_reads_the_ties():
    skipped, read = (jr.fit(WITH, "elo", ties=t) for t in ("skip", "draw"))
    assert 'ties="draw"' in skipped.unread
    assert read.unread == ""
    assert skipped.scores[3] != read.scores[3]


def test_ties_between_failures_alone_are_counted():
    R = np.array([[[1, 0, 0]], [[1, 0, 1]], [[0, 0, 1]]])  # 1 tie of right answers, 3 of wrong ones, then 1
    assert jr.fit(R, "elo", ties="correct_draw_only").unread.startswith("3 of 9 ")
    assert jr.fit(R, "elo", ties="skip").unread.startswith("5 of 9 ")


GAPS = [[1, 1, np.nan, np.nan], [1, 1, 1, 1], [0, 1, 0, 1]]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bayes", "mean of its prior"),
        ("avg", "means are over the questions"),
        ("copeland", "compares only the models"),
        ("borda", "shares its point"),
        ("rasch_map", "difficulty"),
        ("thompson_exact", "all its trials together"),
    ],
)
def test_the_note_on_missing_questions_is_true_of_the_method(name, says):
    """Interface 9: for the default it was false."""
    with pytest.warns(jr.JaxrankWarning, match=f"1 model has no result on some questions .*{says}"):
        fit = jr.fit(GAPS, name)
    assert any(says in note for note in fit.notes)


def test_means_over_own_questions_are_claimed_by_no_other_method():
    """Filling a model's missing questions with its own mean changes no score of a method that says so."""
    filled = np.array([[1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 0, 1]])
    for entry in entries().values():
        ranker = entry.ranker()
        if ranker.statistic is not Counts or "means are over the questions" not in ranker.gaps:
            continue
        if entry.name == "inverse_difficulty":
            continue  # the weights of the questions move with the filled cells
        options = {"k": 1} if hasattr(ranker, "k") else {}
        if entry.name == "threshold_spectrum_at_k":
            options = {"w": (1.0,)}  # as many tries as weights
        if entry.name == "tail_pass":
            options = {"v": (1.0,)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jr.JaxrankWarning)
            gaps, whole = (jr.fit(R, entry.make(**{**entry.options, **options})) for R in (GAPS, filled))
        np.testing.assert_allclose(gaps.scores, whole.scores, rtol=1e-6)


def test_win_rates_state_their_rounding():
    """Numerics 25: a quotient is not exact."""
    fit = jr.fit([*GAPS[1:], [1, 0, 0, 1]], "win_rate")
    assert float(fit.fit.resolution) == np.finfo(np.float32).eps


def test_alpha_rank_probabilities_sum_to_one_in_float32():
    R = (np.arange(40)[:, None, None] > np.random.default_rng(0).integers(0, 40, (1, 25, 4))).astype(int)
    R[::2, 3, 1] = -1
    fit = jr.fit(R, "alpharank", alpha=50, on_failure="return")
    np.testing.assert_allclose(np.exp(fit.scores.astype(float)).sum(), 1, atol=4e-6)
