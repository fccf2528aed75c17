"""A slice of the calibration suite: what the library says by default is false about as often as it claims.

Fixed seeds; the bounds are four standard errors of the simulation away from 5 %, or from the measured width.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import jaxrank as jr
from experiments.calibration import optimum, others, tables, tries
from experiments.calibration.statements import STATEMENTS, Study, gaps_of, scores_of, studies
from experiments.calibration.truths import BATTLES, HALF, HIGH, ORDERED, SKEWED, Truth
from jaxrank import evaluation

pytestmark = pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
JUDGE = {s.name: s.judge for s in STATEMENTS}
QUESTIONS, TRIALS = 30, 3


def _drawn(truth: Truth, sets: int, models: int, trials: int = TRIALS) -> np.ndarray:
    return next(truth.draw(np.random.default_rng(0), sets, models, QUESTIONS, trials))


@pytest.mark.parametrize("trials", [1, TRIALS])
@pytest.mark.parametrize("truth", [HALF, HIGH, SKEWED, ORDERED], ids=lambda t: t.name)
def test_scores_are_in_their_intervals(truth: Truth, trials: int) -> None:
    false, width, _ = scores_of(_drawn(truth, 800, 1, trials), truth.scores(1)[0])
    assert false.mean() < 0.081
    assert 0 < width.mean() < 0.4  # of rates .5 with one trial a question .34


@pytest.mark.parametrize("truth", [HIGH, SKEWED, ORDERED], ids=lambda t: t.name)
def test_means_of_these_questions_are_in_the_intervals_of_trials(truth: Truth) -> None:
    """Held fixed, questions of unlike rates leave less uncertain than as many trials of one rate: 99 % were covered."""
    rng = np.random.default_rng(0)
    rates = np.array(truth.rates(rng, 800, 1, QUESTIONS)[:, 0])
    outcomes = (rng.random((*rates.shape, TRIALS)) < rates[..., None]).astype(int)
    low, high = jr.fit(outcomes).interval(unit="trials")
    true = rates.mean(axis=1)
    assert 0.02 < np.mean((true < low) | (true > high)) < 0.081


@pytest.mark.parametrize("truth", [HALF, SKEWED, ORDERED], ids=lambda t: t.name)
def test_differences_are_in_their_intervals(truth: Truth) -> None:
    scores = truth.scores(2)
    false, _, _ = gaps_of(_drawn(truth, 800, 2), scores[0] - scores[1])
    assert 0.02 < false.mean() < 0.081


@pytest.mark.parametrize("truth", [HALF, SKEWED], ids=lambda t: t.name)
def test_equal_models_are_seldom_told_apart(truth: Truth) -> None:
    """Of equal models the share of data sets with any separation, by every statement about all models at once."""
    found = [_errors(study, "all differences at once", "tiers", "rank sets", "top set") for study in _few(truth, 5)]
    assert np.mean(found, axis=0).max() < 0.11


def test_two_trials_do_not_settle_the_top() -> None:
    """Of two equal models with two trials the default bootstrap named one the only best in every second data set."""
    found = [_errors(study, "top set", "p_best") for study in _few(HALF, 2, trials=2)]
    assert np.mean(found, axis=0).max() < 0.11


def test_unequal_models_are_told_apart() -> None:
    """What is never false may say nothing: models of a known order are separated, and in that order."""
    found = [(s.rank_sets, s.replicates.top_set()) for s in _few(ORDERED, 5, sets=40)]
    assert np.mean([(sets.upper - sets.lower + 1).mean() for sets, _ in found]) < 4.6
    assert np.mean(["model 0" in top for _, top in found]) > 0.9


def test_strengths_are_in_their_intervals() -> None:
    rng, truth = np.random.default_rng(0), BATTLES[1]
    found = []
    for _ in range(120):
        battles = jr.Comparisons(*truth.draw(rng, 4, 200), models=[f"model {i}" for i in range(4)])
        found.append(_errors(Study(battles, truth.scores(4), 0), "scores", "all differences at once"))
    assert np.mean(found, axis=0).max() < 0.13


@pytest.mark.parametrize(
    ("measure", "spread", "size"),
    [(others.far_apart, 3.0, 200), pytest.param(others.lists, 2.0, 30, marks=pytest.mark.slow)],
)
def test_strengths_far_apart_are_in_their_intervals(
    measure: Callable[[float, int, int], str], spread: float, size: int
) -> None:
    """A prior of variance 1 had drawn them together: 26 % of the intervals of strengths from 3 to -3 missed."""
    shares = measure(spread, size, 60)
    assert float(shares.split()[0]) < 10, shares


def test_metrics_of_tries_are_in_their_intervals() -> None:
    found = tries.cells(".5", 50, 5, 2, sets=800)
    for metric, (false, width) in found.items():
        if "posterior" not in metric and metric != "Geom@k":
            assert false < 8.1 and width > 0.02, metric
    assert found["Geom@k"][0] > 8.1  # so that it has no interval where none is asked for
    assert np.isnan(evaluation.geom_at_k(np.ones((1, 3, 4), int), 2).lower).all()


def test_battles_counted_by_kind_are_the_same_battles() -> None:
    rng = np.random.default_rng(0)
    for truth in (BATTLES[0], BATTLES[1]):
        drawn = truth.draw(rng, 4, 60)
        one_by_one, counted = jr.Comparisons(*drawn), jr.Comparisons(*truth.tallied(*drawn, 4))
        assert np.array_equal(one_by_one.wins, counted.wins) and np.array_equal(one_by_one.ties, counted.ties)
        assert len(counted.a) == (18 if truth.ties else 12)


def test_failures_are_found() -> None:
    row = {"error": 0.07, "mc": 0.002, "untold": "", "questions": 50}
    assert tables.fails(row)
    assert not tables.fails({**row, "mc": 0.003}) and not tables.fails({**row, "questions": 10})
    assert not tables.fails({**row, "untold": "who voted"}) and not tables.fails({**row, "error": None})


@pytest.mark.slow
@pytest.mark.parametrize("method", optimum.METHODS)
def test_abilities_of_single_trials_are_as_near_their_optimum_as_is_said(method: str) -> None:
    r = optimum.compared(method, optimum.samples("AIME24", pools=4))
    assert r["known"] > 0.9 and r["stated90"] < 0.05
    assert r["above"] < 0.05 and r["off"] < 0.1 * r["stated"]  # of 320 tables 0.3 and 1 %


def _few(truth: Truth, models: int, trials: int = TRIALS, sets: int = 150) -> list[Study]:
    return list(studies(_drawn(truth, sets, models, trials), truth.scores(models), 300))


def _errors(study: Study, *names: str) -> list[float]:
    return [JUDGE[name](study)[0] for name in names]
