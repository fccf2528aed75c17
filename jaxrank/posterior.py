"""``posterior``: draws from the full posterior of any likelihood of the library."""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.api import as_data, as_key, precision
from jaxrank.errors import JaxrankWarning, OptionError, UnknownMethodError, UnsupportedDataError
from jaxrank.likelihood import covariance, maximise
from jaxrank.posterior_draws import Posterior
from jaxrank.posterior_models import MODELS, PosteriorModel, build, informative, zero_sum_variance
from jaxrank.priors import Gaussian
from jaxrank.responses import Responses
from jaxrank.sampling import gaussian, nuts, unconstrained, variational
from jaxrank.solve.newton import Newton
from jaxrank.statistics import Counts

CONJUGATE = ("bayes", "beta_binomial", "dirichlet")
ALIASES = {"davidson": "bradley_terry_davidson"}
SAMPLERS = ("nuts", "laplace", "svi")
PREFIX = "hierarchical_"


def posterior(
    data: Any,
    model: str = "bradley_terry",
    priors: Any = None,
    n_chains: int = 4,
    n_warmup: int = 1000,
    n_samples: int = 1000,
    seed: Any = 0,
    sampler: str = "nuts",
    *,
    pairing: str = "aligned",
    dtype: str = "float64",
    target_accept: float = 0.8,
    dense_mass: bool = False,
    n_steps: int = 5000,
) -> Posterior:
    """Draw from the posterior of a model: not one order, but the probability of every rank.

    **data**: R, `Responses`, `Comparisons` or `Rankings`, as `jaxrank.fit` takes them.
    **model**: bradley_terry, plackett_luce, bradley_terry_davidson, rao_kupper, bradley_terry_luce, davidson_luce,
    plackett_luce_rankings, davidson_luce_rankings, rasch, rasch_2pl, rasch_3pl; with the prefix ``hierarchical_`` the
    scale of the strengths is learnt. bayes (also beta_binomial, dirichlet) is conjugate, and its draws are independent.
    **priors**: by site; "theta" is a variance (1 by default: zero-sum normal strengths), a `jaxrank.priors` prior or a
    NumPyro distribution for one model; a prior that is not a dict is that of theta. Other sites: "scale"
    (HalfNormal(2), hierarchical), "log_nu" (Normal(0, 1.5)), "log_kappa" (HalfNormal(1.5)), "log_delta" (Normal(0, 2)),
    "b" (Normal(0, 1), times "b_scale", HalfNormal(2)), "a" (LogNormal(0, 0.5)), "c_share" (Beta(2, 6), the guessing
    probability as a share of 1/2).
    **sampler**: "nuts" (all chains in one compiled call on one device), "laplace" (normal around the maximum, models of
    strengths with a normal prior; tie parameters then have a flat prior) or "svi" (low-rank normal guide, ``n_steps``
    of Adam). The last two give n_chains x n_samples independent draws.
    **seed**: integer or JAX key; the same seed gives the same draws on any number of devices.

    Returns a `Posterior`; warns by `JaxrankWarning` where the chains cannot be trusted. Small models are fastest on a
    CPU.
    """
    data, kind, hierarchical = as_data(data), *_model_name(model)
    _check_numbers(n_chains=n_chains, n_warmup=n_warmup, n_samples=n_samples, n_steps=n_steps)
    if sampler not in SAMPLERS:
        raise OptionError(f"sampler={sampler!r}; choose one of {', '.join(SAMPLERS)}")
    if not 0 < target_accept < 1:
        raise OptionError(f"target_accept={target_accept}; it must lie between 0 and 1")
    priors = {} if priors is None else dict(priors) if isinstance(priors, Mapping) else {"theta": priors}
    begin = time.perf_counter()
    with precision(dtype):
        key = as_key(seed)
        if kind in CONJUGATE:
            if priors or hierarchical:
                raise OptionError(f"{kind} has a uniform prior and no others; leave priors and the prefix out")
            draws, extras, used = _conjugate(data, key, n_chains, n_samples), {}, "exact"
        else:
            spec = MODELS[kind]
            if spec.item_depth and isinstance(data, Responses) and not data.binary:
                raise UnsupportedDataError(f"{kind} needs outcomes 0 and 1; R has {data.n_categories} categories")
            argument = spec.read(spec.statistic.of(data, pairing=pairing))
            used = sampler
            if sampler == "laplace":
                draws, extras = _laplace(spec, argument, priors, hierarchical, key, n_chains, n_samples), {}
            else:
                centred = informative(spec, argument)
                numpyro_model = build(spec, argument, priors, hierarchical, centred)
                if sampler == "svi":
                    draws, extras = _svi(numpyro_model, argument, key, n_chains, n_samples, n_steps), {}
                else:
                    options = (n_warmup, n_samples, target_accept, dense_mass)
                    start = _start(spec, argument, priors, hierarchical, numpyro_model, key, n_chains)
                    draws, extras = _nuts(numpyro_model, argument, key, n_chains, options, start)
        draws, extras = ({k: np.asarray(v) for k, v in d.items()} for d in (draws, extras))
    result = Posterior(draws, data.models, model, used, extras, time.perf_counter() - begin)
    if used == "nuts":
        for problem in result.problems:
            warnings.warn(f"{model}: {problem}", JaxrankWarning, stacklevel=2)
    return result


def _model_name(model: str) -> tuple[str, bool]:
    name = model.removeprefix(PREFIX)
    name = ALIASES.get(name, name)
    if name not in MODELS and name not in CONJUGATE:
        raise UnknownMethodError(f"no posterior for {model!r}; choose one of {', '.join([*MODELS, *CONJUGATE])}")
    return name, model.startswith(PREFIX)


def _check_numbers(**numbers: Any) -> None:
    for name, value in numbers.items():
        if not isinstance(value, int | np.integer) or value < 1:
            raise OptionError(f"{name}={value!r}; it must be a whole number of 1 or more")


def _nuts(model: Any, argument: Any, key: Any, n_chains: int, options: tuple, start: Any) -> tuple[dict, dict]:
    n_warmup, n_samples, target_accept, dense_mass = options
    run = jax.jit(nuts(model, n_warmup, n_samples, target_accept, dense_mass, started=start is not None))
    return run(jax.random.split(key, n_chains), start, argument)


def _start(
    spec: PosteriorModel, argument: Any, priors: Mapping, hierarchical: bool, model: Any, key: Any, n_chains: int
) -> Any:
    """Starts spread around the mode by twice its standard deviations, for models of strengths with a normal prior.

    Large data make the posterior so narrow that chains from random starts spend the warm-up on the way.
    """
    variance = None if hierarchical or spec.likelihood is None else zero_sum_variance(priors.get("theta", 1.0))
    if variance is None:
        return None
    mode, spread = _mode(spec, argument, variance)
    n = spec.n_models(argument)
    noise = gaussian(jax.random.fold_in(key, 1), jnp.zeros_like(mode), 4 * spread, n_chains)

    def chain(shift: Any) -> Any:
        theta = mode[:n] + shift[:n]
        values = {"theta": theta - jnp.mean(theta), **_sites(spec, argument, mode[n:])}
        return unconstrained(model, argument, values)

    chains = [chain(shift) for shift in noise]
    return jax.tree.map(lambda *x: jnp.stack(x), *chains)


def _sites(spec: PosteriorModel, argument: Any, extra: Any) -> dict[str, Any]:
    """Parameters behind the strengths as values of the model's sites, kept away from borders."""
    if spec.name == "rao_kupper":
        return {"log_kappa": jnp.maximum(extra[0], 1e-3)}
    if spec.name == "bradley_terry_davidson":
        return {"log_nu": extra[0]}
    return {"log_delta": extra} if len(extra) else {}


@functools.partial(jax.jit, static_argnums=0)
def _mode_of(spec_name: str, argument: Any, variance: Any) -> tuple[Any, Any]:
    spec = MODELS[spec_name]
    likelihood, prior = spec.likelihood_of(argument), Gaussian(0.0, variance)
    everyone = jnp.ones((spec.n_models(argument),) * 2, bool)
    solution = maximise(likelihood, prior, Newton(), argument, everyone, True)
    return solution.params, covariance(likelihood, prior, solution.params, argument, everyone)


def _mode(spec: PosteriorModel, argument: Any, variance: Any) -> tuple[Any, Any]:
    return _mode_of(spec.name, argument, jnp.asarray(variance))


def _laplace(
    spec: PosteriorModel, argument: Any, priors: Mapping, hierarchical: bool, key: Any, n_chains: int, n_samples: int
) -> dict[str, Any]:
    variance = zero_sum_variance(priors.get("theta", 1.0))
    if spec.likelihood is None or hierarchical or variance is None or set(priors) - {"theta"}:
        raise OptionError(
            "sampler='laplace' is for models of strengths with a zero-mean normal prior on theta alone; use 'nuts'"
        )
    mode, spread = _mode(spec, argument, variance)
    draws = gaussian(key, mode, spread, n_chains * n_samples).reshape(n_chains, n_samples, -1)
    n = spec.n_models(argument)
    sites = jax.vmap(jax.vmap(lambda extra: _sites(spec, argument, extra)))(draws[..., n:])
    return {"theta": draws[..., :n], **sites}


def _svi(model: Any, argument: Any, key: Any, n_chains: int, n_samples: int, n_steps: int) -> dict[str, Any]:
    draws, _ = jax.jit(variational(model, n_steps, n_chains * n_samples))(key, argument)
    return {k: v.reshape(n_chains, n_samples, *v.shape[1:]) for k, v in draws.items() if not k.startswith("_")}


def _conjugate(data: Any, key: Any, n_chains: int, n_samples: int) -> dict[str, Any]:
    """Independent draws of each model's mean category under a uniform Dirichlet prior in every cell
    [hariri2026dont]."""
    stat = Counts.of(data)
    counts = stat.categories + 1
    grade = jnp.arange(counts.shape[-1], dtype=counts.dtype)
    weight = jnp.ones_like(stat.questions)

    def draw(key: Any) -> Any:
        gamma = jax.random.gamma(key, counts)
        share = jnp.sum(gamma * grade[None, None, :], axis=-1) / jnp.sum(gamma, axis=-1)
        return jnp.sum(weight[None, :] * share, axis=1) / jnp.sum(weight)

    keys = jax.random.split(key, n_chains * n_samples)
    theta = jax.jit(lambda keys: jax.lax.map(draw, keys, batch_size=64))(keys)
    return {"theta": theta.reshape(n_chains, n_samples, -1)}
