"""Posterior models: priors around the same likelihoods that maximum likelihood uses, as NumPyro models.

A model is a function of one argument, what ``read`` made of a statistic. It declares the site ``theta`` (strengths or
abilities, the scores) among its own, and adds the log-likelihood by ``numpyro.factor``, so nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.errors import OptionError
from jaxrank.irt_cells import guessing_cell, plain_cell
from jaxrank.likelihood import Likelihood
from jaxrank.order_statistic import Orders
from jaxrank.pair_likelihoods import BradleyTerryLikelihood, DavidsonLikelihood, RaoKupperLikelihood
from jaxrank.priors import Cauchy, Empirical, Gaussian, Laplace, Prior
from jaxrank.setwise import choices, set_totals
from jaxrank.setwise_likelihoods import DavidsonLuceLikelihood, LuceLikelihood
from jaxrank.statistics import Counts, Events, Pairs

UPPER_GUESSING = 0.5


@dataclass(frozen=True)
class PosteriorModel:
    """How a named model reads data and what it samples.

    **statistic**: what it reads.  **read**: statistic -> the argument of the model (on the host).
    **likelihood**: argument -> `Likelihood` for models of strengths alone, None for item response models.
    **sites**: further sites with their default priors, by name, made lazily (they are NumPyro distributions).
    **pack**: site values -> parameters behind the strengths.
    """

    name: str
    statistic: type
    read: Callable[[Any], Any]
    likelihood: Callable[[Any], Likelihood] | None = None
    sites: Callable[[Any], dict[str, Any]] = field(default=lambda _: {})
    pack: Callable[[dict[str, Array]], list[Array]] = field(default=lambda _: [])
    item_depth: int = 0

    def likelihood_of(self, argument: Any) -> Likelihood:
        """The likelihood of one strength per model; item models have none of that form."""
        if self.likelihood is None:
            raise TypeError(f"{self.name} has a likelihood of cells, not of strengths alone")
        return self.likelihood(argument)

    def n_models(self, argument: Any) -> int:
        first = argument[0] if isinstance(argument, tuple) and self.item_depth else argument
        return _n_models(first)


def build(
    spec: PosteriorModel, argument: Any, priors: Mapping[str, Any], hierarchical: bool, centred: bool = True
) -> Callable[[Any], None]:
    """The NumPyro model of a specification with the user's priors; ``hierarchical`` learns the scale of the
    strengths."""
    known = {"theta", "scale", *spec.sites(argument)}
    if spec.item_depth:
        known |= {"b", "b_scale"}
    unknown = [name for name in priors if name not in known]
    if unknown:
        listed = ", ".join(sorted(known))
        raise OptionError(f"{spec.name} has no prior for {', '.join(map(repr, unknown))}; it has {listed}")
    extra = {**spec.sites(argument), **{k: v for k, v in priors.items() if k in spec.sites(argument)}}
    n_models = spec.n_models(argument)
    strengths = _strengths(n_models, priors, hierarchical, centred)

    if spec.item_depth:
        return _item_model(spec, extra, priors, strengths)

    def model(argument: Any) -> None:
        import numpyro

        theta: Any = strengths()
        values: Any = {name: numpyro.sample(name, prior) for name, prior in extra.items()}
        params = jnp.concatenate([theta, *(jnp.atleast_1d(v) for v in spec.pack(values))])
        numpyro.factor("likelihood", spec.likelihood_of(argument).log_prob(params, argument))

    return model


def _strengths(n_models: int, priors: Mapping[str, Any], hierarchical: bool, centred: bool) -> Callable[[], Any]:
    """Declares theta (and its scale): zero-sum normal, or the user's distribution for each model, then centred.

    The likelihoods do not see a common shift, so a zero-sum normal of variance v is the posterior of independent
    N(0, v) strengths, without the direction that the data say nothing about.
    """
    prior = priors.get("theta", 1.0)

    def declare() -> Any:
        import numpyro
        from numpyro.distributions import HalfNormal, ZeroSumNormal

        if hierarchical:
            scale = numpyro.sample("scale", priors.get("scale", HalfNormal(2.0)))
            if centred:
                return numpyro.sample("theta", ZeroSumNormal(scale, (n_models,)))
            unit = numpyro.sample("unit_theta", ZeroSumNormal(1.0, (n_models,)))
            return numpyro.deterministic("theta", scale * unit)
        variance = zero_sum_variance(prior)
        if variance is not None:
            return numpyro.sample("theta", ZeroSumNormal(jnp.sqrt(variance), (n_models,)))
        each = _distribution(prior)
        batch = each.batch_shape or (n_models,)
        raw = numpyro.sample("raw_theta", each.expand(batch).to_event(1))
        return numpyro.deterministic("theta", raw - jnp.mean(raw))

    return declare


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


def _item_model(spec: PosteriorModel, extra: dict, priors: Mapping, strengths: Callable) -> Callable[[Any], None]:
    def model(argument: Any) -> None:
        import numpyro
        import numpyro.distributions as dist

        successes, trials = argument
        n_questions = successes.shape[1]
        theta = strengths()
        # Difficulties carry the level, which the zero-sum abilities leave open.
        b_scale = numpyro.sample("b_scale", priors.get("b_scale", dist.HalfNormal(2.0)))
        level = numpyro.sample("level", dist.Normal(0.0, 3.0))
        spread = numpyro.sample("b_spread", priors.get("b", dist.Normal(0.0, 1.0)).expand([n_questions]).to_event(1))
        b: Any = numpyro.deterministic("b", level + b_scale * spread)
        with numpyro.plate("questions", n_questions):
            values = {name: numpyro.sample(name, prior) for name, prior in extra.items()}
        slope: Any = values.get("a", jnp.ones(n_questions))
        eta = slope[None, :] * (theta[:, None] - b[None, :])
        if "c_share" in values:
            share: Any = values["c_share"]
            g = jnp.log(share) - jnp.log1p(-share)
            cell = guessing_cell(eta, successes, trials, jnp.broadcast_to(g[None, :], eta.shape), UPPER_GUESSING)
        else:
            cell = plain_cell(eta, successes, trials)
        numpyro.factor("likelihood", jnp.sum(cell.value))

    return model


def _n_models(argument: Any) -> int:
    for name in ("wins", "mean_choice"):
        if hasattr(argument, name):
            return getattr(argument, name).shape[0]
    return argument.chosen.shape[1] if hasattr(argument, "chosen") else argument.shape[0]


def _normal(width: float, size: int | None = None) -> Any:
    import numpyro.distributions as dist

    base = dist.Normal(0.0, width)
    return base if size is None else base.expand([size]).to_event(1)


def _half_normal(width: float) -> Any:
    import numpyro.distributions as dist

    return dist.HalfNormal(width)


def _slopes() -> Any:
    import numpyro.distributions as dist

    return dist.LogNormal(0.0, 0.5)


def _guessing() -> Any:
    import numpyro.distributions as dist

    return dist.Beta(2.0, 6.0)  # of the share of UPPER_GUESSING: mean 0.125


def _drop_ties(stat: Pairs) -> Pairs:
    return Pairs(stat.wins, jnp.zeros_like(stat.ties))


def _read_sets(stat: Events) -> Any:
    return _compact(choices(stat.outcomes, stat.weights), max(stat.outcomes.shape[1] - 1, 1), False)


def _read_orders(stat: Orders) -> Any:
    several = bool(jnp.any(jnp.sum(stat.outcomes == 1, axis=1) > 1))
    if several:
        raise OptionError("plackett_luce_rankings samples orders without ties: use davidson_luce_rankings")
    return choices(stat.outcomes, stat.weights)


def _read_tied_orders(stat: Orders) -> Any:
    return _compact(choices(stat.outcomes, stat.weights, True), stat.outcomes.shape[1], True)


def _compact(c: Any, n_orders: int, whole: bool) -> Any:
    """Set totals without unused rows of slates, so that the log-probability visits distinct slates only."""
    t = set_totals(c, n_orders, whole)
    used = np.flatnonzero(np.asarray(t.slate_weights) > 0)
    return t._replace(slates=t.slates[used], slate_weights=t.slate_weights[used], top=t.top[used])


def _read_counts(stat: Counts) -> tuple[Array, Array]:
    return stat.successes * stat.questions[None, :], stat.trials * stat.questions[None, :]


def _davidson_luce(argument: Any) -> Likelihood:
    return DavidsonLuceLikelihood(argument.orders.shape[0])


MODELS = {
    spec.name: spec
    for spec in (
        PosteriorModel("bradley_terry", Pairs, _drop_ties, lambda _: BradleyTerryLikelihood()),
        PosteriorModel("plackett_luce", Pairs, _drop_ties, lambda _: BradleyTerryLikelihood()),
        PosteriorModel(
            "bradley_terry_davidson",
            Pairs,
            lambda stat: stat,
            lambda _: DavidsonLikelihood(),
            lambda _: {"log_nu": _normal(1.5)},
            lambda v: [v["log_nu"]],
        ),
        PosteriorModel(
            "rao_kupper",
            Pairs,
            lambda stat: stat,
            lambda _: RaoKupperLikelihood(None),
            lambda _: {"log_kappa": _half_normal(1.5)},
            lambda v: [v["log_kappa"]],
        ),
        PosteriorModel("plackett_luce_rankings", Orders, _read_orders, lambda _: LuceLikelihood()),
        PosteriorModel(
            "davidson_luce_rankings",
            Orders,
            _read_tied_orders,
            _davidson_luce,
            lambda argument: {"log_delta": _normal(2.0, argument.orders.shape[0])},
            lambda v: [v["log_delta"]],
        ),
        PosteriorModel(
            "bradley_terry_luce", Events, lambda s: choices(s.outcomes, s.weights), lambda _: LuceLikelihood()
        ),
        PosteriorModel(
            "davidson_luce",
            Events,
            _read_sets,
            _davidson_luce,
            lambda argument: {"log_delta": _normal(2.0, argument.orders.shape[0])},
            lambda v: [v["log_delta"]],
        ),
        PosteriorModel("rasch", Counts, _read_counts, item_depth=1),
        PosteriorModel("rasch_2pl", Counts, _read_counts, sites=lambda _: {"a": _slopes()}, item_depth=2),
        PosteriorModel(
            "rasch_3pl",
            Counts,
            _read_counts,
            sites=lambda _: {"a": _slopes(), "c_share": _guessing()},
            item_depth=3,
        ),
    )
}


def informative(spec: PosteriorModel, argument: Any) -> bool:
    """Whether the data tell more about a strength than a unit-variance prior does: the centred form then mixes
    better."""
    if spec.item_depth:
        _, trials = argument
        return bool(jnp.median(jnp.sum(trials, axis=1)) / 4 > 10)
    start = spec.likelihood_of(argument).start(argument)
    _, _, curvature = spec.likelihood_of(argument).parts(start, argument)
    n = spec.n_models(argument)
    return bool(jax.numpy.median(jnp.diagonal(curvature)[:n]) > 10)
