"""Counts as item response models read them, and when the joint likelihood of abilities and difficulties has a
maximum."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxrank.data.statistics import Counts
from jaxrank.models.fit import Fit
from jaxrank.numerics.status import Status


class ItemTable(eqx.Module):
    """Successes and trials of every cell, a question's multiplicity already multiplied in.

    **weight**: (M,) multiplicity of each question in sums over questions; 0 where the question is left out.
    **extreme**: (M,) +1 where every trial succeeded, -1 where none did, 0 otherwise.
    """

    successes: Float[Array, "models questions"]
    trials: Float[Array, "models questions"]
    weight: Float[Array, " questions"]
    extreme: Int[Array, " questions"]

    @property
    def failures(self) -> Float[Array, "models questions"]:
        return self.trials - self.successes

    @property
    def used(self) -> Bool[Array, " questions"]:
        return self.weight > 0


def item_table(stat: Counts, keep_extreme: bool) -> ItemTable:
    """The table of a statistic. Questions without trials are left out; those that all trials passed or all failed say
    nothing about a model under a finite difficulty, and are left out unless ``keep_extreme``."""
    trials = stat.trials * stat.questions[None, :]
    successes = stat.successes * stat.questions[None, :]
    total, right = jnp.sum(trials, axis=0), jnp.sum(successes, axis=0)
    seen = total > 0
    extreme = jnp.where(seen, (right == total).astype(jnp.int32) - (right == 0), 0).astype(jnp.int32)
    use = seen if keep_extreme else seen & (extreme == 0)
    mask = use[None, :]
    return ItemTable(
        jnp.where(mask, successes, 0), jnp.where(mask, trials, 0), jnp.where(use, stat.questions, 0), extreme
    )


def explain_separation(stat: Counts, fit: Fit, models: Sequence[str], questions: Sequence[str], remedy: str) -> str:
    """Which models and questions have no finite joint estimate, and what to do; empty where that is not the trouble."""
    if int(fit.status) not in (Status.NO_FINITE_OPTIMUM, Status.DISCONNECTED):
        return ""
    parts = []
    separated = np.asarray(fit.params["separated"])
    right, total = np.asarray(stat.successes), np.asarray(stat.trials)
    if separated.any() and not separated.all():
        parts.append(f"models without a finite ability: {_some(models, separated)}")
    for verb, extreme in (("passed", right.sum(0) == total.sum(0)), ("failed", right.sum(0) == 0)):
        extreme = extreme & (total.sum(0) > 0)
        if extreme.any() and len(questions):
            parts.append(f"questions that every trial {verb}: {_some(questions, extreme)}")
    parts.append(remedy)
    return "; ".join(parts)


def _some(names: Sequence[str], chosen: np.ndarray) -> str:
    found = [str(names[i]) for i in np.flatnonzero(chosen).tolist()]
    return ", ".join(found[:8]) + (f" and {len(found) - 8} more" if len(found) > 8 else "")


def reported_difficulty(table: ItemTable, difficulty: Float[Array, " questions"]) -> Float[Array, " questions"]:
    """Difficulties with their limits: +inf where nobody succeeded, -inf where everybody did, NaN without trials."""
    limit = jnp.where(table.extreme > 0, -jnp.inf, jnp.where(table.extreme < 0, jnp.inf, jnp.nan))
    return jnp.where(table.used, difficulty, limit.astype(difficulty.dtype))


def joint_existence(table: ItemTable) -> tuple[Int[Array, ""], Bool[Array, " models"]]:
    """Status of the joint maximum likelihood estimate, and the models that keep it from being finite.

    Models and questions are the nodes of a graph; a success is an edge model -> question, a failure an edge question ->
    model. The maximum is finite and unique exactly where every node reaches every other: otherwise a set of nodes
    exists that never fails against the rest, and can move away without bound (Haberman 1977, Fischer 1981). Every model
    named has only successes or only failures once the questions and models outside its own component are set apart.
    """
    succeeded, failed = table.successes > 0, table.failures > 0
    used = table.used
    n_models, n_questions = succeeded.shape
    start = (
        jnp.arange(n_models)
        == jnp.argmax(jnp.minimum(jnp.sum(table.successes, axis=1), jnp.sum(table.failures, axis=1))),
        jnp.zeros(n_questions, bool),
    )

    def grow(reached: tuple, out: Array, back: Array) -> tuple:
        models, questions = reached
        questions = questions | jnp.any(out & models[:, None], axis=0)
        models = models | jnp.any(back & questions[None, :], axis=1)
        return models, questions

    def hop(state: tuple) -> tuple:
        forward, backward, around, _ = state
        new = (
            grow(forward, succeeded, failed),
            grow(backward, failed, succeeded),
            grow(around, succeeded | failed, succeeded | failed),
        )
        changed = jax.tree.map(lambda a, b: jnp.any(a != b), new, (forward, backward, around))
        return *new, jnp.any(jnp.stack(jax.tree.leaves(changed)))

    forward, backward, around, _ = jax.lax.while_loop(lambda s: s[3], hop, (start, start, start, jnp.array(True)))
    full = lambda reached: jnp.all(reached[0]) & jnp.all(reached[1] | ~used)
    finite = full(forward) & full(backward)
    status = jnp.where(finite, Status.CONVERGED, jnp.where(full(around), Status.NO_FINITE_OPTIMUM, Status.DISCONNECTED))
    return status.astype(jnp.int32), ~(forward[0] & backward[0])


def conditional_existence(table: ItemTable) -> Int[Array, ""]:
    """Status of the conditional maximum likelihood estimate of the difficulties.

    It is finite and unique exactly where every question reaches every other by steps "some model succeeded on the one
    and failed on the other" (Fischer 1981).
    """
    succeeded, failed = table.successes > 0, table.failures > 0
    first = jnp.argmax(jnp.minimum(jnp.sum(table.successes, axis=0), jnp.sum(table.failures, axis=0)))
    start = jnp.arange(succeeded.shape[1]) == first

    def grow(questions: Array, back: Array, out: Array) -> Array:
        models = jnp.any(back & questions[None, :], axis=1)
        return questions | jnp.any(out & models[:, None], axis=0)

    def hop(state: tuple) -> tuple:
        forward, backward, around, _ = state
        seen = succeeded | failed
        new = grow(forward, failed, succeeded), grow(backward, succeeded, failed), grow(around, seen, seen)
        return *new, jnp.any(jnp.stack([jnp.any(a != b) for a, b in zip(new, state[:3], strict=True)]))

    forward, backward, around, _ = jax.lax.while_loop(lambda s: s[3], hop, (start, start, start, jnp.array(True)))
    missing = lambda reached: jnp.any(table.used & ~reached)
    finite = ~missing(forward) & ~missing(backward)
    status = jnp.where(missing(around), Status.DISCONNECTED, Status.NO_FINITE_OPTIMUM)
    return jnp.where(finite, Status.CONVERGED, status).astype(jnp.int32)
