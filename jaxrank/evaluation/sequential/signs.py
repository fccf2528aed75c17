"""The sign process: of the questions on which two models differ, are as many won by the one as by the other."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from jaxrank.models.options import check_choice, check_number

ALTERNATIVES = ("two-sided", "better", "worse")


class SignProcess(NamedTuple):
    """**log_e**: logarithm of the e-value, an array of the shape of the counts."""

    log_e: np.ndarray

    @property
    def e(self) -> np.ndarray:
        """The e-value: under the hypothesis it ever reaches 1 / alpha with probability at most alpha (Ville)."""
        return np.exp(self.log_e)

    @property
    def p(self) -> np.ndarray:
        """p-value that holds at any time of looking: min(1, 1 / e)."""
        return np.minimum(1.0, np.exp(-self.log_e))


def sign_process(wins: ArrayLike, losses: ArrayLike, *, alternative: str = "two-sided") -> SignProcess:
    """Evidence against the hypothesis that a discordant question is won by either model with probability 1/2.

    **wins**, **losses**: discordant questions so far that the one model has won and lost, arrays of one shape.
    **alternative**: "two-sided": the likelihood ratio of a Beta(1/2, 1/2) mixture of chances against 1/2; "better": the
    mixture over chances above 1/2 only (twice its mass), "worse" below; these two sum to twice the first.

    >>> from jaxrank.evaluation import sequential
    >>> bool(sequential.sign_process(30, 5).e > 20)  # whenever one looks: rejected at 5 %
    True

    Source: Ville (1939); the mixture is that of Krichevsky and Trofimov (1981).
    """
    from scipy.special import betainc, betaln

    check_choice("alternative", alternative, ALTERNATIVES)
    for name, value in (("wins", wins), ("losses", losses)):
        check_number(name, value, 0, whole=True, ndim=(0, 1, 2, 3))
    s, f = np.broadcast_arrays(np.asarray(wins, float), np.asarray(losses, float))
    log_e = betaln(0.5 + s, 0.5 + f) - betaln(0.5, 0.5) + (s + f) * np.log(2.0)
    if alternative != "two-sided":
        more, less = (s, f) if alternative == "better" else (f, s)
        with np.errstate(divide="ignore"):
            log_e = log_e + np.log(2 * betainc(less + 0.5, more + 0.5, 0.5))
    return SignProcess(log_e)


def sign_sequence(outcomes: Any) -> Float[Array, "*batch steps"]:
    """`sign_process` (two-sided) after every discordant question of streams: logarithms of the e-values.

    **outcomes**: (..., T), 1 where the one model wins, -1 where the other does, 0 where neither: nothing is learned.
    A pure function of JAX, for many streams at once.
    """
    x = jnp.asarray(outcomes)
    won, lost = (jnp.cumsum(x == side, axis=-1) for side in (1, -1))
    own = jnp.where(x > 0, won, lost)  # the next factor is twice the share that the winner had, half a win added
    n = won + lost
    dtype = jnp.zeros(()).dtype
    step = jnp.where(x == 0, 1.0, 2 * (own - 0.5) / jnp.maximum(n, 1).astype(dtype))
    return jnp.cumsum(jnp.log(step).astype(dtype), axis=-1)
