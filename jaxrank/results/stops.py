"""When a sequence that is looked at after every trial would have stopped, in each of many orders of the trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.device import put
from jaxrank.data.responses import Responses
from jaxrank.errors import UnsupportedDataError
from jaxrank.evaluation.sequential.betting import opened, staked
from jaxrank.models.options import check_count
from jaxrank.resampling import draws
from jaxrank.resampling.schemes import Scheme, Subsample, Trials
from jaxrank.resampling.work import Work, block_size

_SAME = 1e-12  # of means on the scale of [0, 1]: what is smaller is rounding


@dataclass(frozen=True, eq=False)
class Stops:
    """Where each order of the trials would have stopped.

    **at**: int32 (B,), after how many trials; 0 where not before the last one.  **wrong**: bool (B,), whether what it
    stopped at is not so by all trials.  **n_trials**: N.  **level**: orders that stop at what is not so are at most
    1 - level of all.  **top**: the number of best models that are to be told from the others; None: the whole order.
    """

    at: np.ndarray
    wrong: np.ndarray
    n_trials: int
    level: float
    top: int | None

    @property
    def stopped(self) -> float:
        """Share of the orders that stop before the last trial."""
        return float(np.mean(self.at > 0))

    @property
    def error(self) -> float:
        """Share of all orders that stop at what is not so by all trials."""
        return float(np.mean(self.wrong))

    @property
    def asked(self) -> np.ndarray:
        """int (B,): trials that each order takes, N where it does not stop."""
        return np.where(self.at > 0, self.at, self.n_trials)

    @property
    def sentence(self) -> str:
        """What was found, for a person."""
        what = "the order is told" if self.top is None else f"the best {self.top} are told from the others"
        return (
            f"looked at after every trial, {what} before the last in {100 * self.stopped:.3g} % of the orders, after "
            f"{np.median(self.asked):g} of {self.n_trials} trials in the middle, and otherwise than by all trials in "
            f"{100 * self.error:.2g} % ({100 * (1 - self.level):.3g} % are allowed)"
        )


class StopWork(Work):
    """Bets on the difference of every two models, trial after trial (`jaxrank.evaluation.sequential`).

    **values**: scores on the scale of [0, 1], by trial and model (N, L), means over questions, where all questions
    share the trials; else each over the number of questions (L, M, N).  **truth**: (L,), means of all trials.
    **goal**: logarithm of the capital at which a pair is decided.  **reach**: what bets are scaled by.
    **population**: N where trials are drawn without replacement, else None.
    """

    scheme: Scheme = eqx.field(static=True)
    shape: tuple[int, int, int] = eqx.field(static=True)
    values: Float[Array, "..."]
    truth: Float[Array, " models"]
    key: Array
    goal: Array
    reach: Array
    top: int | None = eqx.field(static=True)
    population: int | None = eqx.field(static=True)
    block: int = eqx.field(static=True)

    def lane(self, replicate: Any, payload: Any) -> dict[str, Any]:
        draw = self.scheme.draw(draws.replicate_key(self.key, replicate), replicate, self.shape, self.values.dtype)
        shared = self.values.ndim == 2
        x = self.values[draw] if shared else jnp.sum(self.scheme.gather(draw, self.values), axis=1).T
        n = self.shape[0]
        square = jnp.zeros((n, n), x.dtype)
        start = (opened(square), square > 0, x[0] * 0)
        _, (done, so) = jax.lax.scan(lambda carry, x: self._look(carry, x), start, x[:-1])
        first = jnp.argmax(done)
        stops = jnp.any(done)
        return {"at": jnp.where(stops, first + 1, 0).astype(jnp.int32), "wrong": stops & ~so[first]}

    def _look(self, carry: Any, x: Array) -> tuple[Any, tuple[Array, Array]]:
        """One more trial: whether all is told that is asked for, and whether the order is that of all trials."""
        capital, told, total = carry
        capital, above, _ = staked(capital, (1 + x[:, None] - x[None, :]) / 2, 0.5, self.reach, self.population)
        told, total = told | (above >= self.goal), total + x
        order = jnp.argsort(-total, stable=True)
        ordered, truth = told[order][:, order], self.truth[order]
        if self.top is None:
            done, gap = jnp.all(jnp.diagonal(ordered, 1)), jnp.min(-jnp.diff(truth))
        else:
            done, gap = jnp.all(ordered[: self.top, self.top :]), truth[: self.top].min() - truth[self.top :].max()
        return (capital, told, total), (done, gap > _SAME)


def make_stops(data: Responses, scheme: Scheme, key: Array, level: float, top: int | None) -> StopWork:
    """The bets on the trials of ``data``; `UnsupportedDataError` where cells or trials are missing."""
    n_models, _, n_trials = data.shape
    if data.counts_only or (np.asarray(data.trials) != n_trials).any():
        raise UnsupportedDataError(
            'stop="sequence" needs all trials of all questions of every model, each with its outcome; leave stop out, '
            "or use data.common() and as many trials of each"
        )
    if n_trials < 2:
        raise UnsupportedDataError('stop="sequence" needs two trials or more of every question; leave stop out')
    if top is not None:
        check_count("top", top, 1, n_models - 1)
    scores = data.oriented
    share = data.weights / data.weights.sum()
    low, high = (np.array([data.levels[0]]), np.array([data.levels[-1]])) if data.levels else _ends(scores)
    width = float(((high - low) * share).sum()) or 1.0
    parts = (scores - low[:, None]) * share[:, None] / width  # their sum over questions lies in [0, 1]
    shared = isinstance(scheme, Trials | Subsample)
    values = parts.sum(axis=1).T if shared else parts
    n_claims = n_models * (n_models - 1)  # that one is above the other, of all ordered pairs
    alpha = (1 - level) / n_claims
    return StopWork(
        scheme=scheme,
        shape=data.shape,
        values=put(values, jnp.float64),
        truth=put(parts.sum(axis=1).mean(axis=1), jnp.float64),
        key=key,
        goal=put(np.log(1 / alpha), jnp.float64),
        reach=put(2 * np.log(1 / alpha), jnp.float64),
        top=top,
        population=n_trials if isinstance(scheme, Subsample) else None,
        block=block_size(8 * (6 * n_models**2 + values.size), low=8, high=64),
    )


def _ends(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest score of every question, (M,) each."""
    return scores.min(axis=(0, 2)), scores.max(axis=(0, 2))
