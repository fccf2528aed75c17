"""Priors on centred log-strengths or abilities, as penalties: minus the log density up to a constant."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.errors import OptionError
from jaxrank.models.options import as_number, check_fields, check_number, number, shown

WIDE = 25.0
"""Variance of the prior of the methods that data without a named method are ranked by: it keeps models that only win
finite, and strengths up to 5 from the mean almost where the data put them; a variance of 1 pulls them in, and intervals
of models far apart then miss (`experiments/calibration`, others)."""


class Prior(eqx.Module):
    """An independent prior on each centred parameter t, (n,) or with lanes (n, lanes).

    ``proper`` is False where the penalty alone does not make the optimum finite. ``smoothings`` are the widths of the
    successive problems that a prior with a kink is solved by; (0,) where the penalty is smooth. ``convex``: whether the
    penalty is, so that there is one optimum wherever the search begins.
    """

    convex: ClassVar[bool] = True

    def __check_init__(self) -> None:
        check_fields(self)

    def check_models(self, n_models: int) -> None:
        """`OptionError` where a hyper-parameter has one value for each of another number of models."""
        for name, value in vars(self).items():
            if np.ndim(value) == 1 and np.shape(value)[0] not in (1, n_models):
                raise OptionError(
                    f"{name} of the prior {type(self).__name__} has {np.shape(value)[0]} values; it needs one, or one "
                    f"for each of the {n_models} models"
                )

    @property
    def proper(self) -> bool:
        return True

    @property
    def smoothings(self) -> tuple[float, ...]:
        return (0.0,)

    @abc.abstractmethod
    def penalty(self, t: Float[Array, " n"], smoothing: Any = 0.0) -> Float[Array, ""]:
        """Minus the log density of t, up to a constant."""

    @abc.abstractmethod
    def slope(self, t: Float[Array, " n"], smoothing: Any = 0.0) -> Float[Array, " n"]:
        """First derivative of the penalty for each entry."""

    @abc.abstractmethod
    def bend(self, t: Float[Array, " n"], smoothing: Any = 0.0) -> Float[Array, " n"]:
        """A positive curvature for each entry: the second derivative, or a bound on it where that can be negative."""

    @abc.abstractmethod
    def curvature(self, t: Float[Array, " n"]) -> Float[Array, " n"]:
        """The second derivative of the penalty for each entry, of any sign; NaN at a kink."""


class Flat(Prior):
    """No prior: maximum likelihood."""

    @property
    def proper(self) -> bool:
        return False

    def penalty(self, t: Array, smoothing: Any = 0.0) -> Array:
        return jnp.zeros(t.shape[1:], t.dtype)

    def slope(self, t: Array, smoothing: Any = 0.0) -> Array:
        return jnp.zeros_like(t)

    def bend(self, t: Array, smoothing: Any = 0.0) -> Array:
        return jnp.zeros_like(t)

    def curvature(self, t: Array) -> Array:
        return jnp.zeros_like(t)


class Normal(Prior):
    """What the normal priors share: the derivatives of sum (t - mean)^2 / (2 var)."""

    mean: eqx.AbstractVar[Any]
    var: eqx.AbstractVar[Any]

    def penalty(self, t: Array, smoothing: Any = 0.0) -> Array:
        return jnp.sum((t - _like(self.mean, t)) ** 2 / (2 * _like(self.var, t)), axis=0)

    def slope(self, t: Array, smoothing: Any = 0.0) -> Array:
        return (t - _like(self.mean, t)) / _like(self.var, t)

    def bend(self, t: Array, smoothing: Any = 0.0) -> Array:
        return jnp.broadcast_to(1 / _like(self.var, t), t.shape)

    def curvature(self, t: Array) -> Array:
        return self.bend(t)


class Gaussian(Normal):
    """Normal: sum (t - mean)^2 / (2 var); ``mean`` a number or (L,), ``var`` > 0."""

    mean: Any = number(0.0, ndim=(0, 1))
    var: Any = number(1.0, above=0, ndim=(0, 1))


class Laplace(Prior):
    """Double exponential: sum |t - loc| / scale; ``scale`` > 0.

    Solved through sqrt((t - loc)^2 + w^2) with widths w falling to 1e-8 (1e-4 in float32), which moves the optimum by
    less than w.
    """

    loc: Any = number(0.0, ndim=(0, 1))
    scale: Any = number(1.0, above=0, ndim=(0, 1))

    @property
    def smoothings(self) -> tuple[float, ...]:
        last = -8 if jnp.zeros(()).dtype == jnp.float64 else -4
        return tuple(10.0**e for e in range(0, last - 1, -1))

    def penalty(self, t: Array, smoothing: Any = 0.0) -> Array:
        return jnp.sum(self._radius(t, smoothing) / _like(self.scale, t), axis=0)

    def slope(self, t: Array, smoothing: Any = 0.0) -> Array:
        r = self._radius(t, smoothing)
        return jnp.where(r > 0, (t - _like(self.loc, t)) / jnp.where(r > 0, r, 1), 0) / _like(self.scale, t)

    def bend(self, t: Array, smoothing: Any = 0.0) -> Array:
        r = self._radius(t, smoothing)
        return jnp.where(r > 0, smoothing**2 / jnp.where(r > 0, r, 1) ** 3, 0) / _like(self.scale, t)

    def curvature(self, t: Array) -> Array:
        """0, and NaN within the ten last widths of the kink, where an optimum that is held by it comes to lie."""
        return jnp.where(jnp.abs(t - _like(self.loc, t)) > 10 * self.smoothings[-1], jnp.zeros_like(t), jnp.nan)

    def _radius(self, t: Array, smoothing: Any) -> Array:
        return jnp.sqrt((t - _like(self.loc, t)) ** 2 + smoothing**2)


class Cauchy(Prior):
    """Cauchy: sum log(1 + ((t - loc) / scale)^2); ``scale`` > 0.

    The penalty is not convex: with very little data there can be several optima, and the one reached from the start at
    the likelihood's log-odds is returned, of replicates too.
    """

    convex: ClassVar[bool] = False

    loc: Any = number(0.0, ndim=(0, 1))
    scale: Any = number(1.0, above=0, ndim=(0, 1))

    def penalty(self, t: Array, smoothing: Any = 0.0) -> Array:
        return jnp.sum(jnp.log1p(self._z(t) ** 2), axis=0)

    def slope(self, t: Array, smoothing: Any = 0.0) -> Array:
        z = self._z(t)
        return 2 * z / (1 + z**2) / _like(self.scale, t)

    def bend(self, t: Array, smoothing: Any = 0.0) -> Array:
        # The second derivative where it is positive enough, else the secant bound 2 / (scale^2 + (t - loc)^2).
        z = self._z(t)
        secant = 2 / (1 + z**2)
        exact = 2 * (1 - z**2) / (1 + z**2) ** 2
        return jnp.where(z**2 < 0.5, exact, secant) / _like(self.scale, t) ** 2

    def curvature(self, t: Array) -> Array:
        z = self._z(t)
        return 2 * (1 - z**2) / (1 + z**2) ** 2 / _like(self.scale, t) ** 2

    def _z(self, t: Array) -> Array:
        return (t - _like(self.loc, t)) / _like(self.scale, t)


class Empirical(Normal):
    """Normal around the centred log-odds of each model's accuracy in earlier outcomes R0.

    mean_i = logit(clip(accuracy of i in R0, eps, 1 - eps)), centred over models; variance ``var``.
    **R0**: outcomes 0 and 1, (L, D) or (L, M, D), missing cells NaN or -1.
    """

    mean: Any = number(0.0, ndim=1)
    var: Any = number(1.0, above=0, ndim=(0, 1))

    def __init__(self, R0: Any, var: float = 1.0, eps: float = 1e-6) -> None:
        check_number("eps", eps, above=0, below=0.5)
        try:
            r0 = np.asarray(R0, float)
        except (TypeError, ValueError):
            raise OptionError("R0 of Empirical must be an array of outcomes 0, 1 and missing (NaN or -1)") from None
        if r0.ndim not in (2, 3):
            raise OptionError(
                f"R0 has shape {r0.shape}; Empirical needs (models, trials) or (models, questions, trials)"
            )
        seen = (r0 >= 0) & ~np.isnan(r0)
        if np.any(seen & (r0 != 0) & (r0 != 1)):
            raise OptionError("R0 of Empirical holds values other than 0, 1 and missing")
        n = seen.reshape(len(r0), -1).sum(1)
        if np.any(n == 0):
            raise OptionError(f"R0 of Empirical has no outcome for models {np.flatnonzero(n == 0).tolist()}")
        accuracy = np.where(seen, r0, 0).reshape(len(r0), -1).sum(1) / n
        accuracy = np.clip(accuracy, eps, 1 - eps)
        logit = np.log(accuracy / (1 - accuracy))
        self.mean = logit - logit.mean()
        self.var = as_number(var)


PRIORS = {"flat": Flat, "gaussian": Gaussian, "laplace": Laplace, "cauchy": Cauchy}
"""The words for priors that need no data."""


def as_prior(value: Any) -> Prior:
    """A prior from a prior or from a number v, which means Gaussian(0, v)."""
    if isinstance(value, Prior):
        return value
    if value is None:
        return Flat()
    try:
        check_number("prior", value, above=0)
    except OptionError:
        raise OptionError(f"prior={shown(value)} is neither a jaxrank.priors prior nor a variance above 0") from None
    return Gaussian(0.0, value)


def _like(value: Any, t: Array) -> Array:
    """A hyper-parameter, one for all models or one for each, so that it broadcasts against t (with or without
    lanes)."""
    value = jnp.asarray(value, t.dtype)
    return value if value.ndim == t.ndim else value[None]
