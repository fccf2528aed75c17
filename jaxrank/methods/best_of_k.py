"""max@k: the best of k tries of graded trials, averaged over questions."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from jaxrank.data.statistics import Counts
from jaxrank.errors import OptionError
from jaxrank.models.fit import Fit, exact_fit
from jaxrank.models.options import number
from jaxrank.models.ranker import Entry
from jaxrank.models.tries import MeanOfTries, check_tries
from jaxrank.numerics.best import best_of_tries
from jaxrank.numerics.status import Status


class MaxAtK(MeanOfTries):
    """Mean of the best reward among k tries.

    **Model** s_l = 1/M sum_m E max of the rewards of k trials drawn without replacement: with the rewards of a cell
    sorted, r_(1) <= .. <= r_(n), sum_{i >= k} C(i - 1, k - 1) / C(n, k) r_(i) [bagirov2025, appendix C.1].
    **Reads** category counts; every question uses its own number of trials.
    **Scores** on the scale of the rewards; not centred. k = 1 is the mean; of outcomes 0 and 1 this is Pass@k.
    **Fields** ``k``: tries, a whole number from 1 to the smallest number of trials; default 2. ``w``: reward of each
    category, in any order; default None, its value.
    **Status** undefined where a question has fewer than k trials.
    **Departs** in the arithmetic only: the sum runs over categories, not trials.
    """

    statistic: ClassVar[type] = Counts
    k: Any = number(2, 1, whole=True)
    w: Any = number(None, ndim=1)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        rewards = stat.levels if self.w is None else jnp.asarray(self.w, stat.levels.dtype)
        counts = jnp.pad(stat.categories, ((0, 0), (0, 0), (0, rewards.shape[0] - stat.categories.shape[-1])))
        origin = jnp.min(rewards)
        short = (stat.observed > 0) & (stat.trials < jnp.asarray(self.k, counts.dtype))
        values = best_of_tries(counts, rewards, self.k) - origin
        scores = stat.mean_over_questions(jnp.where(short, jnp.nan, values))
        known = jnp.all(jnp.isfinite(scores))
        return exact_fit(scores, jnp.where(known, Status.CONVERGED, Status.UNDEFINED), origin=origin)

    def bounds(self, stat: Counts) -> tuple[Any, Any]:
        rewards = stat.levels if self.w is None else jnp.asarray(self.w)
        return jnp.min(rewards), jnp.max(rewards)

    def check(self, data: Any) -> None:
        if self.w is not None and np.size(self.w) < data.n_categories:
            raise OptionError(
                f"w has {np.size(self.w)} weights, but R has the {data.n_categories} categories "
                f"0..{data.n_categories - 1}"
            )
        check_tries(self.k, data)


ENTRIES = (Entry("max_at_k", MaxAtK, source="bagirov2025"),)
