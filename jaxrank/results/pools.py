"""Pools of models: how well rankings from single trials agree with rankings from all, for models drawn at random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.models.options import check_choice
from jaxrank.models.ranker import NeedsPrior, Ranker
from jaxrank.numerics.ranks import rank_scores, tau_with
from jaxrank.resampling import draws
from jaxrank.resampling.schemes import Models
from jaxrank.resampling.work import Work
from jaxrank.results.returned import Returned, Row, named, row_of, rows_of

if TYPE_CHECKING:
    import pandas as pd


class PoolWork(Work):
    """One method on pool b: fits of every single trial and of all trials, and their agreement.

    **single**: the statistics of single trials, stacked (N, ...).  **whole**: that of all trials.  **gold**: scores
    (L,) whose order inside a pool is the reference.
    """

    ranker: Ranker
    single: Any
    whole: Any
    gold: Float[Array, " models"]
    key: Array
    size: int = eqx.field(static=True)
    block: int = eqx.field(static=True)

    def lane(self, replicate: Any, payload: Any) -> dict[str, Any]:
        n_models = self.gold.shape[0]
        key = draws.replicate_key(self.key, replicate)
        members = Models(self.size).draw(key, replicate, (n_models, 1, 1), jnp.float32)
        ranker = _restrict_prior(self.ranker, members, n_models)
        own = draws.ranker_key(key) if ranker.stochastic else None
        whole = ranker(self.whole.restricted(members), key=own)
        fits = jax.vmap(lambda stat: ranker(stat.restricted(members), key=own))(self.single)
        gold = rank_scores(self.gold[members]).astype(jnp.float32)
        # a model without a rank on all trials leaves the method's own reference, and so tau, undefined
        target = rank_scores(whole.scores, resolution=whole.resolution).astype(jnp.float32)
        target = jnp.where(jnp.any(jnp.isnan(whole.scores)), jnp.zeros_like(target), target)
        return {
            "members": members,
            "gold": tau_with(fits.scores, fits.resolution, gold),
            "own": tau_with(fits.scores, fits.resolution, target),
        }

    def reduce(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        out = {"members": batch["members"]}
        for name in ("gold", "own"):
            tau = batch[name].astype(np.float64)
            known = np.isfinite(tau)
            n = known.sum(axis=1)
            total = np.where(known, tau, 0).sum(axis=1)
            out[name] = np.where(n > 0, total / np.maximum(n, 1), np.nan)
            out[f"{name}_undefined"] = (tau.shape[1] - n).astype(np.int32)
        return out


@dataclass(frozen=True, eq=False, repr=False)
class Pools(Returned):
    """Agreement of single-trial rankings in pools of models, for several methods on the same pools.

    **members**: int (B, size), the models of each pool.  **gold[m]**: (B,), mean over the N trials of tau-b between
    method m on one trial and Bayes@N on all trials, inside the pool.  **own[m]**: (B,), the same with method m on all
    trials of the pool.  **undefined[m]**: int (B,), trials without a tau-b with the gold order (a constant or missing
    ranking); they are left out of the means.

    Iterating gives the row of `to_frame` of every method, ``[method]`` that of one.
    """

    methods: tuple[str, ...]
    models: tuple[str, ...]
    size: int
    members: np.ndarray
    gold: dict[str, np.ndarray]
    own: dict[str, np.ndarray]
    undefined: dict[str, np.ndarray]

    @property
    def n_replicates(self) -> int:
        return len(self.members)

    def best(self, target: str = "gold") -> dict[str, float]:
        """Share of pools in which each method has the highest mean tau-b (ties count for all)."""
        check_choice("target", target, ("gold", "own"))
        table = np.stack([getattr(self, target)[m] for m in self.methods])
        top = np.nanmax(table, axis=0)
        return {m: float(np.mean(row >= top - 1e-9)) for m, row in zip(self.methods, table, strict=True)}

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame with one row a method: size, mean and standard deviation over pools against both targets."""
        import pandas as pd

        rows = []
        for m in self.methods:
            row: dict[str, Any] = {"method": m, "size": self.size, "n_replicates": self.n_replicates}
            for target in ("gold", "own"):
                values = getattr(self, target)[m]
                known = values[~np.isnan(values)]
                row[target], row[f"{target}_sd"] = (known.mean(), known.std()) if len(known) else (np.nan, np.nan)
            row["undefined"] = float(self.undefined[m].mean())
            rows.append(row)
        return pd.DataFrame(rows)

    def __len__(self) -> int:
        return len(self.methods)

    def __iter__(self) -> Iterator[Row]:
        return rows_of(self.to_frame())

    def __getitem__(self, method: str) -> Row:
        return row_of(self.to_frame(), named(self.methods, method, "method"))

    def __contains__(self, method: object) -> bool:
        return method in self.methods

    def _foot(self) -> list[str]:
        return [
            "mean tau-b of single trials or lists; gold: with the reference on all data, own: with the method itself"
        ]

    def _record(self) -> dict[str, Any]:
        return {"methods": list(self.methods), "size": self.size, "n_replicates": self.n_replicates}

    def __repr__(self) -> str:
        return (
            f"Pools({len(self.methods)} methods, {self.n_replicates} pools of {self.size} of {len(self.models)} models)"
        )


def _restrict_prior(ranker: Ranker, members: Array, n_models: int) -> Ranker:
    """Priors by model follow their models into the pool."""
    if not isinstance(ranker, NeedsPrior):
        return ranker
    pick = lambda x: jnp.asarray(x)[members] if eqx.is_array_like(x) and np.shape(x)[:1] == (n_models,) else x
    prior = jax.tree.map(pick, getattr(ranker, "prior", None))
    return eqx.tree_at(lambda r: r.prior, ranker, prior, is_leaf=lambda x: x is None)
