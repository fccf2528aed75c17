"""From a data set and a scheme to the statistic of replicate b: the one place where statistics meet draws."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxrank.data.ballots import Ballots
from jaxrank.data.battle_statistic import BattleLayout
from jaxrank.data.clusters import clustering
from jaxrank.data.device import put
from jaxrank.data.kind import Counted, Data
from jaxrank.data.moments import MomentCodes, Moments, SampleCodes, Samples
from jaxrank.data.pairing import all_pairs_size
from jaxrank.data.responses import Responses, responses_of
from jaxrank.data.statistics import Aligned, CountRows, Counts, Pairs, Sequence
from jaxrank.data.weights import Weights, unit_of
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.models.ranker import Ranker, statistic_of
from jaxrank.resampling import draws
from jaxrank.resampling.clusters import Clusters
from jaxrank.resampling.schemes import Bayesian, Independent, Models, Scheme, Subsample, Trials
from jaxrank.resampling.uneven import DRAWS_TRIALS, WithinCells, is_uneven

_ROWS_BYTES = 2**30  # wins and ties of every unit
_INDEX_BYTES = 8  # beside a gathered outcome: its index, and a random word or an order


class Source(eqx.Module):
    """Makes the statistic of a replicate on device.

    ``payload(key, replicates)`` is what has to be drawn on the host first, a pytree of arrays with a leading axis of
    replicates, or None.  Calling the source with a replicate's key, number and payload gives (statistic, members).
    """

    scheme: eqx.AbstractVar[Scheme]

    def payload(self, key: Array, replicates: np.ndarray) -> Any:
        return None

    @property
    def lane_bytes(self) -> int:
        """What one replicate holds on the way to its statistic, beyond the statistic itself."""
        return 0

    @abc.abstractmethod
    def __call__(self, key: Array, replicate: Any, payload: Any) -> tuple[Any, Any]:
        """One replicate; pure and mapped."""


class TrialSource(Source):
    """Replicates of repeated trials by weights (one matrix product for a batch) or by gathered outcomes."""

    scheme: Scheme = eqx.field(static=True)
    statistic: type = eqx.field(static=True)
    shape: tuple[int, int, int] = eqx.field(static=True)
    rows: Any
    outcomes: Int[Array, "models questions trials"] | None
    like: Any
    trials: Array | None = None  # (models, questions), where weights would change how many trials a cell has
    questions: Array | None = None  # weights of the questions of gathered outcomes, where they have different ones

    def __call__(self, key, replicate, payload):
        draw = self.scheme.draw(key, replicate, self.shape, self.float_dtype)
        members = self.scheme.members(draw)
        stat = self.made_from(draw)
        return (stat if members is None else stat.restricted(members)), members

    def made_from(self, draw: Array, first: Any = None) -> Any:
        """The statistic of a draw, or of its ``first`` trials."""
        if self.outcomes is None:
            return self._weighted(self.scheme.weights(draw, self.shape, self.float_dtype, first))
        outcomes = self.scheme.gather(draw, self.outcomes)
        if first is not None:  # of every cell, so that one whose first trial is missing has a first trial too
            outcomes = jnp.where(jnp.cumsum(outcomes >= 0, axis=2, dtype=jnp.int32) <= first, outcomes, -1)
        order = self.scheme.order(draw)
        questions = self.questions if self.questions is None or order is None else self.questions[order]
        return self.statistic.gather(outcomes, self.like, order, questions)

    def _weighted(self, weights: Weights) -> Any:
        if self.trials is None:
            return self.statistic.reduce(self.rows, weights)
        counts = Counts.reduce(self.rows, weights)
        total = counts.trials
        share = jnp.where(total > 0, self.trials / jnp.where(total > 0, total, 1), 0)
        counts = Counts(counts.categories * share[:, :, None], counts.questions, counts.levels, counts.groups)
        return self.statistic.from_counts(counts)

    @property
    def lane_bytes(self):
        gathered = 0 if self.outcomes is None else self.outcomes.size * (self.outcomes.dtype.itemsize + _INDEX_BYTES)
        every = isinstance(self.rows, CountRows) and self.statistic is Pairs
        every |= self.statistic is Pairs and isinstance(self.like, Counts)
        n_models, n_questions, _ = self.shape
        paired = all_pairs_size(n_models, n_questions) * self.float_dtype.itemsize if every else 0
        return max(gathered, paired)

    @property
    def float_dtype(self) -> Any:
        leaves = [x.dtype for x in jax.tree.leaves((self.rows, self.like)) if jnp.issubdtype(x.dtype, jnp.floating)]
        return leaves[0] if leaves else jnp.zeros(()).dtype


class CellSource(Source):
    """Replicates of results that are counts only: a multinomial draw for every model and question.

    Equal in distribution to drawing trials anew for each model and question (`Independent`).
    """

    scheme: Scheme = eqx.field(static=True)
    statistic: type = eqx.field(static=True)
    counts: np.ndarray  # int64 (L, M, C+1), on the host
    levels: Float[Array, " categories"]
    questions: Float[Array, " questions"]
    groups: Any

    def payload(self, key, replicates):
        n = self.counts.sum(-1)
        share = self.counts / np.maximum(n, 1)[..., None]
        share[n == 0, 0] = 1
        table = [g.multinomial(n, share) for g in draws.host_generators(key, replicates)]
        return np.stack(table).astype(self.levels.dtype)

    def __call__(self, key, replicate, payload):
        counts = Counts(payload, self.questions, self.levels, self.groups)
        return self.statistic.from_counts(counts), None


class UnitSource(Source):
    """Replicates of battles or ordered lists: multinomial, gamma or hypergeometric draws of their counts.

    Equal in distribution to drawing them one by one, at a cost that does not depend on their number.
    """

    scheme: Scheme = eqx.field(static=True)
    statistic: type = eqx.field(static=True)
    n_models: int = eqx.field(static=True)
    count: np.ndarray  # (K,), on the host
    rows: Any  # of the distinct units; a Sequence of them where the statistic is one
    dtype: Any = eqx.field(static=True)

    def payload(self, key, replicates):
        if isinstance(self.scheme, Models):
            return None
        draw = _counts_drawn(self.scheme, self.count)
        generators = draws.host_generators(key, replicates)
        if self.statistic is not Sequence:
            return np.stack([draw(g) for g in generators]).astype(self.dtype)
        kinds = np.arange(len(self.count), dtype=np.int32)
        return np.stack([g.permutation(np.repeat(kinds, draw(g))) for g in generators])

    def __call__(self, key, replicate, payload):
        members = None
        if isinstance(self.scheme, Models):
            members = self.scheme.draw(key, replicate, (self.n_models, 1, 1), self.dtype)
            payload = jnp.asarray(self.count, self.dtype)
        if self.statistic is Sequence:
            stat = Sequence(self.rows.outcomes[payload], self.rows.graded)
        else:
            stat = self.statistic.reduce(self.rows, Weights(trials=payload))
        return (stat if members is None else stat.restricted(members)), members


def _counts_drawn(scheme: Scheme, count: np.ndarray) -> Callable[[np.random.Generator], np.ndarray]:
    """How often each distinct unit is drawn, of a generator; ``count`` (K,) is how often it is there."""
    total, whole = count.sum(), np.rint(count).astype(np.int64)
    if isinstance(scheme, Bayesian):
        return lambda g: (draw := g.gamma(count)) * (total / draw.sum())
    if isinstance(scheme, Subsample):
        return lambda g: g.multivariate_hypergeometric(whole, scheme.n, method="marginals")
    n, share = whole.sum(), whole / whole.sum()
    return lambda g: g.multinomial(n, share)


class ClusterSource(Source):
    """Replicates of battles by clusters of them: every row with the weights of its clusters.

    **index**: which cluster every row is of (E,), by column of the scheme.  **count**: how often each row was fought.
    Both in the order of the rows of the statistic.
    """

    scheme: Clusters = eqx.field(static=True)
    statistic: type = eqx.field(static=True)
    index: tuple[Int[Array, " battles"], ...]
    count: Float[Array, " battles"]
    rows: Any

    @property
    def lane_bytes(self):
        return 2 * self.count.size * self.count.dtype.itemsize

    def __call__(self, key, replicate, payload):
        dtype = self.count.dtype
        draw = self.scheme.draw(key, replicate, (0, 0, 0), dtype)
        weight = self.count * self.scheme.weights_of(draw, self.index, dtype)
        return self.statistic.reduce(self.rows, Weights(trials=weight)), None


class UnitStream(Source):
    """Battles or ordered lists drawn one after the other, so that the first n of them are a replicate too.

    **copies**: (N,), which distinct unit each of all N is; ``scheme`` draws among these as among N trials.
    """

    scheme: Scheme = eqx.field(static=True)
    statistic: type = eqx.field(static=True)
    shape: tuple[int, int, int] = eqx.field(static=True)  # (models, 1, N)
    copies: Int[Array, " units"]
    rows: Any
    n_distinct: int = eqx.field(static=True)
    float_dtype: Any = eqx.field(static=True)

    def __call__(self, key, replicate, payload):
        return self.made_from(self.scheme.draw(key, replicate, self.shape, self.float_dtype)), None

    def made_from(self, draw: Array, first: Any = None) -> Any:
        """The statistic of a draw, or of its ``first`` units."""
        drawn = self.copies[draw]
        if self.statistic is Sequence:
            outcomes = self.rows.outcomes[drawn]
            if first is not None:
                outcomes = jnp.where((jnp.arange(len(drawn)) < first)[:, None, None], outcomes, -1)
            return Sequence(outcomes, self.rows.graded)
        weights = draws.counts_of(drawn, self.n_distinct, self.float_dtype, first)
        return self.statistic.reduce(self.rows, Weights(trials=weights))


def make_source(
    data: Data, ranker: Ranker, scheme: Scheme, pairing: str, method: str, by_column: bool = False
) -> Source:
    """The source of a method's replicates; `OptionError` or `UnsupportedDataError` where the scheme cannot serve it.

    **by_column**: trial n is what stands in column n, for every cell; cells without that trial are then missing.
    """
    statistic = statistic_of(ranker, data)
    if scheme.fractional and not ranker.fractional:
        raise OptionError(
            f"{method} counts whole outcomes and cannot read the fractional weights of scheme {scheme}; "
            'use scheme="trials" or "questions"'
        )
    if statistic is Sequence and not scheme.ordered:
        raise OptionError(
            f'{method} reads outcomes in order, and scheme {scheme} draws weights without an order; use scheme="trials"'
        )
    if isinstance(data, Counted):
        return _units(data, statistic, scheme)
    data = responses_of(data, method)
    scheme.check(data.shape)
    if data.counts_only:
        if isinstance(scheme, Independent) and _by_counts(statistic, pairing):
            whole = Counts.of(data)
            scales = {"levels": whole.levels, "questions": whole.questions, "groups": whole.groups}
            return CellSource(scheme=scheme, statistic=statistic, counts=data.counts, **scales)
        if scheme.name not in ("questions", "models", "clusters") and scheme.unit != "questions":
            raise UnsupportedDataError(
                f"scheme {scheme} draws trials by their index, but these results are counts only: which succeeded "
                'is unknown; use scheme="independent" or "questions"'
            )
    inside = isinstance(scheme, DRAWS_TRIALS) and not by_column and is_uneven(data.outcomes)
    return _trials(data, statistic, WithinCells(scheme) if inside else scheme, pairing)


def _trials(data: Responses, statistic: Any, scheme: Scheme, pairing: str) -> Source:
    dtype = jnp.zeros(()).dtype
    probe = None
    if scheme.weighted:
        probe = jax.eval_shape(
            lambda: scheme.weights(scheme.draw(jax.random.key(0), 0, data.shape, dtype), data.shape, dtype)
        )
    if statistic is Sequence or probe is None or _would_be_huge(data, statistic, scheme, pairing, unit_of(probe)):
        if statistic is Samples:
            like = SampleCodes.of(data)
        elif statistic is Moments or (statistic is Ballots and data.kind == "real"):
            like = MomentCodes.of(data)
        elif _by_counts(statistic, pairing):
            like = Counts.of(data)
        elif statistic is Pairs:
            like = Aligned.of(data, np.dtype(dtype))
        else:
            like = statistic.of(data, pairing=pairing)
        outcomes = _outcomes(data, statistic)
        questions = put(data.weights, dtype) if data.weighted else None
        made = {"scheme": scheme, "statistic": statistic, "shape": data.shape, "rows": None, "like": like}
        return TrialSource(**made, outcomes=outcomes, questions=questions)
    rows = statistic.rows(data, unit_of(probe), pairing=pairing)
    rescaled = isinstance(scheme, Bayesian) and isinstance(rows, CountRows) and is_uneven(data.outcomes)
    trials = put(data.trials, dtype) if rescaled and probe.trials is not None else None
    return TrialSource(
        scheme=scheme, statistic=statistic, shape=data.shape, rows=rows, outcomes=None, like=None, trials=trials
    )


def _would_be_huge(data: Responses, statistic: type, scheme: Scheme, pairing: str, unit: str) -> bool:
    """Whether pairs of every unit take more room than the product with them saves time; then outcomes are gathered."""
    if statistic is not Pairs or pairing == "all" or not scheme.ordered or data.outcomes is None:
        return False
    n_models, n_questions, n_trials = data.shape
    units = {"question": n_questions, "trial": n_trials, "cell": n_questions * n_trials}[unit]
    return 8 * units * n_models**2 > _ROWS_BYTES


def _outcomes(data: Responses, statistic: type) -> Array:
    if data.counts_only:
        raise UnsupportedDataError(
            f"{statistic.name} statistics need to know which trial succeeded; these results are counts only"
        )
    narrow = jnp.int8 if data.n_categories <= 128 else jnp.int16 if data.n_categories < 2**15 else jnp.int32
    return put(data.outcomes, narrow)


def _by_counts(statistic: Any, pairing: str) -> bool:
    """Whether the statistic is made from the counts of cells."""
    return hasattr(statistic, "from_counts") and (statistic is not Pairs or pairing == "all")


def _units(data: Counted, statistic: Any, scheme: Scheme) -> Source:
    unit = data.unit
    if isinstance(scheme, Clusters):
        count, *index = data.count, *(clustering(data, column).index for column in scheme.columns)
        rows = statistic.rows(data)
        if isinstance(rows, BattleLayout):
            rows, (count, *index) = rows.in_order(count, *index)  # weights of clusters go straight to their places
        index, count = tuple(put(i, jnp.int32) for i in index), put(count, jnp.zeros(()).dtype)
        return ClusterSource(scheme=scheme, statistic=statistic, index=index, count=count, rows=rows)
    if not isinstance(scheme, Trials | Independent | Bayesian | Subsample | Models):
        raise OptionError(
            f"{data.content} have no questions, so scheme {scheme} does not fit; "
            f'"trials" draws {unit}s with replacement, jaxrank.clusters("voter") all those of a voter together'
        )
    total = data.units[unit]
    if not data.whole and not isinstance(scheme, Bayesian | Models):
        raise OptionError(f'scheme {scheme} draws whole {unit}s, but count holds fractions; use scheme="bayesian"')
    if isinstance(scheme, Subsample) and not 1 <= scheme.n <= total:
        raise OptionError(f"subsample(n={scheme.n}): n must be between 1 and the number of {unit}s, {total:g}")
    if isinstance(scheme, Models):
        scheme.check((len(data.models), 1, 1))
    distinct = _distinct(data, statistic)
    return UnitSource(
        scheme=scheme,
        statistic=statistic,
        n_models=len(data.models),
        count=distinct.count,
        rows=_unit_rows(data, distinct, statistic),
        dtype=np.dtype(jnp.zeros(()).dtype),
    )


def make_stream(data: Data, ranker: Ranker, scheme: Scheme, pairing: str, method: str) -> Source:
    """The source of results that come one after the other: trials of all models, or battles or ordered lists."""
    if isinstance(data, Counted):
        return unit_stream(data, statistic_of(ranker, data), scheme)
    return make_source(data, ranker, scheme, pairing, method)


def unit_stream(data: Counted, statistic: Any, scheme: Scheme) -> UnitStream:
    """The source of battles or ordered lists that come one after the other; `OptionError` for fractional counts."""
    unit = data.unit
    if not data.whole:
        raise OptionError(f"count holds fractions; {unit}s that come one after the other must be whole")
    distinct = _distinct(data, statistic)
    copies = np.repeat(np.arange(len(distinct.count)), np.rint(distinct.count).astype(int))
    shape = (len(data.models), 1, len(copies))
    scheme.check(shape)
    return UnitStream(
        scheme=scheme,
        statistic=statistic,
        shape=shape,
        copies=put(copies, jnp.int32),
        rows=_unit_rows(data, distinct, statistic),
        n_distinct=len(distinct.count),
        float_dtype=np.dtype(jnp.zeros(()).dtype),
    )


def _distinct(data: Counted, statistic: Any) -> Counted:
    """Equal units merged, unless the statistic reads the columns in which they differ."""
    return data if getattr(statistic, "by_row", False) else data.distinct()


def _unit_rows(data: Counted, distinct: Counted, statistic: Any) -> Any:
    if statistic is not Sequence:
        return statistic.rows(distinct)
    statistic.of(data)  # raises where the order is not known
    return Sequence.of_units(distinct)
