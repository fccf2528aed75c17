"""How a replicate is drawn from the data: one frozen class for each scheme, named as in ``jr.bootstrap(scheme=...)``.

A scheme draws one object per replicate, an array of indices (of weights for the Bayesian bootstrap), and says what it
means in the three forms that statistics can read:

* ``weights(draw)``: how often each trial and question counts, for ``S.reduce``;
* ``gather(draw, outcomes)``: the drawn outcomes in the drawn order, for `Sequence` and for schemes that weights
  cannot express;
* both for the ``first`` n drawn trials only, where the scheme draws trials one after the other;
* ``members(draw)``: which models take part, None for all of them.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxrank.data.kind import Data
from jaxrank.data.weights import Weights
from jaxrank.errors import OptionError
from jaxrank.models.options import check_count
from jaxrank.resampling import draws

Shape = tuple[int, int, int]


class Sample(NamedTuple):
    """A sample whose units are drawn again with replacement. Of n units the mean of a draw has (n - 1)/n of the
    variance that the mean of the sample has, estimated without bias from ``degrees`` of freedom.

    **shrink**: that share, in [0, 1); 0 where nothing can be learnt from one unit.
    """

    shrink: float
    degrees: float


def drawn(n: float, groups: float = 1) -> Sample:
    """n units of each of several groups that are drawn apart."""
    return Sample((n - 1) / n, groups * (n - 1))


@dataclass(frozen=True)
class Scheme(abc.ABC):
    """A way to draw replicates of R (models, questions, trials). ``shape`` below is that of R.

    **weighted**: weights express the replicate; else every statistic is made from the gathered outcomes.
    **ordered**: the drawn outcomes have an order, so that methods which read a sequence have one.
    **fractional**: weights are not whole numbers.
    **prefixes**: its first n trials are a replicate with n trials (convergence studies).
    **keeps_questions**: question m of a replicate is question m of the data, so that priors by question stay in place.
    **unit**: what is drawn, a word for `Interval.unit`.
    **shares_trials**: all models and questions have the same draw of trials.
    """

    name: ClassVar[str]
    unit: ClassVar[str] = "trials"
    weighted: ClassVar[bool] = True
    ordered: ClassVar[bool] = True
    fractional: ClassVar[bool] = False
    prefixes: ClassVar[bool] = False
    keeps_questions: ClassVar[bool] = True
    shares_trials: ClassVar[bool] = False

    @abc.abstractmethod
    def draw(self, key: Array, replicate: Any, shape: Shape, dtype: Any) -> Array:
        """The random object of one replicate, from its own key; only schemes that enumerate read its number."""

    def weights(self, draw: Array, shape: Shape, dtype: Any, first: Any = None) -> Weights:
        raise NotImplementedError(f"{self.name} draws cells, which weights do not express")

    def gather(self, draw: Array, outcomes: Array) -> Array:
        raise NotImplementedError(f"{self.name} draws weights, not outcomes")

    def members(self, draw: Array) -> Array | None:
        return None

    def order(self, draw: Array) -> Array | None:
        """Which question of the data stands in each place of the gathered outcomes; None where each is its own."""
        return None

    def bound(self, data: Data) -> Scheme:
        """The scheme for these data, where it must know more of them than their shape."""
        return self

    def sample(self, shape: Shape) -> Sample | None:
        """The sample that it draws again; None where it draws none, so that replicates tell no standard error."""
        return None

    def check(self, shape: Shape) -> None:
        """Raise `OptionError` where the scheme does not fit the data; most fit any."""
        return

    def exhaustive(self, shape: Shape) -> int | None:
        """The number of replicates where the scheme enumerates all of them, else None."""
        return None

    def __str__(self) -> str:
        fields = ", ".join(f"{k}={v!r}" for k, v in vars(self).items())
        return f"{self.name}({fields})" if fields else self.name


@dataclass(frozen=True)
class Trials(Scheme):
    """Trial indices with replacement, N of N, the same for all questions and models (column-wise bootstrap).

    Unequal trials: a cell is redrawn from its own trials, as many as it has, by the shared index where it has that
    trial; cells with the same trials stay aligned (see `jaxrank.resampling.uneven`).
    """

    name = "trials"
    shares_trials = True
    prefixes = True

    def sample(self, shape):
        return drawn(shape[2])

    def draw(self, key, replicate, shape, dtype):
        return draws.integers(key, (shape[2],), shape[2])

    def weights(self, draw, shape, dtype, first=None):
        return Weights(trials=draws.counts_of(draw, shape[2], dtype, first))

    def gather(self, draw, outcomes):
        return outcomes[:, :, draw]


@dataclass(frozen=True)
class TrialsPerQuestion(Scheme):
    """Trial indices with replacement, drawn anew for each question, the same for all models (row-wise bootstrap).

    Unequal trials: as `Trials`, question by question; models with the same trials of a question stay aligned.
    """

    name = "trials_per_question"
    prefixes = True

    def sample(self, shape):
        return drawn(shape[2], shape[1])

    def draw(self, key, replicate, shape, dtype):
        return draws.integers(key, shape[1:], shape[2])

    def weights(self, draw, shape, dtype, first=None):
        return Weights(trials=jax.vmap(lambda i: draws.counts_of(i, shape[2], dtype, first))(draw))

    def gather(self, draw, outcomes):
        return jnp.take_along_axis(outcomes, draw[None], axis=2)


@dataclass(frozen=True)
class Independent(Scheme):
    """Trial indices with replacement, drawn anew for each model and question: models share nothing.

    Unequal trials: every cell draws as many as it has, from its own. Of all schemes this one needs no assumption on
    which trials belong together.
    """

    name = "independent"
    weighted = False
    prefixes = True

    def sample(self, shape):
        return drawn(shape[2], shape[1])

    def draw(self, key, replicate, shape, dtype):
        return draws.integers(key, shape, shape[2])

    def gather(self, draw, outcomes):
        return jnp.take_along_axis(outcomes, draw, axis=2)


@dataclass(frozen=True)
class Questions(Scheme):
    """Questions with replacement, M of M, each with all its trials (cluster bootstrap).

    Unequal trials: a question comes with the cells as they are, missing ones included, since what was missed is part of
    the cluster; a model is left without data where none of its questions is drawn.
    """

    name = "questions"
    unit = "questions"

    def sample(self, shape):
        return drawn(shape[1])

    def draw(self, key, replicate, shape, dtype):
        return draws.integers(key, (shape[1],), shape[1])

    def weights(self, draw, shape, dtype, first=None):
        return Weights(questions=draws.counts_of(draw, shape[1], dtype))

    def gather(self, draw, outcomes):
        return outcomes[:, draw, :]

    def order(self, draw):
        return draw


@dataclass(frozen=True)
class QuestionsAndTrials(Scheme):
    """Questions with replacement, then for every drawn question its trials with replacement (two-stage bootstrap).

    A question that was drawn twice gets two draws of its trials. Unequal trials: as `Questions`, then as
    `TrialsPerQuestion` inside the cells of every drawn question.
    """

    name = "questions_and_trials"
    unit = "questions and trials"
    weighted = False
    keeps_questions = False

    def sample(self, shape):
        return drawn(shape[1])

    def draw(self, key, replicate, shape, dtype):
        which, inside = jax.random.split(key)
        q = draws.integers(which, (shape[1], 1), shape[1])
        return jnp.concatenate([q, draws.integers(inside, shape[1:], shape[2])], axis=1)  # (M, 1 + N)

    def gather(self, draw, outcomes):
        return jnp.take_along_axis(outcomes[:, draw[:, 0], :], draw[None, :, 1:], axis=2)

    def order(self, draw):
        return draw[:, 0]


@dataclass(frozen=True)
class Bayesian(Scheme):
    """Dirichlet(1, ..., 1) weights on the trials, or on the questions (Bayesian bootstrap).

    Unequal trials: the weights of a cell's own trials, in proportion, are Dirichlet(1, ..., 1) again; they are scaled
    to sum to the number of its trials. Comparisons of a trial keep its weight as it is.
    """

    name = "bayesian"
    ordered = False
    fractional = True
    unit: Literal["trials", "questions"] = "trials"

    def __post_init__(self):
        if self.unit not in ("trials", "questions"):
            raise OptionError(f'bayesian(unit={self.unit!r}): unit must be "trials" or "questions"')

    def sample(self, shape):
        n = shape[2] if self.unit == "trials" else shape[1]
        return Sample((n - 1) / (n + 1), n - 1)  # a Dirichlet weight varies by n / (n + 1) of a multinomial one

    def draw(self, key, replicate, shape, dtype):
        return draws.dirichlet_weights(key, shape[2] if self.unit == "trials" else shape[1], dtype)

    def weights(self, draw, shape, dtype, first=None):
        return Weights(trials=draw) if self.unit == "trials" else Weights(questions=draw)


@dataclass(frozen=True)
class Subsample(Scheme):
    """``n`` of the N trials without replacement, the same for all questions and models.

    n = 1 enumerates: replicate b is trial b, N replicates in all (the published low-budget protocol). Unequal trials:
    one random order of the trials is drawn for all, and a cell takes the first n that it has (all, where it has no more
    than n), so that n = 1 is drawn at random too.
    """

    name = "subsample"
    prefixes = True
    n: int = 1

    def __post_init__(self):
        check_count("subsample(n)", self.n)

    def check(self, shape):
        if not 1 <= self.n <= shape[2]:
            raise OptionError(f"subsample(n={self.n}): n must be between 1 and the number of trials, {shape[2]}")

    def exhaustive(self, shape):
        return shape[2] if self.n == 1 else None

    def draw(self, key, replicate, shape, dtype):
        if self.n == 1:
            return jnp.reshape(replicate % shape[2], 1).astype(jnp.int32)
        return draws.without_replacement(key, self.n, shape[2])

    def weights(self, draw, shape, dtype, first=None):
        return Weights(trials=draws.counts_of(draw, shape[2], dtype, first))

    def gather(self, draw, outcomes):
        return outcomes[:, :, draw]


@dataclass(frozen=True)
class Models(Scheme):
    """Pools of ``size`` models drawn without replacement, each with all the data of its models, as they are."""

    name = "models"
    unit = "models"
    size: int = 2

    def __post_init__(self):
        check_count("size", self.size, 2)

    def check(self, shape):
        if not 2 <= self.size <= shape[0]:
            raise OptionError(f"models(size={self.size}): size must be between 2 and the number of models, {shape[0]}")

    def draw(self, key, replicate, shape, dtype):
        return jnp.sort(draws.without_replacement(key, self.size, shape[0]))

    def weights(self, draw, shape, dtype, first=None):
        return Weights(questions=jnp.ones(shape[1], dtype))

    def gather(self, draw, outcomes):
        return outcomes

    def members(self, draw):
        return draw


SCHEMES: dict[str, Callable[..., Scheme]] = {
    c.name: c
    for c in (Trials, TrialsPerQuestion, Independent, Questions, QuestionsAndTrials, Bayesian, Subsample, Models)
}


def as_scheme(scheme: str | Scheme) -> Scheme:
    """A scheme from its name ("trials", "subsample(n=10)", "models(5)") or a scheme."""
    if isinstance(scheme, Scheme):
        return scheme
    if not isinstance(scheme, str):
        raise OptionError(f"scheme must be a name or a Scheme, not {type(scheme).__name__}")
    name, _, rest = scheme.partition("(")
    if name not in SCHEMES:
        raise OptionError(f"scheme={scheme!r} is unknown; the schemes are: {', '.join(SCHEMES)}")
    if not re.fullmatch(r"\w+(\([^()]*\))?", scheme.strip()):
        raise OptionError(f"scheme={scheme!r} has a bracket that does not close; write for example subsample(10)")
    given = [v.strip().rpartition("=") for v in rest.rstrip(")").split(",") if v.strip()]
    values = [v.strip(" \"'") for _, _, v in given]
    numbers = [int(v) if re.fullmatch(r"-?\d{1,18}", v) else v for v in values]
    named = {key.strip(): v for (key, _, _), v in zip(given, numbers, strict=True) if key}
    try:
        return SCHEMES[name](*(v for (key, _, _), v in zip(given, numbers, strict=True) if not key), **named)
    except TypeError:
        raise OptionError(
            f"scheme={scheme!r} does not fit {name}: write for example subsample(10) or models(5)"
        ) from None
