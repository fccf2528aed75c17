"""``PosteriorByCategory``: strengths of all battles and of each category, partially pooled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrank.numerics.interval import Interval
from jaxrank.posteriors.pooled import BY_CATEGORY
from jaxrank.results.posterior import Posterior, equal_tails
from jaxrank.results.returned import named

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class PosteriorByCategory(Posterior):
    """Draws of strengths in every category, theta_ic = theta_i + u_ic with u_ic ~ N(0, tau^2) [dekoninck2025].

    A `Posterior` of theta, around which those of the categories lie (the fewer categories, the less is known of it, so
    that its intervals may be wider than those of a large category), with those of each beside it: ``draws`` hold
    ``theta_by_category`` (chains, samples, K, L), ``tau`` (chains, samples) and what chains moved in, ``departures``.

    **categories** (K,): names.  **by**: the column that they stand in.
    """

    categories: tuple[str, ...] = ()
    by: str = ""

    @property
    def tau(self) -> np.ndarray:
        """(draws,): the standard deviation of strengths of a category around those of all, in log-odds."""
        return self.draws["tau"].reshape(-1)

    def tau_interval(self, level: float = 0.95) -> Interval:
        """Equal-tailed interval of tau. Its lower end lies above 0 even where categories are equal: the prior of tau
        gives no weight to 0 itself."""
        return self._interval(equal_tails(self.tau, level), level)

    def category(self, name: str) -> Posterior:
        """The strengths of one category as a `Posterior`, with ranks, their probabilities, intervals and plots.

        `OptionError` names the categories where there is none of this name.
        """
        k = named(self.categories, name, "category")
        draws = {"theta": self.draws[BY_CATEGORY][:, :, k]}
        return Posterior(
            draws, self.models, self.model, self.sampler, self.extras, self.seconds, cautions=self.cautions
        )

    def ranks_by_category(self) -> np.ndarray:
        """int (K, L): competition ranks of the posterior means in each category, 1 is best."""
        return np.array([self.category(name).ranks for name in self.categories])

    def battles_by_category(self) -> np.ndarray:
        """(K, L): battles of each model in each category that the model reads, weighted."""
        design, out = self.evidence.design, np.zeros((len(self.categories), len(self.models)))
        for side in ("a", "b"):
            np.add.at(out, (design["category"], design[side]), design["total"])
        return out

    def to_frame(self, *, level: float | None = 0.95) -> pd.DataFrame:
        """A pandas frame, best model of all categories first: the columns of `Posterior.to_frame`, of the strengths of
        all categories, and the rank in each."""
        frame = super().to_frame(level=level)
        own = set(frame.columns)
        for name, ranks in zip(self.categories, self.ranks_by_category(), strict=True):
            frame[f"{self.by}: {name}" if name in own else name] = ranks[self.order]
        return frame

    def scores_frame(self, *, level: float = 0.95) -> pd.DataFrame:
        """A pandas frame, a row a category and model, best first in each: the category, the battles of the model there,
        and the columns of `Posterior.to_frame`."""
        import pandas as pd

        parts = []
        for name, battles in zip(self.categories, self.battles_by_category(), strict=True):
            found = self.category(name)
            part = found.to_frame(level=level)
            part.insert(0, "battles", battles[found.order])
            part.insert(0, self.by, name)
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    def spread(self, level: float = 0.95) -> str:
        """A sentence on tau and its interval."""
        low, high = self.tau_interval(level)
        return f"tau, of strengths of a {self.by} around those of all: {self.tau.mean():.2g} ({low:.2g} to {high:.2g})"

    def _foot(self, level: float = 0.95) -> list[str]:
        return [self.spread(level), *super()._foot(level)]

    def _record(self) -> dict[str, Any]:
        low, high = map(float, self.tau_interval())
        return {**super()._record(), "by": self.by, "tau": [float(self.tau.mean()), low, high]}

    def _modelled(self) -> str:
        return f"{self.model} in {len(self.categories)} categories of {self.by}"
