"""What a study counts over its replicates: ranks, pairwise orders, statuses. Additive: memory does not grow with B."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxrank.numerics.ranks import rank_scores, ranks_by_sorting
from jaxrank.numerics.separation import count_above, count_ranks
from jaxrank.numerics.status import Status
from jaxrank.resampling.work import Kept

_SORTED = 64  # models above which sorting takes less than comparing all pairs
_ROWS = 256  # replicates ranked at a time; their (rows, L, L) comparisons stay in the cache


@dataclass(frozen=True)
class Tally:
    """Counts over replicates of L models.

    **n**: replicates.  **ranked**: those in which every model has a rank.  **finite**: those in which every score is a
    finite number.  **statuses**: (7,) by `Status`.  **ranks**: (L, L), ``ranks[i, r]`` times model i had rank r + 1.
    **last**: (L, L), ``last[i, r]`` times r + 1 was the last place of those that model i ties for.
    **best**: (L,), times i ranked first, a first place that several share counted in equal parts.
    **above**: (L, L), times i ranked above j.  **total**, **squares**: (L,) sums of the finite scores and of their
    squares about ``centre`` (L,).
    """

    n: np.ndarray
    ranked: np.ndarray
    finite: np.ndarray
    statuses: np.ndarray
    ranks: np.ndarray
    last: np.ndarray
    best: np.ndarray
    above: np.ndarray
    total: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, kept: Kept, centre: np.ndarray) -> Tally:
        ranks = ranks_of(kept.scores, kept.resolution)
        usable = ranks[(ranks > 0).all(axis=1)]
        finite = kept.scores[np.isfinite(kept.scores).all(axis=1)].astype(np.float64) - centre
        return cls(
            n=np.asarray(len(ranks)),
            ranked=np.asarray(len(usable)),
            finite=np.asarray(len(finite)),
            statuses=np.bincount(kept.status, minlength=len(Status)),
            ranks=count_ranks(usable),
            last=count_ranks(_last_places(usable)),
            best=_shared_firsts(usable),
            above=count_above(usable),
            total=finite.sum(axis=0),
            squares=(finite**2).sum(axis=0),
        )

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def arrays(self) -> dict[str, np.ndarray]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


def _last_places(ranks: np.ndarray) -> np.ndarray:
    """Ranks (B, L) in which models that tie have the worst of the places that they share."""
    n, n_models = ranks.shape
    flat = ranks + (n_models + 1) * np.arange(n)[:, None]
    sharing = np.bincount(flat.ravel(), minlength=n * (n_models + 1))
    return ranks + sharing[flat].astype(ranks.dtype) - 1


def _shared_firsts(ranks: np.ndarray) -> np.ndarray:
    """float64 (L,): how often each model is first in ranks (B, L), ties sharing the place in equal parts."""
    first = ranks == 1
    return (first / first.sum(axis=1, keepdims=True)).sum(axis=0)


def ranks_of(scores: np.ndarray, resolution: np.ndarray) -> np.ndarray:
    """Competition ranks int16 (B, L) of scores (B, L); 0 where a score is NaN."""
    if scores.shape[1] > _SORTED:
        parts = [slice(a, a + _ROWS) for a in range(0, len(scores), _ROWS)]
        return np.concatenate([ranks_by_sorting(scores[part], resolution[part]).astype(np.int16) for part in parts])
    with jax.enable_x64(scores.dtype == np.float64):
        padded = -(-len(scores) // _ROWS) * _ROWS
        out = np.zeros(scores.shape, np.int16)
        step = min(padded, 64 * _ROWS)
        for a in range(0, len(scores), step):
            s, r = scores[a : a + step], resolution[a : a + step]
            short = step - len(s)
            whole: Any = np.pad(s, ((0, short), (0, 0))), np.pad(r, (0, short))
            out[a : a + step] = np.asarray(_ranks(*whole))[: step - short]
        return out


@eqx.filter_jit
def _ranks(scores: Float[Array, "rows models"], resolution: Float[Array, " rows"]) -> Int[Array, "rows models"]:
    rank = lambda pair: rank_scores(pair[0], resolution=pair[1]).astype(jnp.int16)
    return jax.lax.map(rank, (scores, resolution), batch_size=_ROWS)
