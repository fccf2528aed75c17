"""Bayes@N: the posterior mean of a weighted rubric under Dirichlet priors, with its standard deviation."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Float

from jaxrank.data.statistics import Counts
from jaxrank.errors import JaxrankWarning, OptionError
from jaxrank.models.fit import Fit, exact_fit
from jaxrank.models.options import flag, number
from jaxrank.models.ranker import Bounded, ChecksData, Entry, HasStandardErrors, MeanOfCells, NeedsPrior, Ranker
from jaxrank.numerics.dirichlet import dirichlet_moments, prior_counts
from jaxrank.numerics.status import Status


class Bayes(Ranker, NeedsPrior, HasStandardErrors, Bounded, MeanOfCells, ChecksData):
    """Posterior mean of the weighted outcome under a uniform or an empirical Dirichlet prior; cannot fail.

    **Model** The category probabilities of model l on question m are Dirichlet(1 + prior counts), independent over
    questions. nu = 1 + n_lmc + n0_lmc, T = sum_c nu, share = nu/T; mu_l = 1/M sum_m sum_c share w_c and
    sigma_l^2 = 1/M^2 sum_m [sum_c share w_c^2 - (sum_c share w_c)^2] / (T + 1) [hariri2026dont, eqs. 5 and 6].
    **Reads** category counts. T differs from question to question where the numbers of trials do. A question that a
    model has no trials on counts with its prior mean: with little data the score is drawn towards the prior, which
    for a uniform prior is the mean weight.
    **Scores** mu, or mu + Phi^-1(quantile) sigma, on the scale of the weights; not centred.
    **Fields** ``w``: weight of each category, by default its value (0 and 1 for binary outcomes).
    ``quantile``: in (0, 1), rank by this quantile of the normal approximation; default None, rank by the mean.
    ``prior``: counts of earlier outcomes R0, (1 or L, M, C+1), set by ``with_prior``; default none (uniform prior). One
    that all models share changes no order where they have equal numbers of trials, and is warned about there.
    ``needs_R0``: True where a fit without R0 is a mistake (the identifier bayes_greedy).
    **Params** ``mean`` and ``sd``: mu and sigma.
    **Status** converged; undefined without R0 where ``needs_R0`` asks for it.
    **Departs** in using each question's own T, which is the published formula wherever that is defined.
    """

    statistic: ClassVar[type] = Counts
    gaps: ClassVar[str] = "a question without results counts with the mean of its prior"
    credible: ClassVar[bool] = True
    w: Any = number(None, ndim=1)
    quantile: Any = number(None, above=0, below=1)
    prior: Any = number(None, 0, ndim=3)
    needs_R0: bool = flag(False)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        origin, above, sd = self.moments(stat)
        scores = above if self.quantile is None else above + ndtri(jnp.asarray(self.quantile, above.dtype)) * sd
        if self.needs_R0 and self.prior is None:
            return exact_fit(jnp.full_like(scores, jnp.nan), Status.UNDEFINED, mean=origin + above, sd=sd)
        return exact_fit(scores, origin=origin, n_terms=stat.questions.shape[0], mean=origin + above, sd=sd)

    def moments(self, stat: Counts) -> tuple[Float[Array, ""], Float[Array, " models"], Float[Array, " models"]]:
        """The first weight, and of every model the posterior mean above it and the standard deviation."""
        weights = stat.levels if self.w is None else jnp.asarray(self.w, stat.levels.dtype)
        unseen = weights.shape[0] - stat.categories.shape[-1]  # categories with a weight that no outcome has
        counts = 1 + (jnp.pad(stat.categories, ((0, 0), (0, 0), (0, unseen))) if unseen else stat.categories)
        if self.prior is not None:
            counts = counts + jnp.asarray(self.prior, counts.dtype)
        above, variance = dirichlet_moments(counts, weights - weights[0])
        times, n_questions = stat.questions[None, :], jnp.sum(stat.questions)
        sd = jnp.sqrt(jnp.sum(times * variance, axis=-1)) / n_questions
        return weights[0], jnp.sum(times * above, axis=-1) / n_questions, sd

    @property
    def of_cells(self) -> bool:
        return self.prior is None and self.quantile is None and not self.needs_R0

    def values(self, levels: np.ndarray) -> np.ndarray:
        return levels if self.w is None else np.asarray(self.w, float)[: len(levels)]

    def standard_errors(self, stat: Counts, fit: Fit) -> Float[Array, " models"]:
        return fit.params["sd"]

    def bounds(self, stat: Counts) -> tuple[Any, Any]:
        weights = stat.levels if self.w is None else jnp.asarray(self.w)
        return jnp.min(weights), jnp.max(weights)

    def with_prior(self, R0: Any, data: Any) -> Bayes:
        n_categories = data.n_categories if self.w is None else np.size(self.w)
        prior = prior_counts(R0, n_models=len(data.models), n_questions=len(data.questions), n_categories=n_categories)
        return Bayes(w=self.w, quantile=self.quantile, prior=prior, needs_R0=self.needs_R0)

    def check(self, data: Any) -> None:
        if self.needs_R0 and self.prior is None:
            raise OptionError(
                "bayes_greedy ranks with earlier (greedy) outcomes as a prior and has none; "
                "pass R0, ints (M, D) or (L, M, D), or use bayes"
            )
        if self.prior is not None and self.quantile is None and np.shape(self.prior)[0] == 1 and _alike(data):
            warnings.warn(
                "R0 is shared by all models, which have equal numbers of trials on every question: it adds the same to "
                "all scores and changes no rank; give R0 of each model, (L, M, D), to rank with it",
                JaxrankWarning,
                stacklevel=4,
            )
        if self.w is not None:
            size = np.size(self.w)
            if size < data.n_categories:
                raise OptionError(
                    f"w has {size} weights, but R has the {data.n_categories} categories 0..{data.n_categories - 1}"
                )


def _alike(data: Any) -> bool:
    trials = getattr(data, "trials", None)
    return trials is not None and len(trials) > 1 and bool(np.all(trials == trials[:1]))


ENTRIES = (
    Entry("bayes", Bayes, source="hariri2026dont", published=True),
    Entry("bayes_greedy", Bayes, source="hariri2026dont", options={"needs_R0": True}, published=True),
    Entry("bayes_ci", Bayes, source="hariri2026dont", options={"quantile": 0.05}, published=True),
)
