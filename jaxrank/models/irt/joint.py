"""Joint estimation of abilities with discriminations and guessing: the 2PL and 3PL models."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.models.irt.joint_step import Terms, cells, log_likelihood, newton_step, predictor, uncertainty
from jaxrank.models.irt.rasch import rasch_start
from jaxrank.models.irt.table import ItemTable
from jaxrank.models.priors import Prior
from jaxrank.numerics.solve.damped import FLAT, Minimum, levenberg_marquardt
from jaxrank.numerics.status import Status

_TABLES = 5  # arrays of models and questions that a step holds at once
_UNSEEN = 1 / 32, 8.0
"""Log-likelihood that may be left unseen where questions are guessed: by a search without a prior on abilities that
rounding ended, and by others."""
_FAR = 1e6  # difficulties beyond this, in units of the linear predictor at a discrimination of 1, have run off


class JointModel(eqx.Module):
    """What is maximised: p = c + (1 - c) sigmoid(a (theta - b)), a = exp(alpha), c = 0.5 sigmoid(g).

    The penalties ``slope_penalty`` alpha^2 and ``guessing_penalty`` g^2 are added for every question. ``guessing``:
    None estimates c, 0 leaves it out, a number in (0, 1) fixes it.
    """

    prior: Prior
    slope_penalty: Any
    guessing_penalty: Any
    estimates_guessing: bool = eqx.field(static=True)
    guessing: Any = None  # a fixed c, or None

    @property
    def depth(self) -> int:
        return 3 if self.estimates_guessing else 2

    @property
    def guesses(self) -> bool:
        return self.estimates_guessing or self.guessing is not None

    def fixed(self, dtype: Any) -> Any:
        """The logit of a guessing probability that is given, else None."""
        if self.guessing is None:
            return None
        c = jnp.asarray(self.guessing, dtype)
        return jnp.log(c) - jnp.log1p(-c)

    def curve(self, items: Float[Array, "questions depth"]) -> tuple[Array, Array, Array]:
        """Difficulty, discrimination and guessing of each question."""
        if self.estimates_guessing:
            c = 0.5 * jax.nn.sigmoid(items[:, 2])
        else:
            c = jnp.full_like(items[:, 0], 0.0 if self.guessing is None else self.guessing)
        return items[:, 0], jnp.exp(items[:, 1]), c


def fit_joint(
    model: JointModel, table: ItemTable, n_starts: int, alive: Any, max_steps: int, ground: Any = None
) -> Minimum:
    """The best of several damped Newton runs. Params of the result: (theta (L,), items (M, depth)). ``ground`` as in
    `fit_rasch`."""
    runs = jax.vmap(lambda x: search(model, table, x, alive, max_steps, ground))(starts(model, table, n_starts))
    value = jnp.where(jnp.isfinite(runs.value), runs.value, jnp.inf)
    # Of runs that end in the same optimum the first that converged is taken, not the one that rounding favours.
    noise = 64 * jnp.finfo(value.dtype).eps * jnp.abs(jnp.min(value))
    good = value <= jnp.min(value) + noise
    best = jnp.argmax(good * (1 + (runs.status == Status.CONVERGED)))
    found = jax.tree.map(lambda leaf: leaf[best], runs)
    found = with_error(model, table, found, ground)
    # The objective leaves the sum of difficulties free, and damped steps let it drift.
    theta, items = found.params
    shift = _level(table, items)
    moved = theta - shift, items.at[:, 0].add(-jnp.where(table.used, shift, 0))
    if model.prior.proper or not model.guesses:
        return found._replace(params=moved)
    certain = _least_information(model, table, moved) < 1e-5
    status = jnp.where((found.status == Status.CONVERGED) & certain, Status.NO_FINITE_OPTIMUM, found.status)
    # so far from one another that their mean says nothing, questions have run off, whatever ended the search
    status = jnp.where(jnp.max(jnp.abs(items[:, 0])) < _FAR, status, Status.NO_FINITE_OPTIMUM)
    return found._replace(params=moved, status=status.astype(jnp.int32))


def search(
    model: JointModel, table: ItemTable, start: tuple, alive: Any, max_steps: int, ground: Any = None
) -> Minimum:
    """The damped Newton run from one start, params as in `fit_joint`; its error is that of the abilities."""
    x, steps = start, jnp.asarray(0, jnp.int32)
    for smoothing in model.prior.smoothings:

        def objective(x: tuple, _: None, smoothing: float = smoothing) -> tuple[Array, tuple, None]:
            return _value(model, table, x, smoothing), x, None

        found = levenberg_marquardt(
            objective,
            lambda x, d, smoothing=smoothing: _step(model, table, x, smoothing, d, ground),
            x,
            alive=alive,
            max_steps=max_steps,
            damping=0.1,
            settle=lambda x, smoothing=smoothing: _best_scale(model, table, x, smoothing),
            work_bytes=_TABLES * table.trials.size * table.trials.dtype.itemsize,
            measured=lambda x: x[0] - jnp.mean(x[0]),  # what ranks: a question may leave its own parameters open
            lanes_last=True,
        )
        x, steps = found.params, steps + found.steps
    return found._replace(steps=steps)


def with_error(model: JointModel, table: ItemTable, found: Minimum, ground: Any = None) -> Minimum:
    """A search with the error of its abilities: that of the gradient, by rounding, and where rounding ended the search
    what it could not see of the value. In a curved valley that is more than the curvature tells once the value is good
    to a unit only. It may be anything, and the status is ``MAX_STEPS``, where questions are guessed and no prior holds
    the abilities, or the curvature is not positive definite."""
    last = _terms(model, table, found.params, model.prior.smoothings[-1], jnp.zeros(()), ground)
    rounded, spread = uncertainty(last)
    unseen = FLAT * jnp.finfo(found.value.dtype).eps * jnp.abs(found.value)
    ended = found.error > 0
    error = jnp.where(ended, jnp.sqrt(2 * unseen) * (1 + 2 * unseen) * spread, rounded)
    known = jnp.isfinite(error)
    if model.estimates_guessing:
        known = known & (unseen <= jnp.where(ended & (not model.prior.proper), *_UNSEEN))
    status = jnp.where((found.status == Status.CONVERGED) & ~known, Status.MAX_STEPS, found.status)
    error = jnp.where(jnp.isfinite(error), jnp.maximum(found.error, error), found.error)
    return found._replace(error=error, status=status.astype(jnp.int32))


def _level(table: ItemTable, items: Array) -> Array:
    """The mean difficulty, from which abilities are measured."""
    return jnp.sum(table.weight * items[:, 0]) / jnp.maximum(jnp.sum(table.weight), 1)


def _least_information(model: JointModel, table: ItemTable, x: tuple) -> Array:
    """The smallest information per trial, in units of the linear predictor, that any model is left with: near 0 where
    an ability has run off, which guessing makes possible on connected data too."""
    theta, items = x
    cell = cells(predictor(theta, items), items, table.successes, table.trials, model.fixed(theta.dtype))
    information, trials = jnp.sum(cell.fisher_ee, axis=1), jnp.sum(table.trials, axis=1)
    return jnp.min(jnp.where(trials > 0, information / jnp.maximum(trials, 1), jnp.inf))


def _best_scale(model: JointModel, table: ItemTable, x: tuple, smoothing: float) -> tuple[Array, Array]:
    """Stretches abilities and difficulties by exp(u) and divides discriminations by it, which leaves the likelihood as
    it is, to where prior and penalty are least: two Newton steps in u."""
    theta, items = x
    above = theta - _level(table, items)
    weight = 2 * jnp.asarray(model.slope_penalty, theta.dtype) * table.weight
    u = jnp.zeros((), theta.dtype)
    for _ in range(2):
        at = above * jnp.exp(u)
        slope = model.prior.slope(at, smoothing) * at
        gradient = jnp.sum(slope) - jnp.sum(weight * (items[:, 1] - u))
        bend = jnp.sum(weight) + jnp.maximum(jnp.sum(slope + model.prior.bend(at, smoothing) * at**2), 0)
        u = u - jnp.clip(gradient / jnp.where(bend > 0, bend, 1), -1, 1)
    used = table.used
    items = items.at[:, 0].multiply(jnp.where(used, jnp.exp(u), 1)).at[:, 1].add(-jnp.where(used, u, 0))
    return theta * jnp.exp(u), items


def starts(model: JointModel, table: ItemTable, n_starts: int) -> tuple[Array, Array]:
    """From the margins: equal discriminations, discriminations from the spread of each question's results over ability,
    and abilities shrunk or widened."""
    theta, b = rasch_start(table)
    centred = theta - jnp.mean(theta)
    share = (table.successes + 0.5) / (table.trials + 1)
    logit = jnp.where(table.trials > 0, jnp.log(share) - jnp.log1p(-share), 0)
    slope = jnp.sum(logit * centred[:, None], axis=0) / jnp.maximum(jnp.sum(centred**2), 1e-3)
    alpha = jnp.log(jnp.clip(slope, 0.3, 3))
    zero = jnp.zeros_like(alpha)
    options = [
        (theta, b, zero),
        (theta, b, alpha),
        (theta / 2, b / 2, zero + jnp.log(2.0).astype(alpha.dtype)),
        (2 * theta, 2 * b, alpha / 2),
    ][:n_starts]
    thetas = jnp.stack([o[0] for o in options])
    extra = [zero] if model.estimates_guessing else []
    items = jnp.stack([jnp.stack([o[1], o[2], *extra], axis=1) for o in options])
    return thetas, jnp.where(table.used[None, :, None], items, 0)


def _value(model: JointModel, table: ItemTable, x: tuple, smoothing: float) -> Array:
    """Minus the log posterior.

    The prior is one on abilities less the mean difficulty, so that nothing has to be held: where the difficulties have
    the sum 0 it is the prior on abilities.
    """
    theta, items = x
    penalty = model.prior.penalty(theta - _level(table, items), smoothing)
    strengths = [model.slope_penalty, model.guessing_penalty]
    for q, strength in zip(range(1, model.depth), strengths, strict=False):
        penalty = penalty + jnp.asarray(strength, theta.dtype) * jnp.sum(table.weight * items[:, q] ** 2)
    return penalty - log_likelihood(theta, items, table.successes, table.trials, model.fixed(theta.dtype))


def _step(
    model: JointModel, table: ItemTable, x: tuple, smoothing: float, damping: Array, ground: Any = None
) -> tuple[Array, Array]:
    return newton_step(_terms(model, table, x, smoothing, damping, ground))


def _terms(
    model: JointModel, table: ItemTable, x: tuple, smoothing: float, damping: Array, ground: Any = None
) -> Terms:
    theta, items = x
    above = theta - _level(table, items)
    as_array = lambda v: jnp.asarray(v, theta.dtype)
    return Terms(
        theta,
        items,
        table.successes,
        table.trials,
        table.weight,
        model.prior.slope(above, smoothing),
        model.prior.bend(above, smoothing),
        as_array(model.slope_penalty),
        as_array(model.guessing_penalty),
        as_array(damping),
        model.fixed(theta.dtype),
        ground,
    )
