"""``Answers``: what N completions of a question answered, and what a rule makes of them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxrank.data.kind import frozen
from jaxrank.data.labels import Normalizer, as_labels, coded
from jaxrank.data.names import check_names, name_list
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError, OptionError
from jaxrank.evaluation.answers.curves import AnswerCurves, curves_of
from jaxrank.evaluation.answers.rules import Rule, rule_of
from jaxrank.evaluation.answers.stops import Stop, Stopped, replay, stop_of
from jaxrank.evaluation.answers.tally import TIES, chosen, credit, totals_of
from jaxrank.models.options import check_choice, check_count


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Answers:
    """The answers of L models to M questions in N completions each, with a score of every completion if there is one.

    ``Answers(labels, scores, truth)``: **labels** (L, M, N) of any hashable kind; None, "" and NaN are completions
    without an answer.  **scores** (L, M, N): a log-probability, a reward, a confidence; needed by all rules but the
    majority.  **truth** (M,): the right answers; or **correct** (L, M, N): whether each completion was judged right.
    **normalize**: which labels are the same answer: "none", "text" (case, blanks, a final stop, dollar signs),
    "number" (equal numbers, fractions, thousands separators), "choice" (a letter), or a function.

    **codes**: int32 (L, M, N), counted from 0 within each question, -1 for none.  **classes**: the answers of each
    question.  **good**: bool (M, K), which of them are right; None where nothing says so.  **columns**: further numbers
    of the completions by name, (L, M, N), NaN where one has none: `scored_by` makes one of them the score.

    `DataError` for unequal numbers of completions, missing scores of answers, and verdicts on one answer that differ.

    >>> import jaxrank as jr
    >>> answers = jr.Answers([[["4", "5", "4.0"], ["no", None, "No."]]], truth=["4", "yes"], normalize="number")
    >>> answers
    Answers(1 models x 2 questions x 3 completions, 1 without an answer)
    >>> answers.select("majority").tolist()
    [[Fraction(4, 1), 'no']]
    >>> answers.accuracy("majority").tolist()
    [0.5]
    """

    codes: Int[np.ndarray, "models questions completions"]
    classes: tuple[tuple[Any, ...], ...]
    good: Bool[np.ndarray, "questions classes"] | None
    scores: Float[np.ndarray, "models questions completions"] | None
    columns: Mapping[str, Float[np.ndarray, "models questions completions"]]
    models: tuple[str, ...]
    questions: tuple[str, ...]
    notes: tuple[str, ...]

    def __init__(
        self,
        labels: Any,
        scores: Any = None,
        truth: Sequence[Any] | None = None,
        *,
        correct: Any = None,
        models: Sequence[str] | None = None,
        questions: Sequence[str] | None = None,
        normalize: str | Normalizer = "none",
        columns: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        table = as_labels(labels)
        n_models, n_questions, _ = table.shape
        if truth is not None and correct is not None:
            raise DataError("truth and correct both say which answers are right; give one of them")
        if truth is not None and len(truth) != n_questions:
            raise DataError(f"truth has {len(truth)} answers for {n_questions} questions; give one for each")
        codes, classes, right = coded(table, truth, normalize)
        names = tuple(
            check_names(given, size, what)
            for given, size, what in ((models, n_models, "model"), (questions, n_questions, "question"))
        )
        said = list(notes)
        good = None
        if right is not None:
            good = np.arange(max(max(map(len, classes), default=1), 1))[None] == right[:, None]
        elif correct is not None:
            good, more = _judged(codes, classes, correct, names[1])
            said += more
        values = {
            "codes": frozen(codes),
            "classes": classes,
            "good": None if good is None else frozen(good),
            "scores": _scores(scores, codes, names),
            "columns": {name: frozen(_shaped(values, codes, name)) for name, values in (columns or {}).items()},
            "models": names[0],
            "questions": names[1],
            "notes": tuple(said),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(models, questions, completions)."""
        return self.codes.shape  # type: ignore[return-value]

    @property
    def correct(self) -> Bool[np.ndarray, "models questions completions"]:
        """Whether each completion is right; completions without an answer are not."""
        good = self._known("whether completions are right")
        rows = np.arange(self.shape[1])[None, :, None]
        return good[rows, np.maximum(self.codes, 0)] & (self.codes >= 0)

    def scored_by(self, name: str) -> Answers:
        """The same answers with one of the `columns` as their score: a log-probability, a number of tokens, a
        reward."""
        if name not in self.columns:
            raise OptionError(f"there is no column {name!r}; there are {', '.join(self.columns) or 'none'}")
        made = copy.copy(self)
        object.__setattr__(made, "scores", _scores(self.columns[name], self.codes, (self.models, self.questions)))
        return made

    def select(
        self, rule: str | Rule = "majority", n: int | None = None, ties: str = "earliest", **options: Any
    ) -> Any:
        """The answer that a rule makes of the first ``n`` completions (all of them by default): objects (L, M), None
        where none wins. **ties**: "earliest" appearance, or "abstain"."""
        check_choice("ties", ties, ("earliest", "abstain"))
        pick = self._each(rule_of(rule, **options), n, lambda totals, first, _: chosen(totals, first, ties))
        out = np.full(pick.shape, None, object)
        for i, m in np.argwhere(pick >= 0):
            out[i, m] = self.classes[m][pick[i, m]]
        return out

    def accuracy(
        self, rule: str | Rule = "majority", n: int | None = None, ties: str = "earliest", **options: Any
    ) -> Float[np.ndarray, " models"]:
        """Share of the questions on which the rule is right with the first ``n`` completions, (L,)."""
        check_choice("ties", ties, TIES)
        self._known("accuracy")
        made = self._each(rule_of(rule, **options), n, lambda totals, first, good: credit(totals, first, good, ties))
        return made.mean(axis=1)

    def responses(
        self, rule: str | Rule = "majority", n: int | None = None, ties: str = "earliest", **options: Any
    ) -> Responses:
        """What the rule makes of each n completions, one after the other, right or wrong: `Responses` with N // n
        trials, for every method, interval and replicate that there is. Completions that fill no block are left out, and
        a note says how many."""
        check_choice("ties", ties, ("earliest", "abstain"))
        chosen_rule = rule_of(rule, **options)
        size = self.shape[2] if n is None else n
        check_count("n", size, 1, self.shape[2])
        blocks = self.shape[2] // size
        self._known("a ranking by accuracy")
        judge = lambda totals, first, good: credit(totals, first, good, ties)
        trials = [self._each(chosen_rule, size, judge, start=b * size) for b in range(blocks)]
        left = self.shape[2] - blocks * size
        said = f"{chosen_rule} of each {size} of {self.shape[2]} completions" + (
            f"; the last {left} unused" * (left > 0)
        )
        return Responses(
            np.stack(trials, axis=2).astype(int),
            models=self.models,
            questions=self.questions,
            notes=(*self.notes, said),
        )

    def curve(
        self,
        rules: str | Rule | Sequence[str | Rule] = "majority",
        n: Sequence[int] | None = None,
        *,
        n_replicates: int = 10_000,
        n_paths: int = 100,
        scheme: str = "independent",
        ties: str = "earliest",
        seed: int = 0,
        level: float = 0.95,
    ) -> AnswerCurves:
        """Accuracy of rules with n completions, for every n (1..N by default).

        **scheme**: "independent" draws the completions of each model and question for themselves with replacement, as
        that scheme of `jaxrank.bootstrap`; "orders" without, so that at n = N only the order differs.  **n_paths**:
        random orders of the completions of each question on which every rule is tried at every n.  **n_replicates**:
        data sets that are made of them, one order a question; the band holds the share ``level`` of their accuracies:
        how far single data sets with n completions spread about the mean, on these questions.  **ties**: "earliest",
        "share" or "abstain". Majorities and the best of n have their expectation worked out exactly too
        (`AnswerCurves.exact`).
        """
        several = [rules] if isinstance(rules, str | Rule) else list(rules)
        made = [rule_of(rule) for rule in several]
        for rule in made:
            self._check(rule)
        good = self._known("a curve of accuracy")
        return curves_of(
            (self.codes, good, self.scores, self.models), made, n, n_replicates, n_paths, scheme, ties, seed, level
        )

    def stop(self, rule: str | Stop = "adaptive_consistency", **options: Any) -> Stopped:
        """Replay a stopping rule on the recorded completions in their order: after how many it stops, and how often
        the majority of these (of "cges_stop" its own answer) is right. See `jaxrank.answers.STOPS`."""
        made = stop_of(rule, **options)
        if made.reads_scores:
            self._scored(str(made))
        return replay(self.codes, self.good, self.scores, self.models, made)

    def _each(self, rule: Rule, n: int | None, what: Any, start: int = 0) -> np.ndarray:
        """``what(totals, first, good)`` of each cell, (L, M), from ``n`` completions."""
        self._check(rule)
        size = self.shape[2] if n is None else n
        check_count("n", size, 1, self.shape[2])
        part = slice(start, start + size)
        n_classes = max(max(map(len, self.classes), default=1), 1)
        good = np.zeros((self.shape[1], n_classes), bool) if self.good is None else self.good
        made = []
        for i, rows in enumerate(self.codes):
            scores = None if self.scores is None else self.scores[i, :, part]
            totals, first = totals_of(rule, rows[:, part], scores, n_classes)
            made.append(what(totals, first, good.T))
        return np.stack(made)

    def _check(self, rule: Rule) -> None:
        if rule.reads_scores:
            scores = self._scored(str(rule))
            if rule.unit_scores and not np.all((scores[self.codes >= 0] >= 0) & (scores[self.codes >= 0] <= 1)):
                raise OptionError(f"{rule} reads scores as probabilities, and these are not all from 0 to 1")

    def _scored(self, who: str) -> np.ndarray:
        if self.scores is None:
            raise DataError(f"{who} reads a score of each completion; give Answers(labels, scores=...)")
        return self.scores

    def _known(self, what: str) -> np.ndarray:
        if self.good is None:
            raise DataError(
                f"{what} needs the right answers: give truth=... or correct=... to Answers, or name a column of the "
                "file by truth_column=... or correct_column=..."
            )
        return self.good

    def __repr__(self) -> str:
        sizes = " x ".join(f"{n} {w}" for n, w in zip(self.shape, ("models", "questions", "completions"), strict=True))
        none = int((self.codes < 0).sum())
        return f"Answers({sizes}{f', {none} without an answer' if none else ''})"


def _scores(scores: Any, codes: np.ndarray, names: tuple[Any, ...]) -> np.ndarray | None:
    if scores is None:
        return None
    values = _shaped(scores, codes, "scores")
    lacking = (codes >= 0) & ~np.isfinite(values)
    if lacking.any():
        who = name_list(names[1], np.flatnonzero(lacking.any(axis=(0, 2))))
        raise DataError(
            f"{int(lacking.sum())} completions with an answer have no finite score ({who}); give a score to each, or "
            "no answer where there is none"
        )
    return frozen(values)


def _shaped(given: Any, codes: np.ndarray, what: str) -> np.ndarray:
    """Numbers of completions as an array of their shape."""
    values = np.asarray(given, float)
    if values.shape != codes.shape:
        raise DataError(
            f"{what}: the shape is {values.shape}, of the answers {codes.shape}; give one for each completion"
        )
    return values


def _judged(
    codes: np.ndarray, classes: tuple[tuple[Any, ...], ...], correct: Any, questions: tuple[str, ...]
) -> tuple[np.ndarray, list[str]]:
    """Which answers are right, from verdicts on completions."""
    verdicts = _shaped(correct, codes, "correct")
    size = max(max(map(len, classes), default=1), 1)
    yes, seen = np.zeros((len(classes), size)), np.zeros((len(classes), size))
    i, m, t = np.nonzero((codes >= 0) & np.isfinite(verdicts))
    np.add.at(yes, (m, codes[i, m, t]), verdicts[i, m, t])
    np.add.at(seen, (m, codes[i, m, t]), 1)
    mixed = (yes > 0) & (yes < seen)
    if mixed.any():
        who = name_list(questions, np.flatnonzero(mixed.any(axis=1)))
        raise DataError(
            f"{int(mixed.sum())} answers were judged right in one completion and wrong in another ({who}); give "
            "truth=, or normalize= so that answers which differ are not taken for one"
        )
    lost = int(((codes < 0) & (verdicts > 0)).sum())
    return yes > 0, [f"{lost} completions judged right have no answer and count as wrong"] if lost else []
