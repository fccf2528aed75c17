"""Marginal maximum likelihood of item response models with several abilities, integrated out over N(0, I).

As with one ability (`jaxrank.models.irt.marginal`) the loop is Newton's, and Louis' curvature (1982) is that of the
complete data less, for every model, the posterior covariance of its score, here projected on the polynomials of degree
2 in the abilities. The likelihood is flat along rotations: steps are held at right angles to them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.models.irt.axes import rotation_directions
from jaxrank.models.irt.cells import Cell, guessing_cell, plain_cell
from jaxrank.models.irt.marginal import item_step, normal_terms
from jaxrank.models.irt.rasch import fit_rasch
from jaxrank.models.irt.table import ItemTable
from jaxrank.models.priors import Gaussian
from jaxrank.numerics.precision import einsum, matmul
from jaxrank.numerics.solve.arrow import positive_definite_blocks
from jaxrank.numerics.solve.damped import Minimum, levenberg_marquardt
from jaxrank.numerics.solve.quadrature import AdaptiveGaussHermite, Quadrature

MOST_NODES = 200_000
_QUADRATURE_ERROR = 1e-3  # of two evaluations, whose nodes follow the modes with a delay
_CELLS = 2**18  # values of nodes by questions at once
_POWER_STEPS = 40


class FactorModel(eqx.Module):
    """p = c + (1 - c) sigmoid(a . theta + d), c = sigmoid(g), theta ~ N(0, I) in D dimensions.

    The parameters of a question are the columns (d, a_1, ..., a_D) and, where ``guesses``, g. ``ridge``: half of it
    times the squares of the slopes is taken from the log-likelihood. ``guessing_prior``: None or (mean, standard
    deviation) of g. ``guessing`` fixes c.
    """

    n_factors: int = eqx.field(static=True)
    guesses: bool = eqx.field(static=True)
    quadrature: Quadrature
    ridge: Any = 0.0
    guessing_prior: Any = None
    guessing: Any = None

    @property
    def plain(self) -> bool:
        return not self.guesses and self.guessing is None

    def slopes(self, items: Float[Array, "M Q"]) -> Float[Array, "M D"]:
        return items[:, 1 : 1 + self.n_factors]

    def cells(self, k: Array, n: Array, theta: Float[Array, "nodes D"], items: Array) -> Cell:
        """Cells (nodes, M) of one model."""
        eta = matmul(theta, self.slopes(items).T) + items[None, :, 0]
        if self.plain:
            return plain_cell(eta, k[None, :], n[None, :])
        if self.guesses:
            g = items[None, :, -1]
        else:
            c = jnp.asarray(self.guessing, eta.dtype)
            g = jnp.broadcast_to(jnp.log(c) - jnp.log1p(-c), (1, 1))
        return guessing_cell(eta, k[None, :], n[None, :], g, 1.0)

    def grid(self, dtype: Any) -> tuple[Float[Array, "nodes D"], Float[Array, " nodes"]]:
        """Nodes of the product rule and the logarithms of their weights."""
        d = self.n_factors
        nodes = np.stack([x.ravel() for x in np.meshgrid(*[self.quadrature.nodes] * d, indexing="ij")], axis=1)
        log_w = sum(x.ravel() for x in np.meshgrid(*[np.log(self.quadrature.weights)] * d, indexing="ij"))
        return jnp.asarray(nodes, dtype), jnp.asarray(log_w, dtype)


class Posterior(NamedTuple):
    """What the data say of each model's abilities, given the questions. **mode**, **mean** (L, D), **covariance**
    (L, D, D), **log_marginal**, **size** (L,) mean size of the log-likelihoods that were added up, **information** (L,)
    of the abilities along all axes together. **moments** (L, J, M, Q): means of the score of a question's parameters,
    plain and times each polynomial. **expected**, **observed** (M, Q, Q): curvature of the complete data, summed over
    the models; the second None where they are the same."""

    mode: Array
    mean: Array
    covariance: Array
    log_marginal: Array
    size: Array
    information: Array
    moments: Array
    expected: Array
    observed: Any


class _Pieces(NamedTuple):
    gradient: Array  # (M, Q), at right angles to the rotations
    columns: Array  # (M, Q, Q)
    cross: Array  # (L, J - 1, M, Q)
    ties: Any  # (M, Q, T)


def fit_factors(model: FactorModel, table: ItemTable, max_steps: int) -> Minimum:
    """Maximise the marginal likelihood times the priors. Params: items (M, Q); memory: the models' modes (L, D)."""
    items, mode, steps = _start(model, table)

    def objective(x: Array, mode: Array) -> tuple[Array, _Pieces, Array]:
        post = posterior(model, table, x, mode)
        penalty, slope, bend = _penalties(model, table, x)
        block = post.expected
        if post.observed is not None:
            scale = jnp.diagonal(block, axis1=1, axis2=2)
            sound = positive_definite_blocks(post.observed, scale)
            block = jnp.where(sound[:, None, None], post.observed, block)
        eye = jnp.eye(x.shape[1], dtype=x.dtype)
        used = table.used[:, None]
        gradient = jnp.where(used, jnp.sum(post.moments[:, 0], axis=0) + slope, 0)
        ties = rotation_directions(jnp.where(used, model.slopes(x), 0), table.weight, 1, int(model.guesses))
        if ties is not None:
            along = einsum("mqt,mq->t", ties, gradient)
            ties = table.weight[:, None, None] * ties
            gradient = gradient - einsum("mqt,t->mq", ties, along)
        columns = block + bend[:, :, None] * eye[None, :, :]
        pieces = _Pieces(gradient, columns, post.moments[:, 1:], ties)
        return penalty - jnp.sum(post.log_marginal), pieces, post.mode

    found = levenberg_marquardt(
        objective,
        lambda m, damping: item_step(table, m.gradient, m.cross, m.columns, damping, m.ties),
        items,
        mode,
        max_steps=max_steps,
        value_error=_QUADRATURE_ERROR,
        slope=(lambda m, s: jnp.sum(m.gradient * s)) if isinstance(model.quadrature, AdaptiveGaussHermite) else None,
    )
    return found._replace(steps=found.steps + steps)


def _start(model: FactorModel, table: ItemTable) -> tuple[Array, Array, Array]:
    """The Rasch fit as the first factor, and as the further ones the directions in which its residuals vary most."""
    rasch = fit_rasch(table, Gaussian(0.0, 1.0), centred=False)
    theta, b = rasch.params
    p = jax.nn.sigmoid(theta[:, None] - b[None, :])
    information = table.trials * p * (1 - p)
    excess = table.successes - table.trials * p
    seen = information > 0
    z = jnp.where(seen, excess / jnp.sqrt(jnp.where(seen, information, 1)), 0)
    gram = matmul(z, z.T)
    gram = gram / jnp.maximum(jnp.trace(gram), jnp.finfo(z.dtype).tiny)
    modes, slopes = [theta], [jnp.ones_like(b)]
    for _ in range(1, model.n_factors):
        # Begun at the model with the largest residuals, the same one whatever the order of the models is.
        v = jax.lax.fori_loop(
            0, _POWER_STEPS, lambda _, v, g=gram: _unit(matmul(g, v)), _unit(gram[:, jnp.argmax(gram.diagonal())])
        )
        gram = gram - matmul(matmul(v, gram), v) * v[:, None] * v[None, :]
        ability = v * jnp.sqrt(jnp.asarray(v.shape[0], v.dtype))
        held = table.weight + matmul(information.T, ability**2)
        modes.append(ability)
        slopes.append(jnp.where(table.used, matmul(excess.T, ability) / jnp.where(held > 0, held, 1), 0))
    columns = [-b, *slopes]
    if model.guesses:
        columns.append(jnp.full_like(b, 0.0 if model.guessing_prior is None else model.guessing_prior[0]))
    return jnp.stack(columns, axis=1), jnp.stack(modes, axis=1), rasch.steps


def _unit(v: Array) -> Array:
    size = jnp.sqrt(jnp.sum(v**2))
    return v / jnp.where(size > 0, size, 1)


def posterior(model: FactorModel, table: ItemTable, items: Array, mode: Float[Array, "L D"]) -> Posterior:
    """Posteriors of all models; adaptive nodes after one more Newton step of each mode. Some models at a time, so that
    what is held of nodes by questions stays small."""
    grid, log_w = model.grid(items.dtype)
    of_one = lambda own: _of_model(model, own[0], own[1], own[2], items, grid, log_w)
    given = table.successes, table.trials, mode
    at_once = max(_CELLS // (grid.shape[0] * items.shape[0]), 1)
    n_models = mode.shape[0]
    found = jax.vmap(of_one)(given) if at_once >= n_models else jax.lax.map(of_one, given, batch_size=at_once)
    total = lambda v: None if v is None else jnp.sum(v, axis=0)
    return found._replace(expected=total(found.expected), observed=total(found.observed))


def _of_model(
    model: FactorModel, k: Array, n: Array, mode: Array, items: Array, grid: Array, log_w: Array
) -> Posterior:
    a, d = model.slopes(items), model.n_factors
    theta = grid
    if isinstance(model.quadrature, AdaptiveGaussHermite):
        here = model.cells(k, n, mode[None, :], items)
        outer = lambda w: jnp.eye(d, dtype=a.dtype) + matmul((a * w[:, None]).T, a)
        bend = outer(here.fisher_ee[0])
        if not model.plain:
            observed = outer(here.ee[0])
            sound = positive_definite_blocks(observed[None], jnp.diagonal(bend)[None])[0]
            bend = jnp.where(sound, observed, bend)
        half = _inverse_factor(bend)
        pull = matmul(here.eta[0], a) - mode
        step = matmul(half.T, matmul(half, pull))
        length = jnp.sqrt(jnp.sum(step**2))
        mode = mode + step * jnp.minimum(1, 2 / jnp.where(length > 0, length, 1))
        theta = mode[None, :] + matmul(grid, half)
        log_w = log_w + jnp.sum(jnp.log(jnp.diagonal(half))) + jnp.sum(grid**2 - theta**2, axis=1) / 2
    cell = model.cells(k, n, theta, items)
    log_likelihood = jnp.sum(cell.value, axis=1)
    log_joint = log_likelihood + log_w
    log_marginal = jax.nn.logsumexp(log_joint)
    weight = jnp.exp(log_joint - log_marginal)
    mean = matmul(weight, theta)
    centred = theta - mean[None, :]
    covariance = matmul((centred * weight[:, None]).T, centred)

    ones = jnp.concatenate([jnp.ones_like(theta[:, :1]), theta], axis=1)  # what the derivatives in d and a hold
    lead = weight[None, :] * jnp.concatenate([jnp.ones_like(weight)[None, :], _polynomials(weight, centred)])
    both = (lead[:, None, :] * ones.T[None, :, :]).reshape(-1, theta.shape[0])
    moments = -matmul(both, cell.eta).reshape(lead.shape[0], 1 + d, -1)
    if model.guesses:
        moments = jnp.concatenate([moments, -matmul(lead, cell.g)[:, None, :]], axis=1)
    fisher = cell.fisher_ee, cell.fisher_eg, cell.fisher_gg
    expected = _curvature(model, weight, ones, *fisher)
    observed = None if model.plain else _curvature(model, weight, ones, cell.ee, cell.eg, cell.gg)
    return Posterior(
        mode=mode,
        mean=mean,
        covariance=covariance,
        log_marginal=log_marginal,
        size=matmul(weight, jnp.abs(log_likelihood)),
        information=1 + matmul(matmul(weight, cell.fisher_ee), jnp.sum(a**2, axis=1)),
        moments=jnp.moveaxis(moments, 2, 1),
        expected=expected,
        observed=observed,
    )


def _curvature(model: FactorModel, weight: Array, ones: Array, ee: Array, eg: Any, gg: Any) -> Float[Array, "M Q Q"]:
    """Minus the second derivatives of one model's cells in the parameters of their questions, averaged over nodes."""
    width = ones.shape[1]
    outer = (weight[:, None, None] * ones[:, :, None] * ones[:, None, :]).reshape(weight.shape[0], -1)
    block = matmul(ee.T, outer).reshape(-1, width, width)
    if not model.guesses:
        return block
    border = matmul(eg.T, weight[:, None] * ones)
    corner = matmul(gg.T, weight)
    right = jnp.concatenate([border, corner[:, None]], axis=1)[:, :, None]
    return jnp.concatenate([jnp.concatenate([block, border[:, None, :]], axis=1), right], axis=2)


def _polynomials(weight: Float[Array, " nodes"], centred: Float[Array, "nodes D"]) -> Float[Array, "J nodes"]:
    """Orthonormal polynomials of degrees 1 and 2 in the abilities under a posterior."""
    found: list[Array] = []

    def add(f: Array) -> None:
        f = f - jnp.sum(weight * f)
        size = jnp.sum(weight * f**2)
        for g in found:
            f = f - jnp.sum(weight * f * g) * g
        left = jnp.sum(weight * f**2)
        keep = left > 1e-6 * size
        found.append(jnp.where(keep, f / jnp.sqrt(jnp.where(keep, left, 1)), 0))

    d = centred.shape[1]
    for j in range(d):
        add(centred[:, j])
    for i in range(d):
        for j in range(i, d):
            add(found[i] * found[j])
    return jnp.stack(found)


def _inverse_factor(matrix: Float[Array, "D D"]) -> Float[Array, "D D"]:
    """The lower triangular R with R' R = matrix^-1, of a few rows written out: the inverse of Cholesky's factor."""
    n = matrix.shape[0]
    low: list[list[Array]] = []
    for i in range(n):
        row: list[Array] = []
        for j in range(i + 1):
            rest = matrix[i, j] - sum(
                (row[s] * (low[j] if j < i else row)[s] for s in range(j)), jnp.zeros_like(matrix[0, 0])
            )
            row.append(jnp.sqrt(rest) if i == j else rest / low[j][j])
        low.append(row)
    zero = jnp.zeros_like(matrix[0, 0])
    inverse: list[list[Array]] = []
    for i in range(n):
        row = []
        for j in range(i):
            row.append(-sum((low[i][s] * inverse[s][j] for s in range(j, i)), zero) / low[i][i])
        inverse.append([*row, 1 / low[i][i], *[zero] * (n - i - 1)])
    return jnp.stack([jnp.stack(row) for row in inverse])


def rounding_error(items: Array, post: Posterior) -> Float[Array, ""]:
    """How far posterior means may be off because the log-likelihoods of the nodes are rounded, as with one ability."""
    return jnp.finfo(items.dtype).eps * jnp.max(post.size * jnp.sqrt(post.information))


def _penalties(model: FactorModel, table: ItemTable, items: Array) -> tuple[Array, Array, Array]:
    """Value, slope and curvature of the priors on the questions' parameters, each question as often as it was drawn."""
    weight = table.weight[:, None]
    a = model.slopes(items)
    ridge = jnp.asarray(model.ridge, items.dtype) * weight
    value, none = jnp.sum(ridge * a**2) / 2, jnp.zeros_like(weight)
    slope, bend = [none, ridge * a], [none, jnp.broadcast_to(ridge, a.shape)]
    if model.guesses:
        more, pull, precision = normal_terms(items[:, -1], table.weight, model.guessing_prior)
        value = value + more
        slope.append(pull[:, None])
        bend.append(precision[:, None])
    return value, jnp.concatenate(slope, axis=1), jnp.concatenate(bend, axis=1)
