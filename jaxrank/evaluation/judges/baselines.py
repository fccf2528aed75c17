"""What is usually done with judges' scores: means, majorities, Dawid-Skene, prediction-powered means."""

from __future__ import annotations

import functools
import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int

from jaxrank.data.device import put
from jaxrank.errors import DataError, JaxrankWarning
from jaxrank.evaluation.judges.draws import CandidateDraws
from jaxrank.evaluation.judges.patterns import distinct_answers
from jaxrank.evaluation.judges.perfect import predictions, seed_numbers
from jaxrank.evaluation.judges.scores import checked_scores
from jaxrank.models.options import check_count, check_number
from jaxrank.numerics.precision import einsum
from jaxrank.numerics.seeds import check_seed

_BATCH = 64


def each_judge(scores: Any) -> Float[np.ndarray, "judges candidates"]:
    """Mean score that each judge gave each candidate, (J, K); NaN where it gave none. **scores** (J, K, Q) as in
    `infer`."""
    values, _ = checked_scores(scores)
    seen = values >= 0
    with np.errstate(invalid="ignore"):
        return np.where(seen, values, 0).sum(-1) / seen.sum(-1)


def plug_in_scores(scores: Any) -> Float[np.ndarray, " candidates"]:
    """Mean over the judges of their mean scores, (K,): every judge taken at its word. **scores** (J, K, Q) as in
    `infer`."""
    return np.nanmean(each_judge(scores), axis=0)


def majority_scores(scores: Any) -> Float[np.ndarray, " candidates"]:
    """Mean over questions of the median level that the judges gave, (K,); of two middle levels, their mean. **scores**
    (J, K, Q) as in `infer`."""
    values, _ = checked_scores(scores)
    known = (values >= 0).any(0)
    median = np.full(known.shape, np.nan)
    median[known] = np.nanmedian(np.where(values >= 0, values, np.nan)[:, known], axis=0)
    return np.nanmean(median, axis=1)


class DawidSkene(NamedTuple):
    """Maximum-likelihood levels and judges: ``scores`` (K,), ``pi`` (K, M) prevalence of each level, ``theta`` (J, M,
    M) confusion matrices, ``levels`` (K, Q, M) probabilities of the true levels, ``steps`` of EM, ``converged``."""

    scores: np.ndarray
    pi: np.ndarray
    theta: np.ndarray
    levels: np.ndarray
    steps: int
    converged: bool


def dawid_skene(scores: Any, n_levels: int | None = None, max_steps: int = 2000, pseudo: float = 0.01) -> DawidSkene:
    """Dawid-Skene by EM [dawid1979]: true levels as missing data, one confusion matrix a judge, one prevalence a
    candidate. Starts from the shares of the judges' votes.

    Fewer than three judges do not identify it for one candidate, and two only through candidates of different
    prevalence: then a warning is given, for the answer may be where EM started.

    **scores** (J, K, Q), **n_levels**: as in `infer`. **max_steps**: of EM, 1 or more, which stops when no probability
    of a level moves by more than eps^(2/3). **pseudo**, 0 or more: counts added to every entry of the confusion
    matrices, so that a level that a judge never gave stays possible; 0 is the published estimate.
    """
    values, m = checked_scores(scores, n_levels)
    check_count("max_steps", max_steps)
    check_number("pseudo", pseudo, 0)
    if len(values) < 3:
        warnings.warn(
            f"a confusion matrix for each judge needs three judges, not {len(values)}: what the scores leave open is "
            "filled by where EM started",
            JaxrankWarning,
            stacklevel=2,
        )
    s = jnp.asarray(values)
    every = jnp.ones(values.shape[1:], jnp.zeros(()).dtype)
    added = jnp.asarray(pseudo, every.dtype)
    levels, pi, theta, steps, change = _em(s, every, _votes(s, m), added, max_steps)
    pi = np.asarray(pi)
    return DawidSkene(
        pi @ np.arange(m),
        pi,
        np.asarray(theta),
        np.asarray(levels),
        int(steps),
        bool(change <= _tolerance(levels.dtype)),
    )


def dawid_skene_draws(
    scores: Any,
    n_levels: int | None = None,
    max_steps: int = 2000,
    pseudo: float = 0.01,
    n_samples: int = 1000,
    seed: int = 0,
) -> CandidateDraws:
    """Dawid-Skene scores of all candidates with the questions drawn again, for intervals of scores and ranks.

    Questions get Dirichlet(1, ..., 1) weights, the same for all judges and candidates, which saw the same questions; EM
    of every draw starts at the fit of all of them. **scores** (J, K, Q), three judges or more: with two a draw is where
    EM started (`DataError`). **n_levels**, **pseudo**: as in `dawid_skene`. **max_steps**: of EM, by draw; a
    `JaxrankWarning` says how many draws needed more. **n_samples**: 4 or more. The theory
    page of judges says how often the intervals hold the true ranks.
    """
    values, m = checked_scores(scores, n_levels)
    check_count("max_steps", max_steps)
    check_number("pseudo", pseudo, 0)
    check_count("n_samples", n_samples, 4)
    check_seed(seed)
    if len(values) < 3:
        raise DataError(
            f"draws of Dawid-Skene need three judges, not {len(values)}: two leave open what EM would fill; "
            "use jaxrank.judges.infer"
        )
    rng = np.random.default_rng(seed_numbers(seed))
    answers, places = distinct_answers(values)
    weights = rng.dirichlet(np.ones(values.shape[2]), n_samples) * values.shape[2]
    counts = np.stack([weights @ np.eye(answers.shape[2])[row] for row in places], axis=1)  # (draws, K, U)
    pi, change = _draws(
        jnp.asarray(answers), put(counts, jnp.zeros(()).dtype), jnp.asarray(pseudo, jnp.zeros(()).dtype), m, max_steps
    )
    late = int(np.sum(np.asarray(change) > _tolerance(pi.dtype)))
    if late:
        warnings.warn(
            f"EM did not end within {max_steps} steps in {late} of {n_samples} draws; raise max_steps",
            JaxrankWarning,
            stacklevel=2,
        )
    return CandidateDraws(np.asarray(pi, float) @ np.arange(m))


@functools.partial(jax.jit, static_argnums=(3, 4))
def _draws(s: Array, weights: Array, pseudo: Array, m: int, max_steps: int) -> tuple[Array, Array]:
    """Prevalences (draws, K, M) for every draw's weights (draws, K, U), and the last change of each."""
    levels, *_ = _em(s, jnp.mean(weights, axis=0), _votes(s, m), pseudo, max_steps)

    def one(weight: Array) -> tuple[Array, Array]:
        _, pi, _, _, change = _em(s, weight, levels, pseudo, max_steps)
        return pi, change

    return jax.lax.map(one, weights, batch_size=_BATCH)


def _votes(s: Int[Array, "judges candidates questions"], m: int) -> Array:
    """Shares of the votes for each level, (K, Q, M); 0 where nobody voted."""
    votes = jnp.sum(jax.nn.one_hot(s, m, dtype=jnp.zeros(()).dtype), axis=0)
    return votes / jnp.maximum(jnp.sum(votes, -1, keepdims=True), 1)


def _em(
    s: Int[Array, "judges candidates questions"], weight: Array, start: Array, pseudo: Array, max_steps: int
) -> tuple[Array, ...]:
    """Levels (K, Q, M), prevalence, confusion, steps and last change; **weight** (K, Q) of each question, **start**
    the levels to begin with."""
    hot = jax.nn.one_hot(s, start.shape[-1], dtype=start.dtype)  # zero where missing
    seen = jnp.any(s >= 0, axis=0)

    def maximise(levels: Array) -> tuple[Array, Array]:
        held = levels * weight[..., None]
        pi = jnp.sum(held, axis=1) / jnp.maximum(jnp.sum(held, axis=(1, 2)), 1e-30)[:, None]
        joint = einsum("kqt,jkqs->jts", held, hot) + pseudo
        return pi, joint / jnp.maximum(jnp.sum(joint, axis=-1, keepdims=True), 1e-30)

    def expect(pi: Array, theta: Array) -> Array:
        evidence = einsum("jkqs,jts->kqt", hot, jnp.log(jnp.maximum(theta, 1e-30)))
        log = evidence + jnp.log(jnp.maximum(pi, 1e-30))[:, None]
        return jnp.where(seen[..., None], jnp.exp(log - logsumexp(log, axis=-1, keepdims=True)), 0)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        levels, _, n = state
        new = expect(*maximise(levels))
        return new, jnp.max(jnp.abs(new - levels)), n + 1

    going = lambda state: (state[1] > _tolerance(start.dtype)) & (state[2] < max_steps)
    first = (start, jnp.asarray(jnp.inf, start.dtype), jnp.asarray(0))
    levels, change, n = jax.lax.while_loop(going, step, first)
    return levels, *maximise(levels), n, change


def _tolerance(dtype: Any) -> float:
    return float(jnp.finfo(dtype).eps) ** (2 / 3)


def prediction_powered(
    scores: Any, gold: Any, judge: int | None = None
) -> tuple[Float[np.ndarray, " candidates"], Float[np.ndarray, " candidates"]]:
    """Prediction-powered mean score of every candidate and its standard error [angelopoulos2023].

    The judges' mean over all questions plus the mean error of the judges on the labelled ones: unbiased whatever the
    judges do. **gold** (K, Q): true levels, -1 where unlabelled; at least two labels a candidate. **judge**: one judge
    instead of the mean of all.
    """
    predicted, truth = predictions(scores, gold, judge)
    labelled, free = (truth >= 0) & ~np.isnan(predicted), (truth < 0) & ~np.isnan(predicted)
    mean = lambda x, where: np.where(where, x, 0).sum(1) / where.sum(1)
    spread = lambda x, where: mean((x - mean(x, where)[:, None]) ** 2, where) / (where.sum(1) - 1)
    with np.errstate(invalid="ignore"):
        error = truth - predicted
        score = mean(predicted, free) + mean(error, labelled)
        return score, np.sqrt(spread(predicted, free) + spread(error, labelled))
