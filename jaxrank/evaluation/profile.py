"""``TailPassProfile``: chances that the mean reward of k tries reaches each bar, and what they are worth."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from jaxrank.evaluation.estimates import Cells, Estimate, interval_estimate, over_questions
from jaxrank.evaluation.profile_draws import TailPassDraws, threshold_weights
from jaxrank.models.options import check_count, check_number
from jaxrank.numerics.count_states import (
    MOST,
    chances,
    count_states,
    mean_rewards,
    posterior_moments,
    reaching,
    twice,
)
from jaxrank.numerics.precision import precision


@dataclass(frozen=True, eq=False, repr=False)
class TailPassProfile:
    """T(rho) = mean over questions of Pr(mean reward of k tries >= rho); see `tail_pass_profile`.

    **k**; **thresholds** (T,); **rewards** (C,), the distinct ones, rising.  **point** (L, T): of k trials drawn from
    the recorded ones, NaN for models with fewer on a question.  **mean**, **sd** (L, T) and **covariance** (L, T, T):
    of the posterior, for k fresh tries, exact. Of one model without the first axis.

    Utilities are functions of the profile: `linear`, `moment`, `discovery`, `stability`, each an `Estimate`, with exact
    posterior mean and sd; others on draws of the posterior, `sample`.
    """

    cells: Cells
    k: int
    rewards: Float[np.ndarray, " categories"]
    thresholds: Float[np.ndarray, " thresholds"]
    weight: Float[np.ndarray, "models questions"]
    counts: Float[np.ndarray, "models questions categories"]
    alpha: Float[np.ndarray, "models questions categories"]

    @functools.cached_property
    def states(self) -> np.ndarray:
        return count_states(self.k, len(self.rewards))

    @functools.cached_property
    def average(self) -> Float[np.ndarray, " states"]:
        """The mean reward of each split of k tries."""
        return mean_rewards(self.states, self.rewards)

    @functools.cached_property
    def reached(self) -> Float[np.ndarray, "states thresholds"]:
        return reaching(self.states, self.rewards, self.thresholds)

    @functools.cached_property
    def question_mean(self) -> Float[np.ndarray, "models questions thresholds"]:
        """Posterior means of the questions, (L, M, T)."""
        return self._of_one(self._fresh(self.states) @ self.reached)

    @functools.cached_property
    def point(self) -> Float[np.ndarray, "models thresholds"]:
        return self._of_one(self._recorded(self.reached))

    @functools.cached_property
    def mean(self) -> Float[np.ndarray, "models thresholds"]:
        return self._of_one(self._over(self._fresh(self.states) @ self.reached))

    @property
    def sd(self) -> Float[np.ndarray, "models thresholds"]:
        return np.sqrt(np.diagonal(self.covariance, axis1=-2, axis2=-1))

    @functools.cached_property
    def covariance(self) -> Float[np.ndarray, "models thresholds thresholds"]:
        double = self._fresh(count_states(2 * self.k, len(self.rewards), 16 * MOST))
        mean = self._fresh(self.states) @ self.reached
        weight, total = self.weight, self.weight.sum(axis=-1)
        n = len(self.thresholds)
        out = np.empty((len(mean), n, n))
        for i in range(n):
            for j in range(i, n):
                both = double @ twice(self.states, self.reached[:, i], self.reached[:, j])
                own = (weight * (both - mean[..., i] * mean[..., j])).sum(axis=-1) / total**2
                out[:, i, j] = out[:, j, i] = np.maximum(own, 0) if i == j else own
        return self._of_one(out)

    def linear(self, v: npt.ArrayLike, level: float = 0.95) -> Estimate:
        """sum_t v_t T(rho_t): **v** (T,), 0 or more with the sum 1."""
        return self._estimate(self.reached @ threshold_weights(v, len(self.thresholds)), level)

    def moment(self, lam: float, level: float = 0.95) -> Estimate:
        """E (mean reward)^lam, lam above 0: 1 is the mean reward, more of it prefers tries that are good together."""
        check_number("lam", lam, above=0)
        return self._estimate(self.average**lam, level)

    def discovery(self, level: float = 0.95) -> Estimate:
        """Chance of any reward above 0."""
        return self._estimate((self.average > 0).astype(float), level)

    def stability(self, level: float = 0.95) -> Estimate:
        """Chance of the reward 1 in every try."""
        return self._estimate(reaching(self.states, self.rewards, np.ones(1))[:, 0], level)

    def at_k(self, k: int, thresholds: npt.ArrayLike | None = None) -> TailPassProfile:
        """The same evidence at another number of tries."""
        check_count("k", k, 1)
        bars = np.arange(1, k + 1) / k if thresholds is None else np.asarray(thresholds, float)
        return TailPassProfile(self.cells, k, self.rewards, bars, self.weight, self.counts, self.alpha)

    def sample(self, n_draws: int = 1000, seed: int = 0) -> TailPassDraws:
        """Draws of the chances of every question, shared by all utilities of them, so that their differences are."""
        check_count("n_draws", n_draws, 2)
        rng = np.random.default_rng(seed)
        p = rng.standard_gamma(self.alpha, (n_draws, *self.alpha.shape))
        p /= p.sum(axis=-1, keepdims=True)
        return TailPassDraws(p, self.weight, self.k, self.rewards, self.thresholds, self.cells.single)

    def _estimate(self, value: np.ndarray, level: float) -> Estimate:
        with precision("float64"):
            mean, variance = posterior_moments(jnp.asarray(self.alpha), self.k, value, twice(self.states, value, value))
            point = jnp.asarray(self._recorded(value[:, None])[:, 0])
            found = over_questions(jnp.asarray(self.weight), mean, variance)
            return interval_estimate(self.cells, point, *found, level, (0.0, 1.0))

    def _fresh(self, states: np.ndarray) -> np.ndarray:
        with precision("float64"):
            return np.asarray(chances(jnp.asarray(self.alpha), states, 1))

    def _recorded(self, value: np.ndarray) -> np.ndarray:
        """Mean over questions of what k recorded trials are worth, (L, U), for ``value`` (states, U)."""
        enough = self.counts.sum(axis=-1) >= self.k
        safe = np.where(enough[..., None], self.counts, self.k)
        with precision("float64"):
            each = np.asarray(chances(jnp.asarray(safe), self.states, -1)) @ value
        return self._over(np.where(((self.weight > 0) & ~enough)[..., None], np.nan, each))

    def _over(self, values: np.ndarray) -> np.ndarray:
        """The mean over questions (axis 1)."""
        weight = self.weight[..., None]
        return np.where(weight > 0, weight * values, 0).sum(axis=1) / weight.sum(axis=1)

    def _of_one(self, values: np.ndarray) -> np.ndarray:
        return values[0] if self.cells.single else values

    def __repr__(self) -> str:
        return f"TailPassProfile(k={self.k}, thresholds={np.array2string(self.thresholds, precision=4)})"
