"""``Posterior``: draws with names, what they say about ranks, and whether the sampler can be trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.diagnostics import ess_bulk, ess_mean, ess_tail, r_hat
from jaxrank.errors import DataError, OptionError

MAX_R_HAT, MIN_ESS = 1.01, 400.0


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws from a posterior.

    **draws**: site -> float array (chains, samples, ...); ``theta`` holds the strengths, abilities or accuracies that
    models are ranked by.  **extras**: per draw, ``diverging``, ``num_steps``, ``accept_prob`` (empty where no chain was
    run).  **sampler**: "nuts", "laplace", "svi" or "exact".  **seconds**: wall time, compilation included.
    """

    draws: Mapping[str, np.ndarray]
    models: tuple[str, ...]
    model: str
    sampler: str
    extras: Mapping[str, np.ndarray] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def theta(self) -> np.ndarray:
        """(draws, models): the strengths of all chains, one after another."""
        t = self.draws["theta"]
        return t.reshape(-1, t.shape[-1])

    @property
    def scores(self) -> np.ndarray:
        """Posterior mean of each model's strength."""
        return self.theta.mean(axis=0)

    @property
    def ranks(self) -> np.ndarray:
        """Competition ranks of the posterior means (1 is best)."""
        s = self.scores
        return 1 + (s[None, :] > s[:, None]).sum(axis=1)

    def rank_draws(self) -> np.ndarray:
        """int32 (draws, models): the rank of each model in each draw, ties sharing the better rank."""
        t = self.theta
        order = np.sort(-t, axis=1)
        out = np.empty(t.shape, np.int32)
        for s in range(len(t)):
            out[s] = 1 + np.searchsorted(order[s], -t[s], side="left")
        return out

    def rank_probabilities(self) -> np.ndarray:
        """(models, models): ``out[l, r]`` is the probability that model l has rank r + 1."""
        ranks = self.rank_draws()
        n = ranks.shape[1]
        return np.stack([np.bincount(ranks[:, i] - 1, minlength=n) for i in range(n)]) / len(ranks)

    def expected_ranks(self) -> np.ndarray:
        return self.rank_draws().mean(axis=0)

    def superiority(self) -> np.ndarray:
        """(models, models): ``out[i, j]`` is the probability that i is better than j, 1/2 on the diagonal."""
        t = self.theta
        out = np.full((t.shape[1],) * 2, 0.5)
        for i in range(t.shape[1]):
            out[i] = (t[:, i : i + 1] > t).mean(axis=0) + (t[:, i : i + 1] == t).mean(axis=0) / 2
        return out

    def rank_intervals(self, level: float = 0.95) -> np.ndarray:
        """int (models, 2): the smallest interval of ranks with equal tails that holds at least ``level`` of the
        draws."""
        _check_level(level)
        ranks = self.rank_draws()
        tail = (1 - level) / 2
        low = np.quantile(ranks, tail, axis=0, method="inverted_cdf")
        high = np.quantile(ranks, 1 - tail, axis=0, method="inverted_cdf")
        return np.stack([low, high], axis=1).astype(int)

    def top_k(self, k: int) -> np.ndarray:
        """(models,): probability that a model is among the best k."""
        if not 1 <= k <= len(self.models):
            raise OptionError(f"k={k}; it must be between 1 and the number of models, {len(self.models)}")
        return (self.rank_draws() <= k).mean(axis=0)

    def interval(self, level: float = 0.95) -> np.ndarray:
        """(models, 2): equal-tailed interval of each strength."""
        _check_level(level)
        tail = (1 - level) / 2
        return np.quantile(self.theta, (tail, 1 - tail), axis=0).T

    def diagnose(self, site: str = "theta") -> dict[str, np.ndarray]:
        """R-hat and effective sample sizes of every entry of a site."""
        x = self.draws[site]
        return {"r_hat": r_hat(x), "ess_bulk": ess_bulk(x), "ess_tail": ess_tail(x), "ess_mean": ess_mean(x)}

    def standard_error(self) -> np.ndarray:
        """Monte Carlo standard error of ``scores``."""
        return self.theta.std(axis=0, ddof=1) / np.sqrt(ess_mean(self.draws["theta"]))

    @property
    def divergences(self) -> int:
        return int(np.sum(self.extras.get("diverging", 0)))

    @property
    def problems(self) -> tuple[str, ...]:
        """What makes the draws doubtful, one sentence with a remedy each; empty where nothing does."""
        if self.sampler in ("laplace", "svi"):
            return (f"sampler={self.sampler!r} is an approximation; check it against 'nuts' where that is affordable",)
        if self.sampler != "nuts":
            return ()
        d = self.diagnose()
        found = []
        if self.divergences:
            found.append(
                f"{self.divergences} divergent transitions: the posterior has corners that the sampler missed; "
                "raise target_accept to 0.95, or use tighter priors"
            )
        if np.any(~(d["r_hat"] <= MAX_R_HAT)):
            found.append(
                f"R-hat is {_worst(d['r_hat'], np.max):.3f} (at most {MAX_R_HAT} is wanted): the chains disagree; "
                "raise n_warmup and n_samples"
            )
        low = np.fmin(d["ess_bulk"], d["ess_tail"])
        if np.any(~(low >= MIN_ESS)):
            found.append(
                f"the least effective sample size is {_worst(low, np.min):.0f} (at least {MIN_ESS:.0f} is wanted); "
                "raise n_samples"
            )
        return tuple(found)

    def summary(self, level: float = 0.95) -> Any:
        """A data frame by model in order of the mean: mean, sd, interval, ranks, ess_bulk, ess_tail, r_hat.

        ``frame.attrs["problems"]`` and the printed form of the posterior name what makes the draws doubtful.
        """
        import pandas as pd

        interval, ranks, d = self.interval(level), self.rank_intervals(level), self.diagnose()
        frame = pd.DataFrame(
            {
                "model": self.models,
                "mean": self.scores,
                "sd": self.theta.std(axis=0, ddof=1),
                "lo": interval[:, 0],
                "hi": interval[:, 1],
                "expected_rank": self.expected_ranks(),
                "rank_lo": ranks[:, 0],
                "rank_hi": ranks[:, 1],
                "p_best": self.top_k(1),
                "ess_bulk": d["ess_bulk"],
                "ess_tail": d["ess_tail"],
                "r_hat": d["r_hat"],
            }
        )
        frame = frame.sort_values("mean", ascending=False, kind="stable").reset_index(drop=True)
        frame.attrs["problems"] = list(self.problems)
        return frame

    def to_arviz(self) -> Any:
        """An ArviZ ``DataTree`` (needs the arviz extra)."""
        try:
            import arviz_base
        except ImportError:
            raise OptionError("to_arviz needs ArviZ: pip install 'jaxrank[arviz]'") from None
        groups = {"posterior": dict(self.draws)}
        if self.extras:
            groups["sample_stats"] = dict(self.extras)
        return arviz_base.from_dict(groups, coords={"model": list(self.models)}, dims={"theta": ["model"]})

    def save(self, path: Any) -> None:
        """Write draws and names to an npz file; `load_posterior` reads it back."""
        meta = {"models": list(self.models), "model": self.model, "sampler": self.sampler, "seconds": self.seconds}
        arrays = {f"draws/{k}": v for k, v in self.draws.items()} | {f"extras/{k}": v for k, v in self.extras.items()}
        with Path(path).open("wb") as file:
            contents: dict[str, Any] = {"meta": np.array(json.dumps(meta)), **arrays}
            np.savez_compressed(file, **contents)

    def __repr__(self) -> str:
        chains, samples = self.draws["theta"].shape[:2]
        head = f"Posterior({self.model}, {len(self.models)} models, {chains} chains x {samples} draws, {self.sampler})"
        return "\n  ".join([head, *self.problems])


def load_posterior(path: Any) -> Posterior:
    """A posterior written by `Posterior.save`."""
    with np.load(path, allow_pickle=False) as file:
        if "meta" not in file:
            raise DataError(f"{path} does not hold a posterior")
        meta = json.loads(str(file["meta"]))
        kinds = ("draws/", "extras/")
        parts = {kind: {k.removeprefix(kind): file[k] for k in file if k.startswith(kind)} for kind in kinds}
    return Posterior(
        draws=parts["draws/"],
        models=tuple(meta["models"]),
        model=meta["model"],
        sampler=meta["sampler"],
        extras=parts["extras/"],
        seconds=meta["seconds"],
    )


def _worst(values: np.ndarray, pick: Any) -> float:
    finite = values[np.isfinite(values)]
    return float(pick(finite)) if len(finite) else float("nan")


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise OptionError(f"level={level}; it must lie between 0 and 1")
