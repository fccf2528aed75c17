"""NumPyro models: priors around the same likelihoods that maximum likelihood uses.

A model is a function of a design and of outcomes, ``model(design, outcomes=None)``, so that `numpyro.infer.Predictive`
and `numpyro.infer.log_likelihood` work. It declares the site ``theta`` (strengths or abilities, the scores) among its
own, and observes ``outcomes``, whose log probability is that of the library's likelihoods: nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.errors import OptionError
from jaxrank.models.priors import Cauchy, Empirical, Gaussian, Laplace, Prior
from jaxrank.posteriors.pooled import BY_CATEGORY, departures
from jaxrank.posteriors.specs import PosteriorModel

OUTCOMES = "outcomes"
TAU_WIDTH = 1.0
"""Of the half-normal prior of tau, by how much strengths differ by category: differences of log-odds of e are much."""


def build(
    spec: PosteriorModel,
    design: Mapping[str, Any],
    priors: Mapping[str, Any],
    hierarchical: bool = False,
    centred: tuple[bool, bool] = (True, False),
) -> Callable[..., None]:
    """The NumPyro model of a specification with the user's priors; ``hierarchical`` learns the scale of the strengths.

    **centred**: whether strengths, and difficulties, are sampled as they are (else in units of their scale): better
    where the data say much. Of ``design`` only the shapes are read.
    """
    extra = spec.sites(design)
    known = {"theta", *extra}
    known |= {"scale"} if hierarchical else set()
    pooled = spec.strengths == BY_CATEGORY
    known |= {"tau"} if pooled else set()
    known |= {"b", "b_scale", "level"} if spec.item_depth else set()
    unknown = [name for name in priors if name not in known]
    if unknown:
        listed = ", ".join(sorted(known))
        raise OptionError(f"{spec.name} has no prior for {', '.join(map(repr, unknown))}; it has {listed}")
    extra = {name: _named(priors, name, default) for name, default in extra.items()}
    strengths = _strengths(spec.n_models(design), priors, hierarchical, centred[0])
    items = _items(priors, centred[1]) if spec.item_depth else None
    categories = _categories(priors, spec.n_models(design)) if pooled else None

    def model(design: dict[str, Any], outcomes: Any = None) -> None:
        import numpyro

        values: dict[str, Any] = {"theta": strengths()}
        if categories is not None:
            values[BY_CATEGORY] = categories(values["theta"], design["own"])
        if items is None:
            values |= {name: numpyro.sample(name, prior) for name, prior in extra.items()}
        else:
            n_questions = design["trials"].shape[1]
            values["b"] = items(n_questions)
            with numpyro.plate("questions", n_questions):
                values |= {name: numpyro.sample(name, prior) for name, prior in extra.items()}
        numpyro.sample(OUTCOMES, spec.outcomes(values, design), obs=outcomes)

    return model


def _named(priors: Mapping[str, Any], name: str, default: Any) -> Any:
    import numpyro.distributions as dist

    prior = priors.get(name, default)
    if not isinstance(prior, dist.Distribution):
        raise OptionError(f"the prior of {name} is {prior!r}; it must be a NumPyro distribution")
    return prior


def _strengths(n_models: int, priors: Mapping[str, Any], hierarchical: bool, centred: bool) -> Callable[[], Any]:
    """Declares theta (and its scale): zero-sum normal, or the user's distribution for each model, then centred.

    The likelihoods do not see a common shift, so a zero-sum normal of variance v is the posterior of independent
    N(0, v) strengths, without the direction that the data say nothing about.
    """
    import numpyro.distributions as dist

    prior = priors.get("theta", 1.0)
    if hierarchical and "theta" in priors:
        raise OptionError('a hierarchical model learns the scale of theta: give a prior for "scale" instead')
    scale_prior = _named(priors, "scale", dist.HalfNormal(2.0)) if hierarchical else None
    variance = zero_sum_variance(prior)
    each = None if hierarchical or variance is not None else _distribution(prior)
    if each is not None and (*each.batch_shape, *each.event_shape) not in ((), (n_models,)):
        shape = (*each.batch_shape, *each.event_shape)
        raise OptionError(f"the prior of theta has shape {shape}; it must be that of one model, or of {n_models}")

    def declare() -> Any:
        import numpyro
        from numpyro.distributions import ZeroSumNormal

        if scale_prior is not None:
            scale = numpyro.sample("scale", scale_prior)
            if centred:
                return numpyro.sample("theta", ZeroSumNormal(scale, (n_models,)))
            unit = numpyro.sample("unit_theta", ZeroSumNormal(1.0, (n_models,)))
            return numpyro.deterministic("theta", scale * unit)
        if each is None:
            return numpyro.sample("theta", ZeroSumNormal(jnp.sqrt(jnp.asarray(variance)), (n_models,)))
        joint = each if each.event_shape else each.expand([n_models]).to_event(1)
        raw = numpyro.sample("raw_theta", joint)
        return numpyro.deterministic("theta", raw - jnp.mean(raw))

    return declare


def _items(priors: Mapping[str, Any], centred: bool) -> Callable[[int], Any]:
    """Declares the difficulties: level + b_scale * b_spread. They carry the level, which the zero-sum abilities leave
    open."""
    import numpyro.distributions as dist
    from numpyro.distributions.transforms import AffineTransform

    b_scale = _named(priors, "b_scale", dist.HalfNormal(2.0))
    level = _named(priors, "level", dist.Normal(0.0, 3.0))
    each = _named(priors, "b", dist.Normal(0.0, 1.0))

    def declare(n_questions: int) -> Any:
        import numpyro

        scale: Any = numpyro.sample("b_scale", b_scale)
        middle: Any = numpyro.sample("level", level)
        if centred:
            shifted = dist.TransformedDistribution(each.expand([n_questions]), AffineTransform(middle, scale))
            return numpyro.sample("b", shifted.to_event(1))
        spread: Any = numpyro.sample("b_spread", each.expand([n_questions]).to_event(1))
        return numpyro.deterministic("b", middle + scale * spread)

    return declare


def _categories(priors: Mapping[str, Any], n_models: int) -> Callable[[Any, Any], Any]:
    """Declares how far strengths of a category lie from those of all, tau, and the strengths by category."""
    import numpyro.distributions as dist

    return departures(n_models, _named(priors, "tau", dist.HalfNormal(TAU_WIDTH)))


def zero_sum_variance(prior: Any) -> Any:
    """The variance of a prior that is a zero-mean normal, given as a number or `Gaussian`; None for any other."""
    if isinstance(prior, int | float | np.number):
        if not prior > 0:
            raise OptionError(f"a prior variance must be positive, not {prior}")
        return float(prior)
    if isinstance(prior, Gaussian) and np.all(np.asarray(prior.mean) == 0):
        return float(prior.var)
    return None


def _distribution(prior: Any) -> Any:
    """A NumPyro distribution for one strength, from a distribution or a `jaxrank.priors` prior."""
    import numpyro.distributions as dist

    if isinstance(prior, Gaussian | Empirical):
        return dist.Normal(jnp.asarray(prior.mean), jnp.sqrt(jnp.asarray(prior.var)))
    if isinstance(prior, Laplace):
        return dist.Laplace(jnp.asarray(prior.loc), jnp.asarray(prior.scale))
    if isinstance(prior, Cauchy):
        return dist.Cauchy(jnp.asarray(prior.loc), jnp.asarray(prior.scale))
    if isinstance(prior, Prior) or not isinstance(prior, dist.Distribution):
        raise OptionError(f"prior {prior!r} is neither a variance, a proper jaxrank prior nor a NumPyro distribution")
    return prior


def informative(spec: PosteriorModel, argument: Any) -> tuple[bool, bool]:
    """Whether the data tell more about a strength, and about a difficulty, than their priors do: the centred form then
    mixes better."""
    if spec.item_depth:
        successes, trials = (np.asarray(x) for x in argument)
        of_model = np.median(trials.sum(axis=1)) / 4
        # A guess hides difficulties at one end of the scale.
        return bool(of_model > 10), spec.item_depth < 3 and _questions_differ(successes.sum(axis=0), trials.sum(axis=0))
    stat = likelihood_argument(argument)
    likelihood = spec.likelihood_of(stat)
    curvature = jax.jit(lambda stat: likelihood.parts(likelihood.start(stat), stat)[2])(stat)
    n = curvature.shape[0] - likelihood.n_extra
    return bool(jnp.median(jnp.diagonal(curvature)[:n]) > 10), False


def _questions_differ(right: np.ndarray, tried: np.ndarray) -> bool:
    """Whether log-odds of questions spread by much more than their errors. Where they need not differ at all, their
    scale may be next to zero, and centred difficulties make a funnel that chains cannot enter."""
    share = (right + 0.5) / (tried + 1)
    noise = np.mean(1 / ((tried + 1) * share * (1 - share)))
    return bool(np.var(np.log(share / (1 - share))) > 3 * noise)


def likelihood_argument(argument: Any) -> Any:
    """What the likelihood reads of a model's argument: the totals of `Sets`, else all of it."""
    return getattr(argument, "totals", argument)
