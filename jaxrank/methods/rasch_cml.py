"""The Rasch model by conditional maximum likelihood."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.data.statistics import Counts
from jaxrank.models.fit import Fit, precise, solver_resolution
from jaxrank.models.irt.conditional import conditional_covariance, fit_conditional, weighted_likelihood_ability
from jaxrank.models.irt.rasch import item_fit
from jaxrank.models.irt.table import conditional_existence, item_table, reported_difficulty
from jaxrank.models.options import count, flag
from jaxrank.models.ranker import Entry, HasStandardErrors, Ranker
from jaxrank.numerics.status import Status


class RaschConditional(Ranker, HasStandardErrors):
    """Rasch abilities at difficulties estimated from the results given every model's total score.

    **Model** k_lm ~ Binomial(n_lm, sigmoid(theta_l - b_m)); b maximises prod_l Pr(k_l | sum_m k_lm), which is free of
    theta and therefore consistent as models are added, unlike the joint estimate [andersen1970]; then theta_l by Warm's
    weighted likelihood at these b [warm1989], which is finite for every total.
    **Reads** counts of binary outcomes, whole numbers of trials.
    **Scores** theta in log-odds, difficulties summing to 0. With complete data the order is that of the total scores.
    **Fields** ``details``: True adds standard errors of the difficulties and item fit.  ``max_steps``: default 100.
    **Params** ``difficulty`` (M,), ``log_likelihood`` (conditional, no binomial coefficients); with ``details``
    ``difficulty_se``, ``infit``, ``outfit``.
    **Status** ``NO_FINITE_OPTIMUM`` where some questions are separated from the others (no model failed there and
    succeeded here) [fischer1981], ``DISCONNECTED``, ``MAX_STEPS``, which tables of a few questions with a few trials
    can reach although an optimum exists: their steps overshoot (14 of 10,000 tables of 4 models and 3 questions).
    Questions that all trials passed or all failed are left out and reported with their infinite difficulty.
    **Departs** the symmetric functions are computed as contour integrals, exact to rounding, instead of by recursion.
    """

    statistic: ClassVar[type] = Counts
    binary: ClassVar[bool] = True
    fractional: ClassVar[bool] = False
    gaps: ClassVar[str] = "abilities allow for the difficulty of the questions that each model has"
    details: bool = flag(False)
    max_steps: int = count(100)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        table = item_table(stat, keep_extreme=False)
        status = conditional_existence(table)
        lost = status != Status.CONVERGED
        found = fit_conditional(table, ~lost, self.max_steps)
        b = found.params
        theta = weighted_likelihood_ability(table, b)
        blank = lambda v: jnp.where(lost, jnp.nan, v)
        scores = blank(theta)
        params: dict[str, Any] = {
            "difficulty": blank(reported_difficulty(table, b)),
            "log_likelihood": blank(-found.value),
        }
        if self.details:
            se = jnp.sqrt(jnp.diagonal(conditional_covariance(table, b, found.memory)))
            params["difficulty_se"] = blank(jnp.where(table.used, se, jnp.nan))
            params |= item_fit(table, jax.nn.sigmoid(scores[:, None] - b[None, :]))
        return Fit(
            scores,
            jnp.where(lost, status, precise(found.status, found.error)).astype(jnp.int32),
            found.steps,
            solver_resolution(scores, found.error),
            params,
        )

    def standard_errors(self, stat: Counts, fit: Fit) -> Float[Array, " models"]:
        table = item_table(stat, keep_extreme=False)
        b = jnp.where(table.used, fit.params["difficulty"], 0)
        p = jax.nn.sigmoid(fit.scores[:, None] - b[None, :])
        return 1 / jnp.sqrt(jnp.sum(table.trials * p * (1 - p), axis=1))


ENTRIES = (Entry("rasch_cml", RaschConditional, source="andersen1970"),)
