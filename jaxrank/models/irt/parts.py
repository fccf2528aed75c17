"""Tables without a finite joint optimum, cut into parts that have one, and the parts put in their order."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxrank.models.irt.table import ItemTable
from jaxrank.numerics.graph import component_labels, dominance_levels, reachability, strong_components
from jaxrank.numerics.precision import matmul
from jaxrank.numerics.status import Status


class Parts(eqx.Module):
    """The strong components of models and questions under "succeeded on" and "was failed by".

    **table**: the results inside parts; the likelihood of those between parts tends to 1 as the parts move apart.
    **level**: (L,) length of the longest chain of parts above each model's, 0 at the top.  **part**: (L,) the first
    model of each model's part.  **home**: (M,) a model of each question's part, -1 for none.  **certain**: whether the
    order of any two models is: one reaches the other, or they passed and failed the same questions.
    """

    table: ItemTable
    level: Int[Array, " models"]
    part: Int[Array, " models"]
    home: Int[Array, " questions"]
    certain: Bool[Array, ""]

    @property
    def ground(self) -> Float[Array, " models"]:
        """1 for one model of each part: it is held in each step, since the likelihood leaves the place of a part
        free."""
        own = jnp.arange(self.part.shape[0]) == self.part
        return own.astype(self.table.successes.dtype)

    def joined(
        self, theta: Float[Array, " models"], b: Float[Array, " questions"]
    ) -> tuple[Float[Array, " models"], Float[Array, " questions"]]:
        """Abilities and difficulties with the parts below each other, each further from the next than any two of its
        models are, and difficulties that sum to 0.

        Questions that all trials passed or failed have infinite difficulties, and others in no part NaN.
        """
        same = (self.part[:, None] == self.part[None, :]).astype(theta.dtype)
        middle = matmul(same, theta) / jnp.sum(same, axis=1)
        inside = theta - middle
        place = -(1 + 2 * jnp.max(jnp.abs(inside))) * self.level.astype(theta.dtype)
        found = self.home >= 0
        moved = jnp.where(found, b + (place - middle)[jnp.maximum(self.home, 0)], 0)
        weight = self.table.weight
        zero = jnp.where(jnp.any(found), jnp.sum(weight * moved) / jnp.maximum(jnp.sum(weight), 1), jnp.mean(place))
        extreme = self.table.extreme
        limit = jnp.where(extreme > 0, -jnp.inf, jnp.where(extreme < 0, jnp.inf, jnp.nan)).astype(b.dtype)
        return inside + place - zero, jnp.where(found, moved - zero, limit)


def parts_of(table: ItemTable) -> Parts:
    """The parts of a table that keeps its extreme questions."""
    succeeded, failed = table.successes > 0, table.failures > 0
    n_models = succeeded.shape[0]
    edges = jnp.block(
        [[jnp.zeros((n_models,) * 2, bool), succeeded], [failed.T, jnp.zeros((failed.shape[1],) * 2, bool)]]
    )
    reach = reachability(edges)
    together = strong_components(reach)
    across = together[:n_models, n_models:]
    between = reach[:n_models, :n_models]
    inside = across.astype(table.successes.dtype)
    home = jnp.where(jnp.any(across, axis=0), jnp.argmax(across, axis=0), -1).astype(jnp.int32)
    kept = ItemTable(
        table.successes * inside, table.trials * inside, jnp.where(home >= 0, table.weight, 0), table.extreme
    )
    alike = lambda hit: jnp.all(hit[:, None, :] == hit[None, :, :], axis=-1)
    return Parts(
        kept,
        dominance_levels(between),
        component_labels(together[:n_models, :n_models]),
        home,
        jnp.all(between | between.T | (alike(succeeded) & alike(failed))),
    )


def extended_status(
    existence: Int[Array, ""], solved: Int[Array, ""], parts: Parts
) -> tuple[Int[Array, ""], Bool[Array, ""]]:
    """Status of a fit in parts, and whether it has no scores: where groups never met, or the solver did not end well.

    ``NO_FINITE_OPTIMUM`` stays the status of separated models, whose scores have an order and no distances between
    parts; ``NOT_UNIQUE`` where that order is open. Where all models are in one part, questions outside it say nothing.
    """
    lost = (existence == Status.DISCONNECTED) | ((solved != Status.CONVERGED) & (solved != Status.MAX_STEPS))
    apart = jnp.where(parts.certain, Status.NO_FINITE_OPTIMUM, Status.NOT_UNIQUE)
    apart = jnp.where(jnp.all(parts.part == parts.part[0]), solved, apart)
    status = jnp.where((existence == Status.NO_FINITE_OPTIMUM) & (solved == Status.CONVERGED), apart, solved)
    return jnp.where(existence == Status.DISCONNECTED, existence, status).astype(jnp.int32), lost


def grounded(rows: Float[Array, " models"], scale: Float[Array, " models"], ground: Any) -> Float[Array, " models"]:
    """Diagonals of the curvature, with the grounded models' raised. The gradient is orthogonal to a common shift of a
    part, along which the curvature is 0, so that the step is Newton's with the grounded models where they are."""
    return rows if ground is None else rows + ground * jnp.where(scale > 0, scale, 1)
