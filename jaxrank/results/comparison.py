"""``Comparison``: is one model better than another, by how much, and what would settle it where nobody can tell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrank.errors import OptionError
from jaxrank.evaluation import paired_tests
from jaxrank.models.options import check_choice, check_count, check_number
from jaxrank.numerics.interval import Interval, check_level, difference_words, normal_quantile, percent
from jaxrank.numerics.paired import Paired, Student
from jaxrank.results.returned import Returned, Row, named, row_of, rows_of

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = ("better", "worse", "equivalent", "not worse", "undecided")
TESTS = ("t", "sign_flip", "sign_flip_mid", "mcnemar", "wilcoxon")
FEW, FEWEST = 10, 6
"""Clusters below which a note says that the interval is a rough one, and below which sign flips can never decide."""


@dataclass(frozen=True)
class Evidence:
    """What a verdict follows from, or arrays of it. p-values of these hypotheses: **p**, that the models are equal
    (two-sided); **p_small**, that they differ by the margin or more; **p_worse**, that the new one is worse by the
    margin or more.  **sign**: of the difference."""

    sign: Any
    p: Any
    p_small: Any
    p_worse: Any

    def statements(self, alpha: float) -> dict[str, Any]:
        """Which statements hold at error probability ``alpha``, the strongest first."""
        better = (self.p <= alpha) & (np.asarray(self.sign) > 0)
        small = np.asarray(self.p_small) <= alpha
        return {
            "better": better,
            "worse": (self.p <= alpha) & (np.asarray(self.sign) < 0),
            "equivalent": small,
            "not worse": better | small | (np.asarray(self.p_worse) <= alpha / 2),
        }

    def holding(self, alpha: float) -> tuple[str, ...]:
        """The names of those that hold."""
        return tuple(name for name, holds in self.statements(alpha).items() if holds)


def evidence_of(paired: Paired, unit: str, margin: Any, p: Any) -> Evidence:
    """The p-values of a comparison; ``p`` is that of the test of equality beside Student's t, which must agree."""
    plain, small = paired.student(unit), paired.cautious(unit)
    alone = paired.constant if unit == "questions" else False  # there is no t
    both = np.where(alone, p, np.maximum(plain.p, p))[()]
    p_small = np.maximum(small.above(-np.asarray(margin)), small.below(margin))
    none = ~(np.asarray(margin) > 0)
    return Evidence(plain.value, both, *(np.where(none, np.nan, q)[()] for q in (p_small, small.above(-margin))))


def default_test(paired: Paired, unit: str) -> str:
    """The test by default: the mid-p of all sign flips where they can decide and be counted (twenty clusters or fewer
    differ, or all that do by one amount: then it is McNemar's); else t."""
    counted = (paired.n_differing <= paired_tests.EXACT_FLIPS) | paired.one_size
    flips = paired.n_clusters >= FEWEST and counted
    return "sign_flip_mid" if unit == "questions" and flips else "t"


def p_of(paired: Paired, unit: str, test: str, means: Any = None, seed: int = 0) -> float:
    """Two-sided p-value of one of `TESTS`; ``means`` (2, M) for McNemar's."""
    if test in ("sign_flip", "sign_flip_mid"):
        return paired_tests.sign_flip(paired.totals, mid=test == "sign_flip_mid", seed=seed)
    if test == "wilcoxon":
        return paired_tests.signed_rank(paired.totals / paired.sizes)
    if test == "mcnemar":
        return paired_tests.mcnemar(*paired_tests.discordant(means))
    return float(paired.student(unit).p)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Returned):
    """Two models on the questions that both have. The table has one row, ``[new]``; `flips` has the questions.

    **new**, **old**: names.  **questions**: the M that both have; **left_out**: the others.  **means**: (2, M), mean
    score of each, higher is better.  **paired**: their differences with weights and clusters.  **unit**: "questions"
    (about such questions) or "trials" (about these very ones).  **cluster**: what stands or falls together.
    **margin**: differences of less do not matter.  **level**: of the interval.  **test**, **p**: two-sided p-value.
    **kind**: what the scores are.  **notes**: what a reader should know, first the **data_notes**.
    """

    new: str
    old: str
    questions: tuple[str, ...]
    left_out: tuple[str, ...]
    means: np.ndarray
    paired: Paired
    unit: str
    cluster: str
    margin: float
    level: float
    test: str
    p: float
    kind: str
    data_notes: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def models(self) -> tuple[str, str]:
        return (self.new, self.old)

    @property
    def difference(self) -> float:
        """Weighted mean over questions of new - old."""
        return float(self.paired.mean)

    @property
    def scores(self) -> np.ndarray:
        """Weighted mean of either on the common questions, (2,)."""
        return self.means @ self.paired.weights / self.paired.weights.sum()

    @property
    def ranks(self) -> np.ndarray:
        """int (2,): 1 for the higher score, both where they are equal."""
        return np.array([1, 1]) + np.array([self.difference < 0, self.difference > 0])

    @property
    def _student(self) -> Student:
        return self.paired.student(self.unit)

    @property
    def se(self) -> float:
        """Standard error of the difference; NaN where the clusters all differ by the same, which tells no error."""
        return float(self._student.se)

    @property
    def df(self) -> float:
        return float(self._student.df)

    @property
    def n_clusters(self) -> int:
        return self.paired.n_clusters

    def interval(self, level: float | None = None) -> Interval:
        """Interval of the difference, arrays of no axis; at its own level where none is given. NaN without an error."""
        level = check_level(self.level if level is None else level)
        reach = self._student.reach(level)
        ends = np.asarray(self.difference - reach), np.asarray(self.difference + reach)
        how = "Student's t by cluster" if self.cluster != "question" else "Student's t by question"
        kind = "Welch's t of the trials" if self.unit == "trials" else how
        return Interval(*ends, level, kind, self.unit)

    @cached_property
    def evidence(self) -> Evidence:
        """The p-values that the verdict follows from."""
        return evidence_of(self.paired, self.unit, self.margin, self.p)

    @property
    def verdict(self) -> str:
        """ "better": the interval of new - old lies above 0 and the test agrees. "worse": below. "equivalent": the
        difference is smaller than the margin, at error probability 1 - level. "not worse": it is above minus the
        margin. "undecided": none of these. Statements about the margin rest on an interval with two more clusters of
        either sign (`jaxrank.numerics.paired.Paired.cautious`)."""
        return next(iter(self.evidence.holding(1 - self.level)), "undecided")

    def holds(self, verdict: str) -> bool:
        """Whether a statement of `VERDICTS` holds; several may, of which `verdict` is the strongest."""
        check_choice("verdict", verdict, VERDICTS)
        held = self.evidence.holding(1 - self.level)
        return verdict in held if verdict != "undecided" else not held

    @property
    def sentence(self) -> str:
        """The verdict for a person."""
        low, high = self.interval()
        size = f"{difference_words(self.difference, float(low), float(high))} on {len(self.questions)} questions"
        about = "such questions" if self.unit == "questions" else "these very questions"
        said = {
            "better": f"{self.new} is better than {self.old}",
            "worse": f"{self.new} is worse than {self.old}",
            "equivalent": f"{self.new} and {self.old} differ by less than {self.margin:g}",
            "not worse": f"{self.new} is not worse than {self.old} by {self.margin:g} or more",
            "undecided": f"nobody can tell {self.new} and {self.old} apart from these results",
        }[self.verdict]
        more = f"; {self._remedy}" if self.verdict == "undecided" and self._remedy else ""
        return f"{said}: {size} ({percent(self.level)}, about {about}){more}"

    @property
    def _remedy(self) -> str:
        gap = self.margin or abs(self.difference)
        if not gap > 0 or not np.isfinite(self.se):
            return ""
        questions = self.questions_needed(gap)
        told = f"{questions:,} questions" if math.isfinite(questions) else "no number of questions"
        return f"a difference of {gap:.3g} would take about {told} to be found with 80 % probability"

    def minimum_detectable(self, power: float = 0.8) -> float:
        """The smallest true difference that this design finds with probability ``power``: (t + t_power) SE."""
        from scipy.special import stdtrit

        check_number("power", power, above=0, below=1)
        return float((stdtrit(self.df, 0.5 + self.level / 2) + stdtrit(self.df, power)) * self.se)

    def questions_needed(self, difference: float | None = None, power: float = 0.8) -> float:
        """Questions of as many trials that find a true ``difference`` (by default the observed one) with probability
        ``power``; infinite for 0. Normal quantiles; clusters stay as large as they are."""
        per_question = self.paired.variance_between
        tolerated = self._tolerated(difference, power)
        return _ceiled(per_question / tolerated) if tolerated > 0 else np.inf

    def trials_needed(self, difference: float | None = None, power: float = 0.8) -> float:
        """Trials of every cell of these questions that find a true ``difference`` with probability ``power``, about
        such questions; infinite where no number of trials does, for the questions alone vary too much. NaN where no
        cell has two trials, which tell how much trials vary."""
        one, now = self.paired.variance_of_one_trial, self.paired.variance_of_trials
        if np.isnan(one):
            return np.nan
        between = 0.0 if self.unit == "trials" else max(0.0, self.paired.variance_between - now)
        room = self._tolerated(difference, power) * len(self.questions) - between
        return _ceiled(one / room) if room > 0 else np.inf

    def _tolerated(self, difference: float | None, power: float) -> float:
        """Variance of the mean at which a difference is found."""
        gap = self.difference if difference is None else difference
        check_number("difference", gap)
        check_number("power", power, above=(1 - self.level) / 2, below=1)
        z = normal_quantile(self.level) + NormalDist().inv_cdf(float(power))
        return (float(gap) / z) ** 2

    @property
    def shares(self) -> dict[str, float]:
        """Of the variance of a difference on one question: "questions", that between questions, and "trials", chance of
        the trials; NaN with a single trial."""
        whole, trials = self.paired.variance_between, self.paired.variance_of_trials
        between = max(0.0, whole - trials)
        total = between + trials
        share = between / total if total > 0 else np.nan
        return {"questions": share, "trials": 1 - share}

    @property
    def planning(self) -> str:
        """In words, what twice the trials or twice the questions would do to the interval."""
        if not np.isfinite(self.se):
            return "the differences are all the same, which does not tell how wide the interval of more would be"
        questions = 100 * (1 - 0.5**0.5)
        share = self.shares["trials"]
        if np.isnan(share):
            return f"twice the questions would narrow the interval by {questions:.0f} %; one trial does not tell more"
        trials = questions if self.unit == "trials" else 100 * (1 - (1 - share / 2) ** 0.5)
        if self.unit == "trials":
            return f"twice the trials would narrow the interval by {trials:.0f} %"
        return f"twice the trials would narrow the interval by {trials:.0f} %, twice the questions by {questions:.0f} %"

    def flips(self, top: int | None = 10) -> pd.DataFrame:
        """The questions on which the two differ most: question, new, old, difference, weight; all for ``top=None``."""
        import pandas as pd

        if top is not None:
            check_count("top", top)
        d = self.paired.differences
        order = np.argsort(-np.abs(d * self.paired.weights), kind="stable")
        order = order[d[order] != 0][:top] if top is not None else order
        return pd.DataFrame(
            {
                "question": [self.questions[m] for m in order],
                "new": self.means[0, order],
                "old": self.means[1, order],
                "difference": d[order],
                "weight": self.paired.weights[order],
            }
        )

    def to_frame(self) -> pd.DataFrame:
        """One row: new, old, verdict, difference, lower, upper, se, df, p, test, scores, questions, clusters."""
        import pandas as pd

        low, high = self.interval()
        row = {
            "new": self.new,
            "old": self.old,
            "verdict": self.verdict,
            "difference": self.difference,
            "lower": float(low),
            "upper": float(high),
            "p": self.p,
            "test": self.test,
            "new_score": float(self.scores[0]),
            "old_score": float(self.scores[1]),
            "se": self.se,
            "df": self.df,
            "questions": len(self.questions),
            "clusters": self.n_clusters,
        }
        return pd.DataFrame([row])

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Row]:
        return rows_of(self.to_frame())

    def __getitem__(self, model: str) -> Row:
        return row_of(self.to_frame(), named((self.new,), model, "new model"))

    def __contains__(self, model: object) -> bool:
        return model == self.new

    def _foot(self) -> list[str]:
        said = [self.sentence, f"interval: {self.interval().words}"]
        if np.isfinite(self.se):
            said.append(f"smallest difference found with 80 % probability: {self.minimum_detectable():.3g}")
        return [*said, self.planning, *(f"note: {note}" for note in self.notes)]

    def _record(self) -> dict[str, Any]:
        names = ("new", "old", "unit", "cluster", "margin", "level", "test")
        return {name: getattr(self, name) for name in names} | {"notes": list(self.notes)}

    def __repr__(self) -> str:
        return f"Comparison({self.new} - {self.old}: {self.difference:+.4g}, {self.verdict})"


def _ceiled(number: float) -> float:
    """A number of questions or trials: whole where it is finite."""
    return math.ceil(number) if math.isfinite(number) else math.inf


def check_margin(margin: Any) -> float:
    """The margin as a number; `OptionError` unless it is 0 or more."""
    check_number("margin", margin, 0)
    if np.ndim(margin):
        raise OptionError("margin must be one number")
    return float(margin)
