"""``Ranker``: a method as a pure function from a statistic to a `Fit`; ``Entry``: its line in the catalogue."""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.data.moments import Moments
from jaxrank.data.names import name_list
from jaxrank.errors import OptionError
from jaxrank.models.fit import Fit
from jaxrank.models.options import check_fields

OWN_QUESTIONS = "means are over the questions that each model has, which may differ in difficulty"


class Ranker(eqx.Module):
    """A ranking method. Subclasses are final: a method is implemented once and never overridden.

    **statistic**: the class of the statistic it reads (`Counts`, `Ballots`, `Pairs`, `Events`, `Sequence` or `Orders`).
    **host**: True where it runs on the host, one statistic at a time, and cannot be traced.
    **binary**: True where it is defined for outcomes 0 and 1 only.
    **fractional**: True where fractional (Dirichlet) weights make sense.
    **stochastic**: True where it draws random numbers and needs ``key``.
    **kinds**: the kinds of data it reads, where these are fewer than its statistic can be made from.
    **double**: True where float32 leaves too few digits of a score to tell ordinary models apart, so that a single fit
    runs in float64 on a CPU.
    **reads_moments**: True where it reads `Moments` as it reads `Counts`, so that the scores may be real numbers.
    **gaps**: what questions without results do to a model's score, half a sentence for notes.
    **adds_scores**: True where it adds up scores of different questions as they are, so that their scales matter.
    **column**: what a score is called in tables. Where that is not "score", people know the method by a number that is
    better when it is lower (a mean rank): tables and plots show that number, which is minus the score.

    Options are fields made by `jaxrank.models.options`: numbers are arrays, which a sweep does not compile again;
    words, counts and flags are static. What a field may hold is checked when a ranker is made (`OptionError`).
    """

    statistic: ClassVar[type]
    host: ClassVar[bool] = False
    binary: ClassVar[bool] = False
    fractional: ClassVar[bool] = True
    stochastic: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...] | None] = None
    double: ClassVar[bool] = False
    reads_moments: ClassVar[bool] = False
    gaps: ClassVar[str] = "each model is ranked by the questions that it has"
    adds_scores: ClassVar[bool] = False
    column: ClassVar[str] = "score"

    def __check_init__(self) -> None:
        check_fields(self)

    @abc.abstractmethod
    def __call__(self, stat: Any, *, key: Any = None) -> Fit:
        """Fit one statistic. Pure: no Python branching on values, no exceptions for data; failures are statuses."""


class Reads(eqx.Module):
    """Mixin of rankers whose options say which columns of the data are read.

    **reader**: what makes their statistic then, with ``of``, ``rows`` and ``reduce`` as a statistic has them; None
    where the ranker reads no more than its statistic.
    """

    @property
    @abc.abstractmethod
    def reader(self) -> Any:
        """An object with the methods of a statistic, or None."""


class HasCoefficients(Reads):
    """Mixin of rankers in which covariates shift the log-strengths.

    **design**: which covariates; without names there are none.
    """

    @property
    @abc.abstractmethod
    def design(self) -> Any:
        """A `jaxrank.data.covariates.Design`."""

    @abc.abstractmethod
    def parameter_covariance(self, stat: Any, fit: Fit) -> Float[Array, "n n"]:
        """Covariance of strengths, coefficients and what the likelihood has behind them, at a fit with covariates."""


def statistic_of(ranker: Ranker, data: Any) -> Any:
    """The statistic that a ranker reads from these data: counts of categories, where the scores are real numbers and it
    reads them, are moments."""
    if isinstance(ranker, Reads) and ranker.reader is not None:
        return ranker.reader
    return Moments if data.kind == "real" and ranker.reads_moments else ranker.statistic


Method: TypeAlias = str | Ranker
"""An identifier of the catalogue, or a ranker."""

Methods: TypeAlias = Method | Sequence[Method] | Mapping[str, Method]
"""One method or several, under their own names or under labels."""


class HasStandardErrors(eqx.Module):
    """Mixin of rankers whose scores have an analytic sampling or posterior standard deviation.

    **credible**: True where it is a posterior's, which stands as the published interval of a score; else questions
    tell the errors wherever they can.  **independent**: True where it counts every result as independent of all
    others, which trials of one question and pairs of one list are not.
    """

    credible: ClassVar[bool] = False
    independent: ClassVar[bool] = False

    @abc.abstractmethod
    def standard_errors(self, stat: Any, fit: Fit) -> Float[Array, " models"]:
        """Standard deviation of each score at a fit; NaN where it has none."""

    def degrees(self, fit: Fit) -> float:
        """Degrees of freedom of the variance behind these errors; infinite where none is estimated beside the
        scores."""
        return math.inf


class HasCovariance(HasStandardErrors):
    """Mixin of rankers whose scores have an analytic covariance: differences of dependent scores need it."""

    @abc.abstractmethod
    def covariance(self, stat: Any, fit: Fit) -> Float[Array, "models models"]:
        """Covariance of the scores at a fit; NaN where nothing is known."""

    def standard_errors(self, stat: Any, fit: Fit) -> Float[Array, " models"]:
        return jnp.sqrt(jnp.diagonal(self.covariance(stat, fit)))


class StartsNear(eqx.Module):
    """Mixin of rankers whose solver can begin at the fit of similar data: replicates then take fewer steps."""

    @abc.abstractmethod
    def near(self, stat: Any, fit: Fit) -> Ranker:
        """A copy that begins at ``fit``, or this ranker where that is no help. Only the steps differ: where a replicate
        lies too far away the solver begins as without."""


class HasInterval(eqx.Module):
    """Mixin of rankers whose score has an interval of its own, which is no normal one."""

    @abc.abstractmethod
    def interval(self, stat: Any, fit: Fit, level: float, unit: str) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the interval of each score, (L,) each, NumPy, for the ``unit`` "questions" or "trials" drawn
        again."""


class Bounded(eqx.Module):
    """Mixin of rankers whose scores lie on a scale with two ends, which their intervals do not leave."""

    @abc.abstractmethod
    def bounds(self, stat: Any) -> tuple[Any, Any]:
        """The lowest and the highest score that there is."""


class MeanOfCells(eqx.Module):
    """Mixin of rankers whose score is the mean over questions of one function of a cell's counts, the same for every
    model and question. Studies work the function out once for every possible cell and look it up in replicates and
    prefixes."""

    @property
    @abc.abstractmethod
    def of_cells(self) -> bool:
        """Whether it is such a mean under its options."""

    def cell_weights(self, stat: Any) -> Array | None:
        """Weight of each cell in the mean over questions, (L, M); None where every observed question weighs the
        same."""
        return None

    @abc.abstractmethod
    def values(self, levels: np.ndarray) -> np.ndarray | None:
        """Value of each category, (C+1,), where the function of a cell is a rising straight line in the mean value of
        its trials; None where it is another function. ``levels`` (C+1,): the categories on the user's scale."""


class MeanOfQuestions(eqx.Module):
    """Mixin of rankers whose score is the mean over questions of values that each question gives by itself, the other
    models' results on it included: their errors by question follow from the spread of these."""

    @abc.abstractmethod
    def question_values(self, stat: Any) -> Float[Array, "models questions"]:
        """The score that each question alone gives; of no meaning where the weight is 0."""

    def question_weights(self, stat: Any) -> Float[Array, "models questions"]:
        """Weight of each question in the score of each model; 0 where the model has no results on it."""
        return stat.observed


class Settles(eqx.Module):
    """Mixin of rankers that can decide on the host, for a single fit, what a batch leaves open."""

    @abc.abstractmethod
    def settle(self, stat: Any, fit: Fit) -> Fit:
        """The fit with the status that a slower, exact test gives."""


class NeedsPrior(eqx.Module):
    """Mixin of rankers that read earlier outcomes R0 as a prior."""

    @abc.abstractmethod
    def with_prior(self, R0: Any, data: Any) -> Ranker:
        """A copy that holds the prior made from R0, ints (M, D) shared by the models or (L, M, D), checked against
        data."""


class LeavesUnread(eqx.Module):
    """Mixin of rankers that may leave a part of the data unread, ties above all."""

    @abc.abstractmethod
    def unread(self, stat: Any) -> str:
        """How much of a statistic was not read, and which option or method reads it; an empty string for none."""

    def unread_of(self, stat: Any, data: Any) -> str:
        """The same in the words of the data that the statistic is of."""
        return self.unread(stat)


def unread_ties(n_ties: float, n_all: float, remedy: str) -> str:
    """The sentence about ties that a method does not read; empty where there are none."""
    return f"{n_ties:,.10g} of {n_all:,.10g} comparisons are ties and were not read; {remedy}" if n_ties > 0 else ""


class ByModel(eqx.Module):
    """Mixin of rankers with options that may have a value for each model: one number, an array (L,), or a mapping from
    names of models, which leaves the default to those that it does not name."""

    @property
    @abc.abstractmethod
    def by_model(self) -> tuple[str, ...]:
        """The names of these options."""

    def for_models(self, models: Sequence[str]) -> Ranker:
        """A copy whose mappings are arrays in the order of ``models``; `OptionError` for a wrong length or name."""
        made = {name: _of_models(self, name, models) for name in self.by_model}
        return dataclasses.replace(self, **made)  # type: ignore[return-value]


class ByQuestion(eqx.Module):
    """Mixin of rankers with options that may have a value for each question: one number, an array (M,), or the name of
    a column of the question table; all on the user's scale. "worst" and "best" are words of the method."""

    @property
    @abc.abstractmethod
    def by_question(self) -> tuple[str, ...]:
        """The names of these options."""

    def for_questions(self, data: Any) -> Ranker:
        """A copy whose columns and numbers are arrays (M,), turned as the scores are; `OptionError` for a column that
        is not there or holds no numbers, and for another length."""
        made = {name: _of_questions(name, getattr(self, name), data) for name in self.by_question}
        return dataclasses.replace(self, **made)  # type: ignore[return-value]

    @property
    def fixed_questions(self) -> bool:
        """Whether an option has a value for each question, which then must keep their places."""
        return any(np.ndim(getattr(self, name)) == 1 for name in self.by_question)


def _of_questions(name: str, value: Any, data: Any) -> Any:
    if isinstance(value, str):
        if value in ("worst", "best"):
            return value
        column = data.question_columns.get(value)
        if column is None or column.dtype.kind not in "fb" or not np.all(np.isfinite(column)):
            what = "no such column" if column is None else "no number for each question there"
            have = ", ".join(map(repr, data.question_columns)) or "none"
            raise OptionError(f"{name}={value!r}: there is {what}; the columns of the questions are {have}")
        value = column.astype(float)
    if np.ndim(value) == 1 and len(value) != len(data.questions):
        raise OptionError(f"{name} has {len(value)} values for {len(data.questions)} questions; give one for each")
    sign = np.where(data.higher_is_better, 1.0, -1.0)
    return value if np.ndim(value) == 0 and np.all(sign > 0) else np.asarray(value, float) * sign


def _of_models(ranker: Any, name: str, models: Sequence[str]) -> Any:
    value = getattr(ranker, name)
    if isinstance(value, Mapping):
        unknown = [m for m in value if m not in models]
        if unknown:
            raise OptionError(
                f"{name} names {name_list(unknown, range(len(unknown)))}, which the data do not have; "
                f"the models are {name_list(models, range(len(models)))}"
            )
        default = next(f.default for f in dataclasses.fields(ranker) if f.name == name)
        return [value.get(m, default) for m in models]
    if np.ndim(value) == 1 and np.shape(value)[0] != len(models):
        raise OptionError(f"{name} has {np.shape(value)[0]} values for {len(models)} models; give one for each, or one")
    return value


def options_by_model(ranker: Any) -> list[str]:
    """Options of a ranker, or of its prior, that have one value for each model, so that they fit no other models."""
    named = {name: getattr(ranker, name) for name in (ranker.by_model if isinstance(ranker, ByModel) else ())}
    prior = getattr(ranker, "prior", None)
    if dataclasses.is_dataclass(prior):
        named |= {f"prior.{name}": value for name, value in vars(prior).items()}
    return [name for name, value in named.items() if np.ndim(value) == 1 and np.shape(value)[0] > 1]


class ChecksData(eqx.Module):
    """Mixin of rankers that can tell from the data and their options that they would be undefined or misleading."""

    @abc.abstractmethod
    def check(self, data: Any) -> None:
        """Raise a `JaxrankError` naming the option, the value and the remedy, or warn; called before a run, on the
        host."""


class Explains(eqx.Module):
    """Mixin of rankers that can name the models or questions behind a failure."""

    @abc.abstractmethod
    def explain(self, stat: Any, fit: Fit, models: Sequence[str], questions: Sequence[str]) -> str:
        """Who is to blame for the status of a fit, and the remedy; an empty string where there is nothing to add."""


@dataclass(frozen=True)
class Entry:
    """One identifier of the catalogue.

    **name**: the identifier.  **make**: the ranker class, or a function without arguments that makes the ranker.
    **options**: fields set in this entry.  **source**: a key of ``references.bib``.
    **published**: True for identifiers of the 72 configurations of the source papers.
    **exempt**: conformance checks that the method is excused from, each with the reason.
    """

    name: str
    make: Callable[..., Ranker]
    source: str
    options: Mapping[str, Any] = field(default_factory=dict)
    published: bool = False
    exempt: Mapping[str, str] = field(default_factory=dict)

    def ranker(self, **options: Any) -> Ranker:
        return self.make(**{**self.options, **options})

    @property
    def family(self) -> str:
        return self.make.__module__.rsplit(".", 1)[-1]

    @property
    def summary(self) -> str:
        """First line of the method's docstring."""
        return (self.make.__doc__ or "").strip().split("\n")[0]
