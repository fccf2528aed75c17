"""Item response models with several abilities by marginal maximum likelihood, ranked along the mean slope."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp

from jaxrank.data.statistics import Counts
from jaxrank.errors import OptionError
from jaxrank.models.fit import Fit, precise, solver_resolution
from jaxrank.models.irt.axes import ROTATIONS, turned_axes
from jaxrank.models.irt.factors import MOST_NODES, FactorModel, fit_factors, posterior, rounding_error
from jaxrank.models.irt.symmetry import of_all_images
from jaxrank.models.irt.table import item_table, reported_difficulty
from jaxrank.models.options import check_fields, choice, count, normal_prior, number, part
from jaxrank.models.ranker import Entry, Ranker
from jaxrank.numerics.precision import einsum, matmul
from jaxrank.numerics.solve.quadrature import QUADRATURES, AdaptiveGaussHermite, Quadrature


class MultidimensionalMarginal(Ranker):
    """Several abilities of each model as posterior means, ranked along the mean slope of the questions.

    **Model** k_lm ~ Binomial(n_lm, c_m + (1 - c_m) sigmoid(a_m . theta_l + d_m)), theta_l ~ N(0, I) in ``n_factors``
    dimensions; slopes of either sign [chalmers2012; reckase2009; bockaitkin1981].
    **Reads** counts of binary outcomes. A question drawn twice counts twice.
    **Scores** posterior mean (EAP) of theta . mean slope, in log-odds: how much better than at abilities 0 a model does
    on a question of the mean slopes. Not centred: the prior N(0, I) fixes the place. The same on all axes.
    **Fields** ``n_factors``: default 2.  ``model``: "2pl" (default), or "3pl" with ``guessing_prior``, normal on logit
    c, default (logit 0.2, 0.5), and ``guessing``, a number in (0, 1) that fixes c.  ``ridge``: default 0.01; half of it
    times the squares of all slopes is taken from the log-likelihood.  ``rotate``: "none" (default) for principal axes,
    the most slope first; "varimax", or "oblimin" with correlated abilities.  ``quadrature``: "adaptive:9" (default),
    nodes in each dimension at each model's posterior, or "fixed:21"; at most 200,000 in all.  ``max_steps``: default
    300.
    **Params** ``slopes`` (M, D) and ``abilities``, ``ability_sd`` (L, D) on these axes, each turned so that its slopes
    sum to 0 or more, ``ability_correlation`` (D, D); ``intercept``, ``discrimination`` (MDISC, the length of the
    slopes), ``difficulty`` (MDIFF, -d / MDISC) (M,), with "3pl" ``guessing`` (M,); ``sd`` (L,) posterior standard
    deviation of the score, ``log_likelihood`` (marginal, no binomial coefficients), ``aic``, ``bic`` (sample size L).
    **Status** ``MAX_STEPS``, also where rounding may move scores by half a unit. ``NOT_UNIQUE`` where the likelihood
    has an optimum and its mirror image; the scores are then the mean over the images. With several abilities there may
    be further local optima: the one is found that the Rasch fit and its largest residuals lead to. Questions that all
    trials passed or all failed are left out and reported with their infinite difficulty.
    **Departs** from mirt and scorio in Newton's method (they take EM steps until little changes) and in nodes that
    follow each posterior (they have one grid for all, on which narrow posteriors collapse); from scorio in the prior on
    c (a ridge on its logit there, and c below 0.5). ``sd`` is no standard error of a score, as in
    `TwoParameterMarginal`.
    """

    statistic: ClassVar[type] = Counts
    double: ClassVar[bool] = True
    binary: ClassVar[bool] = True
    gaps: ClassVar[str] = "abilities allow for the difficulty of the questions that each model has"
    n_factors: int = count(2, 1, 10)
    model: str = choice("2pl", ("2pl", "3pl"))
    ridge: Any = number(0.01, low=0)
    rotate: str = choice("none", ROTATIONS)
    quadrature: Quadrature = part(AdaptiveGaussHermite(9), Quadrature, QUADRATURES)
    guessing_prior: Any = normal_prior((-1.3862943611198906, 0.5))
    guessing: Any = number(None, above=0, below=1)
    max_steps: int = count(300)

    def __check_init__(self) -> None:
        check_fields(self)
        n_nodes = self.quadrature.n**self.n_factors
        if n_nodes > MOST_NODES:
            most = int(MOST_NODES ** (1 / self.n_factors) + 1e-9)
            raise OptionError(
                f"n_factors={self.n_factors} with {self.quadrature.n} nodes in each dimension needs {n_nodes:,} nodes, "
                f"more than {MOST_NODES:,}; take fewer abilities, or quadrature='adaptive:{most}'"
                if most >= 3
                else f"n_factors={self.n_factors} needs more than {MOST_NODES:,} nodes; take fewer abilities"
            )
        if self.guessing is not None and self.model == "2pl":
            raise OptionError("guessing is read with model='3pl' alone; say model='3pl'")

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        guesses = self.model == "3pl" and self.guessing is None
        model = FactorModel(
            self.n_factors,
            guesses,
            self.quadrature,
            self.ridge,
            self.guessing_prior if guesses else None,
            self.guessing,
        )
        table = item_table(stat, keep_extreme=False)
        found = fit_factors(model, table, self.max_steps)
        items = found.params
        post = posterior(model, table, items, found.memory)
        used, weight = table.used, table.weight
        slopes = jnp.where(used[:, None], model.slopes(items), 0)
        mean_slope = matmul(weight, slopes) / jnp.maximum(jnp.sum(weight), 1)
        scores = matmul(post.mean, mean_slope)
        along = lambda v: jnp.sqrt(jnp.maximum(einsum("di,lde,ei->li", v, post.covariance, v), 0))
        axes = turned_axes(slopes, weight, self.rotate)
        length = jnp.sqrt(jnp.sum(slopes**2, axis=1))
        known = lambda v: jnp.where(used.reshape(-1, *[1] * (v.ndim - 1)), v, jnp.nan)
        intercept = items[:, 0]
        log_likelihood = jnp.sum(post.log_marginal)
        n_free = items.shape[1] * jnp.sum(used) - self.n_factors * (self.n_factors - 1) // 2
        params: dict[str, Any] = {
            "slopes": known(axes.slopes),
            "intercept": known(intercept),
            "discrimination": known(length),
            "difficulty": reported_difficulty(table, -intercept / jnp.where(length > 0, length, jnp.nan)),
            "abilities": matmul(post.mean, axes.turn),
            "ability_sd": along(axes.turn),
            "ability_correlation": axes.correlation,
            "sd": along(mean_slope[:, None])[:, 0],
            "log_likelihood": log_likelihood,
            "aic": 2 * n_free - 2 * log_likelihood,
            "bic": n_free * jnp.log(float(scores.shape[0])).astype(scores.dtype) - 2 * log_likelihood,
        }
        if guesses:
            params["guessing"] = known(1 / (1 + jnp.exp(-items[:, -1])))
        elif self.guessing is not None:
            params["guessing"] = known(jnp.full_like(intercept, 1) * jnp.asarray(self.guessing, intercept.dtype))
        error = (found.error + rounding_error(items, post)) * jnp.maximum(1, jnp.sqrt(jnp.sum(mean_slope**2)))
        resolution = solver_resolution(scores, error)
        scores, status = of_all_images(table, scores, precise(found.status, error), resolution)
        return Fit(scores, status, found.steps, resolution, params)


ENTRIES = (
    Entry(
        "mirt",
        MultidimensionalMarginal,
        source="chalmers2012",
        exempt={
            "tripled": "with more trials of the same shares another ability may stand out, and turn the mean slope"
        },
    ),
)
