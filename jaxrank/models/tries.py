"""What rankers by k tries share: a function of the successes and trials of a cell, averaged over questions."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.names import name_list
from jaxrank.data.statistics import Counts
from jaxrank.errors import OptionError, UndefinedScoreError
from jaxrank.models.fit import Fit, exact_fit
from jaxrank.models.options import shown
from jaxrank.models.ranker import OWN_QUESTIONS, Bounded, ChecksData, MeanOfCells, Ranker
from jaxrank.numerics.credits import Credits
from jaxrank.numerics.status import Status


class OfTries(Ranker, ChecksData):
    """A ranker by k tries from the trials of a question."""

    fractional: ClassVar[bool] = False
    gaps: ClassVar[str] = OWN_QUESTIONS

    if TYPE_CHECKING:

        @property
        def k(self) -> Any: ...  # a field, or what follows from one


class MeanOfTries(OfTries, MeanOfCells, Bounded):
    """Whose score is the mean over questions of one function of a cell."""

    @property
    def of_cells(self) -> bool:
        return True

    def values(self, levels: np.ndarray) -> np.ndarray | None:
        return None

    def check(self, data: Any) -> None:
        check_tries(self.k, data)


class CreditsMetric(MeanOfTries):
    """Whose function of a cell is the mean credit of k tries drawn from its trials (`Credits`)."""

    statistic: ClassVar[type] = Counts
    binary: ClassVar[bool] = True

    @property
    @abc.abstractmethod
    def credits(self) -> Credits:
        """What x successes among k tries are worth."""

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        return mean_over_questions(self.k, stat, self.chance)

    def chance(self, c: Float[Array, "*cells"], n: Float[Array, "*cells"]) -> Float[Array, "*cells"]:
        """The score of cells with c successes in n trials, n >= k. Over c = 0..n it is a table for complete data."""
        return self.credits.expected(c, n)

    def bounds(self, stat: Counts) -> tuple[Any, Any]:
        k = jnp.asarray(self.k, stat.categories.dtype)
        return 0.0, self.credits.credit(k)


def mean_over_questions(k: Any, stat: Counts, chance: Any) -> Fit:
    """The mean over observed questions of ``chance`` (c, n) of each cell; undefined where a cell has fewer than k
    trials."""
    scores = stat.mean_over_questions(cell_values(k, stat, chance))
    return exact_fit(scores, jnp.where(jnp.all(jnp.isfinite(scores)), Status.CONVERGED, Status.UNDEFINED))


def cell_values(k: Any, stat: Counts, chance: Any) -> Float[Array, "models questions"]:
    """``chance`` of the successes and trials of each cell; NaN in observed cells of fewer than k trials."""
    k = jnp.asarray(k, stat.categories.dtype)
    n, observed = stat.trials, stat.observed
    enough = n >= k
    values = chance(jnp.where(enough, stat.successes, 0), jnp.where(enough, n, k))
    return jnp.where((observed > 0) & ~enough, jnp.nan, values)


def check_spectrum(name: str, w: Any) -> None:
    """Raise where weights of thresholds have a sum above 1."""
    if float(np.sum(w)) > 1 + 1e-9:
        raise OptionError(f"{name}={shown(np.asarray(w))} sums to {float(np.sum(w)):g}; its sum must be at most 1")


def check_tries(k: Any, data: Any) -> None:
    """Raise where some question has fewer than k trials."""
    most = int(np.max(np.asarray(k)))
    trials = data.trials
    short = (trials > 0) & (trials < most)
    if short.any():
        raise UndefinedScoreError(
            f"k={most} tries need at least {most} trials on every question, but the smallest number of trials is "
            f"N={trials[short].min()}: {name_list(data.questions, np.flatnonzero(short.any(axis=0)))}. "
            f"Use k <= {trials[trials > 0].min()} or leave these questions out"
        )
