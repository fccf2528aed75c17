"""The Rasch model by joint maximum likelihood or joint maximum a posteriori."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.data.statistics import Counts
from jaxrank.errors import OptionError
from jaxrank.models.fit import Fit, precise, solver_resolution
from jaxrank.models.irt.parts import extended_status, parts_of
from jaxrank.models.irt.rasch import fit_rasch, item_fit, rasch_log_likelihood, rasch_standard_errors
from jaxrank.models.irt.table import ItemTable, explain_separation, item_table, joint_existence, reported_difficulty
from jaxrank.models.options import SEPARATION, choice, count, flag, part
from jaxrank.models.priors import PRIORS, Flat, Prior, as_prior
from jaxrank.models.ranker import Entry, Explains, HasStandardErrors, Ranker
from jaxrank.numerics.status import Status


class Rasch(Ranker, HasStandardErrors, Explains):
    """Rasch abilities, estimated together with the difficulties of the questions.

    **Model** k_lm ~ Binomial(n_lm, sigmoid(theta_l - b_m)) [rasch1960; hariri2026ranking, eq. 54]; joint maximum
    likelihood, or with ``prior`` the joint maximum a posteriori.
    **Reads** counts of binary outcomes. A question drawn twice counts twice.
    **Scores** theta in log-odds, on the scale where the difficulties of the questions in use sum to 0. With complete
    data their order is that of the total scores, ties included.
    **Fields** ``prior``: a `jaxrank.priors` prior on theta or a variance v for Gaussian(0, v); default flat.
    ``separation``: what scores are where no finite optimum exists: "raise" (default; NaN in a batch), "nan", or
    "extend": the strong components of models and questions in their order of dominance, maximum likelihood inside each,
    with arbitrary distances between them; models with the same perfect answers tie. Without effect under a proper
    prior.  ``centred``: difficulties sum to 0 (default True); False, with a proper prior only, leaves their place to
    the prior.
    ``details``: True adds standard errors and item fit; default False.  ``max_steps``: Newton steps, default 100.
    **Params** ``difficulty`` (M,), ``log_likelihood`` (no binomial coefficients), ``separated`` (L,) models that have
    no finite estimate, with "extend" ``part`` (L,), the first model of each model's component, and NaN for difficulties
    in none; with ``details`` ``ability_se``, ``difficulty_se``, ``infit``, ``outfit``.
    **Status** flat prior: ``NO_FINITE_OPTIMUM`` where a model or a question (or a group of them) is all right or all
    wrong against the rest, decided exactly on the graph of successes and failures (with "extend" models, whose scores
    stay; ``NOT_UNIQUE`` where cells are missing and no chain of results orders two of them); ``DISCONNECTED``. With a
    proper prior the optimum always exists: questions that all trials passed or all failed are left out, and reported
    with an infinite difficulty. ``MAX_STEPS``.
    **Departs** the published code refuses data with an all-right or all-wrong question also under a prior; here they
    are left out, which is the limit of their estimate.
    """

    statistic: ClassVar[type] = Counts
    binary: ClassVar[bool] = True
    gaps: ClassVar[str] = "abilities allow for the difficulty of the questions that each model has"
    prior: Prior = part(Flat(), Prior, PRIORS, as_prior)
    separation: str = choice("raise", SEPARATION)
    centred: bool = flag(True)
    details: bool = flag(False)
    max_steps: int = count(100)

    def __check_init__(self) -> None:
        if not self.centred and isinstance(self.prior, Prior) and not self.prior.proper:
            raise OptionError(
                "centred=False leaves the place of the difficulties to a prior, and there is none: use one"
            )

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        table, status, separated = self._prepare(stat)
        if self._extends:
            return self._in_parts(table, status, separated)
        found = fit_rasch(table, self.prior, self._is_centred, status == Status.CONVERGED, self.max_steps)
        theta, b = found.params
        lost = status != Status.CONVERGED
        b = b - jnp.sum(table.weight * b) / jnp.maximum(jnp.sum(table.weight), 1) if self._is_centred else b
        scores = jnp.where(lost, jnp.nan, theta)
        params: dict[str, Any] = {
            "difficulty": jnp.where(lost, jnp.nan, reported_difficulty(table, b)),
            "log_likelihood": jnp.where(lost, jnp.nan, rasch_log_likelihood(table, theta, b)),
            "separated": separated,
        }
        if self.details:
            se = rasch_standard_errors(table, self.prior, scores, b, self._is_centred)
            params |= {"ability_se": se[0], "difficulty_se": se[1]}
            params |= item_fit(table, jax.nn.sigmoid(scores[:, None] - b[None, :]))
        status = jnp.where(lost, status, precise(found.status, found.error)).astype(jnp.int32)
        return Fit(scores, status, found.steps, solver_resolution(scores, found.error), params)

    def _in_parts(self, table: ItemTable, existence: Array, separated: Array) -> Fit:
        parts = parts_of(table)
        inside = parts.table
        found = fit_rasch(inside, self.prior, True, existence != Status.DISCONNECTED, self.max_steps, parts.ground)
        status, lost = extended_status(existence, precise(found.status, found.error), parts)
        blank = lambda v: jnp.where(lost, jnp.nan, v)
        theta, b = (blank(v) for v in parts.joined(*found.params))
        finite = jnp.where(inside.used, b, 0)
        params: dict[str, Any] = {
            "difficulty": b,
            "log_likelihood": rasch_log_likelihood(inside, theta, finite),
            "separated": separated,
            "part": parts.part,
        }
        if self.details:
            one = status == Status.CONVERGED
            se = rasch_standard_errors(inside, self.prior, theta, finite, True)
            params |= {"ability_se": jnp.where(one, se[0], jnp.nan), "difficulty_se": jnp.where(one, se[1], jnp.nan)}
            params |= item_fit(inside, jax.nn.sigmoid(theta[:, None] - finite[None, :]))
        return Fit(theta, status, found.steps, solver_resolution(theta, found.error), params)

    def standard_errors(self, stat: Counts, fit: Fit) -> Float[Array, " models"]:
        table, _, _ = self._prepare(stat)
        table = parts_of(table).table if self._extends else table
        b = jnp.where(jnp.isfinite(fit.params["difficulty"]), fit.params["difficulty"], 0)
        se = rasch_standard_errors(table, self.prior, fit.scores, b, self._is_centred)[0]
        return jnp.where(fit.status == Status.CONVERGED, se, jnp.nan) if self._extends else se

    def explain(self, stat: Counts, fit: Fit, models: Sequence[str], questions: Sequence[str]) -> str:
        remedy = 'use rasch_map, mml_rasch, a prior, or separation="extend"'
        return explain_separation(stat, fit, models, questions, remedy)

    @property
    def _extends(self) -> bool:
        return self.separation == "extend" and not self.prior.proper

    @property
    def _is_centred(self) -> bool:
        return self.centred or not self.prior.proper

    def _prepare(self, stat: Counts) -> tuple[ItemTable, Array, Array]:
        if self.prior.proper:
            n_models = stat.trials.shape[0]
            return (
                item_table(stat, keep_extreme=False),
                jnp.asarray(Status.CONVERGED, jnp.int32),
                jnp.zeros(n_models, bool),
            )
        table = item_table(stat, keep_extreme=True)
        status, separated = joint_existence(table)
        return table, status, separated


ENTRIES = (
    Entry("rasch", Rasch, source="rasch1960", published=True),
    Entry("rasch_map", Rasch, source="rasch1960", options={"prior": 1.0}, published=True),
    # The linear dynamic model has no time in it: it is the Rasch model.
    Entry("dynamic_irt_linear", Rasch, source="verhelst1993", published=True),
)
