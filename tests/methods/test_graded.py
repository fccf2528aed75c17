"""Methods of graded battles and of margins: what the conformance suite asks of methods of trials."""

from __future__ import annotations

from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import t as student_t

import jaxrank as jr
from jaxrank.data.weights import Weights
from jaxrank.errors import DataError, NoFiniteOptimumError, UnsupportedDataError
from jaxrank.models.ranker import statistic_of
from tests.methods.test_conformance import ENTRIES, check_documented
from tests.oracles import golden

METHODS = [e.name for e in jr.entries().values() if e.ranker().statistic.name in ("battles", "margins")]
OF_A_CLASS = [
    pytest.param(name, marks=[pytest.mark.slow] if name == "bradley_terry_ordinal_map" else []) for name in METHODS
]
"""The second identifier of a class is slow."""
RNG = np.random.default_rng(2)
A = RNG.integers(0, 4, 60)
B = (A + RNG.integers(1, 4, 60)) % 4
GRADE = np.clip(np.rint((B - A) * 0.6 + RNG.normal(0, 1.2, 60)), -2, 2)


def votes(rows: Any = slice(None), names=(0, 1, 2, 3), grade=GRADE) -> jr.Comparisons:
    place = np.array(names)
    outcome = (np.sign(grade) + 1) / 2
    models = [f"m{i}" for i in range(4)]
    return jr.Comparisons(place[A][rows], place[B][rows], outcome[rows], models=models, columns={"grade": grade[rows]})


def fitted(data: jr.Comparisons, method: str, dtype: Any = "float64") -> jr.Result:
    return jr.fit(data, method, dtype=dtype)


def test_these_are_all_that_the_suite_leaves_out():
    assert {e.name for e in ENTRIES} & set(METHODS) == set() and len(METHODS) == 3


@pytest.mark.parametrize("method", OF_A_CLASS)
def test_conforms(method):
    """Labels, order of the battles, sides, precision, one trace, the docstring."""
    whole, moved = fitted(votes(), method), [2, 0, 3, 1]
    assert np.allclose(fitted(votes(names=moved), method).scores[moved], whole.scores, atol=1e-9)
    assert np.allclose(fitted(votes(np.arange(60)[::-1]), method).scores, whole.scores, atol=1e-9)
    turned = jr.Comparisons(B, A, (1 - np.sign(GRADE)) / 2, models=list(whole.models), columns={"grade": -GRADE})
    assert np.allclose(fitted(turned, method).scores, whole.scores, atol=1e-9)
    assert np.allclose(fitted(votes(), method, "float32").scores, whole.scores, atol=1e-4)
    better = GRADE.copy()
    better[np.flatnonzero(A == 3)[:4]] = 2
    assert fitted(votes(grade=better), method).scores[3] > whole.scores[3]
    check_documented(method)


@pytest.mark.parametrize("method", OF_A_CLASS)
def test_replicates_are_fits_of_the_battles_drawn(method):
    ranker, data = jr.entries()[method].ranker(), votes()
    reader = statistic_of(ranker, data)
    with jax.enable_x64(True):
        rows = reader.rows(data)
        drawn = np.random.default_rng(1).integers(0, 60, (3, 60))
        weights = jnp.asarray([np.bincount(d, minlength=60) for d in drawn], float)
        traced = jax.jit(chex.assert_max_traces(lambda w: ranker(reader.reduce(rows, Weights(trials=w))), n=1))
        chex.clear_trace_counter()
        lanes = jax.vmap(lambda w: ranker(reader.reduce(rows, Weights(trials=w))))(weights)
        for k in range(3):
            one = fitted(votes(drawn[k]), method)
            assert np.allclose(traced(weights[k]).scores, one.scores, atol=1e-8)
            assert np.allclose(lanes.scores[k], one.scores, atol=1e-8)


def test_what_they_refuse():
    with pytest.raises(UnsupportedDataError, match="battles"):
        jr.fit([[1, 0], [0, 1]], "bradley_terry_ordinal")
    apart = jr.Comparisons(["a", "b", "c", "d"], ["b", "a", "d", "c"], [1, 1, 1, 1], columns={"grade": [1, 2, 1, 2]})
    with pytest.raises(NoFiniteOptimumError, match="never compared"):
        jr.fit(apart, "bradley_terry_ordinal")
    assert np.isfinite(jr.fit(apart, "bradley_terry_ordinal_map").scores).all()


@pytest.mark.parametrize("variance", [False, True])
def test_margins_are_those_of_an_independent_program(variance):
    """Weighted least squares by statsmodels: strengths, errors, scale; intervals by Student's t with the degrees of
    freedom of the scale; and weights of 2 are battles fought twice."""
    example = next(e for e in golden("battles") if e["kind"] == "margin_least_squares")
    given, value = example["input"], example["values"]["wls" if variance else "ols"]
    columns = {"margin": given["margin"]} | ({"variance": given["variance"]} if variance else {})
    outcome = (np.sign(given["margin"]) + 1) / 2
    battles = jr.Comparisons(given["a"], given["b"], outcome, models=given["models"], columns=columns)
    found = jr.fit(battles, "margin_least_squares", dtype="float64")
    assert np.allclose(found.scores, value["theta"], atol=1e-9)
    assert np.allclose(found.standard_errors, value["se"], atol=1e-9)
    assert np.allclose([found.params["scale"], found.params["degrees"]], [value["scale"], value["df"]], atol=1e-9)
    reach = student_t.ppf(0.975, value["df"])
    low, high = found.interval()
    assert np.allclose((high - low) / 2, reach * np.asarray(value["se"]), atol=1e-9)
    gap, spread = found.differences()
    own = ~np.eye(len(gap), dtype=bool)
    single, together = (found.difference_intervals(simultaneous=s).upper - gap for s in (False, True))
    assert np.allclose(single, reach * spread, atol=1e-9) and (together[own] > 1.2 * single[own]).all()
    assert np.allclose(found.superiority().above[own], student_t.cdf(gap[own] / spread[own], value["df"]), atol=1e-9)
    heavy = {**columns, "weight": np.where(np.arange(len(outcome)) < 20, 2.0, 1.0)}
    twice = battles + battles.select(battles=np.arange(20))
    weighted = jr.Comparisons(given["a"], given["b"], outcome, models=given["models"], columns=heavy)
    assert np.allclose(jr.fit(weighted, "margin_least_squares").scores, jr.fit(twice, "margin_least_squares").scores)


def test_margins_without_a_column_are_points_or_wins():
    a, b, first, second = [0, 1, 2, 0], [1, 2, 0, 1], np.array([3.0, 1, 0, 2]), np.array([1.0, 1, 2, 3])
    points = {"score_a": first, "score_b": second}
    outcome = (np.sign(first - second) + 1) / 2
    fit = lambda **columns: jr.fit(jr.Comparisons(a, b, outcome, columns=columns), "margin_least_squares").scores
    assert np.allclose(fit(**points), fit(margin=first - second))
    assert np.allclose(fit(), fit(margin=np.sign(first - second)))
    with pytest.raises(DataError, match="row 1"):
        fit(margin=[1.0, np.nan, 2.0, 3.0])
    with pytest.raises(DataError, match="above 0"):
        fit(margin=first, variance=[1.0, 1.0, 0.0, 1.0])
