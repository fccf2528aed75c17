"""Geometric means of discovery and reliability: Pass@k to one power times Pass^k, or a spectrum, to another."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.statistics import Counts
from jaxrank.errors import OptionError
from jaxrank.models.fit import Fit, exact_fit
from jaxrank.models.options import number
from jaxrank.models.ranker import Bounded, Entry, MeanOfQuestions
from jaxrank.models.tries import MeanOfTries, OfTries, cell_values, check_spectrum, check_tries, mean_over_questions
from jaxrank.numerics.credits import AllSuccesses, AnySuccess, Credits, Excess, Thresholds
from jaxrank.numerics.geometric import by_question, product
from jaxrank.numerics.status import Status


def _powers(metric: Any) -> None:
    if float(np.max(metric.pass_power)) == 0 and float(np.max(metric.unanimous_power)) == 0:
        raise OptionError("pass_power and unanimous_power are both 0, so that every model scores 1; raise one of them")


class GeomAtK(MeanOfTries):
    """Mean over questions of the geometric mean of Pass@k and Pass^k.

    **Model** s_l = 1/M sum_m P_lm^a U_lm^b, P the chance of a success among k tries drawn from the trials of a
    question, U that of k successes [scorio2026].
    **Reads** counts; every question uses its own number of trials.
    **Scores** in [0, 1]; not centred. 0 on a question without k successes.
    **Fields** ``k``: tries, a whole number from 1 to the smallest number of trials; default 2. ``pass_power``: a, 0 or
    more; default 0.5. ``unanimous_power``: b, 0 or more; default 0.5.
    **Status** undefined where a question has fewer than k trials.
    **Departs** in refusing negative powers, under which questions without a success have no score.
    """

    statistic: ClassVar[type] = Counts
    binary: ClassVar[bool] = True
    k: Any = number(2, 1, whole=True)
    pass_power: Any = number(0.5, 0)
    unanimous_power: Any = number(0.5, 0)

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        return mean_over_questions(self.k, stat, self.chance)

    def chance(self, c: Float[Array, "*cells"], n: Float[Array, "*cells"]) -> Float[Array, "*cells"]:
        """The score of cells with c successes in n trials, n >= k."""
        first, second = AnySuccess(self.k).expected(c, n), AllSuccesses(self.k).expected(c, n)
        return product(first, second, self.pass_power, self.unanimous_power)

    def bounds(self, stat: Counts) -> tuple[Any, Any]:
        return 0.0, 1.0

    def check(self, data: Any) -> None:
        _powers(self)
        check_tries(self.k, data)


class _OfMeans(OfTries, MeanOfQuestions, Bounded):
    """first^a second^b of two means over questions. Its error by question follows from what each question adds to the
    two means (delta rule)."""

    statistic: ClassVar[type] = Counts
    binary: ClassVar[bool] = True

    @abc.abstractmethod
    def parts(self) -> tuple[Credits, Credits, Any, Any]:
        """The credits of both factors and their powers."""

    def __call__(self, stat: Counts, *, key: None = None) -> Fit:
        first, second, a, b = self.parts()
        means = [stat.mean_over_questions(cell_values(self.k, stat, x.expected)) for x in (first, second)]
        scores = product(means[0], means[1], a, b)
        return exact_fit(scores, jnp.where(jnp.all(jnp.isfinite(scores)), Status.CONVERGED, Status.UNDEFINED))

    def question_values(self, stat: Counts) -> Float[Array, "models questions"]:
        first, second, a, b = self.parts()
        values = [cell_values(self.k, stat, x.expected) for x in (first, second)]
        return by_question(values, [stat.mean_over_questions(v) for v in values], a, b)

    def bounds(self, stat: Counts) -> tuple[Any, Any]:
        return 0.0, 1.0


class GeomDsAtK(_OfMeans):
    """Geometric mean of the data set's Pass@k and Pass^k.

    **Model** s_l = (1/M sum_m P_lm)^a (1/M sum_m U_lm)^b, P and U as in `GeomAtK` [scorio2026].
    **Reads** counts; every question uses its own number of trials.
    **Scores** in [0, 1]; not centred.
    **Fields** ``k``, ``pass_power``, ``unanimous_power``: as in `GeomAtK`.
    **Status** undefined where a question has fewer than k trials.
    **Departs** in refusing negative powers.
    """

    k: Any = number(2, 1, whole=True)
    pass_power: Any = number(0.5, 0)
    unanimous_power: Any = number(0.5, 0)

    def parts(self) -> tuple[Credits, Credits, Any, Any]:
        return AnySuccess(self.k), AllSuccesses(self.k), self.pass_power, self.unanimous_power

    def check(self, data: Any) -> None:
        _powers(self)
        check_tries(self.k, data)


class GeoSpectrumAtK(_OfMeans):
    """Geometric mean of the data set's Pass@k and of its threshold spectrum.

    **Model** s_l = (1/M sum_m P_lm)^lam (1/M sum_m S_lm)^(1 - lam), S = sum_r w_r Pr(X >= r) as in
    `ThresholdSpectrumAtK`, by default mG-Pass@k [scorio2026].
    **Reads** counts; every question uses its own number of trials.
    **Scores** in [0, 1]; not centred. lam = 1 is Pass@k, lam = 0 the spectrum.
    **Fields** ``k``: tries, as in `GeomAtK`; default 2. ``lam``: in [0, 1]; default 0.5. ``w``: weights (k,) of the
    thresholds, 0 or more, with a sum of at most 1; default None, 2/k for r = ceil(k/2) + 1..k.
    **Status** undefined where a question has fewer than k trials.
    **Departs** in nothing.
    """

    k: Any = number(2, 1, whole=True)
    lam: Any = number(0.5, 0, 1)
    w: Any = number(None, 0, ndim=1, check=check_spectrum)

    def parts(self) -> tuple[Credits, Credits, Any, Any]:
        second = Excess(self.k) if self.w is None else Thresholds(self.w)
        return AnySuccess(self.k), second, self.lam, 1 - self.lam

    def check(self, data: Any) -> None:
        if self.w is not None and np.size(self.w) != int(np.max(self.k)):
            raise OptionError(f"w has {np.size(self.w)} weights for k={int(np.max(self.k))} tries; give one for each")
        check_tries(self.k, data)


ENTRIES = (
    Entry("geom_at_k", GeomAtK, source="scorio2026"),
    Entry("geom_ds_at_k", GeomDsAtK, source="scorio2026"),
    Entry("geo_spectrum_at_k", GeoSpectrumAtK, source="scorio2026"),
)
