"""Every argument of every public call refuses what it cannot mean, by a sentence and never by a traceback.

Interface 21 and 15; what is taken is run."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.evaluation.judges.inference import read_data
from jaxrank.studies.fit import as_key
from tests.wrong import MORE, WRONG

R = np.random.default_rng(0).integers(0, 2, (3, 4, 4))
ALSO = {"seed": ("-1", "2**64", "True"), "grid": ("empty", "0"), "progress": ("0", "-1", "a list", "empty")}
"""Refused of these arguments, which others may mean."""
ALWAYS = ("a word", "2.5", "NaN", "a huge integer", "an object", "complex", "bytes", "subsample(abc)")  # refused
STUDY = {"n_replicates": 4, "seed": 0, "progress": False}
COMMON = ("seed", "pairing", "dtype")


def _fitted():
    return jr.fit(R, "avg")


def _post(**k):
    return jr.posterior(R, **{"model": "bayes", "n_samples": 10, "n_chains": 1, **k})


CALLS = {
    "fit": (lambda **k: jr.fit(R, **{"method": "avg", **k}), ("method", "R0", "on_failure", *COMMON)),
    "bootstrap": (
        lambda **k: jr.bootstrap(R, **{"method": "bayes", **STUDY, **k}),
        ("method", "R0", "n_replicates", "scheme", "keep", "chunk_size", "progress", *COMMON),
    ),
    "subsample": (
        lambda **k: jr.subsample(R, **{"method": "avg", "n": 2, **STUDY, **k}),
        ("n", "n_replicates", "seed", "dtype", "chunk_size", "progress"),
    ),
    "convergence": (
        lambda **k: jr.convergence(R, **{"methods": ["avg"], **STUDY, **k}),
        ("methods", "n_replicates", "reference", "scheme", "tau", "grid", "chunk_size", "progress", *COMMON),
    ),
    "model_pools": (
        lambda **k: jr.model_pools(R, **{"methods": ["avg"], "size": 2, **STUDY, **k}),
        ("methods", "size", "n_replicates", "chunk_size", "progress", *COMMON),
    ),
    "fit_all": (lambda **k: jr.fit_all(R, **{"methods": ["avg"], **k}), ("progress", *COMMON)),
    "posterior": (
        _post,
        ("model", "n_chains", "n_warmup", "n_samples", "sampler", "target_accept", "n_steps", "progress", *COMMON),
    ),
    "posterior by": (lambda **k: jr.posterior(VOTES, n_chains=1, n_warmup=8, n_samples=8, **k), ("by",)),
    "interval": (lambda **k: _fitted().interval(**k), ("level",)),
    "summary": (lambda **k: _fitted().summary(**k), ("level", "format")),
    "tiers": (lambda **k: jr.tiers(_fitted(), **k), ("level",)),
    "rank_scores": (lambda **k: jr.rank_scores([1.0, 2.0, 3.0], **k), ("method",)),
    "covariance": (lambda **k: jr.fit(R, "bradley_terry_map").covariance(**k), ("kind",)),
}


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")  # ten draws do not mix where a default is taken
@pytest.mark.parametrize("call", CALLS)
def test_no_argument_ends_in_a_traceback(call, record_property):
    """Interface 21: no raw exception; seed=-1, grid=[] and progress="no" were taken."""
    run, arguments = CALLS[call]
    n_refused = 0
    for argument in arguments:
        for kind, value in WRONG.items():
            try:
                run(**{argument: value})
            except jr.JaxrankError as error:
                n_refused += 1
                assert "\n" not in str(error)  # noqa: PT017
            else:
                assert kind not in (*ALWAYS, *ALSO.get(argument, ())), (argument, kind)
    record_property("refused", f"{n_refused} of {len(arguments) * len(WRONG)}")


SCORES, OTHER = [1.0, 2.0, 3.0], [1.0, 3.0, 2.0]
FRAME = {"model": ["a", "a", "b", "b"], "question": ["p", "q", "p", "q"], "score": [1, 0, 1, 1]}
OWN = np.eye(3, 4, dtype=bool)
LISTS, JUDGED = [["a", "b"], ["b", "a"]], np.random.default_rng(1).integers(0, 3, (3, 4, 10))

VOTES = jr.Comparisons(
    ["x", "y", "x"], ["y", "x", "y"], [1, 1, 0.5], columns={"time": [1, 2, 3], "category": ["p"] * 3}
)


@functools.cache
def _voted():
    return jr.fit(VOTES, "bradley_terry_map")


evaluation = jr.evaluation
FUNCTIONS = {
    **{
        f.__name__: (f, {"a": SCORES, "b": OTHER, **more}, ("a", "b", *more))
        for f, more in ((jr.kendall_tau, {}), (jr.spearman, {}), (jr.weighted_tau, {}), (jr.top_k_overlap, {"k": 2}))
    },
    "ranking_number": (jr.ranking_number, {"ranks": [1, 2]}, ("ranks", "ties")),
    "ranking_of": (jr.ranking_of, {"number": 1, "n": 2}, ("number", "n", "ties")),
    "n_rankings": (jr.n_rankings, {"n": 2}, ("n", "ties")),
    "compare_rankings": (jr.compare_rankings, {"a": [1, 2], "b": [2, 1]}, ("a", "b")),
    "rank_scores": (jr.rank_scores, {"scores": SCORES}, ("scores", "method", "resolution")),
    "tiers": (jr.tiers, {}, ("source",)),
    "by": (jr.by, {"data": VOTES, "column": "category", "method": "bradley_terry_map"}, ("data", "column", "method")),
    "ratings_over_time": (
        jr.ratings_over_time,
        {"data": VOTES, "drift": 0.1},
        ("data", "period", "drift", "start_var", "ties", "time"),
    ),
    "ratings": (lambda **k: jr.ratings(**{"result": _voted(), **k}), {}, ("result", "anchor", "level")),
    "coefficients": (jr.coefficients, {}, ("result",)),
    "update": (lambda **k: jr.update(**{"result": _voted(), "battles": VOTES, **k}), {}, ("result", "battles")),
    "style": (jr.evaluation.style, {}, ("text",)),
    "concat": (jr.concat, {}, ("parts",)),
    "from_frame": (jr.from_frame, {"frame": FRAME}, ("frame", "model", "levels", "threshold", "ties", "bothbad")),
    "load": (jr.load, {}, ("path",)),
    "load_posterior": (jr.load_posterior, {}, ("path",)),
    "datasets.load": (jr.datasets.load, {"name": "inspect_popularity"}, ("name", "graded")),
    "Responses": (jr.Responses, {"R": R}, ("R", "models", "questions", "levels", "mask", "notes")),
    "from_counts": (jr.Responses.from_counts, {"successes": [[1]], "trials": 2}, ("successes", "trials", "notes")),
    "Comparisons": (
        jr.Comparisons,
        {"a": ["x"], "b": ["y"], "outcome": [1.0]},
        ("a", "b", "outcome", "count", "models", "notes"),
    ),
    "from_matrix": (jr.Comparisons.from_matrix, {"wins": [[0, 2], [1, 0]]}, ("wins", "ties", "models")),
    "Rankings": (jr.Rankings, {"orders": LISTS}, ("orders", "models", "count", "unlisted", "notes")),
    "from_places": (jr.Rankings.from_places, {"places": [[1, 2]]}, ("places", "models", "count", "notes")),
    "bayes": (evaluation.bayes, {"R": R}, ("R", "w", "R0", "level", "seed", "dtype")),
    "avg": (evaluation.avg, {"R": R}, ("R", "w", "level", "dtype")),
    "pass_at_k": (evaluation.pass_at_k, {"R": R, "k": 2}, ("R", "k", "level", "method", "n_draws")),
    "geom_at_k": (evaluation.geom_at_k, {"R": R, "k": 2}, ("R", "k", "pass_power", "level", "method")),
    "geo_spectrum_at_k": (evaluation.geo_spectrum_at_k, {"R": R, "k": 2}, ("k", "lam", "w", "method")),
    "max_at_k": (evaluation.max_at_k, {"R": R, "k": 2}, ("R", "k", "w", "level", "method")),
    "threshold_spectrum_at_k": (evaluation.threshold_spectrum_at_k, {"R": R, "w": [0.5, 0.5]}, ("R", "w", "level")),
    "tail_pass": (evaluation.tail_pass, {"R": R, "v": [0.5, 0.5]}, ("R", "v", "w", "level", "method")),
    "tail_pass_profile": (evaluation.tail_pass_profile, {"R": R, "k": 2}, ("R", "k", "w", "thresholds")),
    "clustered_error": (evaluation.clustered_error, {"R": R}, ("R", "w")),
    "trials_needed": (evaluation.trials_needed, {"R": R, "pair": (0, 1)}, ("R", "pair", "z", "w", "R0", "most")),
    "next_trials": (evaluation.next_trials, {"R": R, "budget": 8}, ("R", "budget", "top", "w", "R0")),
    "greedy_alignment": (evaluation.greedy_alignment, {"R": R, "R0": R[:, :, :1]}, ("R", "R0", "warn_below")),
    "rank_with_intervals": (
        evaluation.rank_with_intervals,
        {"mu": SCORES, "sigma": OTHER},
        ("mu", "sigma", "level", "ties", "method"),
    ),
    "ranking_confidence": (evaluation.ranking_confidence, {"mu": SCORES, "sigma": OTHER}, ("mu", "sigma")),
    "separation": (evaluation.separation, {"mu": SCORES, "sigma": OTHER}, ("mu", "sigma")),
    "stopping_rule": (
        evaluation.stopping_rule,
        {"mu": SCORES, "sigma": OTHER, "looks": 1},
        ("mu", "sigma", "looks", "level"),
    ),
    "judges.level_counts": (jr.judges.level_counts, {"scores": JUDGED}, ("scores", "n_levels")),
    "judges.majority_scores": (jr.judges.majority_scores, {"scores": JUDGED}, ("scores",)),
    "judges.plug_in_scores": (jr.judges.plug_in_scores, {"scores": JUDGED}, ("scores",)),
    "judges.each_judge": (jr.judges.each_judge, {"scores": JUDGED}, ("scores",)),
    "judges.split_own": (jr.judges.split_own, {"scores": JUDGED, "own": OWN}, ("scores", "own", "how")),
    "judges.dawid_skene": (
        jr.judges.dawid_skene,
        {"scores": JUDGED},
        ("scores", "n_levels", "max_steps", "pseudo"),
    ),
    "judges.dawid_skene_draws": (
        jr.judges.dawid_skene_draws,
        {"scores": JUDGED, "n_samples": 4},
        ("scores", "n_levels", "max_steps", "pseudo", "n_samples", "seed"),
    ),
    "judges.prediction_powered": (
        jr.judges.prediction_powered,
        {"scores": JUDGED, "gold": np.where(np.arange(10) < 5, JUDGED[0], -1)},
        ("scores", "gold", "judge"),
    ),
    "judges.identifiability": (
        jr.judges.identifiability,
        {"judged": [[5, 1], [1, 5]], "n_starts": 1},
        ("judged", "values", "monotone", "margin", "n_starts", "seed", "level"),
    ),
    "judges.relative_volumes": (
        jr.judges.relative_volumes,
        {"theta": [[0.8, 0.2], [0.3, 0.7]], "point": [0.5, 0.5]},
        ("theta", "point"),
    ),
    "judges.JudgePrior": (jr.judges.JudgePrior, {"kind": "ladder"}, ("kind", "trust", "beta", "reach")),
    "judges.label_share": (jr.judges.label_share, {"gold": JUDGED[0], "share": 0.5}, ("gold", "share", "seed")),
    "judges.prediction_powered_draws": (
        jr.judges.prediction_powered_draws,
        {"scores": JUDGED, "gold": np.where(np.arange(10) < 5, JUDGED[0], -1)},
        ("scores", "gold", "judge", "n_samples", "seed"),
    ),
    # sampling takes seconds: what is right is not run, and of infer its data alone are read
    "judges.sensitivity": (
        jr.judges.sensitivity,
        {"scores": JUDGED, "priors": ["none"]},
        ("priors", "prior", "n_level"),
    ),
    "judges.read_data": (
        read_data,
        {"scores": JUDGED, "counts": None, "gold": None, "n_levels": None},
        ("scores", "gold", "n_levels"),
    ),
    "judges.read_data of counts": (
        read_data,
        {"scores": None, "gold": None, "n_levels": None},
        ("counts",),
    ),
    "scaling.adaptive_sampling": (
        jr.scaling.adaptive_sampling,
        {"evaluate": lambda sample, level: (1.0, 5.0), "cells": [(0, 0)]},
        ("evaluate", "cells", "trials", "tau", "m_min", "m_max"),
    ),
    "scaling.adaptive_sampling, answers": (
        lambda answer: jr.scaling.adaptive_sampling(lambda sample, level: answer, [(0, 0)], {}),
        {},
        ("answer",),
    ),
    "scaling.adaptive_sampling, trials": (
        lambda done: jr.scaling.adaptive_sampling(lambda sample, level: (1.0, 5.0), [(0, 0)], {(0, 0): done}),
        {},
        ("done",),
    ),
    "scaling.allocate": (jr.scaling.allocate, {"cv": [[1.0, 2.0]], "budget": 9}, ("cv", "budget", "m_min")),
    "scaling.noise": (jr.scaling.noise, {"correct": [1, 0], "tokens": [3, 4]}, ("correct", "tokens")),
    "scaling.replay": (
        jr.scaling.replay,
        {"correct": R, "tokens": R + 1, "m_max": 3},
        ("correct", "tokens", "tau", "m_min", "m_max"),
    ),
    **{
        f"scaling.{f.__name__}": (f, {"accuracy": R / 2, "tokens": R + 1}, ("accuracy", "tokens"))
        for f in (jr.scaling.arise, jr.scaling.arise_samples, jr.scaling.scaling_metric)
    },
    "scaling.falling_share": (jr.scaling.falling_share, {}, ("tokens",)),
    "scaling.evaluate_scaling": (
        jr.scaling.evaluate_scaling,
        {"correct": R[None], "tokens": R[None] + 1, "n_replicates": 2, "n_exchanges": 2},
        ("correct", "tokens", "models", "n_replicates", "n_exchanges", "seed", "resample", "common"),
    ),
    "scaling.run": (
        jr.scaling.run,
        {"evaluate": lambda sample, level: (1.0, 5.0), "n_samples": 1, "n_levels": 2},
        ("evaluate", "n_samples", "n_levels", "trials", "tau", "m_min", "m_max", "budget"),
    ),
    "scaling.from_trials": (jr.scaling.from_trials, {"trials": {(0, 0): [(1, 2)]}}, ("trials",)),
    **{
        f"scaling.{f.__name__}": (f, {"correct": R / 2, "tokens": R + 1}, ("correct", "tokens"))
        for f in (jr.scaling.cross_fit_samples, jr.scaling.noise_parts)
    },
    "scaling.transitions": (jr.scaling.transitions, {"accuracy": R / 2, "tokens": R + 1}, ("accuracy", "tokens")),
}


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_argument_of_a_function_ends_in_a_traceback(name, record_property):
    """Interface 21: kendall_tau of lists of unequal lengths, rank_scores("x"), trials_needed(pair=None), concat(None)
    and some 130 like them were errors of Python, NumPy or JAX, as were 710 of judges and scaling; level_counts of
    2**64 levels never ended."""
    call, fixed, arguments = FUNCTIONS[name]
    n_refused = 0
    for argument in arguments:
        for kind, value in MORE.items():
            try:
                call(**{**fixed, argument: value})
            except jr.JaxrankError as error:
                n_refused += 1
                assert "\n" not in str(error), (argument, kind)  # noqa: PT017
            except FileNotFoundError:
                assert argument == "path"
            except Exception as error:
                raise AssertionError(f"{name}({argument}): {kind}: {error!r}") from error
    assert n_refused > 0
    record_property("refused", f"{n_refused} of {len(arguments) * len(MORE)}")


@pytest.mark.parametrize("value", [-1, float("nan"), "x", None, 1j, [1, 2], 10**400])
def test_resolutions_are_numbers_of_zero_or_more(value):
    with pytest.raises(jr.errors.OptionError, match=r"^resolution="):
        jr.rank_scores([[1.0, 2.0], [2.0, 1.0]], resolution=value if value != [1, 2] else [[1, -2]])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_bits_of_a_seed_count_in_every_precision(dtype):
    """Interface 15: in float32 seeds beyond 32 bits lost their upper half."""
    study = {"n_replicates": 8, "scheme": "trials", "dtype": dtype}
    draws = [jr.bootstrap(R, "avg", seed=seed, **study).replicate_scores for seed in (5, 2**32 + 5, 5)]
    assert np.array_equal(draws[0], draws[2])
    assert not np.array_equal(draws[0], draws[1])
    by_number, by_key = (jr.fit(R, "thompson", seed=seed).scores for seed in (3, as_key(3)))
    assert np.array_equal(by_number, by_key)


def test_arguments_of_schemes_go_by_name():
    with pytest.raises(jr.errors.OptionError, match="does not fit"):
        jr.bootstrap(R, "avg", scheme="subsample(size=2)", **STUDY)
    assert (
        jr.bootstrap(R, "avg", scheme="subsample(n=2)", **STUDY).scheme
        == jr.bootstrap(R, "avg", scheme="subsample(2)", **STUDY).scheme
    )
