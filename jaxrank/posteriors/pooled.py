"""Strengths by category, partially pooled: theta_ic = theta_i + u_ic, u_ic ~ N(0, tau^2) [dekoninck2025].

The likelihoods do not see a shift that all models of a category share, so departures are drawn in an orthonormal basis
of what sums to zero over the models: their law is that of independent u_ic, without the direction that the battles say
nothing about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.statistics import Pairs
from jaxrank.models.likelihood import maximise
from jaxrank.models.priors import Gaussian
from jaxrank.numerics.precision import matmul
from jaxrank.numerics.solve.newton import Newton
from jaxrank.posteriors.specs import PAIR, Evidence, Family, PosteriorModel

BY_CATEGORY = "theta_by_category"
"""The site of the strengths in each category, (K, L)."""
DEPARTURES = "departures"
"""The site that is sampled for them, (K, L - 1)."""


def by_category(spec: PosteriorModel) -> PosteriorModel:
    """The model of pairs with strengths of its own in every category; what stands behind the strengths is shared."""
    return replace(spec, family=_PAIR_BY_CATEGORY, strengths=BY_CATEGORY)


def observe(spec: PosteriorModel, parts: Sequence[Pairs]) -> tuple[Pairs, Evidence]:
    """The pairs of all K categories together, as the likelihood reads them, and the evidence with a row for each pair
    and category. ``design["category"]`` is the category of a row, ``design["own"]`` (K,) what `departures` reads."""
    parts = [spec.read(part) for part in parts]
    whole = Pairs(sum(p.wins for p in parts), sum(p.ties for p in parts))  # type: ignore[arg-type]
    found = [PAIR.observe(part) for part in parts]
    design: dict[str, Any] = {name: np.concatenate([f.design[name] for f in found]) for name in ("a", "b", "total")}
    design["met"] = sum(f.design["met"] for f in found)
    design["category"] = np.repeat(np.arange(len(found), dtype=np.int32), [len(f.outcomes) for f in found])
    design["own"] = own_share(spec, whole, parts)
    return whole, Evidence(design, np.concatenate([f.outcomes for f in found]))


def own_share(spec: PosteriorModel, whole: Pairs, parts: Sequence[Pairs]) -> Float[np.ndarray, " categories"]:
    """How much of what is known of a category comes from its own battles, about: I tau^2 / (1 + I tau^2), I the mean
    information of a strength there.

    For tau^2 the estimate by moments from the gradients g_c at the strengths of all battles, whose squares have the
    mean tr I_c + tau^2 tr I_c^2.
    """
    likelihood = spec.likelihood_of(whole)
    n = len(whole.wins)

    @jax.jit
    def parts_of(whole: Pairs, stacked: Pairs) -> tuple[Array, Array]:
        params = maximise(likelihood, Gaussian(0.0, 1.0), Newton(), whole, True).params
        _, slope, bend = jax.vmap(lambda part: likelihood.parts(params, part))(stacked)
        return slope[:, :n], bend[:, :n, :n]

    slope, bend = map(np.asarray, parts_of(whole, jax.tree.map(lambda *x: jnp.stack(x), *parts)))
    information = np.trace(bend, axis1=1, axis2=2)
    squares = np.sum(bend**2, axis=(1, 2))
    excess = np.sum(slope**2) - np.sum(information)
    known = max(excess, 0.0) / max(np.sum(squares), np.finfo(float).tiny) * information / max(n - 1, 1)
    return np.asarray(known / (1 + known), slope.dtype)


def departures(n_models: int, tau_prior: Any) -> Callable[[Array, Array], Array]:
    """Declares tau and the strengths by category, a function of theta (L,) and of ``own`` (K,).

    A category that speaks for itself (``own`` near 1) has its strengths sampled as they are, one that says little
    (near 0) its departures in units of tau, those between partly so: in every case the draws mix, and the model is the
    same.
    """
    import numpyro.distributions as dist
    from scipy.linalg import helmert

    basis = helmert(n_models)  # (L - 1, L), rows orthonormal and of sum zero

    def declare(theta: Array, own: Array) -> Array:
        import numpyro

        tau: Any = numpyro.sample("tau", tau_prior)
        rows = jnp.asarray(basis, theta.dtype)
        middle = matmul(rows, theta)[None, :] * own[:, None]
        scale = jnp.broadcast_to(tau ** own[:, None], middle.shape)
        drawn: Any = numpyro.sample(DEPARTURES, dist.Normal(middle, scale).to_event(2))
        apart = tau ** (1 - own[:, None]) * (drawn - middle)
        numpyro.deterministic(BY_CATEGORY, found := theta[None, :] + matmul(apart, rows))
        return found

    return declare


def _outcomes(likelihood: Any, values: dict[str, Any], design: dict[str, Any]) -> Any:
    """Pairs of a category are pairs of models of their own, each category with its L strengths."""
    first = design["category"] * design["met"].shape[0]
    shifted = {**design, "a": design["a"] + first, "b": design["b"] + first}
    return PAIR.outcomes(likelihood, values, shifted)


_PAIR_BY_CATEGORY = Family(PAIR.unit, PAIR.observe, _outcomes, PAIR.n_models)
