"""The 2PL and 3PL item response models by joint maximum likelihood or joint maximum a posteriori."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import jax.numpy as jnp

from jaxrank.data.statistics import Counts
from jaxrank.models.fit import Fit, precise, solver_resolution
from jaxrank.models.irt.cells import probability
from jaxrank.models.irt.joint import JointModel, fit_joint
from jaxrank.models.irt.parts import extended_status, parts_of
from jaxrank.models.irt.rasch import item_fit
from jaxrank.models.irt.symmetry import of_all_images
from jaxrank.models.irt.table import explain_separation, item_table, joint_existence, reported_difficulty
from jaxrank.models.options import SEPARATION, choice, count, flag, number, part
from jaxrank.models.priors import PRIORS, Flat, Prior, as_prior
from jaxrank.models.ranker import Entry, Explains, Ranker
from jaxrank.numerics.status import Status


class TwoParameter(Ranker, Explains):
    """Abilities under the 2PL model: questions differ in difficulty and in how sharply they tell models apart.

    **Model** k_lm ~ Binomial(n_lm, sigmoid(a_m (theta_l - b_m))), a_m > 0 [birnbaum1968; hariri2026ranking, eq. 55];
    joint maximum likelihood, or with ``prior`` on theta the joint maximum a posteriori.
    **Reads** counts of binary outcomes.
    **Scores** theta, difficulties summing to 0. Stretching theta and b by s while dividing every a by s changes nothing
    in the likelihood: the penalty on log a alone fixes the scale (with a prior, the two together).
    **Fields** ``prior``: a `jaxrank.priors` prior on theta or a variance v for Gaussian(0, v); default flat.
    ``separation``: "raise" (default), "nan" or "extend" as in `Rasch`.
    ``slope_penalty``: weight of sum (log a)^2 in the objective, > 0, default 0.01 as published.  ``n_starts``: 1 to 4
    starting points, the best end is kept, default 3.  ``details``: True adds item fit.  ``max_steps``: default 300.
    **Params** ``difficulty``, ``discrimination`` (M,), ``objective`` (minus the penalised log-likelihood),
    ``separated``.
    **Status** as `Rasch`: the penalty keeps every a finite, so that a finite optimum exists under the same condition.
    The objective is not convex: "converged" is a local optimum, the best of the starts, and means that abilities stand
    to within half the resolution; a question that splits the models leaves its difficulty or discrimination open within
    rounding. ``MAX_STEPS``, also where an ability may be off by half a unit. ``NOT_UNIQUE`` where its mirror image is
    another: an exchange of models and questions that leaves the data as they are takes one to the other. The scores are
    then the mean over the images, so that such models tie; the questions' parameters are those of one.
    **Departs** all-right and all-wrong questions are left out under a prior, where the published code refuses the data.
    The published code raises at its step limit; here that is a status.
    """

    statistic: ClassVar[type] = Counts
    binary: ClassVar[bool] = True
    gaps: ClassVar[str] = "abilities allow for the difficulty of the questions that each model has"
    prior: Prior = part(Flat(), Prior, PRIORS, as_prior)
    separation: str = choice("raise", SEPARATION)
    slope_penalty: Any = number(0.01, above=0)
    n_starts: int = count(3, 1, 4)
    details: bool = flag(False)
    max_steps: int = count(300)

    @property
    def model(self) -> JointModel:
        return JointModel(self.prior, self.slope_penalty, 0.0, False)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        return _fit(self.model, stat, self.separation, self.n_starts, self.max_steps, self.details)

    def explain(self, stat: Counts, fit: Fit, models: Sequence[str], questions: Sequence[str]) -> str:
        remedy = 'use rasch_2pl_map, mml_2pl, a prior, or separation="extend"'
        return explain_separation(stat, fit, models, questions, remedy)


class ThreeParameter(Ranker, Explains):
    """Abilities under the 3PL model: as 2PL, and a weak model still succeeds with a guessing probability.

    **Model** k_lm ~ Binomial(n_lm, c_m + (1 - c_m) sigmoid(a_m (theta_l - b_m))) [birnbaum1968; hariri2026ranking, eq.
    56], c_m in [0, 0.5] through c = 0.5 sigmoid(g).
    **Reads** counts of binary outcomes.
    **Scores** as `TwoParameter`.
    **Status** as `TwoParameter`; without a prior an ability can also run off below the guessing probabilities on
    connected data: ``NO_FINITE_OPTIMUM`` where a model is left with less than 1e-5 of information a trial. Where one
    question's discrimination grows into the hundreds the valley is narrow, and ``MAX_STEPS`` may want more steps. In
    float32, whose log-likelihood does not show where in a valley the optimum is, ``MAX_STEPS`` from some 30 million
    trials in all on, without a prior mostly from 100,000 on.
    **Fields** as `TwoParameter`, and ``guessing``: a number in (0, 1) fixes c for all questions, None (default)
    estimates it; ``guessing_penalty``: weight of sum g^2, default 0.1 as published, which pulls c towards 1/4.
    **Params** also ``guessing`` (M,).
    **Departs** as `TwoParameter`: the published code raises at its step limit.
    """

    statistic: ClassVar[type] = Counts
    binary: ClassVar[bool] = True
    gaps: ClassVar[str] = "abilities allow for the difficulty of the questions that each model has"
    prior: Prior = part(Flat(), Prior, PRIORS, as_prior)
    separation: str = choice("raise", SEPARATION)
    slope_penalty: Any = number(0.01, above=0)
    guessing: Any = number(None, above=0, below=1)
    guessing_penalty: Any = number(0.1, 0)
    n_starts: int = count(3, 1, 4)
    details: bool = flag(False)
    max_steps: int = count(300)

    @property
    def model(self) -> JointModel:
        return JointModel(self.prior, self.slope_penalty, self.guessing_penalty, self.guessing is None, self.guessing)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        return _fit(self.model, stat, self.separation, self.n_starts, self.max_steps, self.details)

    def explain(self, stat: Counts, fit: Fit, models: Sequence[str], questions: Sequence[str]) -> str:
        remedy = 'use rasch_3pl_map, mml_3pl, a prior, or separation="extend"'
        return explain_separation(stat, fit, models, questions, remedy)


def _fit(model: JointModel, stat: Counts, separation: str, n_starts: int, max_steps: int, details: bool) -> Fit:
    proper = model.prior.proper
    table = item_table(stat, keep_extreme=not proper)
    if proper:
        status, separated = jnp.asarray(Status.CONVERGED, jnp.int32), jnp.zeros(stat.trials.shape[0], bool)
    else:
        status, separated = joint_existence(table)
    parts = parts_of(table) if separation == "extend" and not proper else None
    whole, table = table, table if parts is None else parts.table
    alive = status == Status.CONVERGED if parts is None else status != Status.DISCONNECTED
    found = fit_joint(model, table, n_starts, alive, max_steps, None if parts is None else parts.ground)
    theta, items = found.params
    b, a, c = model.curve(items)
    if parts is None:
        status = jnp.where(status == Status.CONVERGED, precise(found.status, found.error), status).astype(jnp.int32)
        lost = (status == Status.NO_FINITE_OPTIMUM) | (status == Status.DISCONNECTED)
        b = reported_difficulty(table, b)
    else:
        status, lost = extended_status(status, precise(found.status, found.error), parts)
        theta, b = parts.joined(theta, b)
    blank = lambda v: jnp.where(lost, jnp.nan, v)
    a = jnp.where(table.used, a, jnp.nan)
    resolution = solver_resolution(blank(theta), found.error)
    scores, status = of_all_images(whole, blank(theta), status, resolution)
    params: dict[str, Any] = {
        "difficulty": blank(b),
        "discrimination": blank(a),
        "objective": blank(found.value),
        "separated": separated,
        **({} if parts is None else {"part": parts.part}),
    }
    if model.guesses:
        params["guessing"] = blank(jnp.where(table.used, c, jnp.nan))
    if details:
        params |= item_fit(table, probability(theta[:, None], a[None, :], b[None, :], c[None, :]))
    return Fit(scores, status, found.steps, resolution, params)


ENTRIES = (
    Entry("rasch_2pl", TwoParameter, source="birnbaum1968", published=True),
    Entry("rasch_2pl_map", TwoParameter, source="birnbaum1968", options={"prior": 1.0}, published=True),
    Entry(
        "rasch_3pl",
        ThreeParameter,
        source="birnbaum1968",
        published=True,
        exempt={
            "tripled": "the penalties weigh less beside more trials, and an ability may run off below the guessing",
            "leader": "without a prior no optimum is finite where one model leads on every question",
        },
    ),
    Entry("rasch_3pl_map", ThreeParameter, source="birnbaum1968", options={"prior": 1.0}, published=True),
)
