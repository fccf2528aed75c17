"""``Posterior``: draws with names, what they say about ranks, and whether the sampler can be trusted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrank.models.options import check_count, check_flag
from jaxrank.numerics.chains import ess_bulk, ess_mean, ess_tail, r_hat
from jaxrank.numerics.interval import Interval, check_level
from jaxrank.numerics.separation import (
    DRAWN,
    Superiority,
    count_above,
    count_ranks,
    difference_ends,
    rank_draws,
    rank_ends,
    shares_above,
    simultaneous_ends,
)
from jaxrank.posteriors import checks, files
from jaxrank.results import storage
from jaxrank.results.returned import RankedModels, named

if TYPE_CHECKING:
    import pandas as pd

DRAW_FILES = (".npz", ".nc", ".zarr")

MAX_R_HAT, MIN_ESS = 1.01, 400.0


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(RankedModels):
    """Draws from a posterior.

    **draws**: site -> float array (chains, samples, ...); ``theta`` holds the strengths, abilities or accuracies that
    models are ranked by.  **extras**: per draw, ``diverging``, ``num_steps``, ``accept_prob`` (empty where no chain was
    run).  **sampler**: "nuts", "laplace", "svi" or "exact".  **seconds**: wall time, compilation included.
    **evidence**: the data that the likelihood reads, a design and its outcomes (None where draws are exact).
    **questions**: names, of response tensors.  **data**: what was given to `jaxrank.posterior`, not stored in files.
    **cautions**: what the model does not know of these data, a sentence each.
    """

    draws: Mapping[str, np.ndarray]
    models: tuple[str, ...]
    model: str
    sampler: str
    extras: Mapping[str, np.ndarray] = field(default_factory=dict)
    seconds: float = 0.0
    evidence: Any = None
    questions: tuple[str, ...] = ()
    data: Any = None
    cautions: tuple[str, ...] = ()

    @property
    def theta(self) -> np.ndarray:
        """(draws, models): the strengths of all chains, one after another."""
        t = self.draws["theta"]
        return t.reshape(-1, t.shape[-1])

    @property
    def scores(self) -> np.ndarray:
        """Posterior mean of each model's strength, (L,)."""
        return self.theta.mean(axis=0)

    @property
    def ranks(self) -> np.ndarray:
        """Competition ranks of the posterior means, int (L,), 1 is best."""
        return rank_draws(self.scores[None])[0]

    @property
    def method(self) -> str:
        """The model, under the word that other results use."""
        return self.model

    @cached_property
    def _rank_draws(self) -> np.ndarray:
        return rank_draws(self.theta)

    def rank_draws(self) -> np.ndarray:
        """int32 (draws, models): the rank of each model in each draw, ties sharing the better rank."""
        return self._rank_draws

    def rank_probabilities(self) -> np.ndarray:
        """(models, models): ``out[l, r]`` is the probability that model l has rank r + 1."""
        return count_ranks(self._rank_draws) / len(self._rank_draws)

    def expected_ranks(self) -> np.ndarray:
        """(models,): mean rank over the draws."""
        return self._rank_draws.mean(axis=0)

    def superiority(self) -> Superiority:
        """For each pair the probability that one is better than the other, and that they are equal."""
        return shares_above(count_above(self._rank_draws), len(self._rank_draws))

    def rank_intervals(self, level: float = 0.95) -> Interval:
        """int (models,): for each model the smallest interval of ranks with equal tails that holds at least ``level``
        of the draws."""
        return self._interval(rank_ends(count_ranks(self._rank_draws), level), level)

    def top_k(self, k: int) -> np.ndarray:
        """(models,): probability that a model is among the best k."""
        check_count("k", k, 1, len(self.models))
        return (self.rank_draws() <= k).mean(axis=0)

    def interval(self, level: float = 0.95) -> Interval:
        """Equal-tailed interval of each strength, (models,)."""
        return self._interval(equal_tails(self.theta, level), level)

    def difference_intervals(self, level: float = 0.95, *, simultaneous: bool = False) -> Interval:
        """Intervals (models, models) of the differences of strengths i - j, each for itself, or with ``simultaneous``
        all at once (`Replicates.difference_intervals`)."""
        check_flag("simultaneous", simultaneous)
        if simultaneous:
            return self._interval(
                simultaneous_ends(self.theta, self.scores, level), level, "all pairs at once, from draws"
            )
        return self._interval(difference_ends(self.theta, level), level)

    def _interval(self, ends: Any, level: float, kind: str = DRAWN) -> Interval:
        lower, upper = ends
        return Interval(lower, upper, level, kind, used=len(self.theta))

    def diagnose(self, site: str = "theta") -> dict[str, np.ndarray]:
        """R-hat and effective sample sizes of every entry of a site."""
        x = self.draws[list(self.draws)[named(tuple(self.draws), site, "site")]]
        return {"r_hat": r_hat(x), "ess_bulk": ess_bulk(x), "ess_tail": ess_tail(x), "ess_mean": ess_mean(x)}

    def standard_error(self) -> np.ndarray:
        """Monte Carlo standard error of ``scores``."""
        return self.theta.std(axis=0, ddof=1) / np.sqrt(ess_mean(self.draws["theta"]))

    @property
    def divergences(self) -> int:
        return int(np.sum(self.extras.get("diverging", 0)))

    @cached_property
    def statuses(self) -> dict[str, str]:
        """What makes the draws doubtful: status -> a sentence with a remedy; empty where nothing does.

        "approximate" (Laplace, SVI); of NUTS "divergent", "r_hat" (above 1.01) and "low_ess" (bulk or tail below 400)
        at any parameter.
        """
        if self.sampler in ("laplace", "svi"):
            text = f"sampler={self.sampler!r} is an approximation; check it against 'nuts' where that is affordable"
            return {"approximate": text}
        if self.sampler != "nuts":
            return {}
        found = {}
        if self.divergences:
            found["divergent"] = (
                f"{self.divergences} divergent transitions: the posterior has corners that the sampler missed; "
                "raise target_accept to 0.95, or use tighter priors"
            )
        every = {site: self.diagnose(site) for site in self.draws}
        worst_r, site = max((_largest(d["r_hat"]), site) for site, d in every.items())
        if worst_r > MAX_R_HAT:
            found["r_hat"] = (
                f"R-hat of {site} is {worst_r:.3f} (at most {MAX_R_HAT} is wanted): the chains disagree; "
                "raise n_warmup and n_samples"
            )
        least, site = min((-_largest(-np.fmin(d["ess_bulk"], d["ess_tail"])), site) for site, d in every.items())
        if least < MIN_ESS:
            found["low_ess"] = (
                f"the least effective sample size is {least:.0f}, of {site} (at least {MIN_ESS:.0f} is wanted); "
                "raise n_samples"
            )
        return found

    @property
    def chain_problems(self) -> tuple[str, ...]:
        """Why the chains cannot be trusted, a sentence each."""
        return tuple(self.statuses.values())

    @property
    def problems(self) -> tuple[str, ...]:
        """What a reader must know: `chain_problems` and ``cautions``."""
        return (*self.chain_problems, *self.cautions)

    def to_frame(self, *, level: float | None = 0.95) -> pd.DataFrame:
        """A pandas frame, best model first: rank, model, score (posterior mean), sd, lower, upper, rank_lower,
        rank_upper, p_best, expected_rank, ess_bulk, ess_tail, r_hat, status.

        ``status`` is "ok", or what is wrong with the draws of that model. What makes the draws as a whole doubtful is
        kept in ``frame.attrs["problems"]``, and told by a `JaxrankWarning` when the draws are made.
        """
        columns: dict[str, Any] = {"sd": self.theta.std(axis=0, ddof=1)}
        if level is not None:
            columns["lower"], columns["upper"] = self.interval(level)
            columns["rank_lower"], columns["rank_upper"] = self.rank_intervals(level)
        columns.update(p_best=self.top_k(1), expected_rank=self.expected_ranks())
        d = self.diagnose()
        columns.update({name: d[name] for name in ("ess_bulk", "ess_tail", "r_hat")})
        frame = self._table({**columns, "status": self._status_of_models(d)})
        frame.attrs["problems"] = list(self.problems)
        return frame

    def _title(self) -> str:
        return repr(self).splitlines()[0]

    def _foot(self, level: float = 0.95) -> list[str]:
        return [f"intervals: {self.rank_intervals(level).words}", *(f"caution: {text}" for text in self.problems)]

    def _record(self) -> dict[str, Any]:
        return {"method": self.model, "sampler": self.sampler, "seconds": self.seconds, "problems": list(self.problems)}

    def _status_of_models(self, d: Mapping[str, np.ndarray]) -> list[str]:
        if self.sampler != "nuts":
            return [next(iter(self.statuses), "ok")] * len(self.models)
        wrong = {"r_hat": ~(d["r_hat"] <= MAX_R_HAT), "low_ess": ~(np.fmin(d["ess_bulk"], d["ess_tail"]) >= MIN_ESS)}
        both = [" ".join(name for name, at in wrong.items() if at[i]) for i in range(len(self.models))]
        return [text or "ok" for text in both]

    def log_likelihood(self, by: str | None = None) -> np.ndarray:
        """(chains, samples, units): log probability of every unit of data in every draw.

        A unit is a pair of models, a cell (model, question) as (.., models, questions), or a distinct event of choice;
        ``by="question"`` adds up all that happened on a question, where the data have questions.
        """
        return checks.log_likelihood(self, by)

    def predict(self, n_draws: int = 400, seed: Any = 0) -> checks.Prediction:
        """Posterior predictive check: win and tie rates (pairs), success rates of models and questions (cells), or
        choice rates (events) of data sets drawn from the posterior, beside those observed.

        **n_draws**: data sets, from draws evenly spaced (about as many; at most one a draw).
        """
        return checks.predict(self, n_draws, seed)

    def loo(self, by: str | None = None) -> Any:
        """ArviZ ``ELPDData``: expected log predictive density by Pareto-smoothed importance sampling, leaving out one
        unit of `log_likelihood` at a time [vehtari2017]. Warns where Pareto k is too high. Needs the arviz extra."""
        return checks.loo(self, by)

    def compare(self, others: Any, by: str | None = None, method: str = "stacking") -> Any:
        """A data frame, best first, of this and other posteriors of the same outcomes by leave-one-out prediction.

        **others**: a posterior, several, or {name: posterior}. **method**: of the weights, as in ArviZ. Columns
        ``rank``, ``elpd`` and its error ``se``, ``p`` (effective parameters), ``elpd_diff`` (how much the best is
        ahead) and its error ``dse``, ``weight``, and ``high_pareto_k``, the number of units whose Pareto k is too high
        for their estimate (also warned of). Needs the arviz extra.
        """
        return checks.compare(self, others, by, method)

    def to_arviz(self, checks: bool = True) -> Any:
        """An ArviZ ``DataTree``: posterior, sample_stats, observed_data, constant_data and, with ``checks``,
        log_likelihood and posterior_predictive (of pairs and cells). Needs the arviz extra."""
        return files.to_arviz(self, checks)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write draws, names and data to ``.npz``, or through ArviZ to NetCDF (``.nc``) or zarr (``.zarr``), for
        `load_posterior`; or the table of `to_frame` to ``.csv``, ``.json`` or ``.parquet``."""
        path = Path(path)
        if path.suffix in DRAW_FILES:
            files.save(self, path)
            return path
        return storage.save_table(self.to_frame(), path, self._record(), others=DRAW_FILES)

    def _modelled(self) -> str:
        """The model in words, for titles."""
        return self.model

    def __repr__(self) -> str:
        chains, samples = self.draws["theta"].shape[:2]
        size = f"{len(self.models)} models, {chains} chains x {samples} draws"
        head = f"{type(self).__name__}({self._modelled()}, {size}, {self.sampler})"
        return "\n  ".join([head, *(f"{status}: {text}" for status, text in self.statuses.items())])


def load_posterior(path: Any) -> Posterior:
    """A posterior written by `Posterior.save`."""
    from jaxrank.results.posterior_by_category import PosteriorByCategory

    found = files.load_parts(path)
    return (PosteriorByCategory if "categories" in found else Posterior)(**found)


def equal_tails(draws: np.ndarray, level: float) -> np.ndarray:
    """The ends (2, ...) of the equal-tailed interval of draws (N, ...)."""
    tail = (1 - check_level(level)) / 2
    return np.quantile(draws, (tail, 1 - tail), axis=0)


def _largest(values: np.ndarray) -> float:
    """The largest value; infinity where one does not exist, as of a chain that did not move."""
    return float(np.max(np.where(np.isnan(values), np.inf, values)))
