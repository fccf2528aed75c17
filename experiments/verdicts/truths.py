"""Two models whose difference is known: rates by question, outcomes of studies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

CLUSTER = 5


@dataclass(frozen=True)
class Truth:
    """``rates(rng, studies, questions, gap)`` gives the chances of right answers of the new and the old model,
    (2, studies, questions), whose expected difference is ``gap``. **clustered**: whether questions come in fives."""

    name: str
    rates: Callable[[np.random.Generator, int, int, float], np.ndarray]
    clustered: bool = False


def _scaled(draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray], mean: float):
    """The old model has every rate of the new one times 1 - gap / mean: a smaller chance on every question."""

    def rates(rng: np.random.Generator, studies: int, questions: int, gap: float) -> np.ndarray:
        new = draw(rng, (studies, questions))
        return np.stack([new, new * (1 - gap / mean)])

    return rates


def _apart(rng: np.random.Generator, studies: int, questions: int, gap: float) -> np.ndarray:
    """Models with strengths of their own: either has a chance of its own on every question."""
    both = rng.beta(1.2, 0.8, (2, studies, questions))  # mean .6
    both[1] *= 1 - gap / 0.6
    return both


def _fives(rng: np.random.Generator, studies: int, questions: int, gap: float) -> np.ndarray:
    """Questions of one passage share a change of up to .25 of either model."""
    change = rng.uniform(-0.25, 0.25, (2, studies, questions // CLUSTER)).repeat(CLUSTER, axis=2)
    return np.array([0.6, 0.6 - gap])[:, None, None] + change


def _traded(rng: np.random.Generator, studies: int, questions: int, gap: float) -> np.ndarray:
    """The new model is a little better on nine questions of ten, and much worse on the tenth."""
    lost = rng.random((studies, questions)) < 0.1
    old = np.full((studies, questions), 0.6 - gap)
    return np.stack([np.where(lost, old - 0.45 + gap, old + 0.05 + gap), old])


TRUTHS = (
    Truth("rate .5", _scaled(lambda rng, shape: np.full(shape, 0.5), 0.5)),
    Truth("rate .95", _scaled(lambda rng, shape: np.full(shape, 0.95), 0.95)),
    Truth("Beta(1.2, .3)", _scaled(lambda rng, shape: rng.beta(1.2, 0.3, shape), 0.8)),
    Truth("own strengths", _apart),
    Truth("clusters of 5", _fives, clustered=True),
    Truth("traded", _traded),
)


def outcomes(rng: np.random.Generator, rates: np.ndarray, trials: int) -> np.ndarray:
    """Right answers of ``trials`` on every question, of rates' shape."""
    if trials == 1:
        return (rng.random(rates.shape, np.float32) < rates).astype(np.int64)
    return rng.binomial(trials, rates)
