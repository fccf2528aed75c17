"""What the readers of evaluation logs share: their options, the rows they gather, and how rows become ``Responses``."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from jaxrank.data.kind import Data
from jaxrank.data.readers.assemble import assemble
from jaxrank.data.readers.columns import code, shown
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError, OptionError, one_line

ERRORS = ("zero", "missing")


@dataclass(frozen=True)
class LogOptions:
    """The options of `read` that concern logs of evaluation tools; each format says which it reads.

    **model**: names the model of files that do not: a name, or a function of the path.
    **scorer**, **metric**, **filter**: which of several results of a sample counts.
    **errors**: samples that failed for technical reasons are "zero" or "missing"; None does what the tool itself does.
    **rescore**: lm-eval: a function (response, target, doc) -> score, or a regular expression for the answer.
    **questions**: SWE-bench: all identifiers of the split. **tests**: EvalPlus: "plus" or "base".
    **n**: number of trials behind a mean where the file does not say.
    """

    model: Any = None
    scorer: str | None = None
    metric: str | None = None
    filter: str | None = None
    errors: str | None = None
    rescore: Any = None
    questions: Any = None
    tests: str = "plus"
    n: int | None = None
    levels: Sequence[float] | None = None
    threshold: float | None = None
    ties: str = "model"
    bothbad: str = "tie"
    renamed: dict[str, str] = field(default_factory=dict)
    """Own names of the models that ``model`` renames, with a file of each."""

    def check(self) -> None:
        if not isinstance(self.errors, str | None) or (self.errors is not None and self.errors not in ERRORS):
            raise OptionError(f'errors={one_line(self.errors)}; it must be "zero", "missing" or None')
        if not isinstance(self.tests, str) or self.tests not in ("plus", "base"):
            raise OptionError(f'tests={one_line(self.tests)}; it must be "plus" or "base"')
        if self.n is not None and (not isinstance(self.n, int) or self.n < 1):
            raise OptionError(f"n={one_line(self.n)}; it must be a whole number of trials, 1 or more")
        for name in ("scorer", "metric", "filter"):
            if not isinstance(getattr(self, name), str | None):
                raise OptionError(f"{name}={one_line(getattr(self, name))}; it must be a name")

    def model_of(self, source: Source, default: str, *, told: bool = False) -> str:
        """The model's name: the caller's, else ``default``, which the format took from the path or, where ``told``,
        from the file itself. `OptionError` where one name of the caller's would merge models that files tell apart."""
        name = self.model(source.path) if callable(self.model) else self.model
        if name is None:
            return default
        if told and not callable(self.model):
            first, file = next(iter(self.renamed.items()), (default, source.name))
            self.renamed.setdefault(default, source.name)
            if len(self.renamed) > 1:
                raise OptionError(
                    f"model={name!r} would make one model of {first!r} ({file}) and {default!r} ({source.name}); pass "
                    "a function of the path, or read the files of one model at a time"
                )
        return str(name)

    def models_of(self, sources: Sequence[Source], name: Callable[[Source], str], notes: list[str]) -> list[str]:
        """The model of each file, for formats whose files tell it in their name alone.

        Files that all have one name and lie in different folders are as many models, named after their folders: a
        note says so. Files of several names are runs of the models that they name.
        """
        names = [self.model_of(source, name(source)) for source in sources]
        folders = [source.folder for source in sources]
        if self.model is not None or len(set(names)) > 1 or len(set(folders)) == 1:
            return names
        top = os.path.commonpath(folders)
        parts = [folder.relative_to(top).parts for folder in folders]
        if len(set(map(len, parts))) == 1:
            shared = [len(set(column)) == 1 for column in zip(*parts, strict=True)]
            parts = [[p for p, same in zip(path, shared, strict=True) if not same] for path in parts]
        notes.append(
            f"the files are all called {names[0]!r}: their folders name the models; with model={names[0]!r} they are "
            "trials of one model"
        )
        return ["/".join(path) or folder.name for path, folder in zip(parts, folders, strict=True)]

    def failed(self, tool: str) -> float:
        """The score of a sample that failed for technical reasons; ``tool`` is what the tool itself does."""
        return 0.0 if (self.errors or tool) == "zero" else math.nan


class Format(NamedTuple):
    """A file format of an evaluation tool: ``sniff`` recognises one file, ``read`` reads all files given.

    For the page of formats: **files** what the files are called or look like, **trials** what makes several trials,
    **options** which options of `jaxrank.read` matter. **suffixes**: endings that belong to this format alone.
    """

    name: str
    sniff: Callable[[Source], bool]
    read: Callable[[list[Source], LogOptions], Data]
    files: str = ""
    trials: str = ""
    options: str = ""
    suffixes: tuple[str, ...] = ()


@dataclass
class Rows:
    """Trials gathered from log files."""

    options: LogOptions
    notes: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    trials: list[Any] = field(default_factory=list)
    scores: list[Any] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)
    _runs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def run(self, model: str, task: str = "") -> int:
        """How many files of this model and task came before: further files are further trials."""
        self._runs[model, task] += 1
        return self._runs[model, task] - 1

    def add(self, source: Source, model: str, question: Any, trial: Any, score: Any, task: str = "") -> None:
        """One trial; ``trial`` is a label, or (run, number) where several files hold trials of one model."""
        self.models.append(model)
        self.tasks.append(task)
        self.questions.append(str(question))
        self.trials.append(trial)
        self.scores.append(score)
        self.files.append(source.name)

    def count(self, what: str, by: int = 1) -> None:
        """Count something to be reported in the notes."""
        self.counted[what] += by

    def finish(self, sources: Sequence[Source], format: str) -> Responses:
        """R from the rows; the notes say what was read and what was counted on the way."""
        if not self.scores:
            raise DataError(f"{_whole(sources)}: no results were found ({format})")
        notes = [f"read {len(self.scores)} trials of {named(sources)} ({format})", *self.notes, *self._counts()]
        questions, task_of = self.questions, {}
        if len(set(self.tasks)) > 1:
            questions = [f"{task}/{question}" for task, question in zip(self.tasks, questions, strict=True)]
            task_of = dict(zip(questions, self.tasks, strict=True))
        found = assemble(
            code(self.models),
            code(questions),
            code(self._labels()),
            code(self.scores),
            levels=self.options.levels,
            threshold=self.options.threshold,
            notes=notes,
            place=lambda row: (
                f"{self.files[row]}: model {shown(self.models[row])}, question {shown(self.questions[row])}"
            ),
        )
        return found.grouped([task_of[q] for q in found.questions]) if task_of else found

    def _place(self, row: int) -> str:
        return f"{self.files[row]}: model {shown(self.models[row])}, question {shown(self.questions[row])}"

    def _labels(self) -> list[Any]:
        if not isinstance(self.trials[0], tuple):
            return self.trials
        rank = {pair: k for k, pair in enumerate(sorted(set(self.trials)))}
        return [rank[pair] for pair in self.trials]

    def _counts(self) -> list[str]:
        notes = [f"{n} {what}" for what, n in self.counted.items()]
        repeated = Counter(model for (model, _), n in self._runs.items() if n > 1)
        if repeated:
            notes.append(f"several files of one model were read as further trials: {', '.join(map(repr, repeated))}")
        return notes


def named(sources: Sequence[Source]) -> str:
    return sources[0].path.name if len(sources) == 1 else f"{len(sources)} files"


def _whole(sources: Sequence[Source]) -> str:
    """The same for errors, with the whole path."""
    return sources[0].name if len(sources) == 1 else named(sources)


def from_means(
    cells: Mapping[tuple[str, str], tuple[float, float]], sources: Sequence[Source], format: str, notes: Sequence[str]
) -> Responses:
    """Counts from (model, question) -> (successes, trials); cells that are absent are missing."""
    if not cells:
        raise DataError(f"{_whole(sources)}: no results were found ({format})")
    models = list(dict.fromkeys(model for model, _ in cells))
    questions = list(dict.fromkeys(question for _, question in cells))
    row, column = ({name: k for k, name in enumerate(names)} for names in (models, questions))
    k, n = np.zeros((2, len(models), len(questions)))
    for (model, question), (successes, trials) in cells.items():
        k[row[model], column[question]] = successes
        n[row[model], column[question]] = trials
    notes = [f"read {named(sources)} ({format})", "only counts are known, not which trial succeeded", *notes]
    return Responses.from_counts(k, n, models, questions, notes=notes)


def whole(mean: float, n: int, where: str) -> float:
    """Successes behind a mean of n trials of 0 or 1; `DataError` where they are not whole."""
    successes = mean * n
    if not math.isfinite(successes) or abs(successes - round(successes)) > 1e-6 * max(1, n) or not 0 <= mean <= 1:
        raise DataError(
            f"{where}: a mean of {mean:g} is not a number of successes out of {n}; pass n=... if n is wrong"
        )
    return float(round(successes))


def field_of(value: Any, path: str, where: str) -> Any:
    """The entry at a dotted path of nested objects; `DataError` where it is absent."""
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            raise DataError(f"{where}: there is no {path!r}")
        value = value[key]
    return value


def list_of(value: Any, kind: type, where: str) -> list[Any]:
    """``value`` as a list of ``kind``; `DataError` where it is something else."""
    if not isinstance(value, list) or not all(isinstance(v, kind) for v in value):
        raise DataError(f"{where} is not a list of {'objects' if kind is dict else kind.__name__}")
    return value
