"""Marginal maximum likelihood of item response models: abilities integrated out over N(0, 1).

The loop is Newton's on the marginal likelihood of the questions' parameters. Its curvature (Louis 1982) is the expected
curvature of the complete data less, for every model, the posterior covariance of its score. That covariance is
projected on polynomials in ability of degree 1 (Rasch) or 2: almost all of it, since the score bends little over a
posterior, and of so low a rank that the system is arrow-shaped. What is left out only slows the last steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.models.irt.cells import Cell, guessing_cell, plain_cell
from jaxrank.models.irt.rasch import fit_rasch
from jaxrank.models.irt.table import ItemTable
from jaxrank.models.priors import Gaussian
from jaxrank.numerics.precision import einsum
from jaxrank.numerics.solve.arrow import positive_definite_blocks, solve_arrow
from jaxrank.numerics.solve.damped import Minimum, levenberg_marquardt
from jaxrank.numerics.solve.quadrature import AdaptiveGaussHermite, Quadrature

# By so much two evaluations of the likelihood differ through their nodes, which follow the modes with a delay.
_QUADRATURE_ERROR = 1e-3


class MarginalModel(eqx.Module):
    """p = c + (1 - c) sigmoid(a theta + d), a = exp(alpha), c = sigmoid(g), theta ~ N(0, 1).

    The parameters of a question are the columns (d), (d, alpha) or (d, alpha, g): ``depth`` of them. ``priors`` holds
    for each column None or (mean, standard deviation). ``guessing`` fixes c where ``depth`` is 2; None means no
    guessing.
    """

    depth: int = eqx.field(static=True)
    quadrature: Quadrature
    priors: tuple[Any, ...] = (None, None, None)
    guessing: Any = None

    def cells(self, table: ItemTable, theta: Float[Array, "models nodes"], items: Array) -> tuple[Cell, Array]:
        """Cells (L, nodes, M) and a theta, the derivative of the linear predictor in alpha."""
        slope = jnp.exp(items[:, 1]) if self.depth > 1 else jnp.ones_like(items[:, 0])
        pull = theta[:, :, None] * slope[None, None, :]
        eta = pull + items[None, None, :, 0]
        k, n = table.successes[:, None, :], table.trials[:, None, :]
        if self.depth == 3:
            return guessing_cell(eta, k, n, items[None, None, :, 2], 1.0), pull
        if self.guessing is not None:
            c = jnp.asarray(self.guessing, eta.dtype)
            return guessing_cell(eta, k, n, jnp.broadcast_to(jnp.log(c) - jnp.log1p(-c), (1, 1, 1)), 1.0), pull
        return plain_cell(eta, k, n), pull


class Posterior(NamedTuple):
    """What the data say of each ability, given the questions. **theta**, **weight** (L, nodes), **log_marginal**
    (L,)."""

    theta: Array
    weight: Array
    log_marginal: Array
    cells: Cell
    pull: Array

    @property
    def mean(self) -> Float[Array, " models"]:
        return jnp.sum(self.weight * self.theta, axis=1)

    @property
    def sd(self) -> Float[Array, " models"]:
        return jnp.sqrt(jnp.sum(self.weight * (self.theta - self.mean[:, None]) ** 2, axis=1))


class _Pieces(NamedTuple):
    gradient: Array  # (M, depth)
    columns: Array  # (M, depth, depth)
    cross: Array  # (L, degree, M, depth)


def fit_marginal(model: MarginalModel, table: ItemTable, max_steps: int) -> Minimum:
    """Maximise the marginal likelihood times the priors. Params: items (M, depth); memory: the models' modes (L,)."""
    start = fit_rasch(table, Gaussian(0.0, 1.0), centred=False)
    mode, b = start.params
    items = [-b]
    for prior in model.priors[1 : model.depth]:
        items.append(jnp.full_like(b, 0.0 if prior is None else prior[0]))

    def objective(x: Array, mode: Array) -> tuple[Array, _Pieces, Array]:
        mode, post = posterior(model, table, x, mode)
        pieces = _pieces(model, table, x, post)
        penalty, slope, bend = _penalties(model, table, x)
        eye = jnp.eye(model.depth, dtype=x.dtype)
        pieces = pieces._replace(
            gradient=pieces.gradient + slope, columns=pieces.columns + bend[:, :, None] * eye[None, :, :]
        )
        return penalty - jnp.sum(post.log_marginal), pieces, mode

    found = levenberg_marquardt(
        objective,
        lambda m, damping: item_step(table, m.gradient, m.cross, m.columns, damping),
        jnp.stack(items, axis=1),
        mode,
        max_steps=max_steps,
        value_error=_QUADRATURE_ERROR,
        slope=(lambda m, s: jnp.sum(m.gradient * s)) if isinstance(model.quadrature, AdaptiveGaussHermite) else None,
    )
    return found._replace(steps=found.steps + start.steps)


def posterior(
    model: MarginalModel, table: ItemTable, items: Array, mode: Float[Array, " models"]
) -> tuple[Array, Posterior]:
    """Nodes and weights of every model's posterior; adaptive nodes after one more Newton step of the mode."""
    x = jnp.asarray(model.quadrature.nodes, items.dtype)
    log_w = jnp.log(jnp.asarray(model.quadrature.weights, items.dtype))
    if isinstance(model.quadrature, AdaptiveGaussHermite):
        cell, _ = model.cells(table, mode[:, None], items)
        slope = jnp.exp(items[:, 1]) if model.depth > 1 else jnp.ones_like(items[:, 0])
        information = 1 + jnp.sum(cell.fisher_ee * slope[None, None, :] ** 2, axis=(1, 2))
        observed = 1 + jnp.sum(cell.ee * slope[None, None, :] ** 2, axis=(1, 2))
        bend = jnp.where(observed > information / 32, observed, information)
        mode = mode + jnp.clip((jnp.sum(cell.eta * slope[None, None, :], axis=(1, 2)) - mode) / bend, -2, 2)
        scale = 1 / jnp.sqrt(bend)
        theta = mode[:, None] + scale[:, None] * x[None, :]
        log_w = log_w[None, :] + jnp.log(scale)[:, None] + (x[None, :] ** 2 - theta**2) / 2
    else:
        theta = jnp.broadcast_to(x[None, :], (mode.shape[0], x.shape[0]))
        log_w = jnp.broadcast_to(log_w[None, :], theta.shape)
    cells, pull = model.cells(table, theta, items)
    log_joint = jnp.sum(cells.value, axis=2) + log_w
    log_marginal = jax.nn.logsumexp(log_joint, axis=1)
    return mode, Posterior(theta, jnp.exp(log_joint - log_marginal[:, None]), log_marginal, cells, pull)


def rounding_error(model: MarginalModel, items: Array, post: Posterior) -> Float[Array, ""]:
    """How far posterior means may be off because the log-likelihoods of the nodes are rounded: a relative error e of
    the weights, eps times the log-likelihood, moves a mean by e sd, and with the questions' parameters by up to e / sd,
    because only the prior N(0, 1) holds what the likelihood leaves free (1 of the 1 / sd^2 known of an ability).
    """
    slope = jnp.exp(items[:, 1]) if model.depth > 1 else jnp.ones_like(items[:, 0])
    information = 1 + einsum("lq,lqm,m->l", post.weight, post.cells.fisher_ee, slope**2)
    size = jnp.sum(post.weight * jnp.abs(jnp.sum(post.cells.value, axis=2)), axis=1)
    return jnp.finfo(items.dtype).eps * jnp.max(size * jnp.sqrt(information))


def _basis(model: MarginalModel, post: Posterior) -> Array:
    """Orthonormal polynomials of degree 1 (and 2) in ability under each posterior: (L, degree, nodes)."""
    sd = post.sd
    first = (post.theta - post.mean[:, None]) / jnp.where(sd > 0, sd, 1)[:, None]
    if model.depth == 1:
        return first[:, None, :]
    w = post.weight
    second = first**2 - 1 - jnp.sum(w * first**3, axis=1, keepdims=True) * first
    second = second - jnp.sum(w * second, axis=1, keepdims=True)
    size = jnp.sqrt(jnp.sum(w * second**2, axis=1, keepdims=True))
    return jnp.stack([first, jnp.where(size > 1e-6, second / jnp.where(size > 1e-6, size, 1), 0)], axis=1)


def _scores(model: MarginalModel, post: Posterior) -> list[Array]:
    """Minus the derivative of each cell's log-likelihood in each parameter of its question: (L, nodes, M) each."""
    cell = post.cells
    scores = [-cell.eta]
    if model.depth > 1:
        scores.append(-cell.eta * post.pull)
    if model.depth > 2:
        scores.append(-cell.g)
    return scores


def _pieces(model: MarginalModel, table: ItemTable, items: Array, post: Posterior) -> _Pieces:
    weights = jnp.concatenate([post.weight[:, None, :], post.weight[:, None, :] * _basis(model, post)], axis=1)
    moments = [einsum("ljq,lqm->ljm", weights, s) for s in _scores(model, post)]
    moments = jnp.stack(moments, axis=3)  # (L, 1 + degree, M, depth)
    gradient = jnp.sum(moments[:, 0], axis=0)
    cell, pull = post.cells, post.pull
    mean = lambda v: einsum("lq,lqm->m", post.weight, v)

    def curvature(ee: Array, eg: Any, gg: Any, bend: Array) -> Array:
        columns = [[mean(ee)]]
        if model.depth > 1:
            cross, slope = mean(ee * pull), mean(ee * pull**2) + bend
            columns = [[columns[0][0], cross], [cross, slope]]
        if model.depth > 2:
            e_g, a_g = mean(eg), mean(eg * pull)
            columns = [[*columns[0], e_g], [*columns[1], a_g], [e_g, a_g, mean(gg)]]
        return jnp.stack([jnp.stack(line, axis=1) for line in columns], axis=1)

    # The curvature of exp(alpha) itself is kept where it is positive; it vanishes with the gradient.
    bend = jnp.maximum(gradient[:, 1], 0) if model.depth > 1 else gradient[:, 0]
    block = curvature(cell.fisher_ee, cell.fisher_eg, cell.fisher_gg, bend)
    if model.depth == 3 or model.guessing is not None:
        # With guessing the expected curvature, which is always positive definite, serves only where the observed is
        # not.
        observed = curvature(cell.ee, cell.eg, cell.gg, bend)
        sound = positive_definite_blocks(observed, jnp.diagonal(block, axis1=1, axis2=2))
        block = jnp.where(sound[:, None, None], observed, block)
    return _Pieces(gradient, block, moments[:, 1:])


def _penalties(model: MarginalModel, table: ItemTable, items: Array) -> tuple[Array, Array, Array]:
    """Value, slope and curvature of the priors on the questions' parameters, each question as often as it was drawn."""
    terms = [normal_terms(items[:, i], table.weight, prior) for i, prior in enumerate(model.priors[: model.depth])]
    value, slope, bend = zip(*terms, strict=True)
    return sum(value, jnp.zeros((), items.dtype)), jnp.stack(slope, axis=1), jnp.stack(bend, axis=1)


def normal_terms(
    x: Float[Array, " items"], weight: Float[Array, " items"], prior: tuple[Any, Any] | None
) -> tuple[Array, Array, Array]:
    """Value (summed), slope and curvature of a normal prior (mean, standard deviation) on one parameter of each
    question, with the weights of the questions; without a prior all 0."""
    if prior is None:
        return jnp.zeros((), x.dtype), jnp.zeros_like(x), jnp.zeros_like(x)
    mean, sd = (jnp.asarray(v, x.dtype) for v in prior)
    precision = weight / sd**2
    return jnp.sum(precision * (x - mean) ** 2) / 2, precision * (x - mean), precision


def item_step(
    table: ItemTable,
    gradient: Float[Array, "M depth"],
    cross: Float[Array, "L degree M depth"],
    columns: Float[Array, "M depth depth"],
    damping: Array,
    tie: Array | None = None,
) -> Float[Array, "M depth"]:
    """The damped Newton step of the questions' parameters: curvature ``columns`` less what ``cross`` of every model
    takes away. **tie**: directions in which nothing is known, see `solve_arrow`. Questions without answers stay."""
    used = table.used[:, None]
    eye = jnp.eye(columns.shape[-1], dtype=columns.dtype)[None, :, :]
    columns = jnp.where(used[:, :, None], columns * (1 + damping * eye), eye)
    n_models, degree = cross.shape[:2]
    rows = jnp.broadcast_to(jnp.eye(degree, dtype=columns.dtype), (n_models, degree, degree))
    right = -jnp.where(used, gradient, 0)[:, :, None]
    _, y = solve_arrow(rows, cross, columns, jnp.zeros((n_models, degree, 1), columns.dtype), right, tie=tie)
    return y[:, :, 0]


def item_covariance(
    model: MarginalModel, table: ItemTable, items: Array, mode: Array
) -> Float[Array, "M depth M depth"]:
    """Inverse observed information of the questions' parameters (Louis 1982), priors included; NaN for left-out
    questions."""
    _, post = posterior(model, table, items, mode)
    scores = jnp.stack(_scores(model, post), axis=3)
    n_items = items.size
    flat = scores.reshape(*scores.shape[:2], n_items)
    mean = einsum("lq,lqa->la", post.weight, flat)
    centred = (flat - mean[:, None, :]) * jnp.sqrt(post.weight)[:, :, None]
    covariance = einsum("lqa,lqb->ab", centred, centred)
    cell, pull = post.cells, post.pull
    total = lambda v: einsum("lq,lqm->m", post.weight, v)
    ee, ep, pp = total(cell.ee), total(cell.ee * pull), total(cell.ee * pull**2 - cell.eta * pull)
    table_of = {1: [[ee]], 2: [[ee, ep], [ep, pp]]}
    if model.depth == 3:
        eg, ag = total(cell.eg), total(cell.eg * pull)
        table_of[3] = [[ee, ep, eg], [ep, pp, ag], [eg, ag, total(cell.gg)]]
    block = jnp.stack([jnp.stack(line, axis=1) for line in table_of[model.depth]], axis=1)
    bend = _penalties(model, table, items)[2]
    eye = jnp.eye(model.depth, dtype=items.dtype)
    block = jnp.where(table.used[:, None, None], block + bend[:, :, None] * eye[None, :, :], eye[None, :, :])
    same = jnp.eye(items.shape[0], dtype=bool)
    information = jnp.where(same[:, None, :, None], block[:, :, None, :], 0).reshape(n_items, n_items) - covariance
    inverse = jnp.linalg.inv(information).reshape(*items.shape, *items.shape)
    return jnp.where(table.used[:, None, None, None] & table.used[None, None, :, None], inverse, jnp.nan)


def posterior_quantile(
    model: MarginalModel, table: ItemTable, items: Array, post: Posterior, q: Float[Array, ""]
) -> Float[Array, " models"]:
    """The q-quantile of each ability's posterior.

    With adaptive quadrature the posterior is continuous: its distribution function is integrated (Gauss-Legendre) and
    solved for by Halley's steps from the normal approximation. With fixed nodes it is discrete: the first node at which
    the accumulated weight reaches q, as published.
    """
    if not isinstance(model.quadrature, AdaptiveGaussHermite):
        reached = jnp.cumsum(post.weight, axis=1) >= q - 8 * jnp.finfo(items.dtype).eps
        return jnp.take_along_axis(post.theta, jnp.argmax(reached, axis=1)[:, None], axis=1)[:, 0]
    x, w = np.polynomial.legendre.leggauss(32)
    width = 7.0
    below = jnp.asarray((x + 1) / 2 * width, items.dtype)
    weight = jnp.asarray(w / 2 * width, items.dtype)
    mean, sd = post.mean, post.sd
    constant = post.log_marginal + 0.5 * np.log(2 * np.pi)

    def log_density(theta: Array) -> Array:
        return jnp.sum(model.cells(table, theta, items)[0].value, axis=2) - theta**2 / 2 - constant[:, None]

    slope = jnp.exp(items[:, 1]) if model.depth > 1 else jnp.ones_like(items[:, 0])

    def improve(_: Array, t: Array) -> Array:
        density = jnp.exp(log_density(t[:, None] - sd[:, None] * below[None, :]))
        mass = sd * jnp.sum(weight[None, :] * density, axis=1)
        here = jnp.exp(log_density(t[:, None])[:, 0])
        force = jnp.sum(model.cells(table, t[:, None], items)[0].eta * slope[None, None, :], axis=(1, 2)) - t
        newton = (mass - q) / jnp.maximum(here, jnp.finfo(t.dtype).tiny)
        bend = 1 - newton * force / 2
        return t - jnp.clip(newton / jnp.where(bend > 0.5, bend, 1), -sd, sd)

    return jax.lax.fori_loop(0, 5, improve, mean + sd * jax.scipy.special.ndtri(q))
