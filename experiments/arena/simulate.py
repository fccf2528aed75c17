"""Votes of an arena whose truth is known: outcomes are those of Bradley-Terry exactly, and votes of one voter alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

import jaxrank as jr


@dataclass(frozen=True)
class Arena:
    """**n_models**, **n_voters**, **n_votes** (of each voter). **alike**: correlation of the latent errors of a voter's
    votes, from tastes for models and for length; 0: independent votes. What may be wrong: **length**, log-odds by unit
    of the relative difference of lengths; **side**, of being shown first; **cheat**, whether voter 0 always votes for
    the last model, which it meets in all its votes; **drift**, what model 0 gains from the first to the last vote;
    **spanish**, what model 1 has more in Spanish than elsewhere."""

    n_models: int = 8
    n_voters: int = 100
    n_votes: int = 40
    alike: float = 0.0
    length: float = 0.0
    side: float = 0.0
    cheat: bool = False
    drift: float = 0.0
    spanish: float = 0.0
    ties: float = 0.0

    @property
    def strengths(self) -> np.ndarray:
        return np.linspace(1.0, -1.0, self.n_models)

    def design(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Models and voters of the battles, the same in every set, so that one compilation serves all."""
        rng = np.random.default_rng(0)
        n = self.n_voters * self.n_votes
        a = rng.integers(0, self.n_models, n)
        b = (a + rng.integers(1, self.n_models, n)) % self.n_models
        voter = np.repeat(np.arange(self.n_voters), self.n_votes)
        if self.cheat:
            last, mine = self.n_models - 1, voter == 0
            a[mine] = np.arange(mine.sum()) % last
            b[mine] = last
        return a, b, voter

    def votes(self, rng: np.random.Generator) -> jr.Comparisons:
        a, b, voter = self.design()
        n = len(a)
        lengths = rng.lognormal(5.0, 0.6, (2, n)).round()
        ratio = (lengths[0] - lengths[1]) / lengths.sum(axis=0)
        time = rng.permutation(n) / n
        language = rng.choice(["English", "Spanish", "Chinese"], n, p=[0.6, 0.2, 0.2])
        taste = rng.normal(size=(self.n_voters, self.n_models))
        style = rng.normal(size=self.n_voters)
        liking = (taste[voter, a] - taste[voter, b]) / 2 + np.sqrt(0.5) * style[voter] * np.sign(ratio)
        latent = np.sqrt(self.alike) * liking + np.sqrt(1 - self.alike) * rng.normal(size=n)
        chance = ndtr(latent)
        gap = self.strengths[a] - self.strengths[b] + self.length * ratio + self.side
        gap = gap + self.drift * (time - 0.5) * ((a == 0) * 1.0 - (b == 0))
        gap = gap + self.spanish * (language == "Spanish") * ((a == 1) * 1.0 - (b == 1))
        won = (gap + np.log(chance) - np.log1p(-chance) > 0).astype(float)
        if self.cheat:
            won[voter == 0] = 0.0
        won[rng.random(n) < self.ties] = 0.5
        columns = {
            "voter": [f"v{v}" for v in voter],
            "question": [f"q{q}" for q in rng.integers(0, 200, n)],
            "category": language,
            "time": time,
            "length_a": lengths[0],
            "length_b": lengths[1],
        }
        return jr.Comparisons(a, b, won, models=[f"m{i}" for i in range(self.n_models)], columns=columns)

    def coefficient(self, unit: float) -> float:
        """The true coefficient of length where its unit is ``unit``."""
        return self.length * unit


CLEAN = Arena()
FAULTS = {
    "clean": (CLEAN, ""),
    "clean, votes of a voter alike": (replace(CLEAN, alike=0.3), ""),
    "length wins": (replace(CLEAN, length=1.0), "covariates shift votes"),
    "the first shown wins": (replace(CLEAN, side=0.3), "side bias"),
    "one voter cheats": (replace(CLEAN, cheat=True), "one-sided voters"),
    "one model drifts": (replace(CLEAN, drift=1.2), "drift"),
    "one model drifts more": (replace(CLEAN, drift=1.6), "drift"),
    "Spanish differs": (replace(CLEAN, spanish=1.0), "categories differ"),
    "Spanish differs more": (replace(CLEAN, spanish=1.3), "categories differ"),
}
"""Arenas by what is wrong with them, and the finding that says so."""
