"""From a pair likelihood to a `Fit`: existence of the optimum, the optimum, and what to do where there is none."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxrank.data.names import name_list
from jaxrank.data.statistics import Pairs
from jaxrank.models.fit import Fit, solver_resolution
from jaxrank.models.likelihood import Likelihood, covariance, maximise
from jaxrank.models.pairs.likelihoods import BradleyTerryLikelihood, RaoKupperLikelihood, recession_exists
from jaxrank.models.priors import Prior
from jaxrank.models.ranker import Explains, HasCovariance, StartsNear
from jaxrank.numerics.graph import connectivity, dominance_levels, reachability, strong_components
from jaxrank.numerics.solve.linear import SMALL
from jaxrank.numerics.solve.near import Near
from jaxrank.numerics.solve.solver import Solution, Solver
from jaxrank.numerics.status import Status


class PairedModel(Explains, HasCovariance, StartsNear):
    """What the paired comparison rankers share: a likelihood, a prior, a solver, and a policy for separated data."""

    independent: ClassVar[bool] = True  # every battle of all others
    prior: eqx.AbstractVar[Prior]
    separation: eqx.AbstractVar[str]
    solver: eqx.AbstractVar[Solver]

    @property
    @abc.abstractmethod
    def likelihood(self) -> Any:
        """The `PairLikelihood` that is maximised; of models of graded battles the outcomes, for one grade."""

    @abc.abstractmethod
    def observed(self, stat: Pairs) -> Pairs:
        """The results as the likelihood takes them (ties dropped or split)."""

    def read(self, stat: Pairs) -> Pairs:
        """What the likelihood takes: the results, and the pseudo-counts of a model that adds some."""
        seen = self.observed(stat)
        pseudo = getattr(self, "pseudo", None)
        if pseudo is None:
            return seen
        compared = (stat.total > 0).astype(seen.wins.dtype)
        return Pairs(seen.wins + jnp.asarray(pseudo, seen.wins.dtype) / 2 * compared, seen.ties)


class Support(eqx.Module):
    """What the data determine. **reach** (L, L) chains of results, **together** (L, L) models whose differences have a
    finite optimum, **status** whether there is one for all, **alive** whether the solver has anything to do."""

    reach: Bool[Array, "models models"]
    together: Bool[Array, "models models"]
    status: Int[Array, ""]
    alive: Bool[Array, ""]


def support(model: PairedModel, stat: Pairs) -> Support:
    """Existence of the optimum, decided before the solver runs. ``stat`` is what ``model.read`` returned."""
    n = stat.wins.shape[0]
    everyone = jnp.ones((n, n), bool)
    likelihood = model.likelihood
    free_tie = likelihood.n_extra > 0
    reads_ties = not isinstance(likelihood, BradleyTerryLikelihood)
    beats = stat.wins > 0
    edges = beats | (stat.ties > 0) if reads_ties else beats
    some_ties = jnp.any(stat.ties > 0)
    # All the same: any common strength is as good; equal strengths are the symmetric choice.
    indifferent = ~jnp.any(beats) & (~some_ties if not reads_ties or model.prior.proper else True)
    if free_tie and model.prior.proper:
        # A tie parameter without a prior of its own still needs a decisive result beside the ties.
        indifferent = ~jnp.any(beats)
    if model.prior.proper:
        status = jnp.asarray(Status.CONVERGED, jnp.int32)
        return Support(everyone, everyone, status, ~indifferent)
    reach, connected, linked = connectivity(edges)
    together = strong_components(reach)
    runs_off = some_ties & recession_exists(stat) if free_tie else jnp.array(False)
    status = jnp.where(
        connected & ~runs_off, Status.CONVERGED, jnp.where(linked, Status.NO_FINITE_OPTIMUM, Status.DISCONNECTED)
    )
    status = jnp.where(indifferent & (connected | ~some_ties), Status.CONVERGED, status).astype(jnp.int32)
    solvable = model.separation == "extend" or status == Status.CONVERGED
    return Support(reach, together, status, solvable & ~runs_off & ~indifferent)


Search = Callable[[Pairs, Support], Solution]
"""From the results that have a finite optimum, and what they determine, to the optimum."""


def fit_paired(model: PairedModel, stat: Pairs, search: Search | None = None) -> Fit:
    """Maximum likelihood or a posteriori strengths with every failure as a status. ``search``: another way to the
    optimum than the model's ``solver``."""
    stat = model.read(stat)
    known = support(model, stat)
    inside = _determined(model, stat, known)
    if search is not None:
        return _assemble(model, stat, known, search(inside, known))
    groups = known.together if model.separation == "extend" else None
    solution = maximise(model.likelihood, model.prior, model.solver, inside, known.alive, groups)
    return _assemble(model, stat, known, solution)


def _determined(model: PairedModel, stat: Pairs, known: Support) -> Pairs:
    """The results that have a finite optimum: for "extend", those inside strong components."""
    if model.separation != "extend":
        return stat
    inside = known.together.astype(stat.wins.dtype)
    return Pairs(stat.wins * inside, stat.ties * inside)


def _assemble(model: PairedModel, stat: Pairs, known: Support, solution: Solution) -> Fit:
    """A `Fit` from where the solver stopped and what the data determine."""
    likelihood = model.likelihood
    n = stat.wins.shape[0]
    theta = solution.params[:n]
    theta = jnp.where(known.alive, theta, 0)
    status = jnp.where(
        known.status == Status.CONVERGED, jnp.where(known.alive, solution.status, Status.CONVERGED), known.status
    )
    status = status.astype(jnp.int32)
    scores = theta
    lost = (status == Status.NO_FINITE_OPTIMUM) | (status == Status.DISCONNECTED)
    if model.separation == "extend" and not model.prior.proper:
        scores, ordered = _extended(theta, known)
        lost = lost & ~known.alive
        several = (status == Status.NO_FINITE_OPTIMUM) & ~ordered & known.alive
        status = jnp.where(several, Status.NOT_UNIQUE, status)
    scores = jnp.where(lost, jnp.nan, scores)
    params: dict[str, Any] = {"theta": jnp.where(lost, jnp.nan, theta)}
    if likelihood.n_extra:
        params.update(tie_parameter(likelihood, solution.params[n], stat, lost, known.alive))
    return Fit(scores, status, solution.steps, solver_resolution(scores, solution.error), params)


def paired_covariance(model: PairedModel, stat: Pairs, fit: Fit) -> Float[Array, "n n"]:
    """Inverse observed information of centred theta (and, last, of log nu or log kappa) at a fit."""
    stat = model.read(stat)
    known = support(model, stat)
    inside = _determined(model, stat, known)
    return covariance(model.likelihood, model.prior, fitted_params(model, fit), inside, known.together)


@eqx.filter_jit
def near_pairs(model: PairedModel, stat: Pairs, fit: Fit) -> Near:
    """Of many models the curvature costs many times what the gradient does, and is left out."""
    return Near(fitted_params(model, fit), paired_covariance(model, stat, fit), ends=stat.wins.shape[-1] > SMALL)


def fitted_params(model: PairedModel, fit: Fit) -> Float[Array, " n"]:
    """The flat parameter vector of a fit, as the likelihood takes it."""
    theta = fit.params["theta"]
    if model.likelihood.n_extra == 0:
        return theta
    if "thresholds" in fit.params:
        return jnp.concatenate([theta, fit.params["thresholds"]])
    extra = fit.params["kappa"] if isinstance(model.likelihood, RaoKupperLikelihood) else fit.params["nu"]
    return jnp.append(theta, jnp.log(extra))


def slopes_of(fit: Fit) -> list[Array]:
    """The coefficients of a fit of battles with covariates, and behind them that of the side; none of other fits."""
    return [jnp.atleast_1d(fit.params[name]) for name in ("beta", "delta") if name in fit.params]


def explanation(model: PairedModel, stat: Pairs, status: Status, models: Sequence[str]) -> str:
    if status == Status.DISCONNECTED:
        groups = _groups(np.asarray(stat.total) > 0, directed=False)
        listed = "; ".join("{" + name_list(models, g, 4) + "}" for g in groups[:6])
        remedy = f"leave all but one group out, or use a prior (for example {_map_id(model)})"
        return f"groups never compared with each other: {listed}; {remedy}"
    if status not in (Status.NO_FINITE_OPTIMUM, Status.NOT_UNIQUE):
        return ""
    reads_ties = not isinstance(model.likelihood, BradleyTerryLikelihood)
    edges = np.asarray(stat.wins) + (np.asarray(stat.ties) if reads_ties else 0) > 0
    groups = _groups(edges, directed=True)
    remedy = f'use a prior (for example {_map_id(model)}) or separation="extend"'
    if len(groups) == 1:
        return (
            "every win can be pushed apart and every tie kept together at once, so strengths and tie parameter "
            f"run off; {remedy.split(' or ')[0]}"
        )
    reach = np.asarray(reachability(edges))
    if status == Status.NOT_UNIQUE:
        apart = [(models[i], models[j]) for i, j in np.argwhere(~(reach | reach.T)) if i < j]
        listed = ", ".join(f"{a!r} and {b!r}" for a, b in apart[:4])
        more = f" and {len(apart) - 4} more pairs" if len(apart) > 4 else ""
        return f"no chain of wins leads either way between {listed}{more}, so that their order is open; use a prior"
    best = [g for g in groups if not np.any(reach[:, g[0]] & ~reach[g[0]])]
    worst = [g for g in groups if not np.any(reach[g[0]] & ~reach[:, g[0]])]
    tops = ", ".join(name_list(models, g, 4) for g in best[:4])
    ends = ", ".join(name_list(models, g, 4) for g in worst[:4])
    return f"nobody outside their group ever wins against {tops}; {ends} never win outside their group; {remedy}"


def _groups(edges: np.ndarray, directed: bool) -> list[np.ndarray]:
    from scipy.sparse.csgraph import connected_components  # slow to import, needed for messages only

    _, label = connected_components(edges, directed=directed, connection="strong")
    return [np.flatnonzero(label == g) for g in dict.fromkeys(label.tolist())]


def _map_id(model: PairedModel) -> str:
    names = {
        "Davidson": "bradley_terry_davidson_map",
        "RaoKupper": "rao_kupper_map",
        "PlackettLuce": "plackett_luce_map",
    }
    return names.get(type(model).__name__, "bradley_terry_map")


def _extended(theta: Array, known: Support) -> tuple[Float[Array, " models"], Bool[Array, ""]]:
    """Scores with strong components below each other in their order of dominance and inside a component its own
    optimum; and whether that order is the only one.

    NaN for models that met nobody, and for all where several groups were never compared: there is no order of these.
    """
    chained = known.reach | known.reach.T
    met = jnp.sum(chained, axis=1) > 1
    one_group = jnp.all(reachability(chained) | ~met[:, None] | ~met[None, :])
    level = dominance_levels(known.reach).astype(theta.dtype)
    gap = 1 + 2 * jnp.max(jnp.abs(theta))
    scores = jnp.where(met & one_group | jnp.all(~met), theta - gap * level, jnp.nan)
    return jnp.where(jnp.max(level) > 0, scores - jnp.nanmean(scores), scores), jnp.all(chained)


def tie_parameter(likelihood: Likelihood, raw: Array, stat: Pairs, lost: Array, alive: Array) -> dict[str, Array]:
    no_ties = ~jnp.any(stat.ties > 0)
    if isinstance(likelihood, RaoKupperLikelihood):
        value = jnp.where(no_ties, 1, jnp.where(alive, jnp.exp(raw), jnp.inf))
        return {"kappa": jnp.where(lost, jnp.nan, value)}
    value = jnp.where(no_ties, 0, jnp.where(alive, jnp.exp(raw), jnp.inf))
    return {"nu": jnp.where(lost, jnp.nan, value)}
