"""The models that `jaxrank.posterior` knows: what each reads, what it samples, and what its outcomes are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxrank.data.order_statistic import Orders
from jaxrank.data.statistics import Counts, Events, Pairs
from jaxrank.models.likelihood import Likelihood
from jaxrank.models.pairs.likelihoods import (
    BradleyTerryLikelihood,
    ConstantTiesLikelihood,
    DavidsonLikelihood,
    PairLikelihood,
    RaoKupperLikelihood,
)
from jaxrank.models.setwise.choices import SetTotals, choices, set_totals
from jaxrank.models.setwise.likelihoods import DavidsonLuceLikelihood, LuceLikelihood

UPPER_GUESSING = 0.5
PREFIX = "hierarchical_"
LISTS, TIED_LISTS = "plackett_luce_rankings", "plackett_luce_rankings with ties"
"""The model of ordered lists, and the same where some of them tie (no identifier of its own)."""


def base_name(model: str) -> str:
    """The name of a model without the prefix of its hierarchical version."""
    return model.removeprefix(PREFIX)


def name_for(name: str, data: Any) -> str:
    """The entry of `MODELS` behind an identifier: Plackett-Luce of ordered lists reads lists, with ties where they have
    some."""
    if name not in ("plackett_luce", LISTS) or data.form != "rankings":
        return name
    return TIED_LISTS if np.any(np.asarray(data.ties) > 0) else LISTS


def name_of(name: str, design: Any) -> str:
    """The same from the design that was made of the data."""
    if name not in ("plackett_luce", LISTS):
        return name
    return TIED_LISTS if "slate" in design else LISTS if "slates" in design else name


class Evidence(NamedTuple):
    """Data of a model. **design**: what was asked, by name. **outcomes**: what came of it; see `Family`."""

    design: dict[str, Any]
    outcomes: Any


@dataclass(frozen=True)
class Family:
    """One kind of outcome.

    **unit**: what ``outcomes`` has a row of: "pair" (wins of a, of b, ties), "cell" (successes of a model on a
    question) or "event" (who was chosen). **observe**: argument of a likelihood -> `Evidence`, on the host.
    **outcomes**: (likelihood or None, site values, design) -> NumPyro distribution.
    **n_models**: number of models in a design, from a shape.
    """

    unit: str
    observe: Callable[[Any], Evidence]
    outcomes: Callable[[Any, dict[str, Any], dict[str, Any]], Any]
    n_models: Callable[[Any], int]


@dataclass(frozen=True)
class PosteriorModel:
    """How a named model reads data and what it samples.

    **statistic**: what it reads.  **read**: statistic -> the argument of its likelihood (on the host).
    **likelihood**: argument -> `Likelihood` for models of strengths alone, None for item response models.
    **sites**: further sites with their default priors, by name, made lazily (they are NumPyro distributions).
    **pack**: site values -> parameters behind the strengths; **unpack** turns such parameters into site values.
    **item_depth**: 1, 2 or 3 parameters of a question; 0: no questions.  **strengths**: the site that outcomes depend
    on, "theta" or strengths by category.
    """

    name: str
    statistic: type
    read: Callable[[Any], Any]
    family: Family
    likelihood: Callable[[Any], Likelihood] | None = None
    sites: Callable[[Any], dict[str, Any]] = field(default=lambda _: {})
    pack: Callable[[dict[str, Any]], list[Any]] = field(default=lambda _: [])
    unpack: Callable[[Any], dict[str, Any]] = field(default=lambda _: {})
    item_depth: int = 0
    strengths: str = "theta"

    def likelihood_of(self, argument: Any) -> Likelihood:
        """The likelihood of one strength per model; item models have none of that form."""
        if self.likelihood is None:
            raise TypeError(f"{self.name} has a likelihood of cells, not of strengths alone")
        return self.likelihood(argument)

    def outcomes(self, values: dict[str, Any], design: dict[str, Any]) -> Any:
        """The distribution of the outcomes, given a value of ``theta`` and of every further site."""
        if self.item_depth:
            return self.family.outcomes(None, values, design)
        params = jnp.concatenate([jnp.ravel(values[self.strengths]), *(jnp.atleast_1d(v) for v in self.pack(values))])
        return self.family.outcomes(self.likelihood and self.likelihood(design), {"params": params}, design)

    def n_models(self, design: Any) -> int:
        return self.family.n_models(design)


def _observe_pairs(stat: Pairs) -> Evidence:
    wins, ties = np.asarray(stat.wins), np.asarray(stat.ties)
    a, b = np.nonzero(np.triu(wins + wins.T + ties, 1))
    outcomes = np.stack([wins[a, b], wins[b, a], ties[a, b]], axis=-1)
    total = outcomes.sum(axis=-1)
    met = np.bincount(a, total, len(wins)) + np.bincount(b, total, len(wins))
    design = {"a": a.astype(np.int32), "b": b.astype(np.int32), "total": total, "met": met.astype(wins.dtype)}
    return Evidence(design, outcomes)


def _pair_outcomes(likelihood: PairLikelihood, values: dict[str, Any], design: dict[str, Any]) -> Any:
    from jaxrank.posteriors.outcomes import PairOutcomes

    return PairOutcomes(likelihood, values["params"], design["a"], design["b"], design["total"])


def _observe_cells(argument: tuple[Array, Array]) -> Evidence:
    successes, trials = argument
    return Evidence({"trials": np.asarray(trials)}, np.asarray(successes))


def _cell_outcomes(_: None, values: dict[str, Any], design: dict[str, Any]) -> Any:
    from jaxrank.posteriors.outcomes import CellOutcomes

    eta = values["theta"][:, None] - values["b"][None, :]
    if "a" in values:
        eta = values["a"][None, :] * eta
    share = values.get("c_share")
    guessing = None if share is None else jnp.log(share) - jnp.log1p(-share)
    return CellOutcomes(eta, design["trials"], guessing, UPPER_GUESSING)


def _observe_choices(c: Any) -> Evidence:
    used = np.asarray(c.weights) > 0
    chosen, rejected = np.asarray(c.chosen)[used], np.asarray(c.rejected)[used]
    return Evidence({"slates": chosen + rejected > 0, "weights": np.asarray(c.weights)[used]}, chosen)


def _choice_outcomes(_: Any, values: dict[str, Any], design: dict[str, Any]) -> Any:
    from jaxrank.posteriors.outcomes import ChoiceOutcomes

    return ChoiceOutcomes(values["params"], design["slates"], design["weights"])


class Sets(NamedTuple):
    """Events of chosen sets with their totals.

    **chosen** (E, L).  **slate** (E,): row of ``totals.slates``.  **weights** (E,).
    """

    totals: SetTotals
    chosen: Any
    slate: Any
    weights: Any


def _observe_sets(sets: Sets) -> Evidence:
    design = {name: np.asarray(x) for name, x in sets.totals._asdict().items()}
    return Evidence({**design, "slate": sets.slate, "weights": sets.weights}, sets.chosen)


def _set_outcomes(_: Any, values: dict[str, Any], design: dict[str, Any]) -> Any:
    from jaxrank.posteriors.outcomes import SetOutcomes

    stat = SetTotals(**{name: design[name] for name in SetTotals._fields})
    return SetOutcomes(values["params"], stat, design["slate"], design["weights"])


PAIR = Family("pair", _observe_pairs, _pair_outcomes, lambda design: design["met"].shape[0])
CELL = Family("cell", _observe_cells, _cell_outcomes, lambda design: design["trials"].shape[0])
CHOICE = Family("event", _observe_choices, _choice_outcomes, lambda design: design["slates"].shape[1])
SET = Family("event", _observe_sets, _set_outcomes, lambda design: design["mean_choice"].shape[0])


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


def _beta(a: float, b: float) -> Any:
    import numpyro.distributions as dist

    return dist.Beta(a, b)


def _drop_ties(stat: Pairs) -> Pairs:
    return Pairs(stat.wins, jnp.zeros_like(stat.ties))


def _read_choices(stat: Events) -> Any:
    return choices(stat.outcomes, stat.weights)


def _read_orders(stat: Orders) -> Any:
    return choices(stat.outcomes, stat.weights)


def _read_sets(stat: Events) -> Sets:
    return _compact(choices(stat.outcomes, stat.weights), max(stat.outcomes.shape[1] - 1, 1), False)


def _read_tied_orders(stat: Orders) -> Sets:
    return _compact(choices(stat.outcomes, stat.weights, True), stat.outcomes.shape[1], True)


def _compact(c: Any, n_orders: int, whole: bool) -> Sets:
    """Set totals without unused rows of slates, so that the log-probability visits distinct slates only, and the events
    behind them."""
    t = set_totals(c, n_orders, whole)
    used = np.flatnonzero(np.asarray(t.slate_weights) > 0)
    t = t._replace(slates=t.slates[used], slate_weights=t.slate_weights[used], top=t.top[used])
    some = np.asarray(c.weights) > 0
    chosen, rejected, weights = (np.asarray(x)[some] for x in (c.chosen, c.rejected, c.weights))
    row = {slate.tobytes(): i for i, slate in enumerate(np.asarray(t.slates))}
    slate = np.array([row[s.tobytes()] for s in chosen + rejected > 0], np.int32)
    return Sets(t, chosen, slate, weights)


def _read_counts(stat: Counts) -> tuple[Array, Array]:
    return stat.successes * stat.questions[None, :], stat.trials * stat.questions[None, :]


def _davidson_luce(argument: Any) -> Likelihood:
    orders = argument["orders"] if isinstance(argument, dict) else argument.orders
    return DavidsonLuceLikelihood(orders.shape[0])


def _pairs(name: str, likelihood: PairLikelihood, read: Any = lambda stat: stat, **options: Any) -> PosteriorModel:
    return PosteriorModel(name, Pairs, read, PAIR, lambda _: likelihood, **options)


def _sets(name: str, statistic: type, read: Any) -> PosteriorModel:
    return PosteriorModel(
        name,
        statistic,
        read,
        SET,
        _davidson_luce,
        sites=lambda design: {"log_delta": _normal(2.0, design["orders"].shape[0])},
        pack=lambda v: [v["log_delta"]],
        unpack=lambda extra: {"log_delta": extra},
    )


def _items(name: str, depth: int, sites: Any = lambda _: {}) -> PosteriorModel:
    return PosteriorModel(name, Counts, _read_counts, CELL, sites=sites, item_depth=depth)


MODELS = {
    spec.name: spec
    for spec in (
        _pairs("bradley_terry", BradleyTerryLikelihood(), _drop_ties),
        _pairs("plackett_luce", BradleyTerryLikelihood(), _drop_ties),
        _pairs(
            "bradley_terry_ties",
            ConstantTiesLikelihood(),
            sites=lambda _: {"tie_rate": _beta(1.0, 1.0)},
            pack=lambda v: [jnp.log(v["tie_rate"]) - jnp.log1p(-v["tie_rate"])],
            unpack=lambda extra: {"tie_rate": 1 / (1 + jnp.exp(-extra[0]))},
        ),
        _pairs(
            "bradley_terry_davidson",
            DavidsonLikelihood(),
            sites=lambda _: {"log_nu": _normal(1.5)},
            pack=lambda v: [v["log_nu"]],
            unpack=lambda extra: {"log_nu": extra[0]},
        ),
        _pairs(
            "rao_kupper",
            RaoKupperLikelihood(None),
            sites=lambda _: {"log_kappa": _half_normal(1.5)},
            pack=lambda v: [v["log_kappa"]],
            unpack=lambda extra: {"log_kappa": jnp.maximum(extra[0], 1e-3)},  # away from the border
        ),
        PosteriorModel(LISTS, Orders, _read_orders, CHOICE, lambda _: LuceLikelihood()),
        _sets(TIED_LISTS, Orders, _read_tied_orders),
        PosteriorModel("bradley_terry_luce", Events, _read_choices, CHOICE, lambda _: LuceLikelihood()),
        _sets("davidson_luce", Events, _read_sets),
        _items("rasch", 1),
        _items("rasch_2pl", 2, lambda _: {"a": _slopes()}),
        # The guessing share is of UPPER_GUESSING: mean 0.125.
        _items("rasch_3pl", 3, lambda _: {"a": _slopes(), "c_share": _beta(2.0, 6.0)}),
    )
}
IDENTIFIERS = tuple(name for name in MODELS if name != TIED_LISTS)
"""What `jaxrank.posterior` takes: identifiers of the catalogue, and bradley_terry_ties, which only has a posterior."""
