"""Errors that a method has by its own model: refused where it takes dependent results for independent, and for every
method that has any, equal models are seldom told apart."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import JaxrankError, UnsupportedDataError
from jaxrank.methods.catalogue import entries, make
from jaxrank.models.ranker import HasStandardErrors, MeanOfCells, MeanOfQuestions

RNG = np.random.default_rng(0)
NAMES = list("abcde")
LISTS = jr.Rankings([RNG.permutation(5).tolist() for _ in range(30)], models=NAMES)
PAIRS = jr.Rankings([RNG.permutation(5)[:2].tolist() for _ in range(60)], models=NAMES)
ONE_QUESTION = RNG.integers(0, 2, (5, 1, 80))


@pytest.mark.parametrize("method", ["bradley_terry", "bradley_terry_davidson_map", "rao_kupper", "glicko"])
@pytest.mark.parametrize(("data", "what"), [(LISTS, "of one list"), (ONE_QUESTION, "of one trial or question")])
def test_pairs_of_one_list_or_trial_are_no_independent_battles(method: str, data: Any, what: str) -> None:
    """They told 18 to 39 % of the pairs of equal models apart at 95 %, and drew tiers in 40 to 92 % of the sets."""
    fit = jr.fit(data, method)
    assert not fit.has_interval
    calls = (fit.interval, fit.difference_intervals, fit.superiority, fit.covariance, lambda: jr.tiers(fit))
    for call in calls:
        with pytest.raises(
            UnsupportedDataError, match=rf"battles, which those {what} are not, .*jaxrank\.bootstrap\(data"
        ):
            call()
    assert np.isfinite(fit.scores).all()
    assert "±" not in fit.summary()


def test_lists_of_two_are_battles() -> None:
    winner, loser = ([int(np.flatnonzero(places == place)[0]) for places in PAIRS.places] for place in (1, 2))
    battles = jr.Comparisons(winner, loser, np.ones(60), models=NAMES)
    errors = [jr.fit(data, "bradley_terry_map").standard_errors for data in (PAIRS, battles)]
    np.testing.assert_allclose(*errors, rtol=1e-5)


@pytest.mark.parametrize("method", ["mml_2pl", "mml_3pl", "mirt"])
def test_slopes_of_questions_leave_no_errors_of_the_model_alone(method: str) -> None:
    """Posterior deviations given the questions told 14 to 64 % of the pairs of equal models apart."""
    fit = jr.fit(RNG.integers(0, 2, (5, 12, 3)), method, on_failure="return")
    assert "sd" in fit.params and not fit.has_interval
    with pytest.raises(UnsupportedDataError, match=rf"{method} has no analytic standard errors; use jaxrank.bootstrap"):
        fit.difference_intervals()


def _trials(n_models: int, n_questions: int, n_trials: int) -> np.ndarray:
    """Equal models, questions from Beta(1.2, .3)."""
    rng = np.random.default_rng([n_models, n_questions, n_trials])
    rates = rng.beta(1.2, 0.3, (20, 1, n_questions, 1))
    return (rng.random((20, n_models, n_questions, n_trials)) < rates).astype(np.int8)


def _battles() -> list[jr.Comparisons]:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 5, (20, 200))
    b = (a + rng.integers(1, 5, a.shape)) % 5
    won = rng.choice([0.0, 0.5, 1.0], a.shape, p=[0.4, 0.2, 0.4])
    return [jr.Comparisons(*rows, models=NAMES) for rows in zip(a, b, won, strict=True)]


def _lists() -> list[jr.Rankings]:
    """Each of the 24 orders as often as it came among 60."""
    rng, orders = np.random.default_rng(4), list(itertools.permutations(range(4)))
    return [jr.Rankings(orders, models=NAMES[:4], count=rng.multinomial(60, np.ones(24) / 24)) for _ in range(20)]


SETS = {
    "trials": functools.partial(_trials, 10, 30, 8),
    "trials of one question": functools.partial(_trials, 5, 1, 80),
    "battles": _battles,
    "ordered lists": _lists,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SETS)
def test_no_method_tells_equal_models_apart(kind: str) -> None:
    """Of every method with intervals the share of pairs of equal models whose difference excludes 0, over 20 sets: 5 %
    are claimed; one that takes what is dependent for independent has 18 % or more."""
    sets = SETS[kind]()
    shares = {}
    for method in entries():
        if not isinstance(make(method), HasStandardErrors | MeanOfCells | MeanOfQuestions):
            continue
        try:
            if not jr.fit(sets[0], method, on_failure="return").has_interval:
                continue
        except JaxrankError:
            continue
        apart = []
        for data in sets:
            low, high = jr.fit(data, method, on_failure="return").difference_intervals()
            pairs = np.triu_indices(len(low), 1)
            apart.append(np.mean((low[pairs] > 0) | (high[pairs] < 0)))
        shares[method] = float(np.mean(apart))
    print(kind, {method: round(share, 3) for method, share in shares.items()})
    assert len(shares) > (2 if kind == "ordered lists" else 5)
    assert {method: share for method, share in shares.items() if share > 0.15} == {}
