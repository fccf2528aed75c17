"""Item response models by marginal maximum likelihood: abilities integrated out, then estimated by their posteriors."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.statistics import Counts
from jaxrank.models.fit import Fit, precise, solver_resolution
from jaxrank.models.irt.cells import probability
from jaxrank.models.irt.marginal import (
    MarginalModel,
    fit_marginal,
    item_covariance,
    posterior,
    posterior_quantile,
    rounding_error,
)
from jaxrank.models.irt.rasch import item_fit
from jaxrank.models.irt.symmetry import of_all_images
from jaxrank.models.irt.table import item_table, reported_difficulty
from jaxrank.models.options import count, flag, normal_prior, number, part
from jaxrank.models.ranker import Entry, HasStandardErrors, Ranker
from jaxrank.numerics.precision import einsum
from jaxrank.numerics.solve.quadrature import QUADRATURES, AdaptiveGaussHermite, GaussHermite, Quadrature


class RaschMarginal(Ranker, HasStandardErrors):
    """Rasch abilities as posterior means, difficulties by marginal maximum likelihood.

    **Model** k_lm ~ Binomial(n_lm, sigmoid(theta_l - b_m)), theta_l ~ N(0, 1) [bockaitkin1981; hariri2026ranking,
    algorithm 7].
    **Reads** counts of binary outcomes. A question drawn twice counts twice.
    **Scores** posterior mean (EAP) of theta, or with ``quantile`` q the q-quantile of its posterior, in log-odds; not
    centred: the prior N(0, 1) fixes the place. With complete data the order is that of the total scores, ties included.
    **Fields** ``quadrature``: "adaptive:11" (default), 11 nodes at each model's posterior, or "fixed:21", the same 21
    for all, which is the published setting and that of the identifiers rasch_mml and rasch_mml_credible. Fixed nodes
    tie models: with many trials each posterior is narrower than the gap between nodes (0.68) and collapses onto one, so
    that models between the same two nodes get nearly or exactly the same score, and a quantile is always one of the
    nodes; standard errors then count half the gap besides. mml_rasch and mml_rasch_credible have adaptive ones.
    ``quantile``: None (default) or a number in (0, 1).
    ``details``: True adds standard errors of the difficulties and item fit.  ``max_steps``: default 200.
    **Params** ``difficulty`` (M,), ``sd`` (L,) posterior standard deviations, ``log_likelihood`` (marginal, no binomial
    coefficients), ``aic``, ``bic`` (sample size L); with ``details`` ``difficulty_se``, ``infit``, ``outfit`` (at the
    EAP).
    **Status** ``MAX_STEPS``, also where rounding may move scores by half a unit: in float32 from some 60,000 trials of
    a model on. Questions that all trials passed or all failed are left out and reported with their
    infinite difficulty; a model without trials has the prior as its posterior.
    **Departs** the published code stops after 20 EM steps and centres the difficulties, which contradicts the prior's
    mean 0. Its fixed nodes (see ``quadrature``) tie models that the default separates.
    """

    statistic: ClassVar[type] = Counts
    double: ClassVar[bool] = True
    binary: ClassVar[bool] = True
    gaps: ClassVar[str] = "abilities allow for the difficulty of the questions that each model has"
    quadrature: Quadrature = part(AdaptiveGaussHermite(), Quadrature, QUADRATURES)
    quantile: Any = number(None, above=0, below=1)
    details: bool = flag(False)
    max_steps: int = count(200)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        return _fit(MarginalModel(1, self.quadrature), stat, self.quantile, self.details, self.max_steps)

    def standard_errors(self, stat: Counts, fit: Fit) -> Float[Array, " models"]:
        return _errors(self.quadrature, fit)


class TwoParameterMarginal(Ranker):
    """Abilities under the 2PL model as posterior means, questions by marginal maximum likelihood.

    **Model** k_lm ~ Binomial(n_lm, sigmoid(a_m theta_l + d_m)), a_m > 0, theta_l ~ N(0, 1); b = -d / a [bockaitkin1981,
    birnbaum1968].
    **Reads** counts of binary outcomes.
    **Scores** as `RaschMarginal`; every a is positive, so a higher score always means more success.
    **Fields** as `RaschMarginal`, and priors, each None (flat) or (mean, standard deviation): ``slope_prior`` normal on
    log a, default (0, 1); ``intercept_prior`` normal on d, default None.
    **Params** ``difficulty``, ``discrimination``, ``intercept`` (M,), ``sd``, ``log_likelihood``, ``aic``, ``bic``;
    with ``details`` ``difficulty_se``, ``discrimination_se``, ``intercept_se``, ``infit``, ``outfit``.
    **Status** as `RaschMarginal`. With a flat slope prior a question that orders few models perfectly has no finite a:
    ``MAX_STEPS``. ``NOT_UNIQUE`` where the likelihood has an optimum and its mirror image: an exchange of models and
    questions that leaves the data as they are takes one to the other. The scores are then the mean over the images, so
    that such models tie; the questions' parameters are those of one.
    **Departs** from plain marginal maximum likelihood in the weak default prior on log a, which keeps it finite for as
    few models as a benchmark has. ``sd`` is no standard error of a score: it takes the questions' slopes for known,
    which follow the noise of few models; intervals are those of replicates.
    """

    statistic: ClassVar[type] = Counts
    double: ClassVar[bool] = True
    binary: ClassVar[bool] = True
    gaps: ClassVar[str] = "abilities allow for the difficulty of the questions that each model has"
    quadrature: Quadrature = part(AdaptiveGaussHermite(), Quadrature, QUADRATURES)
    quantile: Any = number(None, above=0, below=1)
    slope_prior: Any = normal_prior((0.0, 1.0))
    intercept_prior: Any = normal_prior(None)
    details: bool = flag(False)
    max_steps: int = count(200)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        model = MarginalModel(2, self.quadrature, (self.intercept_prior, self.slope_prior))
        return _fit(model, stat, self.quantile, self.details, self.max_steps)


class ThreeParameterMarginal(Ranker):
    """Abilities under the 3PL model as posterior means, questions by marginal maximum a posteriori.

    **Model** k_lm ~ Binomial(n_lm, c_m + (1 - c_m) sigmoid(a_m theta_l + d_m)), theta_l ~ N(0, 1) [birnbaum1968,
    bockaitkin1981].
    **Reads** counts of binary outcomes.
    **Scores** as `RaschMarginal`.
    **Fields** as `TwoParameterMarginal`, but 21 adaptive nodes: guessing skews the posteriors, and of 400 people on 5
    questions 11 nodes leave errors of 6e-3 in a slope, 21 of 5e-5, 61 of 5e-7. And ``guessing_prior``: normal on logit
    c, default (logit 0.2, 0.5); ``guessing``: a number in (0, 1) fixes c for all questions, None (default) estimates
    it.
    **Params** as `TwoParameterMarginal`, and ``guessing`` (M,), with ``details`` ``guessing_se``.
    **Status** as `TwoParameterMarginal`.
    **Departs** from plain marginal maximum likelihood in the priors: without one on c the model is hardly identified.
    Intervals as `TwoParameterMarginal`.
    """

    statistic: ClassVar[type] = Counts
    double: ClassVar[bool] = True
    binary: ClassVar[bool] = True
    gaps: ClassVar[str] = "abilities allow for the difficulty of the questions that each model has"
    quadrature: Quadrature = part(AdaptiveGaussHermite(21), Quadrature, QUADRATURES)
    quantile: Any = number(None, above=0, below=1)
    slope_prior: Any = normal_prior((0.0, 1.0))
    intercept_prior: Any = normal_prior(None)
    guessing_prior: Any = normal_prior((-1.3862943611198906, 0.5))
    guessing: Any = number(None, above=0, below=1)
    details: bool = flag(False)
    max_steps: int = count(300)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        depth = 3 if self.guessing is None else 2
        priors = (self.intercept_prior, self.slope_prior, self.guessing_prior)
        model = MarginalModel(depth, self.quadrature, priors, self.guessing)
        return _fit(model, stat, self.quantile, self.details, self.max_steps)


def _errors(quadrature: Quadrature, fit: Fit) -> Array:
    """The posterior standard deviations; with fixed nodes and half the way between two of them, since a posterior that
    is narrower collapses onto one, however uncertain the ability is."""
    sd = fit.params["sd"]
    if not isinstance(quadrature, GaussHermite):
        return sd
    nodes = np.sort(quadrature.nodes)
    half = jnp.interp(fit.scores, (nodes[1:] + nodes[:-1]) / 2, np.diff(nodes) / 2)
    return jnp.sqrt(sd**2 + half**2)


def _fit(model: MarginalModel, stat: Counts, quantile: Any, details: bool, max_steps: int) -> Fit:
    table = item_table(stat, keep_extreme=False)
    found = fit_marginal(model, table, max_steps)
    items, mode = found.params, found.memory
    _, post = posterior(model, table, items, mode)
    mean = post.mean
    scores = (
        mean if quantile is None else posterior_quantile(model, table, items, post, jnp.asarray(quantile, mean.dtype))
    )
    log_likelihood = jnp.sum(post.log_marginal)
    n_params = model.depth * jnp.sum(table.used)
    d = items[:, 0]
    a = jnp.exp(items[:, 1]) if model.depth > 1 else jnp.ones_like(d)
    known = lambda v: jnp.where(table.used, v, jnp.nan)
    params: dict[str, Any] = {
        "difficulty": reported_difficulty(table, -d / a),
        "sd": post.sd,
        "log_likelihood": log_likelihood,
        "aic": 2 * n_params - 2 * log_likelihood,
        "bic": n_params * jnp.log(float(mean.shape[0])).astype(d.dtype) - 2 * log_likelihood,
    }
    c = jnp.zeros_like(d)
    if model.depth > 1:
        params |= {"discrimination": known(a), "intercept": known(d)}
    if model.depth == 3:
        c = 1 / (1 + jnp.exp(-items[:, 2]))
    elif model.guessing is not None:
        c = jnp.full_like(d, 1) * jnp.asarray(model.guessing, d.dtype)
    if model.depth == 3 or model.guessing is not None:
        params["guessing"] = known(c)
    if details:
        params |= _details(model, item_covariance(model, table, items, mode), d, a, c)
        params |= item_fit(table, probability(mean[:, None], a[None, :], (-d / a)[None, :], c[None, :]))
    error = found.error + rounding_error(model, items, post)
    resolution = solver_resolution(scores, error)
    scores, status = of_all_images(table, scores, precise(found.status, error), resolution)
    return Fit(scores, status, found.steps, resolution, params)


def _details(model: MarginalModel, covariance: Array, d: Array, a: Array, c: Array) -> dict[str, Array]:
    """Standard errors of what is reported, by the delta method."""
    own = jnp.moveaxis(jnp.diagonal(covariance, axis1=0, axis2=2), -1, 0)  # (M, depth, depth)
    spread = lambda v: jnp.sqrt(einsum("mi,mij,mj->m", v, own, v))
    unit = jnp.eye(model.depth, dtype=d.dtype)[:, None, :] * jnp.ones_like(d)[None, :, None]
    if model.depth == 1:
        return {"difficulty_se": spread(unit[0])}
    out = {
        "difficulty_se": spread((unit[1] * d[:, None] - unit[0]) / a[:, None]),
        "discrimination_se": spread(unit[1] * a[:, None]),
        "intercept_se": spread(unit[0]),
    }
    if model.depth == 3:
        out["guessing_se"] = spread(unit[2] * (c * (1 - c))[:, None])
    return out


_PUBLISHED = {"quadrature": "fixed:21"}

ENTRIES = (
    Entry("mml_rasch", RaschMarginal, source="bockaitkin1981"),
    Entry("mml_rasch_credible", RaschMarginal, source="bockaitkin1981", options={"quantile": 0.05}),
    Entry("rasch_mml", RaschMarginal, source="bockaitkin1981", options=_PUBLISHED, published=True),
    Entry(
        "rasch_mml_credible",
        RaschMarginal,
        source="bockaitkin1981",
        options={**_PUBLISHED, "quantile": 0.05},
        published=True,
        exempt={"tripled": "more trials narrow the posteriors, and fixed nodes then tie models"},
    ),
    Entry("mml_2pl", TwoParameterMarginal, source="bockaitkin1981"),
    Entry("mml_3pl", ThreeParameterMarginal, source="bockaitkin1981"),
)
