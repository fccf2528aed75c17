"""Pass@k and its relatives: what k tries bring, averaged over questions."""

from __future__ import annotations

import abc
import warnings
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.names import name_list
from jaxrank.data.statistics import Counts
from jaxrank.errors import JaxrankWarning, UndefinedScoreError
from jaxrank.models.fit import Fit, exact_fit
from jaxrank.models.options import number
from jaxrank.models.ranker import OWN_QUESTIONS, Bounded, ChecksData, Entry, MeanOfCells, Ranker
from jaxrank.numerics import hypergeometric
from jaxrank.numerics.status import Status


class TriesMetric(Ranker, MeanOfCells, ChecksData, Bounded):
    """A score that is the mean over questions of one function, from 0 to 1, of the successes and trials of a cell."""

    k: eqx.AbstractVar[Any]
    gaps: ClassVar[str] = OWN_QUESTIONS

    @property
    def of_cells(self) -> bool:
        return True

    def values(self, levels: np.ndarray) -> None:
        return None

    def bounds(self, stat: Counts) -> tuple[Any, Any]:
        return 0.0, 1.0

    @abc.abstractmethod
    def chance(self, c: Float[Array, "*cells"], n: Float[Array, "*cells"]) -> Float[Array, "*cells"]:
        """The score of cells with c successes in n trials, n >= k. Over c = 0..n it is a table for complete data."""


class PassAtK(TriesMetric):
    """Chance that at least one of k tries succeeds.

    **Model** s_l = 1/M sum_m [1 - C(n_lm - k_lm, k) / C(n_lm, k)] [chen2021, eq. 1], k_lm successes in n_lm trials.
    **Reads** counts; every question uses its own number of trials.
    **Scores** in [0, 1]; not centred.
    **Fields** ``k``: tries, a whole number from 1 to the smallest number of trials; default 2.
    **Status** undefined where a question has fewer than k trials.
    **Departs** in the arithmetic only: no binomials, relative precision up to a million trials.
    """

    statistic: ClassVar[type] = Counts
    binary: ClassVar[bool] = True
    fractional: ClassVar[bool] = False
    k: Any = number(2, 1, whole=True)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        return _mean_over_questions(self, stat)

    def chance(self, c: Array, n: Array) -> Array:
        return hypergeometric.any_success(c, n, self.k)

    def check(self, data: Any) -> None:
        _check_tries(self.k, data)


class PassHatK(TriesMetric):
    """Chance that all of k tries succeed.

    **Model** s_l = 1/M sum_m C(k_lm, k) / C(n_lm, k) [yao2024, section 3].
    **Reads** counts; every question uses its own number of trials.
    **Scores** in [0, 1]; not centred.
    **Fields** ``k``: tries, a whole number from 1 to the smallest number of trials; default 2.
    **Status** undefined where a question has fewer than k trials.
    **Departs** in the arithmetic only.
    """

    statistic: ClassVar[type] = Counts
    binary: ClassVar[bool] = True
    fractional: ClassVar[bool] = False
    k: Any = number(2, 1, whole=True)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        return _mean_over_questions(self, stat)

    def chance(self, c: Array, n: Array) -> Array:
        return hypergeometric.all_successes(c, n, self.k)

    def check(self, data: Any) -> None:
        _check_tries(self.k, data)


class GPassAtKTau(TriesMetric):
    """Chance that at least the share tau of k tries succeeds.

    **Model** s_l = 1/M sum_m Pr(X >= max(1, ceil(tau k))), X ~ Hypergeometric(n_lm, k_lm, k) [liu2025, eq. 6].
    **Reads** counts; every question uses its own number of trials.
    **Scores** in [0, 1]; not centred. tau towards 0 is Pass@k, tau = 1 is Pass^k.
    **Fields** ``k``: tries, as in `PassAtK`; default 2. ``tau``: share in [0, 1]; default 0.7.
    **Status** undefined where a question has fewer than k trials.
    **Departs** in ceil(tau k): a product that rounding put just above a whole number counts as that number, so
    tau = 0.28 and k = 25 ask for 7 successes, not 8.
    """

    statistic: ClassVar[type] = Counts
    binary: ClassVar[bool] = True
    fractional: ClassVar[bool] = False
    k: Any = number(2, 1, whole=True)
    tau: Any = number(0.7, 0, 1)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        return _mean_over_questions(self, stat)

    def chance(self, c: Array, n: Array) -> Array:
        k, tau = jnp.asarray(self.k, n.dtype), jnp.asarray(self.tau, n.dtype)
        return hypergeometric.at_least(c, n, k, jnp.maximum(hypergeometric.whole_ceiling(tau * k), 1))

    def check(self, data: Any) -> None:
        _check_tries(self.k, data)


class MGPassAtK(TriesMetric):
    """Mean of G-Pass@k over the thresholds from one half to one.

    **Model** s_l = 1/M sum_m 2/k sum_{i=ceil(k/2)+1..k} Pr(X >= i) = 1/M sum_m 2/k E[(X - ceil(k/2))_+],
    X ~ Hypergeometric(n_lm, k_lm, k) [liu2025, eq. 7].
    **Reads** counts; every question uses its own number of trials.
    **Scores** in [0, 1]; not centred. A perfect model has 2/k (k - ceil(k/2)): 1 for even k, (k - 1)/k for odd k.
    **Fields** ``k``: tries, as in `PassAtK`; default 2. At k = 1 the sum is empty and every model scores 0 (a warning).
    **Status** undefined where a question has fewer than k trials.
    **Departs** in nothing: the sum above is the published one; for odd k it is below the integral over tau.
    """

    statistic: ClassVar[type] = Counts
    binary: ClassVar[bool] = True
    fractional: ClassVar[bool] = False
    k: Any = number(2, 1, whole=True)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        return _mean_over_questions(self, stat)

    def bounds(self, stat: Counts) -> tuple[Any, Any]:
        k = jnp.asarray(self.k, stat.categories.dtype)
        return 0.0, 2 / k * (k - jnp.ceil(k / 2))

    def chance(self, c: Array, n: Array) -> Array:
        k = jnp.asarray(self.k, n.dtype)
        return 2 / k * hypergeometric.mean_excess(c, n, k, jnp.ceil(k / 2))

    def check(self, data: Any) -> None:
        _check_tries(self.k, data)
        if np.any(np.asarray(self.k) == 1):
            warnings.warn(
                "mg_pass_at_k with k=1 is 0 for every model, so it ties them all; use k >= 2",
                JaxrankWarning,
                stacklevel=4,
            )


def _mean_over_questions(metric: TriesMetric, stat: Counts) -> Fit:
    """The mean over observed questions of the chance of each cell; undefined where a cell has fewer than k trials."""
    k = jnp.asarray(metric.k, stat.categories.dtype)
    n, observed = stat.trials, stat.observed
    enough = n >= k
    values = metric.chance(jnp.where(enough, stat.successes, 0), jnp.where(enough, n, k))
    short = (observed > 0) & ~enough
    scores = stat.mean_over_questions(jnp.where(short, jnp.nan, values))
    return exact_fit(scores, jnp.where(jnp.all(jnp.isfinite(scores)), Status.CONVERGED, Status.UNDEFINED))


def _check_tries(k: Any, data: Any) -> None:
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


def _entries() -> tuple[Entry, ...]:
    made = []
    for name, make, source, at_2 in (
        ("pass_at_k", PassAtK, "chen2021", True),
        ("pass_hat_k", PassHatK, "yao2024", True),
        ("g_pass_at_k_tau", GPassAtKTau, "liu2025", False),
        ("mg_pass_at_k", MGPassAtK, "liu2025", True),
    ):
        made.append(Entry(name, make, source=source))
        if at_2:
            made.append(Entry(f"{name}_2", make, source=source, options={"k": 2}, published=True))
    return tuple(made)


ENTRIES = _entries()
