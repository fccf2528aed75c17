"""Every method of the catalogue, held to the same promises.

A method may be excused from a check by a reason in its `Entry`; an excused check that would pass everywhere fails, so
that no excuse outlives its cause.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.statistics import Sequence
from jaxrank.data.weights import Weights, unit_of
from jaxrank.errors import JaxrankError
from jaxrank.models.fit import Fit
from jaxrank.numerics.ranks import rank_scores, tie_heads
from jaxrank.numerics.status import Status
from jaxrank.studies.fit import as_key, prepare
from tests.problems import N_QUESTIONS, N_TRIALS, OTHER_SHAPES, SAME_SHAPE, SLOW_SHAPES, graded, missing

BIB = (Path(jr.__file__).parent / "methods" / "references.bib").read_text()
SECTIONS = ("**Reads**", "**Scores**", "**Status**", "**Departs**")
R0 = graded(21)[0][:, :2]  # (M, D): for the methods that cannot do without earlier outcomes

PERMUTATION = np.array([3, 0, 4, 1, 2])
TRIAL_ORDER = np.array([2, 0, 3, 1])
QUESTION_ORDER = np.array([4, 0, 5, 2, 1, 3])
DRAWS = np.array([3, 1, 1, 0])
FLIPS = ((4, 2, 1), (2, 5, 0), (3, 4, 3), (1, 3, 2))


def _flipped(i: int, m: int, n: int) -> np.ndarray:
    R = SAME_SHAPE["graded"].copy()
    rows = np.argwhere(R[i] == 0)
    m, n = rows[(m * N_TRIALS + n) % len(rows)]
    R[i, m, n] = 1
    return R


VARIANTS: dict[str, np.ndarray] = {
    **SAME_SHAPE,
    "permuted": SAME_SHAPE["graded"][PERMUTATION],
    "missing_permuted": SAME_SHAPE["missing"][PERMUTATION],
    "twins_permuted": SAME_SHAPE["twins"][PERMUTATION],
    "trials_reordered": SAME_SHAPE["graded"][:, :, TRIAL_ORDER],
    "questions_reordered": SAME_SHAPE["graded"][:, QUESTION_ORDER],
    "gathered": SAME_SHAPE["graded"][:, :, DRAWS],
    "gathered_missing": SAME_SHAPE["missing"][:, :, DRAWS],
    **{f"flip{k}": _flipped(*flip) for k, flip in enumerate(FLIPS)},
    "ones": np.ones_like(graded()),
    "zeros": np.zeros_like(graded()),
}

# One entry a distinct ranker: identifiers that only differ in traced numbers still run each on its own.
# Methods that read ordered lists have their own tests.
ENTRIES = [e for e in jr.entries().values() if e.ranker().statistic.name != "orders"]


def entry_params(entries=ENTRIES):
    """One identifier of each class runs always; its further settings, and what samples on the host, are slow."""
    params, seen = [], set()
    for entry in entries:
        ranker = entry.ranker()
        slow = type(ranker) in seen or (ranker.host and ranker.stochastic)
        seen.add(type(ranker))
        params.append(pytest.param(entry, id=entry.name, marks=[pytest.mark.slow] if slow else []))
    return params


@functools.cache
def ranker_for(name: str, problem: str):
    """The ranker of an identifier, made ready for a problem; None where it refuses the data by name."""
    R = {**VARIANTS, **OTHER_SHAPES, **SLOW_SHAPES}[problem]
    entry = jr.entries()[name]
    prior = R0[:, :2] if entry.options.get("needs_R0") else None
    if prior is not None and R.shape[1] != N_QUESTIONS:
        prior = prior[: R.shape[1]]
    try:
        return prepare(name, jr.Responses(R), prior, {})
    except JaxrankError:
        return None


def _key(ranker):
    return as_key(0) if ranker.stochastic else None


def _single(ranker, stat) -> Fit:
    return jr.api.run(ranker, stat, _key(ranker))


@functools.cache
def batch(name: str, dtype: str) -> dict[str, Fit]:
    """Fits of all variants; for device methods in one mapped call."""
    ranker = ranker_for(name, "graded")
    with jax.enable_x64(dtype == "float64"):
        stats = {k: ranker.statistic.of(jr.Responses(R)) for k, R in VARIANTS.items()}
        if ranker.host:
            return {k: jax.tree.map(np.asarray, ranker(s, key=_key(ranker))) for k, s in stats.items()}
        stacked = jax.tree.map(lambda *x: jnp.stack(x), *stats.values())
        fits = jax.jit(jax.vmap(lambda s: ranker(s, key=_key(ranker))))(stacked)
        return {k: jax.tree.map(lambda x, i=i: np.asarray(x[i]), fits) for i, k in enumerate(stats)}


def ok(fit: Fit) -> bool:
    return int(fit.status) in (Status.CONVERGED, Status.NOT_UNIQUE)


def ranks(fit: Fit) -> np.ndarray:
    with jax.enable_x64(fit.scores.dtype == np.float64):
        return np.asarray(rank_scores(fit.scores, resolution=fit.resolution))


def same(a: Fit, b: Fit, order=slice(None), factor: float = 8.0) -> bool:
    """Equal status, equal ranks, and scores that differ by a few resolutions at most. ``b`` reordered by ``order``."""
    if int(a.status) != int(b.status):
        return False
    x, y = np.asarray(a.scores), np.asarray(b.scores)[order]
    tolerance = factor * max(float(a.resolution), float(b.resolution))
    return bool(np.allclose(x, y, rtol=0, atol=tolerance, equal_nan=True)) and bool(
        np.array_equal(ranks(a), ranks(b)[order])
    )


def check_labels(name: str) -> None:
    f = batch(name, "float64")
    for plain, moved in (("graded", "permuted"), ("missing", "missing_permuted"), ("twins", "twins_permuted")):
        assert same(f[moved], f[plain], PERMUTATION), (plain, f[moved].scores, f[plain].scores[PERMUTATION])


def check_trial_order(name: str) -> None:
    f = batch(name, "float64")
    assert same(f["trials_reordered"], f["graded"]), (f["trials_reordered"].scores, f["graded"].scores)


def check_question_order(name: str) -> None:
    f = batch(name, "float64")
    assert same(f["questions_reordered"], f["graded"]), (f["questions_reordered"].scores, f["graded"].scores)


def check_replicate(name: str) -> None:
    """Weights give the fit of the gathered data, and weights of one give the full fit."""
    ranker, f = ranker_for(name, "graded"), batch(name, "float64")
    if ranker.statistic is Sequence:
        pytest.skip("an ordered stream is gathered, not weighted")
    drawn = np.bincount(DRAWS, minlength=N_TRIALS).astype(float)
    with jax.enable_x64(True):
        for source, expected, weights in (
            ("graded", "gathered", Weights(jnp.asarray(drawn))),
            ("missing", "gathered_missing", Weights(jnp.asarray(drawn))),
            ("graded", "graded", Weights(jnp.ones(N_TRIALS), jnp.ones(N_QUESTIONS))),
        ):
            rows = ranker.statistic.rows(jr.Responses(VARIANTS[source]), unit_of(weights))
            fit = _single(ranker, ranker.statistic.reduce(rows, weights))
            assert same(fit, f[expected]), (source, fit.scores, f[expected].scores)


def check_vmap_is_loop(name: str) -> None:
    ranker, f = ranker_for(name, "graded"), batch(name, "float64")
    if ranker.host:
        pytest.skip("runs on the host, one statistic at a time")
    with jax.enable_x64(True):
        for problem in ("graded", "missing", "separated"):
            fit = _single(ranker, ranker.statistic.of(jr.Responses(VARIANTS[problem])))
            assert same(fit, f[problem]), (problem, fit.scores, f[problem].scores)


def check_precision(name: str) -> None:
    narrow, wide = batch(name, "float32"), batch(name, "float64")
    for problem in ("graded", "missing", "twins"):
        if ok(wide[problem]) and ok(narrow[problem]):
            scale = 1 + np.max(np.abs(wide[problem].scores))
            difference = np.max(np.abs(narrow[problem].scores - wide[problem].scores))
            assert difference <= 1e-3 * scale, (problem, difference)
        assert int(wide[problem].status) == int(narrow[problem].status), problem


def check_twins(name: str) -> None:
    for dtype in ("float64", "float32"):
        fit = batch(name, dtype)["twins"]
        if ok(fit):
            r = ranks(fit)
            assert r[1] == r[3], (dtype, fit.scores)


def check_all_tied(name: str) -> None:
    f = batch(name, "float64")
    for problem in ("ones", "zeros", "tied"):
        if ok(f[problem]):
            assert np.all(ranks(f[problem]) == 1), (problem, f[problem].scores)


def check_monotone(name: str) -> None:
    """Turning a wrong answer right never lowers that model."""
    f = batch(name, "float64")
    before = ranks(f["graded"])
    for k, (i, *_) in enumerate(FLIPS):
        if ok(f[f"flip{k}"]) and ok(f["graded"]):
            assert ranks(f[f"flip{k}"])[i] <= before[i], (k, i, before, ranks(f[f"flip{k}"]))


def _sound(problem: str, fit: Fit) -> None:
    status = Status(int(fit.status))
    if ok(fit):
        assert np.all(np.isfinite(fit.scores)), (problem, status, fit.scores)
    assert float(fit.resolution) >= 0 or not ok(fit), problem


def check_edges(name: str) -> None:
    for dtype in ("float64", "float32"):
        for problem, fit in batch(name, dtype).items():
            _sound(problem, fit)
            assert fit.scores.dtype == np.dtype(dtype), (problem, fit.scores.dtype)


def check_other_shapes(name: str) -> None:
    _check_shapes(name, OTHER_SHAPES)


def _check_shapes(name: str, problems: dict[str, np.ndarray]) -> None:
    for problem, R in problems.items():
        ranker = ranker_for(name, problem)
        if ranker is not None:
            with jax.enable_x64(True):
                _sound(problem, jax.tree.map(np.asarray, _single(ranker, ranker.statistic.of(jr.Responses(R)))))


def check_one_trace(name: str) -> None:
    """New data of the same shape, gaps included, do not compile again."""
    ranker = ranker_for(name, "graded")
    if ranker.host:
        pytest.skip("is not compiled")
    traced = jax.jit(chex.assert_max_traces(lambda s: ranker(s, key=_key(ranker)), n=1))
    chex.clear_trace_counter()
    for R in (graded(31), missing()):
        traced.lower(ranker.statistic.of(jr.Responses(R)))


def check_documented(name: str) -> None:
    entry = jr.entries()[name]
    doc = entry.make.__doc__ or ""
    absent = [s for s in SECTIONS if s not in doc]
    assert not absent, f"the docstring of {entry.make.__name__} lacks {absent}"
    assert re.search(rf"@\w+\{{{re.escape(entry.source)},", BIB), f"{entry.source} is not in references.bib"


CHECKS = {
    "labels": check_labels,
    "trial_order": check_trial_order,
    "question_order": check_question_order,
    "replicate": check_replicate,
    "vmap_is_loop": check_vmap_is_loop,
    "precision": check_precision,
    "twins": check_twins,
    "all_tied": check_all_tied,
    "monotone": check_monotone,
    "edges": check_edges,
    "other_shapes": check_other_shapes,
    "one_trace": check_one_trace,
    "documented": check_documented,
}


@pytest.mark.parametrize("entry", entry_params())
def test_conforms(entry, request):
    """All checks of one method in one test: its compilations are shared, and the report names every broken promise.

    What became of each check is recorded as (identifier, check, outcome, reason) for the summary that conftest prints.
    """
    unknown = set(entry.exempt) - set(CHECKS)
    assert not unknown, f"{entry.name} is excused from checks that do not exist: {unknown}"
    broken = []
    for check, run_check in CHECKS.items():
        excused = check in entry.exempt
        skipped = ""
        try:
            run_check(entry.name)
        except pytest.skip.Exception as skip:
            failed, skipped = None, str(skip)
        except AssertionError as error:
            failed = error
        else:
            failed = False
        outcome = "exempt" if excused else "skipped" if skipped else "failed" if failed else "run"
        request.node.user_properties.append(
            ("conformance", (entry.name, check, outcome, entry.exempt.get(check, skipped)))
        )
        if excused and not failed:
            broken.append(f"{check}: excused ({entry.exempt[check]}), but it holds")
        elif failed and not excused:
            broken.append(f"{check}: {failed}")
    assert not broken, f"{entry.name}\n" + "\n".join(broken)


@pytest.mark.slow
@pytest.mark.parametrize("entry", entry_params())
def test_odd_shapes(entry, request):
    refused = ", ".join(problem for problem in SLOW_SHAPES if ranker_for(entry.name, problem) is None)
    outcome = ("skipped", f"refuses {refused} by name") if refused else ("run", "")
    request.node.user_properties.append(("conformance", (entry.name, "odd_shapes", *outcome)))
    _check_shapes(entry.name, SLOW_SHAPES)


def test_ties_and_ranks_of_the_suite_itself():
    """The helpers tell apart what they should."""
    a = Fit(np.array([2.0, 1.0]), np.int32(0), np.int32(0), np.float64(1e-9), {})
    b = Fit(np.array([1.0, 2.0]), np.int32(0), np.int32(0), np.float64(1e-9), {})
    assert same(a, a) and not same(a, b) and same(a, b, np.array([1, 0]))
    assert np.array_equal(tie_heads(np.array([1.0, 1.0, 0.0])), [1.0, 1.0, 0.0])
