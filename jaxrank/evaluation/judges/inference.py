"""Posterior of candidates and judges together, by NUTS.

Candidate k has a distribution pi_k of true levels, judge j a confusion matrix theta_j. With scores question by question
a question of candidate k has one true level t ~ pi_k, and the judges score it independently given t, with
probabilities theta_j[t, .]. With counts alone, y_jk ~ Multinomial(n_jk, pi_k theta_j), judges independent: the judged
distribution of a candidate is the mixture of the judge's rows with barycentric weights pi_k [simplex2025].
"""

from __future__ import annotations

import functools
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.data.device import put
from jaxrank.errors import DataError, JaxrankWarning, OptionError, UnfinishedError
from jaxrank.evaluation.judges.draws import CandidateDraws
from jaxrank.evaluation.judges.patterns import Patterns, patterns_of
from jaxrank.evaluation.judges.perfect import perfect_draws
from jaxrank.evaluation.judges.priors import FAMILY, JudgePrior, find_prior
from jaxrank.evaluation.judges.scores import checked_scores, level_counts, values_of
from jaxrank.models.options import check_choice, check_count, check_number, numbers, shown
from jaxrank.numerics.precision import einsum, precision
from jaxrank.numerics.sampling import Spread, devices_for
from jaxrank.numerics.seeds import as_key, check_seed
from jaxrank.resampling.checkpoint import folder_of
from jaxrank.resampling.sharing import Share
from jaxrank.resampling.units import in_units, settings


@dataclass(frozen=True, eq=False)
class JudgePosterior(CandidateDraws):
    """Posterior draws of the scores of K candidates; NumPy arrays.

    **draws** (S, K): expected true scores sum_m values_m pi_km. **pi** (K, M), **theta** (J, M, M): posterior means.
    **r_hat**, **ess** (K,): of the scores, over chains; NaN where draws do not vary, or are independent ("perfect").
    **prior**: its name. **expected_accuracy** (M,): prior mean of a judge's share of right scores at every true level.
    **likelihood**: "joint" or "counts".
    """

    pi: np.ndarray
    theta: np.ndarray
    r_hat: np.ndarray
    ess: np.ndarray
    prior: str
    expected_accuracy: np.ndarray | None = None
    likelihood: str = "joint"


def infer(
    scores: Any = None,
    *,
    counts: Any = None,
    gold: Any = None,
    prior: str | JudgePrior = "moderate",
    likelihood: str = "joint",
    spread: float | str = 0.0,
    n_levels: int | None = None,
    values: Sequence[float] | None = None,
    n_samples: int = 1000,
    n_warmup: int = 1000,
    n_chains: int = 4,
    seed: int = 0,
    dtype: str | None = "float64",
    checkpoint: str | os.PathLike[str] | None = None,
    shard: str | Share | None = None,
) -> JudgePosterior:
    """Posterior of all candidates and judges [simplex2025].

    **scores**: whole numbers (J, K, Q), judges, candidates, questions: levels 0..M-1, -1 or NaN missing; or **counts**
    (J, K, M) of levels, where which question got which score is unknown.
    **gold**: true levels (K, Q) of some questions, -1 elsewhere (with ``scores`` only).
    **prior**: trust in the judges: free, weak, moderate, strong, perfect, one of `PRIORS`, or a `JudgePrior`. "perfect"
    takes judges at their word: the mean over judges of the mean of their scores (of the gold levels, where there are
    any), questions drawn again with Dirichlet(1, ..., 1) weights shared by judges and candidates.
    **likelihood**: "joint", question by question: judges who agree vouch for each other; "counts", the published one,
    which reads how often each judge gave each level and takes judges as independent.
    **spread**: how far a judge's matrix may differ by candidate, standard deviation of the log odds of its entries; 0,
    the same for all candidates (constancy); "free", learned, HalfNormal(0.5) beforehand.
    **n_levels**: M, 2 or more; by default the largest score plus one. **values** (M,): value of each level, 0..M-1 by
    default; the score of a candidate is its expected value, in the unit of the values.
    **n_samples**, **n_warmup**: draws kept (4 or more) and left out of each of ``n_chains`` chains.
    **seed**: whole number; the same seed gives the same draws.
    **checkpoint**, **shard**: a folder that keeps finished chains, and which of them this process draws, as in
    `jaxrank.bootstrap`; not for "perfect", whose draws take no time.
    **dtype**: "float64" (default: chains do not settle in float32 where a judge gave many scores), "float32", or None
    for JAX's configuration.

    Warns (`JaxrankWarning`) where chains disagree (R-hat above 1.05) or the effective sample size is below 100. Raises
    `DataError` for other shapes or values of the data, `OptionError` for options outside their range.
    """
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    check_choice("likelihood", likelihood, ("joint", "counts"))
    chosen = find_prior(prior)
    if isinstance(spread, str):
        check_choice("spread", spread, ("free",))
    else:
        check_number("spread", spread, 0, 10)
    with precision(dtype):
        data, sizes = read_data(scores, counts, gold, n_levels, likelihood)
    m = sizes[-1]
    v = values_of(values, m)
    for option, value, least in (("n_samples", n_samples, 4), ("n_warmup", n_warmup, 0), ("n_chains", n_chains, 1)):
        check_count(option, value, least)
    check_seed(seed)
    chosen.expected(m)  # weights that do not fit M levels are refused here
    name = prior if isinstance(prior, str) else chosen.name
    if chosen.kind == "perfect":
        if checkpoint is not None or shard is not None:
            raise OptionError('checkpoint and shard are for chains, and prior="perfect" draws none; leave them out')
        if spread != 0:
            raise OptionError(
                f"spread={spread!r} says how far matrices of judges differ by candidate, and perfect judges have none; "
                "leave spread out, or use another prior"
            )
        table = None if scores is None or likelihood == "counts" else scores
        flat, pi = perfect_draws(table, None if table is not None else data, gold, m, v, n_samples * n_chains, seed)
        theta = np.broadcast_to(np.eye(m), (sizes[0], m, m))
        unknown = np.full(sizes[1], np.nan)
        return JudgePosterior(flat, pi, theta, unknown, unknown, name, np.ones(m), likelihood)
    if chosen.kind == "identity" and isinstance(data, Patterns):
        _refuse_contradictions(checked_scores(scores, n_levels)[0])
    with precision(dtype):
        keys = jax.random.split(as_key(seed), n_chains)
        learned = spread if isinstance(spread, str) else float(spread)
        how = (chosen, sizes, n_warmup, n_samples, learned)
        labels = {
            "study": "judges",
            "prior": chosen,
            "sizes": sizes,
            "chain": how[2:],
            "seed": seed,
            "chains": n_chains,
        }
        drawn = in_units(
            n_chains,
            lambda chains: draw_chains(keys[chains], data, *how),
            settings(labels, *jax.tree.leaves(data)),
            checkpoint,
            shard,
        )
    score = drawn["pi"] @ v
    flat = score.reshape(-1, score.shape[-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat, ess = split_gelman_rubin(score), effective_sample_size(score)
    if np.nanmax(r_hat) > 1.05 or np.nanmin(ess) < 100:
        warnings.warn(
            f"the chains under prior {name!r} have not settled: R-hat up to {np.nanmax(r_hat):.3f}, effective sample "
            f"size down to {np.nanmin(ess):.0f}; draw more samples, or use a prior that trusts the judges more",
            JaxrankWarning,
            stacklevel=2,
        )
    pi, theta = (drawn[key].mean((0, 1)) for key in ("pi", "theta"))
    right = np.diag(chosen.expected(m)).copy()
    return JudgePosterior(flat, pi, theta, np.asarray(r_hat), np.asarray(ess), name, right, likelihood)


def _refuse_contradictions(scores: np.ndarray) -> None:
    seen = scores >= 0
    high, low = scores.max(0), np.where(seen, scores, scores.max() + 1).min(0)
    differ = seen.any(0) & (high != low)
    if differ.any():
        raise DataError(
            f"judges disagree on {differ.sum()} of {seen.any(0).sum()} answers, so not all of them are right; "
            'prior="perfect" takes their means'
        )


def sensitivity(
    scores: Any = None, *, priors: Sequence[str | JudgePrior] = FAMILY, **options: Any
) -> dict[str, JudgePosterior]:
    """The posterior under every prior of the family, from no trust to perfect trust: how far the ranking depends on it.

    **options** as in `infer`; a ``checkpoint`` has a folder for every prior. Order as in ``priors``.
    """
    if isinstance(priors, str | JudgePrior) or not isinstance(priors, Iterable):
        raise OptionError(f"priors={shown(priors)}; it must be a list of priors")
    several = list(priors)
    if not several:
        raise OptionError("priors is empty; name at least one prior")
    known = [name for name in inspect.signature(infer).parameters if name not in ("scores", "prior")]
    for option in options:
        if option not in known:
            raise OptionError(f"sensitivity has no option {option!r}; it has priors, {', '.join(known)}")
    for prior in several:  # before the first run, which may take long
        find_prior(prior)
    results: dict[str, JudgePosterior] = {}
    unfinished: UnfinishedError | None = None
    for prior in several:
        try:
            result = infer(scores, prior=prior, **{**options, **kept_apart(prior, **options)})
            results[result.prior] = result
        except UnfinishedError as error:  # this process has its part of the other priors yet to do
            unfinished = error
    if unfinished is not None:
        raise unfinished
    return results


def kept_apart(prior: str | JudgePrior, checkpoint: Any = None, shard: Any = None, **_: Any) -> dict[str, Any]:
    """Where one prior of several keeps its chains, and who draws them; nothing of "perfect", which draws none."""
    chosen = find_prior(prior)
    if checkpoint is None or chosen.kind == "perfect":
        return {"checkpoint": None, "shard": None if chosen.kind == "perfect" else shard}
    name = prior if isinstance(prior, str) else chosen.name
    return {"checkpoint": folder_of(checkpoint, name), "shard": shard}


def joint_log_likelihood(pi: Array, theta: Array, patterns: Patterns) -> Array:
    """Sum over (k, q) of log sum_t pi_kt prod_j theta_j[t, s_jkq], t fixed where the true level is known.

    **theta**: (J, M, M), or (K, J, M, M) where judges differ by candidate.
    """
    tiny = jnp.finfo(pi.dtype).tiny
    m = pi.shape[-1]
    log = jnp.log(jnp.maximum(theta, tiny))
    if theta.ndim == 3:
        given = jnp.swapaxes(log, 0, 1).reshape(m, -1)  # (t, J M)
        evidence = einsum("ti,iku->tku", given, patterns.hot)
    else:
        given = jnp.swapaxes(log, 1, 2).reshape(len(theta), m, -1)  # (k, t, J M)
        evidence = einsum("kti,iku->tku", given, patterns.hot)
    total = jax.scipy.special.logsumexp(
        evidence + jnp.log(jnp.maximum(pi, tiny)).T[..., None], axis=0, b=patterns.possible
    )
    return jnp.sum(patterns.count * total)


def draw_chain(
    key: Array,
    data: Any,
    prior: JudgePrior,
    sizes: tuple[int, int, int],
    n_warmup: int,
    n_samples: int,
    spread: float | str = 0.0,
) -> dict[str, Array]:
    """One chain of NUTS: ``pi`` (S, K, M) and ``theta`` (S, J, M, M). Pure; map it over chains and over data sets.

    **data**: `Patterns`, or counts (J, K, M). **sizes**: J, K, M.
    """
    import numpyro
    from numpyro.infer import MCMC, NUTS

    kernel = NUTS(functools.partial(_model, prior, sizes, spread), target_accept_prob=0.9)
    mcmc = MCMC(kernel, num_warmup=n_warmup, num_samples=n_samples, progress_bar=False)
    with numpyro.validation_enabled(False):
        mcmc.run(key, data)
    return {name: mcmc.get_samples()[name] for name in ("pi", "theta")}


def draw_chains(
    keys: Array,
    data: Any,
    prior: JudgePrior,
    sizes: tuple[int, int, int],
    n_warmup: int,
    n_samples: int,
    spread: float | str = 0.0,
) -> dict[str, np.ndarray]:
    """`draw_chain` for every key on the same data, over the devices; other data of the same shapes do not compile
    again. On a CPU the same draws on any number of devices."""
    over, draw = _compiled(devices_for(len(keys)), prior, sizes, n_warmup, n_samples, spread)
    groups, (data,) = over.placed(keys, data)
    return over.joined([draw(group, data) for group in groups])


@functools.lru_cache(maxsize=32)
def _compiled(n_devices: int, *options: Any) -> tuple[Spread, Callable[..., Any]]:
    over = Spread(n_devices)
    return over, over.compiled(lambda key, data: draw_chain(key, data, *options), 1)


def _model(prior: JudgePrior, sizes: tuple[int, int, int], spread: float | str, data: Any) -> None:
    import numpyro
    import numpyro.distributions as dist

    n_judges, n_candidates, m = sizes
    pi: Any = numpyro.sample("pi", dist.Dirichlet(jnp.ones(m)).expand([n_candidates]).to_event(1))
    theta: Any = numpyro.deterministic("theta", prior.sample(n_judges, m))
    if spread != 0:
        sigma = numpyro.sample("spread", dist.HalfNormal(0.5)) if isinstance(spread, str) else spread
        z: Any = numpyro.sample("z", dist.Normal().expand([n_candidates, n_judges, m, m]).to_event(4))
        tiny = jnp.finfo(pi.dtype).tiny
        theta = jax.nn.softmax(jnp.log(jnp.maximum(theta, tiny))[None] + sigma * z, axis=-1)
    if isinstance(data, Patterns):
        numpyro.factor("scores", joint_log_likelihood(pi, theta, data))
    else:
        formula = "km,jmn->jkn" if theta.ndim == 3 else "km,kjmn->jkn"
        judged = einsum(formula, pi, theta)
        numpyro.factor("counts", jnp.sum(data * jnp.log(jnp.maximum(judged, 1e-30))))


def read_data(
    scores: Any, counts: Any, gold: Any, n_levels: int | None, likelihood: str = "joint"
) -> tuple[Any, tuple[int, int, int]]:
    """What the likelihood reads, checked: `Patterns` or counts (J, K, M); and J, K, M."""
    dtype = jnp.zeros(()).dtype
    if (scores is None) == (counts is None):
        raise OptionError("give scores (judges, candidates, questions) or counts (judges, candidates, levels)")
    if counts is not None:
        y = numbers("counts", counts)
        if y.ndim != 3 or y.shape[-1] < 2 or np.any(y < 0) or not np.all(np.isfinite(y)):
            raise DataError(f"counts has shape {y.shape}; it needs (judges, candidates, levels), numbers of 0 or more")
        if gold is not None:
            raise OptionError("gold needs scores question by question; counts do not say which question they belong to")
        return put(y, dtype), y.shape
    found, m = checked_scores(scores, n_levels)
    if likelihood == "counts":
        if gold is not None:
            raise OptionError('gold needs likelihood="joint"; counts do not say which question they belong to')
        tally = level_counts(found, m)
        return put(tally, dtype), tally.shape
    known = np.full(found.shape[1:], -1.0) if gold is None else numbers("gold", gold)
    whole = known == np.round(known)
    if known.shape != found.shape[1:] or known.max() >= m or not np.all(whole) or known.min() < -1:
        raise DataError(f"gold must be levels below {m}, or -1, of shape (candidates, questions) = {found.shape[1:]}")
    known = known.astype(np.int32)
    return jax.device_put(patterns_of(found, known, m, dtype)), (*found.shape[:2], m)
