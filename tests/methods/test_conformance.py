"""Every method of the catalogue, held to the same promises.

A method may be excused from a check by a reason in its `Entry`; an excused check that would pass everywhere fails, so
that no excuse outlives its cause. Every check says how many comparisons it made on fits that ended well: a check that
made none fails too, since a dead method would pass it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.moments import Samples
from jaxrank.data.statistics import Events, Sequence
from jaxrank.data.weights import Weights, unit_of
from jaxrank.errors import JaxrankError, UnsupportedDataError
from jaxrank.models.fit import Fit
from jaxrank.numerics.ranks import rank_scores, tie_heads
from jaxrank.numerics.status import Status
from jaxrank.studies.fit import as_key, prepare, read_statistic, run
from tests.methods import dead
from tests.problems import (
    LEADER,
    N_MODELS,
    N_QUESTIONS,
    N_TRIALS,
    OTHER_SHAPES,
    SAME_SHAPE,
    SLOW_SHAPES,
    battles,
    cycle,
    graded,
    grades,
    leader,
    lists,
    missing,
)

pytestmark = pytest.mark.filterwarnings("ignore:R0 is shared by all models")  # the prior of bayes_greedy below

BIB = (Path(jr.__file__).parent / "methods" / "references.bib").read_text()
SECTIONS = ("**Reads**", "**Scores**", "**Status**", "**Departs**")
R0 = graded(21)[0][:, :2]  # (M, D): for the methods that cannot do without earlier outcomes

PERMUTATION = np.array([3, 0, 4, 1, 2])
TRIAL_ORDER = np.array([2, 0, 3, 1])
QUESTION_ORDER = np.array([4, 0, 5, 2, 1, 3])
DRAWS = np.array([3, 1, 1, 0])
QUESTION_DRAWS = np.array([5, 0, 2, 2, 1, 3])
FLIPS = ((4, 2, 1), (2, 5, 0), (3, 4, 3), (1, 3, 2))


def _flipped(i: int, m: int, n: int) -> np.ndarray:
    R = SAME_SHAPE["graded"].copy()
    rows = np.argwhere(R[i] == 0)
    m, n = rows[(m * N_TRIALS + n) % len(rows)]
    R[i, m, n] = 1
    return R


THREE_TIMES = Weights(3.0 * np.ones(N_TRIALS))
FIRST = Weights(np.eye(N_TRIALS)[0])
ONE_TRIAL = tuple(np.random.default_rng(seed).integers(0, 2, (N_MODELS, N_QUESTIONS, N_TRIALS)) for seed in range(6))
TIE_CLASS = {  # 21 methods have the same ranking of every single trial
    *("avg", "baldwin_rank_ties_average", "bayes", "bayes_ci", "borda", "copeland", "majority_judgment", "pagerank"),
    *("minimax_variant_margin_tie_half", "minimax_variant_margin_tie_ignore", "nash_advantage_vs_equilibrium"),
    *("minimax_variant_winning_votes_tie_half", "nash_vs_equilibrium", "rank_centrality_tie_half", "schulze_tie_half"),
    *("ranked_pairs_strength_margin_tie_half", "ranked_pairs_strength_margin_tie_ignore", "schulze_tie_ignore"),
    *("ranked_pairs_strength_winning_votes_tie_half", "ranked_pairs_strength_winning_votes_tie_ignore", "spectral"),
}

LIFTED = N_MODELS - 1


def _lifted() -> np.ndarray:
    """The last model of "graded" with two thirds of its wrong answers turned right."""
    R = SAME_SHAPE["graded"].copy()
    wrong = np.argwhere(R[LIFTED] == 0)
    R[LIFTED, *wrong[np.arange(len(wrong)) % 3 > 0].T] = 1
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
    "gathered_questions": SAME_SHAPE["graded"][:, QUESTION_DRAWS],
    "leader": leader(),
    **{f"flip{k}": _flipped(*flip) for k, flip in enumerate(FLIPS)},
    "lifted": _lifted(),
    "cycle": cycle(),
    "ones": np.ones_like(graded()),
    "zeros": np.zeros_like(graded()),
}
ORDERS = {"questions_reordered": QUESTION_ORDER, "gathered_questions": QUESTION_DRAWS}
"""Variants whose questions are others of "graded": earlier outcomes go with their questions."""

# One entry a distinct ranker: identifiers that only differ in traced numbers still run each on its own.
# Methods that read ordered lists or graded battles alone have their own tests.
ENTRIES = [e for e in jr.entries().values() if e.ranker().statistic.name not in ("orders", "battles", "margins")]
BY_NAME = {e.name: e for e in (*ENTRIES, *dead.ENTRIES)}


def entry_params(entries=ENTRIES):
    """One identifier of each class runs always; its further settings, and what samples on the host, are slow."""
    params, seen = [], set()
    for entry in entries:
        ranker = entry.ranker()
        slow = type(ranker) in seen or (ranker.host and ranker.stochastic)
        seen.add(type(ranker))
        params.append(pytest.param(entry, id=entry.name, marks=[pytest.mark.slow] if slow else []))
    return params


def prior_of(name: str, data) -> np.ndarray | None:
    """R0 for the methods that need it, with the questions of the data."""
    needed = BY_NAME[name].options.get("needs_R0") and isinstance(data, jr.Responses)
    return R0[: data.shape[1]] if needed else None


@functools.cache
def ranker_for(name: str, problem: str):
    """The ranker of an identifier, made ready for a problem; None where it refuses the data by name."""
    data = jr.Responses({**VARIANTS, **OTHER_SHAPES, **SLOW_SHAPES}[problem])
    try:
        return prepare(BY_NAME[name].ranker(), data, prior_of(name, data), {})
    except JaxrankError:
        return None


def _key(ranker):
    return as_key(0) if ranker.stochastic else None


def _single(ranker, stat) -> Fit:
    return run(ranker, stat, _key(ranker))


@functools.cache
def batch(name: str, dtype: str) -> dict[str, Fit]:
    """Fits of all variants; for device methods in one mapped call."""
    ranker = ranker_for(name, "graded")
    key = _key(ranker)
    with jax.enable_x64(dtype == "float64"):
        stats = {k: ranker.statistic.of(jr.Responses(R)) for k, R in VARIANTS.items()}
        if ranker.host:
            return {k: jax.tree.map(np.asarray, ranker(s, key=key)) for k, s in stats.items()}
        stacked = jax.tree.map(lambda *x: jnp.stack(x), *stats.values())
        fits = jax.jit(jax.vmap(lambda s: ranker(s, key=key)))(stacked)
        found = {k: jax.tree.map(lambda x, i=i: np.asarray(x[i]), fits) for i, k in enumerate(stats)}
        if BY_NAME[name].options.get("needs_R0"):
            for variant, order in ORDERS.items():
                moved = prepare(BY_NAME[name].ranker(), jr.Responses(VARIANTS[variant]), R0[order], {})
                found[variant] = jax.tree.map(np.asarray, _single(moved, stats[variant]))
        return found


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


def check_labels(name: str) -> int:
    f, made = batch(name, "float64"), 0
    for plain, moved in (("graded", "permuted"), ("missing", "missing_permuted"), ("twins", "twins_permuted")):
        assert same(f[moved], f[plain], PERMUTATION), (plain, f[moved].scores, f[plain].scores[PERMUTATION])
        made += ok(f[plain])
    return made


def check_trial_order(name: str) -> int:
    f = batch(name, "float64")
    assert same(f["trials_reordered"], f["graded"]), (f["trials_reordered"].scores, f["graded"].scores)
    return ok(f["graded"])


def check_question_order(name: str) -> int:
    f = batch(name, "float64")
    assert same(f["questions_reordered"], f["graded"]), (f["questions_reordered"].scores, f["graded"].scores)
    return ok(f["graded"])


def check_replicate(name: str) -> int:
    """Weights give the fit of the gathered data, and weights of one give the full fit."""
    ranker, f, made = ranker_for(name, "graded"), batch(name, "float64"), 0
    with jax.enable_x64(True):
        trials = jnp.asarray(np.bincount(DRAWS, minlength=N_TRIALS).astype(float))
        questions = jnp.asarray(np.bincount(QUESTION_DRAWS, minlength=N_QUESTIONS).astype(float))
        for source, expected, weights in (
            ("graded", "gathered", Weights(trials)),
            ("missing", "gathered_missing", Weights(trials)),
            ("graded", "gathered_questions", Weights(None, questions)),
            ("graded", "graded", Weights(jnp.ones(N_TRIALS), jnp.ones(N_QUESTIONS))),
        ):
            rows = ranker.statistic.rows(jr.Responses(VARIANTS[source]), unit_of(weights))
            fit = _single(ranker, ranker.statistic.reduce(rows, weights))
            assert same(fit, f[expected]), (expected, fit.scores, f[expected].scores)
            made += ok(fit)
    return made


def check_tripled(name: str) -> int:
    """Every trial counted three times leaves the order as it is: ranks come from shares, not from numbers of trials."""
    ranker, f = ranker_for(name, "graded"), batch(name, "float64")["graded"]
    with jax.enable_x64(True):
        rows = ranker.statistic.rows(jr.Responses(SAME_SHAPE["graded"]), unit_of(THREE_TIMES))
        fit = _single(ranker, ranker.statistic.reduce(rows, THREE_TIMES))
    assert int(fit.status) == int(f.status) and np.array_equal(ranks(fit), ranks(f)), (fit.scores, f.scores)
    return ok(fit)


def check_one_trial(name: str) -> int:
    """The methods that order single trials as the mean does, however they read them (arXiv 2603.10960, table 18)."""
    ranker, made = ranker_for(name, "graded"), 0
    for data in (SAME_SHAPE["graded"], *ONE_TRIAL):
        with jax.enable_x64(True):
            rows = ranker.statistic.rows(jr.Responses(data), unit_of(FIRST))
            fit = _single(ranker, ranker.statistic.reduce(rows, FIRST))
        totals = np.asarray(rank_scores(data[:, :, 0].sum(axis=1)))
        assert ok(fit) and np.array_equal(ranks(fit), totals), (fit.scores, data[:, :, 0].sum(axis=1))
        made += 1
    return made


def check_vmap_is_loop(name: str) -> int:
    ranker, f, made = ranker_for(name, "graded"), batch(name, "float64"), 0
    with jax.enable_x64(True):
        for problem in ("graded", "missing", "separated"):
            fit = _single(ranker, ranker.statistic.of(jr.Responses(VARIANTS[problem])))
            assert same(fit, f[problem]), (problem, fit.scores, f[problem].scores)
            made += ok(fit)
    return made


def check_precision(name: str) -> int:
    narrow, wide, made = batch(name, "float32"), batch(name, "float64"), 0
    for problem in ("graded", "missing", "twins"):
        if ok(wide[problem]) and ok(narrow[problem]):
            scale = 1 + np.max(np.abs(wide[problem].scores))
            difference = np.max(np.abs(narrow[problem].scores - wide[problem].scores))
            assert difference <= 1e-3 * scale, (problem, difference)
            made += 1
        # in float32 a method may say that it did not get there; it may claim nothing that float64 does not
        assert int(narrow[problem].status) in (int(wide[problem].status), Status.MAX_STEPS), problem
    return made


def check_graded(name: str) -> int:
    """Ordinary outcomes, on which every model wins and loses, are fitted and tell models apart."""
    for dtype in ("float64", "float32"):
        fit = batch(name, dtype)["graded"]
        assert ok(fit), (dtype, Status(int(fit.status)))
        assert np.all(np.isfinite(fit.scores)), (dtype, fit.scores)
        assert len(set(ranks(fit).tolist())) > 1, (dtype, fit.scores)
    return 2


def check_leader(name: str) -> int:
    """A model that is better than every other in every cell is first, alone."""
    made = 0
    for dtype in ("float64", "float32"):
        fit = batch(name, dtype)["leader"]
        if ok(fit):
            r = ranks(fit)
            assert r[LEADER] == 1 and np.sum(r == 1) == 1, (dtype, r)
            made += 1
    return made


def check_twins(name: str) -> int:
    made = 0
    for dtype in ("float64", "float32"):
        fit = batch(name, dtype)["twins"]
        if ok(fit):
            r = ranks(fit)
            assert r[1] == r[3], (dtype, fit.scores)
            made += 1
    return made


def check_all_tied(name: str) -> int:
    f, made = batch(name, "float64"), 0
    in_order = "question_order" in BY_NAME[name].exempt  # the cycle ties only where the order of questions is nothing
    for problem in ("ones", "zeros", "tied", *(() if in_order else ("cycle",))):
        if ok(f[problem]):
            assert np.all(ranks(f[problem]) == 1), (problem, f[problem].scores)
            made += 1
    return made


def check_monotone(name: str) -> int:
    """Turning a wrong answer right never lowers that model, and turning two thirds of them right raises the last."""
    f, made = batch(name, "float64"), 0
    before = ranks(f["graded"])
    for k, (i, *_) in enumerate(FLIPS):
        if ok(f[f"flip{k}"]) and ok(f["graded"]):
            assert ranks(f[f"flip{k}"])[i] <= before[i], (k, i, before, ranks(f[f"flip{k}"]))
            made += 1
    if ok(f["lifted"]) and ok(f["graded"]):
        assert ranks(f["lifted"])[LIFTED] < before[LIFTED], (before, ranks(f["lifted"]))
        made += 1
    return made


def _sound(problem: str, fit: Fit) -> int:
    status = Status(int(fit.status))
    if ok(fit):
        assert np.all(np.isfinite(fit.scores)), (problem, status, fit.scores)
    assert float(fit.resolution) >= 0 or not ok(fit), problem
    return ok(fit)


def check_edges(name: str) -> int:
    made = 0
    for dtype in ("float64", "float32"):
        for problem, fit in batch(name, dtype).items():
            made += _sound(problem, fit)
            assert fit.scores.dtype == np.dtype(dtype), (problem, fit.scores.dtype)
    return made


def check_other_shapes(name: str) -> int:
    return _check_shapes(name, OTHER_SHAPES)


def _check_shapes(name: str, problems: dict[str, np.ndarray]) -> int:
    """Fits that ended well, and refusals by name."""
    made = 0
    for problem, R in problems.items():
        ranker = ranker_for(name, problem)
        if ranker is None:
            made += 1
            continue
        with jax.enable_x64(True):
            fit = _single(ranker, ranker.statistic.of(jr.Responses(R)))
            made += _sound(problem, jax.tree.map(np.asarray, fit))
    return made


def fit_of(name: str, data) -> Fit | None:
    """The fit of data of any kind; None where the method refuses the kind by name."""
    with jax.enable_x64(True):
        try:
            ranker = prepare(BY_NAME[name].ranker(), data, prior_of(name, data), {})
            stat = read_statistic(ranker, data)
        except UnsupportedDataError:
            return None
        return jax.tree.map(np.asarray, _single(ranker, stat))


def check_levels(name: str) -> int:
    """Graded outcomes are read, and levels on a scale of 100 give the same ranks; or they are refused."""
    one, hundred = (fit_of(name, jr.Responses(np.take(x, grades()), levels=x)) for x in ((0, 0.3, 1), (0, 30, 100)))
    assert (one is None) == (hundred is None)
    if one is None or hundred is None:
        assert BY_NAME[name].ranker().binary, "only methods for outcomes 0 and 1 may refuse graded ones"
        return 1
    assert ok(one) and np.all(np.isfinite(one.scores)), one
    assert np.array_equal(ranks(one), ranks(hundred)), (one.scores, hundred.scores)
    assert len(set(ranks(one).tolist())) > 1, one.scores
    return 1


def check_battles(name: str) -> int:
    """Battles and ordered lists: the model that wins nearly all is first, alone, and none is below the one that loses
    them."""
    for data in (battles(), lists()):
        fit = fit_of(name, data)
        if fit is not None:
            assert ok(fit) and np.all(np.isfinite(fit.scores)), (data, fit)
            r = ranks(fit)
            assert r[0] == 1 and np.sum(r == 1) == 1, (data, fit.scores)
            assert r[-1] == r.max(), (data, fit.scores)
    return 2


def check_counts(name: str) -> int:
    """Results known by their counts alone give the statistic of the tensor, or are refused."""
    ranker, whole = ranker_for(name, "graded"), jr.Responses(SAME_SHAPE["missing"])
    counted = jr.Responses.from_counts(whole.counts[..., 1], whole.trials)
    statistic, made = ranker.statistic, 0
    for pairing in ("aligned", "all"):
        try:
            got = statistic.of(counted, pairing=pairing)
        except UnsupportedDataError:
            continue
        chex.assert_trees_all_close(got, statistic.of(whole, pairing=pairing), rtol=1e-6)
        made += 1
    assert made or statistic in (Events, Sequence, Samples), "only methods that read single trials may refuse counts"
    return max(made, 1)


def check_one_trace(name: str) -> int:
    """New data of the same shape, gaps included, do not compile again."""
    ranker = ranker_for(name, "graded")
    key = _key(ranker)
    traced = jax.jit(chex.assert_max_traces(lambda s: ranker(s, key=key), n=1))
    chex.clear_trace_counter()
    for R in (graded(31), missing()):
        traced.lower(ranker.statistic.of(jr.Responses(R)))
    return 2


def check_documented(name: str) -> int:
    entry = BY_NAME[name] if name in BY_NAME else jr.entries()[name]  # of ordered lists
    doc = entry.make.__doc__ or ""
    absent = [s for s in SECTIONS if s not in doc]
    assert not absent, f"the docstring of {entry.make.__name__} lacks {absent}"
    assert re.search(rf"@\w+\{{{re.escape(entry.source)},", BIB), f"{entry.source} is not in references.bib"
    return 1


CHECKS: dict[str, Callable[[str], int]] = {
    "labels": check_labels,
    "trial_order": check_trial_order,
    "question_order": check_question_order,
    "replicate": check_replicate,
    "tripled": check_tripled,
    "one_trial": check_one_trial,
    "vmap_is_loop": check_vmap_is_loop,
    "precision": check_precision,
    "graded": check_graded,
    "leader": check_leader,
    "twins": check_twins,
    "all_tied": check_all_tied,
    "monotone": check_monotone,
    "edges": check_edges,
    "other_shapes": check_other_shapes,
    "levels": check_levels,
    "battles": check_battles,
    "counts": check_counts,
    "one_trace": check_one_trace,
    "documented": check_documented,
}


def not_applicable(check: str, name: str) -> str:
    """Why a check has no meaning for a method; an empty string where it has."""
    ranker = BY_NAME[name].ranker()
    if check == "one_trial" and name not in TIE_CLASS:
        return "need not order one trial as the mean does"
    if check in ("replicate", "tripled") and ranker.statistic is Sequence:
        return "an ordered stream is gathered, not weighted"
    if ranker.host and check == "vmap_is_loop":
        return "runs on the host, one statistic at a time"
    if ranker.host and check == "one_trace":
        return "is not compiled"
    return ""


def outcome_of(check: str, name: str) -> tuple[str, str, int]:
    """("run" | "failed" | "vacuous", what was wrong, comparisons made)."""
    try:
        made = CHECKS[check](name)
    except AssertionError as error:
        return "failed", str(error), 0
    return ("run", "", made) if made else ("vacuous", "no comparison was made: no fit ended well", 0)


@pytest.mark.parametrize("entry", entry_params())
def test_conforms(entry, request):
    """All checks of one method in one test: its compilations are shared, and the report names every broken promise.

    What became of each check is recorded as (identifier, check, outcome, reason, comparisons) for the summary that
    conftest prints. Interface 5: dead methods passed, since checks made no comparison.
    """
    unknown = set(entry.exempt) - set(CHECKS)
    assert not unknown, f"{entry.name} is excused from checks that do not exist: {unknown}"
    broken = []
    for check in CHECKS:
        if why := not_applicable(check, entry.name):
            assert check not in entry.exempt, f"{check} does not apply ({why}): an excuse is not needed"
            outcome, problem, made = "not applicable", why, 0
        else:
            outcome, problem, made = outcome_of(check, entry.name)
        if excuse := entry.exempt.get(check):
            if outcome == "run":
                broken.append(f"{check}: excused ({excuse}), but it holds")
            outcome, problem = "exempt", excuse
        elif outcome in ("failed", "vacuous"):
            broken.append(f"{check}: {problem}")
        request.node.user_properties.append(("conformance", (entry.name, check, outcome, problem, made)))
    assert not broken, f"{entry.name}\n" + "\n".join(broken)


@pytest.mark.parametrize("entry", dead.ENTRIES, ids=lambda e: e.name)
def test_dead_methods_fail(entry, request):
    """Interface 5: rankers that always fail, say nothing, read the wrong number or turn the order do not conform."""
    found = {check: outcome_of(check, entry.name)[0] for check in CHECKS if check != "documented"}
    caught = [check for check, outcome in found.items() if outcome != "run"]
    request.node.user_properties.append(("dead", (entry.name, ", ".join(caught))))
    assert set(dead.CAUGHT_BY[entry.name]) <= set(caught), caught


@pytest.mark.slow
@pytest.mark.parametrize("entry", entry_params())
def test_odd_shapes(entry, request):
    made = _check_shapes(entry.name, SLOW_SHAPES)
    refused = ", ".join(problem for problem in SLOW_SHAPES if ranker_for(entry.name, problem) is None)
    outcome = ("not applicable", f"refuses {refused} by name") if refused else ("run", "")
    request.node.user_properties.append(("conformance", (entry.name, "odd_shapes", *outcome, made)))


def test_ties_and_ranks_of_the_suite_itself():
    """The helpers tell apart what they should."""
    a = Fit(np.array([2.0, 1.0]), np.int32(0), np.int32(0), np.float64(1e-9), {})
    b = Fit(np.array([1.0, 2.0]), np.int32(0), np.int32(0), np.float64(1e-9), {})
    assert same(a, a) and not same(a, b) and same(a, b, np.array([1, 0]))
    assert np.array_equal(tie_heads(np.array([1.0, 1.0, 0.0])), [1.0, 1.0, 0.0])
