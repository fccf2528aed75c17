"""``TailPassDraws``: utilities of a profile on draws of its posterior, and weights of thresholds."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from jaxrank.errors import OptionError
from jaxrank.models.options import check_choice, check_count, check_number
from jaxrank.numerics.count_states import count_states, log_ways, mean_rewards, reaching


@dataclass(frozen=True, eq=False, repr=False)
class TailPassDraws:
    """Draws (B, L, M, C) of the chances of rewards; each utility gives (B, L), of one model (B,)."""

    chances: Float[np.ndarray, "draws models questions categories"]
    weight: Float[np.ndarray, "models questions"]
    k: int
    rewards: Float[np.ndarray, " categories"]
    thresholds: Float[np.ndarray, " thresholds"]
    single: bool

    @functools.cached_property
    def profile(self) -> Float[np.ndarray, "draws models thresholds"]:
        """T(rho) of each draw, (B, L, T)."""
        return self._means(lambda tails: tails)

    def linear(self, v: npt.ArrayLike) -> np.ndarray:
        """sum_t v_t T(rho_t)."""
        return self.profile @ self._weights(v)

    def power_mean(self, q: float, v: npt.ArrayLike | None = None, of: str = "questions") -> np.ndarray:
        """(sum_t v_t T^q)^(1/q) of each question, then their mean; ``of="profile"`` of the mean profile. **v**: equal
        weights by default."""
        check_number("q", q, above=0)
        check_choice("of", of, ("questions", "profile"))
        weights = self._weights(v)
        mean = lambda tails: (tails**q @ weights) ** (1 / q)
        return mean(self.profile) if of == "profile" else self._means(lambda tails: mean(tails)[..., None])[..., 0]

    def qrs(self, v: npt.ArrayLike | None = None, of: str = "questions") -> np.ndarray:
        """Quadratic mean over thresholds: `power_mean` with q = 2."""
        return self.power_mean(2.0, v, of)

    def rollout(self, m: int, v: npt.ArrayLike | None = None) -> np.ndarray:
        """sum_t v_t T(rho_t)^m of each question: m rollouts of k tries all reach one threshold."""
        check_count("m", m, 2)
        weights = self._weights(v)
        return self._means(lambda tails: (tails**m @ weights)[..., None])[..., 0]

    def harmonic(self, alpha: float = 0.5) -> np.ndarray:
        """1 / (alpha / discovery + (1 - alpha) / stability) of each question, then their mean."""
        check_number("alpha", alpha, 0, 1)

        def mean(ends: np.ndarray) -> np.ndarray:
            found, stable = ends[..., 0], ends[..., 1]
            with np.errstate(divide="ignore"):
                parts = np.zeros_like(found)
                for share, chance in ((alpha, found), (1 - alpha, stable)):
                    parts = parts + (share / chance if share else 0)
            return (1 / parts)[..., None]

        states = count_states(self.k, len(self.rewards))
        ends = np.column_stack([mean_rewards(states, self.rewards) > 0, reaching(states, self.rewards, np.ones(1))])
        return self._means(mean, ends)[..., 0]

    def discovery(self) -> np.ndarray:
        """Chance of any reward above 0."""
        return self.harmonic(1.0)

    def stability(self) -> np.ndarray:
        """Chance of the reward 1 in every try."""
        return self.harmonic(0.0)

    def moment(self, lam: float) -> np.ndarray:
        """E (mean reward)^lam."""
        check_number("lam", lam, above=0)
        average = mean_rewards(count_states(self.k, len(self.rewards)), self.rewards)
        return self._means(lambda tails: tails, (average**lam)[:, None])[..., 0]

    def shortfall(self, target: npt.ArrayLike, v: npt.ArrayLike | None = None, eps: float = 0.01) -> np.ndarray:
        """max_t v_t d_t + eps sum_t v_t d_t of each question, d_t = max(target_t - T(rho_t), 0); less is better.
        **target**: (T,), from 1 down to 0, never rising.  **v**: above 0, by default 1 each."""
        check_number("target", target, 0, 1, ndim=1)
        check_number("eps", eps, above=0)
        aim = np.asarray(target, float)
        weights = np.ones(len(self.thresholds)) if v is None else np.asarray(v, float)
        if aim.shape != self.thresholds.shape or np.any(np.diff(aim) > 0):
            raise OptionError(f"target needs {len(self.thresholds)} values, one a threshold, that do not rise")
        if weights.shape != aim.shape or np.any(weights <= 0):
            raise OptionError(f"v needs {len(self.thresholds)} weights above 0, one a threshold")

        def lack(tails: np.ndarray) -> np.ndarray:
            short = weights * np.maximum(aim - tails, 0)
            return (short.max(axis=-1) + eps * short.sum(axis=-1))[..., None]

        return self._means(lack)[..., 0]

    def _weights(self, v: npt.ArrayLike | None) -> np.ndarray:
        n = len(self.thresholds)
        return np.full(n, 1 / n) if v is None else threshold_weights(v, n)

    def _means(self, of: Callable[[np.ndarray], np.ndarray], value: np.ndarray | None = None) -> np.ndarray:
        """Mean over questions of ``of`` (what each question's k tries give), (B, L, ...); some draws at a time."""
        states = count_states(self.k, len(self.rewards))
        gives = reaching(states, self.rewards, self.thresholds) if value is None else value
        log = log_ways(states)
        made = []
        several = max(int(4e6 / (self.weight.size * len(states))), 1)
        for start in range(0, len(self.chances), several):
            p = np.log(np.maximum(self.chances[start : start + several], 1e-300))
            tails = np.clip(np.exp(p @ states.T.astype(float) + log) @ gives, 0, 1)
            weight = self.weight[..., None]
            made.append((weight * of(tails)).sum(axis=-2) / weight.sum(axis=-2))
        out = np.concatenate(made)
        return out[:, 0] if self.single else out


def tail_weights(kind: str, k: int, **options: float | npt.ArrayLike) -> Float[np.ndarray, " thresholds"]:
    """Weights (k,) of the thresholds 1/k..1 with the sum 1, for `tail_pass`.

    **kind**: "uniform"; "threshold" (``tau``: all on the first t with t/k >= tau); "moment" (``lam``: (t/k)^lam -
    ((t-1)/k)^lam); "beta" (``theta``, ``kappa``: increments of the distribution function of Beta(theta kappa, (1 -
    theta) kappa)); "maxent" (``mean``: of the density on [0, 1] proportional to exp(c rho) with that mean); "payoff"
    (``u``: (k + 1,) from 0 to 1, its steps).

    >>> from jaxrank import evaluation
    >>> evaluation.tail_weights("moment", 4, lam=2).tolist()
    [0.0625, 0.1875, 0.3125, 0.4375]
    """
    check_choice("kind", kind, tuple(_KINDS))
    check_count("k", k, 1)
    make, names = _KINDS[kind]
    if set(options) != set(names):
        wanted = f"needs {' and '.join(names)}" if names else "has no options"
        raise OptionError(f"tail_weights({kind!r}) {wanted}; it was given {', '.join(options) or 'none'}")
    return make(k, *(options[name] for name in names))


def _uniform(k: int) -> np.ndarray:
    return np.full(k, 1 / k)


def _threshold(k: int, tau: float) -> np.ndarray:
    check_number("tau", tau, 0, 1)
    first = int(np.floor(tau * k))
    first += first / k < tau
    return np.eye(k)[max(first, 1) - 1]


def _moment(k: int, lam: float) -> np.ndarray:
    check_number("lam", lam, above=0)
    return np.diff((np.arange(k + 1) / k) ** lam)


def _beta(k: int, theta: float, kappa: float) -> np.ndarray:
    from scipy.special import betainc

    check_number("theta", theta, above=0, below=1)
    check_number("kappa", kappa, above=0)
    return np.diff(betainc(theta * kappa, (1 - theta) * kappa, np.arange(k + 1) / k))


def _maxent(k: int, mean: float) -> np.ndarray:
    from scipy.optimize import root_scalar

    check_number("mean", mean, above=0, below=1)

    def off(c: float) -> float:  # mean of exp(c x) on [0, 1], less what is wanted
        return (0.5 + c / 12 if abs(c) < 1e-4 else 1 / -np.expm1(-c) - 1 / c) - mean

    reach = 2 / min(mean, 1 - mean) + 2
    c = float(root_scalar(off, bracket=(-reach, reach), method="brentq", xtol=1e-14).root)
    at = np.arange(k + 1) / k
    if abs(c) < 1e-12:
        return np.diff(at)
    top = at if c < 0 else at - 1  # exp(c at) over its largest value
    return np.diff(np.exp(c * top)) / (np.exp(c * top[-1]) - np.exp(c * top[0]))


def _payoff(k: int, u: npt.ArrayLike) -> np.ndarray:
    check_number("u", u, 0, 1, ndim=1)
    values = np.asarray(u, float)
    if values.shape != (k + 1,) or values[0] or values[-1] != 1 or np.any(np.diff(values) < 0):
        raise OptionError(f"u needs {k + 1} values for 0..k that start at 0, end at 1 and never fall")
    return np.diff(values)


_KINDS = {
    "uniform": (_uniform, ()),
    "threshold": (_threshold, ("tau",)),
    "moment": (_moment, ("lam",)),
    "beta": (_beta, ("theta", "kappa")),
    "maxent": (_maxent, ("mean",)),
    "payoff": (_payoff, ("u",)),
}


def threshold_weights(v: npt.ArrayLike, n: int) -> Float[np.ndarray, " thresholds"]:
    """Weights ``v`` of ``n`` thresholds with the sum 1, checked."""
    check_number("v", v, 0, ndim=1)
    weights = np.asarray(v, float)
    if weights.shape != (n,) or abs(weights.sum() - 1) > 1e-9:
        raise OptionError(f"v needs {n} weights with the sum 1, one a threshold")
    return weights
