"""The damped Newton step of a joint fit of abilities and questions, for a batch of tables in the last axis.

Its arrays are one number for each model and question, (L, M, lanes): what a question has several of (difficulty,
discrimination, guessing) lies in lists, since an axis of length 2 or 3 leaves nothing to vectorise. Questions are
eliminated one parameter after the other, and the models' Schur complement is solved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxrank.models.irt.cells import Cell, guessing_cell, plain_cell
from jaxrank.models.irt.parts import grounded
from jaxrank.numerics.lanes import lanes
from jaxrank.numerics.precision import einsum
from jaxrank.numerics.solve.linear import solve_spd_lanes

_FEW = 8  # lanes below which a matrix product beats updates by one question at a time
_SOUND = (1e-2, 1e-3, 1e-4)  # leading minors of a block in the unit of its scale that are clearly above 0

_ULPS = 16.0  # by which the terms of a cell's gradient may be off
_DAMPING = 1e-5  # of a curvature that rounding may have made singular

Block = list[list[Array]]
"""The lower triangle of a symmetric matrix for each question; every entry (M, lanes)."""


class Terms(NamedTuple):
    """What a step reads; the last axis of each is that of the lanes.

    **items**: (M, depth) difficulty, log discrimination and, where it is estimated, the logit of guessing.
    **slope**, **bend**: (L,) derivatives of the prior's penalty. **fixed**: the logit of a guessing probability that is
    given. **ground**: see `Parts`; ``fixed`` and ``ground`` may be None.
    """

    theta: Array
    items: Array
    successes: Array
    trials: Array
    weight: Array
    slope: Array
    bend: Array
    slope_penalty: Array
    guessing_penalty: Array
    damping: Array
    fixed: Any = None
    ground: Any = None


def cells(eta: Array, items: Array, successes: Array, trials: Array, fixed: Any) -> Cell:
    """Cells (L, M, *lanes) at linear predictors ``eta``; ``items`` (M, depth, *lanes)."""
    if items.shape[1] == 3:
        return guessing_cell(eta, successes, trials, items[None, :, 2], 0.5)
    if fixed is None:
        return plain_cell(eta, successes, trials)
    return guessing_cell(eta, successes, trials, jnp.broadcast_to(fixed, eta.shape), 1.0)


def predictor(theta: Array, items: Array) -> Array:
    return jnp.exp(items[:, 1])[None] * (theta[:, None] - items[None, :, 0])


@lanes
def log_likelihood(theta: Array, items: Array, successes: Array, trials: Array, fixed: Any) -> Float[Array, ""]:
    """Of abilities (L,) and questions (M, depth), with successes and trials (L, M)."""

    def total(given: tuple) -> Array:
        theta, items, successes, trials = given
        value = cells(predictor(theta, items), items, successes, trials, fixed).value
        return jnp.sum(jnp.sum(value, axis=0), axis=0)

    return _apart(total, (theta, items, successes, trials))


def _apart(work: Callable[[Any], Any], given: Any) -> Any:
    """``work(given)`` behind a branch, over which the compiler does not fuse: it would work out again, for every cell
    that reads an argument, what the caller makes of it. Without any model that searches there is nothing to do."""
    shapes = jax.eval_shape(work, given)
    nothing = lambda _: jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    return jax.lax.cond(jnp.any(jnp.isfinite(given[0])), work, nothing, given)


@lanes
def newton_step(t: Terms) -> tuple[Float[Array, " models"], Float[Array, "questions depth"]]:
    """The step in abilities and in the parameters of the questions; NaN where the damped curvature is not positive
    definite.

    The curvature is the observed one. A question whose own block of it is not clearly positive definite takes its
    expected curvature, which always is; but for one question whose block would be if its difficulty were held. The
    prior holds the mean difficulty, and one such question may be found at an optimum, two may not. ``damping`` times a
    diagonal is added: the expected one with the squares of the slopes, and for a difficulty with the prior's part. The
    objective is free along a common shift of abilities and difficulties, which the step leaves out.
    """
    return _apart(_newton_step, t)


def _newton_step(t: Terms) -> tuple[Array, Array]:
    x, y = _solve(_system(t))
    return x, jnp.stack(y, axis=1)


@lanes
def uncertainty(t: Terms) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Of the ability, less the mean of all, of which trials tell least at an optimum: how far it may be off because the
    gradient was rounded, and its standard deviation by what the data say of the linear predictors.

    The first is the root of the sum of squares, over cells, of what an error of eps times the size of a cell's terms
    moves it. NaN where the curvature, lightly damped, is not positive definite: no linear predictor depends on what a
    prior alone holds, such as the scale of abilities.
    """
    return _apart(_uncertainty, t)


def _uncertainty(t: Terms) -> tuple[Array, Array]:
    system = _system(t._replace(damping=t.damping + _DAMPING))
    a, eta, cell = system.a, system.eta, system.cell
    information = jnp.sum(cell.fisher_ee * a[None] ** 2, axis=1)
    information = jnp.where(jnp.sum(t.trials, axis=1) > 0, information, jnp.inf)
    one = _first(information == jnp.min(information, axis=0, keepdims=True))
    contrast = (one - 1 / len(one)).astype(a.dtype)
    x, y = _solve(system._replace(top=contrast, right=[jnp.zeros_like(r) for r in system.right]))
    moved = a[None] * (x[:, None] - y[0][None]) + eta * y[1][None]
    squares, known = (cell.eta_size * moved) ** 2, cell.fisher_ee * moved**2
    if len(y) == 3:
        g = y[2][None]
        squares = squares + (cell.g_size * g) ** 2
        known = known + 2 * cell.fisher_eg * moved * g + cell.fisher_gg * g**2
    eps = jnp.finfo(t.theta.dtype).eps
    return _ULPS * eps * jnp.sqrt(_down(_down(squares))), jnp.sqrt(_down(_down(known)))


class _System(NamedTuple):
    """The damped curvature, its right-hand side, and the cells that it is of."""

    rows: Array
    cross: list[Array]
    block: Block
    top: Array
    right: list[Array]
    tie: tuple[Array, Array] | None
    a: Array
    eta: Array
    cell: Cell


def _system(t: Terms) -> _System:
    a, eta = jnp.exp(t.items[:, 1]), predictor(t.theta, t.items)
    cell = cells(eta, t.items, t.successes, t.trials, t.fixed)
    depth = t.items.shape[1]
    level = jnp.maximum(_down(t.weight)[None], 1)
    share = t.weight / level
    penalties = [0 * t.weight, 2 * t.slope_penalty[None] * t.weight, 2 * t.guessing_penalty[None] * t.weight][:depth]
    pull = _down(cell.eta)
    gradient = [pull * a - share * _down(t.slope)[None], -_down(cell.eta * eta)]
    gradient += [-_down(cell.g)] if depth == 3 else []
    gradient = [g + p * t.items[:, q] for q, (g, p) in enumerate(zip(gradient, penalties, strict=True))]
    expected = _block(cell.fisher_ee, cell.fisher_eg, cell.fisher_gg, eta, a, penalties)
    exact = _block(cell.ee, cell.eg, cell.gg, eta, a, penalties)
    exact[1][0] = exact[1][0] + pull * a
    exact[1][1] = exact[1][1] + gradient[1] - penalties[1] * t.items[:, 1]
    used = t.weight > 0
    unit = [expected[q][q] for q in range(depth)]
    sound = _positive_definite(exact, unit)
    tie = None
    if t.ground is None:
        strength = (_down(jnp.where(used, unit[0], 0)) + _down(t.bend))[None] / level**2
        tie = t.weight, strength
        held = [[exact[0][0] + strength * t.weight**2], *exact[1:]]
        spared = ~sound & used & _positive_definite(held, unit)
        sound = sound | _first(spared)
    # Where a steep question is sure of what did not happen it has a slope and no information, and steps in the unit of
    # the information alone stay long whatever the damping.
    surprise = cell.eta**2
    by_prior = share**2 * _down(t.bend)[None]
    scale = [expected[0][0] + _down(surprise) * a**2 + by_prior, expected[1][1] + _down(surprise * eta**2)]
    scale += [expected[2][2] + _down(cell.g**2)] if depth == 3 else []
    block = [[jnp.where(sound, x, y) for x, y in zip(*line, strict=True)] for line in zip(exact, expected, strict=True)]
    for q in range(depth):
        block[q][q] = jnp.where(used, block[q][q] + t.damping[None] * scale[q], 1)
        block[q][:q] = [jnp.where(used, x, 0) for x in block[q][:q]]
    right = [jnp.where(used, -g, 0) for g in gradient]
    ee = jnp.where(sound[None], cell.ee, cell.fisher_ee)
    force = jnp.where(sound[None], cell.eta, 0)
    slopes = a[None]
    cross = [-ee * slopes**2 - t.bend[:, None] * share[None], slopes * (ee * eta - force)]
    cross += [slopes * jnp.where(sound[None], cell.eg, cell.fisher_eg)] if depth == 3 else []
    rows_scale, rows, top = _across(
        lambda information, own, slope, a: ((information + slope**2) * a**2, own * a**2, slope * a),
        (cell.fisher_ee, ee, cell.eta, slopes),
    )
    rows_scale, top = rows_scale + t.bend, top - t.slope
    rows = rows + t.bend + t.damping[None] * rows_scale
    return _System(grounded(rows, rows_scale, t.ground), cross, block, top, right, tie, a, eta, cell)


def _first(marked: Array) -> Array:
    """The first of those marked in each lane, (n, lanes); none where none is."""
    index = jnp.arange(len(marked))[:, None]
    return index == jnp.min(jnp.where(marked, index, len(marked)), axis=0, keepdims=True)


def _down(values: Array) -> Array:
    return jnp.sum(values, axis=0)


def _total(parts: Iterable[Array]) -> Array:
    """Over questions and their parameters."""
    return _down(jnp.stack([_down(part) for part in parts]))


def _block(ee: Array, eg: Any, gg: Any, eta: Array, a: Array, penalties: list[Any]) -> Block:
    """Curvature of each question's parameters in itself, without the part of first derivatives in eta."""
    block = [[_down(ee) * a**2], [-_down(ee * eta) * a, _down(ee * eta**2) + penalties[1]]]
    if len(penalties) == 3:
        block.append([-_down(eg) * a, _down(eg * eta), _down(gg) + penalties[2]])
    return block


def _factor(block: Block) -> tuple[Block, list[Array]]:
    """Unit lower triangle (without its diagonal) and pivots."""
    lower: Block = []
    pivots: list[Array] = []
    for line in block:
        own: list[Array] = []
        for q, entry in enumerate(line[:-1]):
            known = sum((own[p] * pivots[p] * lower[q][p] for p in range(q)), jnp.zeros_like(entry))
            own.append((entry - known) / pivots[q])
        pivots.append(line[-1] - sum((x**2 * d for x, d in zip(own, pivots, strict=False)), jnp.zeros_like(line[-1])))
        lower.append(own)
    return lower, pivots


def _positive_definite(block: Block, scale: list[Array]) -> Bool[Array, "questions lanes"]:
    """As `positive_definite_blocks`: leading minors in the unit of ``scale``."""
    _, pivots = _factor(block)
    minor, good = jnp.ones_like(scale[0]), jnp.ones(scale[0].shape, bool)
    for pivot, unit, least in zip(pivots, scale, _SOUND, strict=False):
        minor = minor * pivot / jnp.where(unit > 0, unit, 1)
        good = good & (minor > least)
    return good


def _solve(system: _System) -> tuple[Array, list[Array]]:
    """As `solve_arrow` with one parameter a model, and the questions eliminated, of which one may have a negative pivot
    if the tie makes up for it."""
    rows, cross, block, top, right, tie = system[:6]
    lower, pivots = _factor(block)
    inverse = [1 / d for d in pivots]
    negative = _down(jnp.stack([_down(d < 0) for d in pivots]))

    def forward(parts: list[Array]) -> list[Array]:
        """The inverse of the unit lower triangle on what each question has, (M, lanes) or (L, M, lanes)."""
        out: list[Array] = []
        for own, part in zip(lower, parts, strict=True):
            known = ((x if part.ndim == x.ndim else x[None]) * before for x, before in zip(own, out, strict=True))
            out.append(part - sum(known, jnp.zeros_like(part)))
        return out

    def backward(parts: list[Array]) -> list[Array]:
        out = list(parts)
        for q in reversed(range(len(parts))):
            out[q] = parts[q] - sum((lower[p][q] * out[p] for p in range(q + 1, len(parts))), jnp.zeros_like(parts[q]))
        return out

    left, inner = forward(cross), forward(right)
    scaled = [z * d[None] for z, d in zip(left, inverse, strict=True)]
    sides = [inner]
    if tie is not None:
        w, strength = tie
        sides.append(forward([w, *(jnp.zeros_like(w) for _ in right[1:])]))
    n_models = rows.shape[0]
    beside = [jnp.concatenate([z, *(v[None] for v in more)]) for z, *more in zip(left, *sides, strict=True)]
    products = _products(scaled, beside)
    eye = jnp.eye(n_models, dtype=bool)[:, :, None]
    schur = jnp.where(eye, rows[None], 0) - products[:, :n_models]
    top = top - products[:, n_models]
    definite = negative == 0
    if tie is not None:
        # Sherman-Morrison: (C + c w w')^-1 = C^-1 - rho u u', u = C^-1 w, with one negative eigenvalue less than C if
        # rho is negative.
        along, z = sides[1], products[:, n_models + 1]
        lifted = 1 + strength * _total(v**2 * d for v, d in zip(along, inverse, strict=True))[None]
        definite = jnp.where(lifted[0] > 0, definite, negative == 1)
        rho = strength / lifted
        lift = _total(v * d * r for v, d, r in zip(along, inverse, inner, strict=True))[None]
        schur = schur + rho[None] * z[:, None] * z[None]
        top = top + rho * lift * z
    x = solve_spd_lanes(schur, jnp.where(definite, top, jnp.nan)[:, None])[:, 0]
    y = [d * (r - _down(s * x[:, None])) for d, r, s in zip(inverse, inner, left, strict=True)]
    if tie is not None:
        pulled = rho * (_down(z * x)[None] - lift)
        y = [v + pulled * d * b for v, d, b in zip(y, inverse, along, strict=True)]
    return x, backward(y)


def _across(terms: Callable[..., tuple[Array, ...]], values: tuple[Array, ...]) -> tuple[Array, ...]:
    """The sums over questions of what ``terms`` makes of ``values``, each (L or 1, M, lanes)."""
    if values[0].shape[2] < _FEW:
        return tuple(jnp.sum(x, axis=1) for x in terms(*values))
    one = lambda m: terms(*(jax.lax.dynamic_slice_in_dim(v, m, 1, axis=1)[:, 0] for v in values))
    add = lambda m, total: jax.tree.map(jnp.add, total, one(m))
    return jax.lax.fori_loop(1, values[0].shape[1], add, one(0))


def _products(first: list[Array], second: list[Array]) -> Float[Array, "rows columns lanes"]:
    """The sum of first times second transposed over questions and their parameters, in every lane."""
    n_models, n_questions, size = first[0].shape
    if size < _FEW:
        product = functools.partial(einsum, "imb,jmb->ijb")
        return sum((product(x, y) for x, y in zip(first, second, strict=True)), jnp.zeros(()))
    pick = lambda v, m: jax.lax.dynamic_slice_in_dim(v, m, 1, axis=1)[:, 0]

    def add(m: Array, total: Array) -> Array:
        return total + sum(pick(x, m)[:, None] * pick(y, m)[None] for x, y in zip(first, second, strict=True))

    return jax.lax.fori_loop(0, n_questions, add, jnp.zeros((n_models, second[0].shape[0], size), first[0].dtype))
