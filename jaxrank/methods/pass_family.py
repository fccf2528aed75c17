"""Pass@k and its relatives: what k tries bring, averaged over questions. Each is one vector of credits (`Credits`)."""

from __future__ import annotations

import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxrank.errors import JaxrankWarning
from jaxrank.models.options import number
from jaxrank.models.ranker import Entry
from jaxrank.models.tries import CreditsMetric, check_spectrum, check_tries
from jaxrank.numerics import hypergeometric
from jaxrank.numerics.credits import (
    AllSuccesses,
    AnySuccess,
    AreaUnderPass,
    AtLeast,
    Credits,
    Excess,
    Thresholds,
    majority,
)


class PassAtK(CreditsMetric):
    """Chance that at least one of k tries succeeds.

    **Model** s_l = 1/M sum_m [1 - C(n_lm - k_lm, k) / C(n_lm, k)] [chen2021, eq. 1], k_lm successes in n_lm trials.
    **Reads** counts; every question uses its own number of trials.
    **Scores** in [0, 1]; not centred.
    **Fields** ``k``: tries, a whole number from 1 to the smallest number of trials; default 2.
    **Status** undefined where a question has fewer than k trials.
    **Departs** in the arithmetic only: no binomials, relative precision up to a million trials.
    """

    k: Any = number(2, 1, whole=True)

    @property
    def credits(self) -> Credits:
        return AnySuccess(self.k)


class PassHatK(CreditsMetric):
    """Chance that all of k tries succeed.

    **Model** s_l = 1/M sum_m C(k_lm, k) / C(n_lm, k) [yao2024, section 3].
    **Reads** counts; every question uses its own number of trials.
    **Scores** in [0, 1]; not centred.
    **Fields** ``k``: tries, a whole number from 1 to the smallest number of trials; default 2.
    **Status** undefined where a question has fewer than k trials.
    **Departs** in the arithmetic only.
    """

    k: Any = number(2, 1, whole=True)

    @property
    def credits(self) -> Credits:
        return AllSuccesses(self.k)


class GPassAtKTau(CreditsMetric):
    """Chance that at least the share tau of k tries succeeds.

    **Model** s_l = 1/M sum_m Pr(X >= max(1, ceil(tau k))), X ~ Hypergeometric(n_lm, k_lm, k) [liu2025, eq. 6].
    **Reads** counts; every question uses its own number of trials.
    **Scores** in [0, 1]; not centred. tau towards 0 is Pass@k, tau = 1 is Pass^k.
    **Fields** ``k``: tries, as in `PassAtK`; default 2. ``tau``: share in [0, 1]; default 0.7.
    **Status** undefined where a question has fewer than k trials.
    **Departs** in ceil(tau k): a product that rounding put just above a whole number counts as that number, so
    tau = 0.28 and k = 25 ask for 7 successes, not 8.
    """

    k: Any = number(2, 1, whole=True)
    tau: Any = number(0.7, 0, 1)

    @property
    def credits(self) -> Credits:
        product = jnp.asarray(self.tau) * jnp.asarray(self.k)
        return AtLeast(self.k, jnp.maximum(hypergeometric.whole_ceiling(product), 1))


class MGPassAtK(CreditsMetric):
    """Mean of G-Pass@k over the thresholds from one half to one.

    **Model** s_l = 1/M sum_m 2/k sum_{i=ceil(k/2)+1..k} Pr(X >= i) = 1/M sum_m 2/k E[(X - ceil(k/2))_+],
    X ~ Hypergeometric(n_lm, k_lm, k) [liu2025, eq. 7].
    **Reads** counts; every question uses its own number of trials.
    **Scores** in [0, 1]; not centred. A perfect model has 2/k (k - ceil(k/2)): 1 for even k, (k - 1)/k for odd k.
    **Fields** ``k``: tries, as in `PassAtK`; default 2. At k = 1 the sum is empty and every model scores 0 (a warning).
    **Status** undefined where a question has fewer than k trials.
    **Departs** in nothing: the sum above is the published one; for odd k it is below the integral over tau.
    """

    k: Any = number(2, 1, whole=True)

    @property
    def credits(self) -> Credits:
        return Excess(self.k)

    def check(self, data: Any) -> None:
        check_tries(self.k, data)
        if np.any(np.asarray(self.k) == 1):
            warnings.warn(
                "mg_pass_at_k with k=1 is 0 for every model, so it ties them all; use k >= 2",
                JaxrankWarning,
                stacklevel=4,
            )


class MajAtK(CreditsMetric):
    """Chance that more than half of k tries succeed.

    **Model** s_l = 1/M sum_m Pr(X >= floor(k/2) + 1), X ~ Hypergeometric(n_lm, k_lm, k). A majority of right verdicts:
    wrong answers are not told apart, so that a vote over answers, which a right one may win with fewer than half, is
    another thing (`jaxrank.Answers`) [wang2023].
    **Reads** counts; every question uses its own number of trials.
    **Scores** in [0, 1]; not centred. Two tries need both: k = 2 is Pass^2.
    **Fields** ``k``: tries, as in `PassAtK`; default 3.
    **Status** undefined where a question has fewer than k trials.
    **Departs** in nothing.
    """

    k: Any = number(3, 1, whole=True)

    @property
    def credits(self) -> Credits:
        return majority(self.k)


class AucAtK(CreditsMetric):
    """Area under Pass@1..Pass@k: how soon tries bring a success.

    **Model** s_l = 1/(k - 1) sum_{j=1..k-1} (Pass@j + Pass@(j+1)) / 2 of each question, averaged over questions;
    Pass@1 for k = 1 [hu2026].
    **Reads** counts; every question uses its own number of trials.
    **Scores** in [0, 1]; not centred. Between Pass@1 and Pass@k.
    **Fields** ``k``: tries, as in `PassAtK`; default 2.
    **Status** undefined where a question has fewer than k trials.
    **Departs** in nothing.
    """

    k: Any = number(2, 1, whole=True)

    @property
    def credits(self) -> Credits:
        return AreaUnderPass(self.k)


class ThresholdSpectrumAtK(CreditsMetric):
    """Weighted mean over thresholds r of the chance that at least r of k tries succeed.

    **Model** s_l = 1/M sum_m sum_{r=1..k} w_r Pr(X >= r), X ~ Hypergeometric(n_lm, k_lm, k) [scorio2026].
    **Reads** counts; every question uses its own number of trials.
    **Scores** in [0, sum of w]; not centred. Equal weights 1/k are the accuracy, w = (1, 0, ..) Pass@k, (0, .., 1)
    Pass^k.
    **Fields** ``w``: weights (k,) of the thresholds, 0 or more, with a sum of at most 1; their number is k. Default
    (1/3, 2/3), a choice of this library.
    **Status** undefined where a question has fewer than k trials.
    **Departs** in taking k from the weights.
    """

    w: Any = number((1 / 3, 2 / 3), 0, ndim=1, check=check_spectrum)

    @property
    def k(self) -> Any:
        return np.asarray(float(np.shape(self.w)[-1]))

    @property
    def credits(self) -> Credits:
        return Thresholds(self.w)


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
    later = (("maj_at_k", MajAtK, "wang2023"), ("auc_at_k", AucAtK, "hu2026"))
    made += [Entry(name, make, source=source) for name, make, source in later]
    return (*made, Entry("threshold_spectrum_at_k", ThresholdSpectrumAtK, source="scorio2026"))


ENTRIES = _entries()
