"""Convergence@n and tau curves: how many trials a ranking needs before it agrees with a reference, and stays.

For a replicate (N drawn trials) convergence@n is the smallest n <= N - 1 such that the ranking of the first n drawn
trials equals the reference, and so do the rankings of all longer prefixes up to N; a replicate without such an n has
not converged [hariri2026dont, section 3.3 and appendix I.1].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxrank.data.device import put
from jaxrank.errors import OptionError
from jaxrank.models.options import check_choice, check_count
from jaxrank.numerics.interval import Interval, check_level
from jaxrank.numerics.ranks import rank_scores, tau_with
from jaxrank.resampling import draws
from jaxrank.resampling.memory import within_memory
from jaxrank.resampling.prefixes import Prefixes
from jaxrank.resampling.work import Work, block_size
from jaxrank.results.returned import Returned, Row, named, row_of, rows_of
from jaxrank.results.stops import Stops

if TYPE_CHECKING:
    import pandas as pd

TAU_BINS = 2000  # of the histogram of tau from -1 to 1, for bands
_TAU_UNIT = 2**20  # tau is summed in whole units of 2^-20, so that sums do not depend on how replicates are chunked


class PrefixWork(Work):
    """One method on all prefixes of a replicate, against a reference ranking."""

    prefixes: Prefixes
    key: Array
    reference: Float[Array, " models"]  # ranks; compared as scores by their negatives
    with_tau: bool = eqx.field(static=True)
    block: int = eqx.field(static=True)

    def lane(self, replicate: Any, payload: Any) -> dict[str, Any]:
        scores, resolution = self.prefixes(draws.replicate_key(self.key, replicate), replicate)
        agrees = same_ranking(scores, resolution, self.reference)
        # the last prefix that disagrees, as a position in the grid; everything after it agrees
        place = jnp.arange(1, agrees.shape[0] + 1, dtype=jnp.int32)
        out = {"agrees": agrees, "start": jnp.max(jnp.where(agrees, 0, place), axis=-1)}
        if self.with_tau:
            out["tau"] = tau_with(scores, resolution, self.reference)
        return out

    def reduce(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        kept = {"start": batch["start"], "agreements": batch["agrees"].sum(axis=0, dtype=np.int64)}
        if self.with_tau:
            kept.update(_tau_sums(batch["tau"]))
        return kept

    @classmethod
    def make(cls, prefixes: Prefixes, key: Array, reference: np.ndarray, with_tau: bool) -> PrefixWork:
        block = block_size(prefixes.lane_bytes, low=8, high=64)
        ranks = put(reference, jnp.float32)
        return within_memory(cls(prefixes=prefixes, key=key, reference=ranks, with_tau=with_tau, block=block))


@dataclass(frozen=True, eq=False)
class Curve:
    """What one method did.

    **start**: int32 (B,), position in the grid after the last prefix that disagreed with the reference (0: all agreed;
    the grid's length: the last one disagreed). **agreements**: (n,) replicates whose prefix agrees. **tau_sum**,
    **tau_squares**, **tau_known**, **tau_histogram**: of tau-b, by prefix; None where not asked.
    """

    start: np.ndarray
    agreements: np.ndarray
    reference: np.ndarray
    tau_sum: np.ndarray | None = None
    tau_squares: np.ndarray | None = None
    tau_known: np.ndarray | None = None
    tau_histogram: np.ndarray | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Convergence(Returned):
    """A convergence study of several methods on the same replicates.

    **methods**: names. **models**: names. **n_trials**: N. **grid**: the prefixes looked at, ascending, last N.
    **n_replicates**: B. **reference**: how reference rankings were made ("gold", "self" or "given").
    **stops**: when each order of the trials would have stopped, where ``stop="sequence"`` was asked for.

    Iterating gives the row of `summary_frame` of every method, ``[method]`` that of one.
    """

    methods: tuple[str, ...]
    models: tuple[str, ...]
    n_trials: int
    grid: np.ndarray
    n_replicates: int
    reference: str
    scheme: str
    curves: Mapping[str, Curve]
    works: Mapping[str, PrefixWork]
    x64: Mapping[str, bool]
    stops: Stops | None = None

    def converged_at(self, method: str) -> np.ndarray:
        """int (B,): convergence@n of each replicate, 0 where it did not converge."""
        start = self._curve(method).start.astype(int)
        n = np.append(self.grid, 0)[start]
        return np.where(n <= self.n_trials - 1, n, 0)

    def not_converged(self, method: str) -> float:
        """Share of replicates whose ranking never settles on the reference within N - 1 trials."""
        return float(np.mean(self.converged_at(method) == 0))

    def pmf(self, method: str) -> np.ndarray:
        """(N,): ``pmf[n]`` is the share of replicates with convergence@n equal to n, and ``pmf[0]`` of those that did
        not converge; the sum is 1."""
        return np.bincount(self.converged_at(method), minlength=self.n_trials) / self.n_replicates

    def cdf(self, method: str) -> np.ndarray:
        """(N,): ``cdf[n]`` is the share of replicates that converged at n or before; ``cdf[0]`` is 0."""
        pmf = self.pmf(method)
        return np.cumsum(np.concatenate([[0.0], pmf[1:]]))

    def mean(self, method: str, not_converged: Literal["N", "drop"] = "N") -> float:
        """Mean convergence@n. Replicates that did not converge count as N ("N", a lower bound of what they need), or
        are left out ("drop"; NaN where none converged)."""
        check_choice("not_converged", not_converged, ("N", "drop"))
        n = self.converged_at(method)
        if not_converged == "N":
            return float(np.mean(np.where(n == 0, self.n_trials, n)))
        return float(n[n > 0].mean()) if (n > 0).any() else float("nan")

    def agreement(self, method: str) -> np.ndarray:
        """(len(grid),): share of replicates whose first n trials give exactly the reference ranking."""
        return self._curve(method).agreements / self.n_replicates

    def tau(self, method: str) -> np.ndarray:
        """(len(grid),): mean tau-b with the reference over replicates where it is defined."""
        return self._tau_moments(method)[0]

    def tau_sd(self, method: str) -> np.ndarray:
        """(len(grid),): standard deviation of tau-b over replicates."""
        return self._tau_moments(method)[1]

    def tau_undefined(self, method: str) -> np.ndarray:
        """(len(grid),): share of replicates without a tau-b: a constant ranking, or no ranking."""
        return 1 - self._tau_counts(method)[0] / self.n_replicates

    def tau_band(self, method: str, level: float = 0.95) -> Interval:
        """The central ``level`` of tau-b over replicates, ends (len(grid),), to within 0.001."""
        check_level(level)
        known, _, _, histogram = self._tau_counts(method)
        cumulative = np.cumsum(histogram, axis=1)
        total = cumulative[:, -1:]
        at = lambda q: np.where(
            total[:, 0] > 0, (cumulative < np.maximum(q * total, 1)).sum(axis=1) / TAU_BINS * 2 - 1, np.nan
        )
        used = int(known.min())  # the replicates with a tau-b differ by prefix; the fewest
        ends = at((1 - level) / 2), at((1 + level) / 2)
        return Interval(*ends, level, "percentiles of replicates", "trials", used, self.n_replicates - used)

    def worst(self, method: str, count: int = 1) -> np.ndarray:
        """Numbers of the replicates that took longest: those that did not converge, then by falling convergence@n."""
        check_count("count", count)
        n = self.converged_at(method)
        return np.argsort(-np.where(n == 0, self.n_trials, n), kind="stable")[:count]

    def trajectory(self, method: str, replicate: int) -> np.ndarray:
        """Competition ranks (len(grid), L) of the prefixes of one replicate, drawn again; 0 where there is no rank."""
        check_count("replicate", replicate, 0, self.n_replicates - 1)
        self._curve(method)
        with jax.enable_x64(self.x64[method]):
            return np.asarray(_trajectory(self.works[method], jnp.uint32(replicate)))

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame with one row a method and prefix: method, n, pmf, cdf, agreement, tau, tau_sd."""
        import pandas as pd

        parts = []
        for m in self.methods:
            inside = np.minimum(self.grid, self.n_trials - 1)
            columns = {"method": m, "n": self.grid, "pmf": np.where(self.grid < self.n_trials, self.pmf(m)[inside], 0)}
            columns.update(cdf=self.cdf(m)[inside], agreement=self.agreement(m))
            if self._curve(m).tau_sum is not None:
                columns.update(tau=self.tau(m), tau_sd=self.tau_sd(m))
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)

    def summary_frame(self) -> pd.DataFrame:
        """A pandas frame with one row a method: mean convergence@n (both rules), share not converged, and the worst
        convergence@n of those that converged; None, and no mean, where none did."""
        import pandas as pd

        rows = [
            {
                "method": m,
                "mean": self.mean(m) if self.not_converged(m) < 1 else np.nan,
                "mean_of_converged": self.mean(m, "drop"),
                "not_converged": self.not_converged(m),
                "worst": int(self.converged_at(m).max()) or None,
            }
            for m in self.methods
        ]
        # objects: one method without an answer must not turn the counts of the others into floats
        return pd.DataFrame(rows).assign(worst=pd.Series([row["worst"] for row in rows], dtype=object))

    def __len__(self) -> int:
        return len(self.methods)

    def __iter__(self) -> Iterator[Row]:
        return rows_of(self.summary_frame())

    def __getitem__(self, method: str) -> Row:
        return row_of(self.summary_frame(), named(self.methods, method, "method"))

    def __contains__(self, method: object) -> bool:
        return method in self.methods

    def _shown(self) -> pd.DataFrame:
        return self.summary_frame()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known beside the numbers: the methods of which no replicate converged."""
        never = [m for m in self.methods if self.not_converged(m) == 1]
        if not never:
            return ()
        return (
            f"{', '.join(never)}: not one of {self.n_replicates} replicates settled on the reference ranking within "
            f"{self.n_trials - 1} of {self.n_trials} trials; more trials are needed to see when it does",
        )

    def _foot(self) -> list[str]:
        mean = f"mean: replicates that did not converge count as {self.n_trials}; worst: of those that converged"
        return [mean, *([] if self.stops is None else [self.stops.sentence]), *self.notes]

    def _record(self) -> dict[str, Any]:
        record = {"methods": list(self.methods), "scheme": self.scheme, "n_replicates": self.n_replicates}
        return {**record, "reference": self.reference, "n_trials": self.n_trials}

    def _arrays(self) -> dict[str, np.ndarray]:
        """Grid, models, methods, and the arrays of each method as ``method/array``."""
        arrays = {f"{m}/{k}": v for m in self.methods for k, v in vars(self._curve(m)).items() if v is not None}
        if self.stops is not None:
            arrays |= {"stops/at": self.stops.at, "stops/wrong": self.stops.wrong}
        return {"methods": np.array(self.methods), "models": np.array(self.models), "grid": self.grid, **arrays}

    @cached_property
    def _moments(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        return {}

    def _tau_counts(self, method: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        curve = self._curve(method)
        counts = curve.tau_known, curve.tau_sum, curve.tau_squares, curve.tau_histogram
        if any(c is None for c in counts):
            raise OptionError("this study was run with tau=False")
        return cast("tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]", counts)

    def _tau_moments(self, method: str) -> tuple[np.ndarray, np.ndarray]:
        known, total, squares, _ = self._tau_counts(method)
        self._curve(method)
        if method not in self._moments:
            with np.errstate(invalid="ignore", divide="ignore"):
                mean = total / known / _TAU_UNIT
                square = squares / known / _TAU_UNIT**2
            self._moments[method] = mean, np.sqrt(np.maximum(square - mean**2, 0))
        return self._moments[method]

    def _curve(self, method: str) -> Curve:
        return self.curves[self.methods[named(self.methods, method, "method")]]

    def __repr__(self) -> str:
        size = f"{self.n_replicates} replicates by {self.scheme}, {len(self.models)} models, {self.n_trials} trials"
        return f"Convergence({', '.join(self.methods)}; {size}; reference: {self.reference})"


@jax.jit
def same_ranking(scores: Array, resolution: Array, reference: Array) -> Bool[Array, " prefixes"]:
    """Whether scores (n, L) rank the models as ``reference`` (L,) does, ties included; False where one is NaN.

    In the order of the reference neighbours must differ by more than the resolution where they do there, else tie.
    """
    order = jnp.argsort(reference, stable=True)
    drop = -jnp.diff(scores[:, order], axis=-1)
    strict = jnp.diff(reference[order])[None, :] > 0
    within = resolution[:, None].astype(scores.dtype)
    return jnp.all(jnp.where(strict, drop > within, jnp.abs(drop) <= within), axis=-1)


def _tau_sums(tau: np.ndarray) -> dict[str, np.ndarray]:
    """Whole-number sums over replicates of tau (B, n)."""
    known = np.isfinite(tau)
    units = np.where(known, np.rint(np.where(known, tau, 0).astype(np.float64) * _TAU_UNIT), 0).astype(np.int64)
    n_prefixes = tau.shape[1]
    bins = np.clip(np.floor((units + _TAU_UNIT) * (TAU_BINS / 2 / _TAU_UNIT)), 0, TAU_BINS - 1).astype(np.int64)
    flat = (bins + TAU_BINS * np.arange(n_prefixes))[known]
    histogram = np.bincount(flat, minlength=TAU_BINS * n_prefixes).reshape(n_prefixes, TAU_BINS)
    return {
        "tau_sum": units.sum(axis=0),
        "tau_squares": (units**2).sum(axis=0),
        "tau_known": known.sum(axis=0, dtype=np.int64),
        "tau_histogram": histogram.astype(np.int64),
    }


@eqx.filter_jit
def _trajectory(work: PrefixWork, replicate: Array) -> Array:
    scores, resolution = work.prefixes(draws.replicate_key(work.key, replicate), replicate)
    values = scores if jnp.issubdtype(scores.dtype, jnp.floating) else scores.astype(jnp.float32)
    return rank_scores(values, resolution=resolution)
