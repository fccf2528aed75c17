"""Tails of the mean reward of k tries: how likely it reaches a bar, for a weighted mean of bars."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.statistics import Counts
from jaxrank.errors import OptionError
from jaxrank.models.fit import Fit, exact_fit
from jaxrank.models.options import number
from jaxrank.models.ranker import Entry
from jaxrank.models.tries import MeanOfTries, check_spectrum, check_tries
from jaxrank.numerics.count_states import count_states, mean_over
from jaxrank.numerics.precision import matmul
from jaxrank.numerics.status import Status


class TailPass(MeanOfTries):
    """Weighted mean over thresholds t/k of the chance that the mean reward of k tries reaches them.

    **Model** s_l = 1/M sum_m sum_{t=1..k} v_t Pr(mean reward of k trials >= t/k), the trials drawn without replacement
    from those of a question [scorio2026].
    **Reads** category counts; every question uses its own number of trials.
    **Scores** in [0, sum of v]; not centred. Of outcomes 0 and 1 this is `ThresholdSpectrumAtK`.
    **Fields** ``v``: weights (k,) of the thresholds 1/k..1, 0 or more, with a sum of at most 1; their number is k.
    Default (1/2, 1/2), a choice of this library. ``w``: reward of each category, from 0 to 1; default None, its value
    over the largest (of values below 0, as where lower is better, 0 for the lowest and 1 for the highest).
    **Status** undefined where a question has fewer than k trials.
    **Departs** in being one number: the source has the profile over thresholds, `evaluation.tail_pass_profile` here.
    """

    statistic: ClassVar[type] = Counts
    v: Any = number((0.5, 0.5), 0, ndim=1, check=check_spectrum)
    w: Any = number(None, 0, 1, ndim=1)

    @property
    def k(self) -> Any:
        return np.asarray(float(np.shape(self.v)[-1]))

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        rewards = rewards_of(self.w, stat.levels)
        counts = jnp.pad(stat.categories, ((0, 0), (0, 0), (0, rewards.shape[0] - stat.categories.shape[-1])))
        k = int(self.k)
        states = count_states(k, rewards.shape[0])
        value = payoff(states, rewards, jnp.asarray(self.v, rewards.dtype))
        enough = stat.trials >= k
        spare = jnp.zeros_like(counts).at[..., 0].set(k)
        values = mean_over(jnp.where(enough[..., None], counts, spare), k, -1, value)
        scores = stat.mean_over_questions(jnp.where((stat.observed > 0) & ~enough, jnp.nan, values))
        return exact_fit(scores, jnp.where(jnp.all(jnp.isfinite(scores)), Status.CONVERGED, Status.UNDEFINED))

    def bounds(self, stat: Counts) -> tuple[Any, Any]:
        return 0.0, jnp.sum(jnp.asarray(self.v))

    def check(self, data: Any) -> None:
        if self.w is not None and np.size(self.w) < data.n_categories:
            raise OptionError(
                f"w has {np.size(self.w)} weights, but R has the {data.n_categories} categories "
                f"0..{data.n_categories - 1}"
            )
        count_states(int(self.k), data.n_categories if self.w is None else np.size(self.w))
        check_tries(self.k, data)


def rewards_of(w: Any, levels: Float[Array, " categories"]) -> Float[Array, " categories"]:
    """The reward of each category, by default its value over the largest, or from the lowest where that is below 0."""
    if w is not None:
        return jnp.asarray(w, levels.dtype)
    raised = levels - jnp.minimum(jnp.min(levels), 0)
    most = jnp.max(raised)
    return raised / jnp.where(most > 0, most, 1)


def payoff(
    states: Any, rewards: Float[Array, " categories"], v: Float[Array, " thresholds"]
) -> Float[Array, " states"]:
    """Of each split of k tries the sum of the weights of the thresholds that its mean reward reaches."""
    total = matmul(jnp.asarray(states, rewards.dtype), rewards)
    bars = jnp.arange(1, len(v) + 1, dtype=total.dtype) - 16 * len(v) * jnp.finfo(total.dtype).eps
    reached = total[:, None] >= bars[None]
    return matmul(reached.astype(v.dtype), v)


ENTRIES = (Entry("tail_pass", TailPass, source="scorio2026"),)
