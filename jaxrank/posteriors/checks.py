"""Checks of a posterior against its data: pointwise log-likelihood, replicated data, leave-one-out comparison."""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.data.responses import Responses
from jaxrank.data.statistics import Aligned, Pairs
from jaxrank.errors import JaxrankWarning, OptionError
from jaxrank.models.options import check_count, shown
from jaxrank.numerics.interval import check_level
from jaxrank.numerics.seeds import as_key
from jaxrank.posteriors.pooled import by_category
from jaxrank.posteriors.specs import MODELS, Evidence, PosteriorModel, base_name, name_of

MAX_EVENTS = 200_000
EXTRA = "pip install 'jaxrank[arviz]'"


@dataclass(frozen=True)
class Prediction:
    """Rates of data sets drawn from the posterior beside those observed, by quantity.

    **observed**: quantity -> (k,).  **replicated**: quantity -> (draws, k).  **labels**: quantity -> k names.
    """

    observed: Mapping[str, np.ndarray]
    replicated: Mapping[str, np.ndarray]
    labels: Mapping[str, tuple[str, ...]]

    def p_values(self) -> dict[str, np.ndarray]:
        """Share of replicates above the observed rate, equal ones counted half: near 0 or 1 where the model fails."""
        return {
            name: ((rep > self.observed[name]).mean(axis=0) + (rep == self.observed[name]).mean(axis=0) / 2)
            for name, rep in self.replicated.items()
        }

    def to_frame(self, *, level: float = 0.95) -> Any:
        """A data frame, one row a rate: observed, mean and interval of the replicates, p."""
        import pandas as pd

        tail, p = (1 - check_level(level)) / 2, self.p_values()
        frames = []
        for quantity, rep in self.replicated.items():
            low, high = np.quantile(rep, (tail, 1 - tail), axis=0)
            columns: dict[str, Any] = {
                "quantity": quantity,
                "name": self.labels[quantity],
                "observed": self.observed[quantity],
            }
            columns.update(mean=rep.mean(axis=0), lower=low, upper=high, p=p[quantity])
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)


def spec_of(posterior: Any) -> PosteriorModel:
    name = base_name(posterior.model)
    if name not in MODELS:
        raise OptionError(f"this posterior of {posterior.model} is drawn in closed form: it has no likelihood of units")
    if posterior.evidence is None:
        return MODELS[name]
    spec = MODELS[name_of(name, posterior.evidence.design)]
    return by_category(spec) if "category" in posterior.evidence.design else spec


def evidence_of(posterior: Any) -> Evidence:
    """The data that a posterior was drawn from; `OptionError` where it does not have them."""
    if posterior.evidence is None:
        raise OptionError(f"this posterior of {posterior.model} was made without its data: there is nothing to check")
    return posterior.evidence


def log_likelihood(posterior: Any, by: str | None = None) -> np.ndarray:
    """Log probability of every unit of data in every draw, (chains, samples, units); see `Posterior.log_likelihood`."""
    spec, evidence = spec_of(posterior), evidence_of(posterior)
    unit = spec.family.unit
    if by is not None and (not isinstance(by, str) or by not in (unit, "question")):
        raise OptionError(f"by={shown(by)}; {posterior.model} has the units {unit!r} and 'question'")
    reduce = _plain if by != "question" else _by_question(posterior, spec, evidence)
    return _over_draws(posterior, lambda values, design, _: reduce(spec.outcomes(values, design), evidence.outcomes))


def _plain(distribution: Any, outcomes: Any) -> Any:
    return distribution.log_prob(jnp.asarray(outcomes))


def _by_question(posterior: Any, spec: PosteriorModel, evidence: Evidence) -> Callable[[Any, Any], Any]:
    """(distribution, outcomes) -> log probability of all that happened on each question, (M,)."""
    if spec.family.unit == "cell":
        return lambda distribution, outcomes: jnp.sum(distribution.log_prob(outcomes), axis=0)
    data = posterior.data
    if not isinstance(data, Responses) or data.outcomes is None:
        raise OptionError("by='question' needs the trials of a response tensor (not battles, counts or a loaded file)")
    trials = np.moveaxis(np.asarray(data.outcomes), 0, -1)  # (M, N, L)
    if spec.family.unit == "pair":
        like = Aligned(data.n_categories, jnp.zeros(()).dtype)
        by_model = np.moveaxis(trials, -1, 1)[:, :, None, :]  # (M, L, 1, N)
        pairs = jax.tree.map(np.asarray, jax.vmap(lambda x: Pairs.gather(x, like))(by_model))
        a, b = evidence.design["a"], evidence.design["b"]
        counts = np.stack([pairs.wins[:, a, b], pairs.wins[:, b, a], pairs.ties[:, a, b]], axis=-1).astype(float)
        return lambda distribution, _: jnp.sum(distribution.log_prob(jnp.asarray(counts)), axis=-1)
    place = {row.tobytes(): i for i, row in enumerate(_outcome_rows(evidence))}
    share = np.zeros((len(trials), len(place)))
    for question, rows in enumerate(trials.astype(np.int8)):
        for row in rows:
            event = place.get(row.tobytes())  # None: an event that says nothing
            if event is not None:
                share[question, event] += 1 / evidence.design["weights"][event]
    return lambda distribution, outcomes: jnp.asarray(share) @ distribution.log_prob(outcomes)


def _outcome_rows(evidence: Evidence) -> np.ndarray:
    """int8 (E, L): chosen 1, rejected 0, absent -1."""
    slates = _event_slates(evidence)
    return np.where(slates, evidence.outcomes > 0, -1).astype(np.int8)


def _event_slates(evidence: Evidence) -> np.ndarray:
    slates = np.asarray(evidence.design["slates"]) > 0
    return slates[evidence.design["slate"]] if "slate" in evidence.design else slates


def _over_draws(posterior: Any, function: Callable[..., Any], every: int = 1, key: Any = None) -> np.ndarray:
    """``function(site values, design, key)`` for every draw, or every so many, in float64: (chains, draws, ...)."""
    design = posterior.evidence.design
    draws = {name: np.asarray(x, float)[:, ::every] for name, x in posterior.draws.items()}
    n_chains, n = draws["theta"].shape[:2]
    flat = {name: x.reshape(n_chains * n, *x.shape[2:]) for name, x in draws.items()}
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0) if key is None else key, n_chains * n)

        @jax.jit
        def run(flat: Any, keys: Any, design: Any) -> Any:
            return jax.lax.map(lambda x: function(x[0], design, x[1]), (flat, keys))

        out = run(flat, keys, design)
    return jax.tree.map(lambda x: np.asarray(x).reshape(n_chains, n, *x.shape[1:]), out)


def replicate(posterior: Any, n_draws: int = 400, seed: Any = 0) -> np.ndarray:
    """Outcomes drawn from the posterior predictive distribution, (chains, draws, units, ...), for as many draws of the
    posterior, evenly spaced, as make at least ``n_draws``."""
    spec = spec_of(posterior)
    evidence_of(posterior)
    return _replicates(posterior, spec, n_draws, seed, lambda outcomes, _: outcomes)


def predict(posterior: Any, n_draws: int = 400, seed: Any = 0) -> Prediction:
    """Replicated against observed rates; see `Posterior.predict`."""
    spec, evidence = spec_of(posterior), evidence_of(posterior)
    if spec.family.unit == "event":
        evidence = _expanded(evidence, posterior.model)
    rates = functools.partial(_rates, spec)
    got = _replicates(posterior, spec, n_draws, seed, rates, evidence)
    seen = rates(evidence.outcomes, evidence.design)
    labels = {"question": tuple(map(str, posterior.questions)), "model": posterior.models, "all": ("all",)}
    quantities = {name: kind for name, (kind, _) in seen.items()}
    return Prediction(
        {name: np.asarray(value) for name, (_, value) in seen.items()},
        {name: np.asarray(got[name]).reshape(-1, got[name].shape[-1]) for name in quantities},
        {name: labels[kind] or tuple(map(str, range(len(seen[name][1])))) for name, kind in quantities.items()},
    )


def _replicates(
    posterior: Any, spec: PosteriorModel, n_draws: int, seed: Any, summarise: Any, evidence: Any = None
) -> Any:
    check_count("n_draws", n_draws)
    n_chains, n = posterior.draws["theta"].shape[:2]
    design = (evidence or posterior.evidence).design
    key = as_key(seed)

    def one(values: Any, _: Any, key: Any) -> Any:
        outcomes = spec.outcomes(values, design).sample(key)
        found = summarise(outcomes, design)
        return {name: value for name, (_, value) in found.items()} if isinstance(found, dict) else found

    return _over_draws(posterior, one, max(1, n * n_chains // n_draws), key)


def _rates(spec: PosteriorModel, outcomes: Any, design: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Quantity -> (what its entries are, rates)."""
    if spec.family.unit == "pair":
        n = design["met"].shape[0]
        add = lambda a, b: jnp.zeros(n).at[design["a"]].add(a).at[design["b"]].add(b)
        met = jnp.maximum(design["met"], 1)
        out = {"win rate": ("model", add(outcomes[:, 0], outcomes[:, 1]) / met)}
        if spec.likelihood is not None and getattr(spec.likelihood(design), "tied", True):
            out["tie rate"] = ("model", add(outcomes[:, 2], outcomes[:, 2]) / met)
            out["tie rate of all"] = ("all", (jnp.sum(outcomes[:, 2]) / jnp.sum(design["total"]))[None])
        return out
    if spec.family.unit == "cell":
        by = {"success rate": ("model", 1), "success rate of questions": ("question", 0)}
        trials = design["trials"]
        rate = lambda axis: jnp.sum(outcomes, axis) / jnp.maximum(jnp.sum(trials, axis), 1)
        return {name: (of, rate(axis)) for name, (of, axis) in by.items()}
    slates = design["slates"][design["slate"]] if "slate" in design else design["slates"]
    several = jnp.mean(jnp.sum(outcomes, axis=1) > 1)
    chosen = jnp.sum(outcomes, axis=0) / jnp.maximum(jnp.sum(slates, axis=0), 1)
    return {"choice rate": ("model", chosen), "tie rate of all": ("all", several[None])}


def _expanded(evidence: Evidence, name: str) -> Evidence:
    """Events one by one, each of weight 1, so that equal events can come out differently."""
    design, weights = evidence.design, np.round(evidence.design["weights"]).astype(int)
    if weights.sum() > MAX_EVENTS:
        raise OptionError(f"{weights.sum()} events are too many to draw again one by one; use a model of pairs")
    if "slate" not in design and np.any(evidence.outcomes.sum(axis=1) > 1):
        raise OptionError(
            f"{name} has a composite likelihood, which cannot draw a set of several winners; predict with davidson_luce"
        )
    rows = np.repeat(np.arange(len(weights)), weights)
    own = ("slate",) if "slate" in design else ("slates",)
    new = {**design, **{k: design[k][rows] for k in own}, "weights": np.ones(len(rows))}
    return Evidence(new, evidence.outcomes[rows])


def loo(posterior: Any, by: str | None = None) -> Any:
    """ArviZ ``ELPDData`` of leave-one-out prediction; see `Posterior.loo`."""
    az = _arviz()
    tree = az.base.from_dict({"posterior": _by_chain(posterior), "log_likelihood": {"outcomes": _units(posterior, by)}})
    options = {"reff": 1.0} if posterior.draws["theta"].shape[0] == 1 else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # said below, with a remedy
        found = az.stats.loo(tree, pointwise=True, **options)
    _warn_of_high_k(posterior, found, by)
    return found


def compare(posterior: Any, others: Any, by: str | None = None, method: str = "stacking") -> Any:
    """A data frame of models by expected log predictive density; see `Posterior.compare`."""
    az = _arviz()
    named = _named(posterior, others)
    names = list(named)
    for name in names[1:]:
        _check_comparable(names[0], named[names[0]], name, named[name])
    found = {name: loo(p, by) for name, p in named.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        weight = az.stats.compare(_level(found), method=method)["weight"]
    return _compared(found, weight)


def _compared(found: Mapping[str, Any], weight: Mapping[str, float]) -> Any:
    """The frame of `compare` from the densities of the units: ArviZ rounds its own, and its signs differ by version."""
    import pandas as pd

    by_unit = {name: np.asarray(f.elpd_i, float).ravel() for name, f in found.items()}
    order = sorted(found, key=lambda name: -by_unit[name].sum())
    error = lambda x: float(np.sqrt(x.size * x.var(ddof=1))) if x.size > 1 else np.nan
    best = by_unit[order[0]]
    rows = {
        name: {
            "rank": rank,
            "elpd": by_unit[name].sum(),
            "p": float(found[name].p),
            "elpd_diff": (best - by_unit[name]).sum(),
            "weight": float(weight[name]),
            "se": error(by_unit[name]),
            "dse": error(best - by_unit[name]),
            "max_pareto_k": float(np.max(found[name].pareto_k)),
            "high_pareto_k": _high_k(found[name]),
        }
        for rank, name in enumerate(order, start=1)
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def _level(found: Mapping[str, Any]) -> dict[str, Any]:
    """The same with the best model's log density of every unit taken off all models: no difference, error of a
    difference or weight changes, and the densities of units of many outcomes do not underflow."""
    top = functools.reduce(np.maximum, (f.elpd_i for f in found.values()))
    out = {name: copy.copy(f) for name, f in found.items()}
    for f in out.values():
        f.elpd_i = f.elpd_i - top
        f.elpd = float(f.elpd_i.sum())
    return out


def _named(posterior: Any, others: Any) -> dict[str, Any]:
    if isinstance(others, Mapping):
        pairs = [(posterior.model, posterior), *others.items()]
    else:
        others = [others] if hasattr(others, "draws") or not isinstance(others, Iterable) else others
        pairs = [(getattr(p, "model", ""), p) for p in (posterior, *others)]
    if strange := [p for _, p in pairs if not isinstance(p, type(posterior))]:
        raise OptionError(f"compare takes posteriors, not a {type(strange[0]).__name__}")
    out = dict(pairs)
    if len(out) < len(pairs) or len(out) < 2:
        raise OptionError("compare needs posteriors of different names: give the others as {name: posterior}")
    return out


def _check_comparable(first: str, a: Any, second: str, b: Any) -> None:
    families = spec_of(a).family, spec_of(b).family
    same = families[0] is families[1] and np.array_equal(evidence_of(a).outcomes, evidence_of(b).outcomes)
    if not same:
        raise OptionError(
            f"{first} and {second} are posteriors of different outcomes, so their predictions cannot be compared; "
            "bradley_terry and plackett_luce drop ties: hold bradley_terry_ties against models of ties"
        )


def _units(posterior: Any, by: str | None) -> np.ndarray:
    """(chains, samples, units): log-likelihood of the units that hold any data."""
    values = log_likelihood(posterior, by)
    if spec_of(posterior).family.unit == "cell" and by != "question":
        return values[..., np.asarray(posterior.evidence.design["trials"]) > 0]
    return values


def _by_chain(posterior: Any) -> dict[str, np.ndarray]:
    return {"theta": np.asarray(posterior.draws["theta"])}


def _high_k(found: Any) -> int:
    return int(np.sum(~(np.asarray(found.pareto_k) <= found.good_k)))


def _warn_of_high_k(posterior: Any, found: Any, by: str | None) -> None:
    high = _high_k(found)
    if high:
        unit = by or spec_of(posterior).family.unit
        remedy = "leave out smaller units" if unit == "question" else "or refit without those units"
        warnings.warn(
            f"{posterior.model}: Pareto k is above {found.good_k:.2f} for {high} of {found.n_data_points} units (each "
            f"a {unit}): their leave-one-out estimates cannot be trusted; draw more samples, {remedy}",
            JaxrankWarning,
            stacklevel=4,
        )


def _arviz() -> Any:
    """The parts of ArviZ that are used, or an error that says how to get them."""
    try:
        import arviz_base
        import arviz_stats

        getattr(arviz_stats, "loo")  # noqa: B009  (absent without its xarray extra)
    except (ImportError, AttributeError):
        raise OptionError(f"leave-one-out comparison needs ArviZ: {EXTRA}") from None

    @dataclass(frozen=True)
    class Parts:
        base: Any
        stats: Any

    return Parts(arviz_base, arviz_stats)
