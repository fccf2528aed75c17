"""What is true in the simulated data: success rates of models on questions, strengths of models in battles.

A truth makes the data of many sets at once and knows the scores that statements are held against: of trials the mean
rate over all questions of that kind, of battles the log-strengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.special import expit

_OUTCOMES = 10_000_000  # simulated at a time
CLUSTER = 5  # questions of one passage
_SLOPE, _SPREAD = 0.5, 1.5  # of log discriminations and of difficulties
ABILITY = 0.6  # of the best model of "2PL"; the worst has its negative


@dataclass(frozen=True)
class Truth:
    """**rates**(rng, sets, models, questions): success rates (S, L, M).  **scores**(models): their means over all
    questions of that kind, (L,).  **equal**: whether all models are equal.  **untold**: what the library is not told of
    the data and would have to know, so that statements may fail; empty where it knows all."""

    name: str
    rates: Callable[[Generator, int, int, int], np.ndarray]
    scores: Callable[[int], np.ndarray]
    equal: bool = True
    untold: str = ""

    def draw(self, rng: Generator, sets: int, models: int, questions: int, trials: int) -> Iterator[np.ndarray]:
        """Outcomes int8 (some sets, L, M, N), until there are as many sets as asked for."""
        step = max(1, _OUTCOMES // (models * questions * trials))
        for first in range(0, sets, step):
            p = self.rates(rng, min(step, sets - first), models, questions).astype(np.float32)
            uniform = rng.random((*p.shape, trials), dtype=np.float32)
            yield (uniform < p[..., None]).astype(np.int8)


def constant(rate: float) -> Truth:
    return Truth(f"rate {rate:g}", lambda rng, s, n, m: np.full((s, n, m), rate), lambda n: np.full(n, rate))


def beta(a: float, b: float) -> Truth:
    """Rates of the questions from Beta(a, b), the same for all models."""

    def rates(rng: Generator, s: int, n: int, m: int) -> np.ndarray:
        return np.broadcast_to(rng.beta(a, b, (s, 1, m)), (s, n, m))

    return Truth(f"Beta({a:g}, {b:g})", rates, lambda n: np.full(n, a / (a + b)))


def _clusters(a: float, b: float) -> Truth:
    """As `_beta`, with one rate for every cluster of questions."""

    def rates(rng: Generator, s: int, n: int, m: int) -> np.ndarray:
        p = np.repeat(rng.beta(a, b, (s, 1, -(-m // CLUSTER))), CLUSTER, axis=2)[..., :m]
        return np.broadcast_to(p, (s, n, m))

    name = f"clusters of {CLUSTER}, Beta({a:g}, {b:g})"
    return Truth(name, rates, lambda n: np.full(n, a / (a + b)), untold="which questions belong together")


def abilities(n: int) -> np.ndarray:
    """Of the models of "2PL", the best first."""
    return np.linspace(ABILITY, -ABILITY, n) if n > 1 else np.zeros(1)


def _two_parameter(rng: Generator, s: int, n: int, m: int) -> np.ndarray:
    difficulty = _SPREAD * rng.standard_normal((s, 1, m))
    slope = np.exp(_SLOPE * rng.standard_normal((s, 1, m)))
    return expit(slope * (abilities(n)[:, None] - difficulty))


def _two_parameter_scores(n: int) -> np.ndarray:
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    weights = weights / weights.sum()
    logits = np.exp(_SLOPE * nodes)[:, None, None] * (abilities(n) - _SPREAD * nodes[:, None])
    return np.einsum("i,j,ijl->l", weights, weights, expit(logits))


HALF, HIGH, SKEWED, EXTREME = constant(0.5), constant(0.95), beta(1.2, 0.3), beta(0.3, 0.3)
ORDERED = Truth("2PL", _two_parameter, _two_parameter_scores, equal=False)
CLUSTERED = _clusters(1.2, 0.3)
TRUTHS = (HALF, HIGH, SKEWED, EXTREME, ORDERED, CLUSTERED)


@dataclass(frozen=True)
class Battles:
    """Battles between two models drawn at random.

    **strengths**(models): log-strengths (L,).  **ties**: share of ties between equal models.  **side**: what the first
    of the two is stronger by.  **taste**: standard deviation of what a voter adds to each strength; a voter votes
    ``votes`` times.
    """

    name: str
    strengths: Callable[[int], np.ndarray]
    ties: float = 0.0
    side: float = 0.0
    taste: float = 0.0
    votes: int = 20
    equal: bool = True
    untold: str = ""

    def scores(self, n: int) -> np.ndarray:
        return self.strengths(n) - self.strengths(n).mean()

    def draw(self, rng: Generator, models: int, battles: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The two models and the outcome of every battle of one set, each (battles,): 1, 0, or 0.5 for a tie."""
        a = rng.integers(models, size=battles)
        b = (a + 1 + rng.integers(models - 1, size=battles)) % models
        taste = self.taste * rng.standard_normal((-(-battles // self.votes), models))
        voter = np.arange(battles) // self.votes
        strength = self.strengths(models)
        gap = strength[a] - strength[b] + taste[voter, a] - taste[voter, b] + self.side
        tie = 2 * self.ties / (1 - self.ties)  # Davidson's nu, which gives that share at gap 0
        up, down = np.exp(gap / 2), np.exp(-gap / 2)
        total = up + down + tie
        u = rng.random(battles) * total
        return a, b, np.where(u < up, 1.0, np.where(u < up + down, 0.0, 0.5))

    def tallied(
        self, a: np.ndarray, b: np.ndarray, outcome: np.ndarray, models: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Winner, loser, outcome and count of every kind of battle that there can be, those without a battle too: the
        tables of all sets are then of one shape, and what reads them is compiled once."""
        tie = outcome == 0.5
        swap = (outcome == 0) | (tie & (a > b))
        kind = (np.where(swap, b, a) * models + np.where(swap, a, b)) * 2 + tie
        first, second, tied = np.unravel_index(np.arange(2 * models**2), (models, models, 2))
        kept = (first != second) & ((tied == 0) | ((first < second) & (self.ties > 0)))
        count = np.bincount(kind, minlength=len(kept))[kept].astype(float)
        return first[kept], second[kept], np.where(tied[kept] == 1, 0.5, 1.0), count


def _same(n: int) -> np.ndarray:
    return np.zeros(n)


def _falling(n: int) -> np.ndarray:
    return abilities(n)


BATTLES = (
    Battles("no ties", _same),
    Battles("40 % ties", _same, ties=0.4),
    Battles("side bias", _same, ties=0.1, side=0.4),
    Battles("voters", _same, ties=0.1, taste=1.0, untold="who voted"),
    Battles("known order", _falling, ties=0.2, equal=False),
)
