"""``compare`` and its kin: two models or two runs, all pairs, or every group of questions; one verdict each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from jaxrank.data.accepted import DataLike, as_data
from jaxrank.data.kind import concat
from jaxrank.data.names import model_index, name_list
from jaxrank.data.responses import Responses, responses_of
from jaxrank.errors import DataError, OptionError
from jaxrank.models.options import check_choice, check_count, shown
from jaxrank.numerics.adjusted import benjamini_hochberg, holm
from jaxrank.numerics.contributions import reach_of
from jaxrank.numerics.interval import check_level
from jaxrank.numerics.paired import Paired
from jaxrank.results.comparison import (
    FEW,
    TESTS,
    Comparison,
    check_margin,
    default_test,
    evidence_of,
    p_of,
)
from jaxrank.results.comparison_table import ComparisonTable, adjusted
from jaxrank.results.fit import UNITS

QUESTION = "question"


def runs(**named: DataLike) -> Responses:
    """Several runs of one model each as one set of data, for `compare`: every run under the name it is given by.

    ``jr.runs(new="logs/today", old="logs/monday")``. Questions are matched by name. `DataError` for a run of several
    models: ``jr.read(path).select(models=[...])`` takes one.

    >>> import jaxrank as jr
    >>> jr.runs(new=[[1, 1, 0]], old=[[1, 0, 0]]).models
    ('new', 'old')
    """
    if not named:
        raise OptionError('runs() holds no run; give each by a name of its own: jaxrank.runs(new="a.csv", old="b.csv")')
    parts = []
    for name, given in named.items():
        data = responses_of(
            as_data(given, at_least=1), "a comparison of runs", "use jaxrank.fit(data) for battles and lists"
        )
        if len(data.models) > 1:
            models = name_list(data.models, range(len(data.models)))
            raise DataError(f"the run {name!r} holds {len(data.models)} models ({models}); select one of them")
        parts.append(Responses._made(**data._fields() | {"models": (name,)}))
    return concat(parts)


def compare(
    data: DataLike,
    new: str | int | None = None,
    old: str | int | None = None,
    *,
    unit: str = "questions",
    margin: float = 0.0,
    level: float = 0.95,
    cluster: str | None = None,
    test: str | None = None,
    seed: int = 0,
) -> Comparison:
    """Whether one model is better than another: the difference of their mean scores with its interval, and a verdict.

    **data**: results of trials, of any kind of scores (`runs` joins two runs); higher is better, or what the data say.
    **new**, **old**: two models by name or number; by default the first and the second of two.
    **unit**: "questions": other questions of this kind could have been asked; "trials": these very questions are all
    that matters, which needs two trials of each.  **margin**: differences of less do not matter: the verdict can then
    be "equivalent" or "not worse".  **cluster**: a column of the question table (such as "group") whose questions stand
    or fall together.  **test**: of equality, "t", "sign_flip", "sign_flip_mid",
    "mcnemar" or "wilcoxon"; by default the data choose
    (`jaxrank.results.comparison.default_test`); no difference is called one unless the test agrees with the interval.
    **seed**: of more sign flips than can be tried one by one.

    A verdict "better", "worse" or "equivalent" is false in at most 1 - ``level`` of the cases (docs/compare.md has what
    was measured). `DataError` where the two have no question in common, or one cluster.

    >>> import jaxrank as jr
    >>> found = jr.compare(jr.datasets.load("misguided_attention"), "QwQ-32b", "gpt-4o-2024-11-20")
    >>> found.verdict
    'better'
    """
    check_choice("unit", unit, UNITS)
    margin, level = check_margin(margin), check_level(level)
    if test is not None:
        check_choice("test", test, TESTS)
    check_count("seed", seed, 0)
    found = _responses(data)
    i, j = _pair(found, new, old)
    cells = _cells(found, cluster)
    both = cells.common(i, j)
    names = found.models[i], found.models[j]
    _check(found, both, names, unit, cells, cluster)
    paired = cells.paired(i, j, both)
    means = cells.means[[i, j]][:, both]
    chosen = test or default_test(paired, unit)
    _check_test(chosen, found, paired, unit)
    kept, gone = np.flatnonzero(both), np.flatnonzero(~both)
    return Comparison(
        *names,
        tuple(found.questions[m] for m in kept),
        tuple(found.questions[m] for m in gone),
        means,
        paired,
        unit,
        cluster or QUESTION,
        margin,
        level,
        chosen,
        p_of(paired, unit, chosen, means, seed),
        found.kind,
        found.notes,
        _notes(found, paired, gone, names, unit, cluster),
    )


def compare_all(
    data: DataLike,
    baseline: str | int | None = None,
    *,
    by: str | None = None,
    unit: str = "questions",
    margin: float = 0.0,
    level: float = 0.95,
    cluster: str | None = None,
) -> ComparisonTable:
    """Every model against every other, or against a ``baseline``, or two models on every group of questions.

    **baseline**: only the pairs with this model, it being the old one.  **by**: a column of the question table (such as
    "group"): a line for each of its values; of two models, or with a baseline.  Other arguments as in `compare`.

    Verdicts hold for all lines at once: their p-values are adjusted by Holm. Intervals hold at once too: the quantile
    of the largest studentised difference when the clusters are drawn again, its error worked out again in every draw;
    of groups of questions, which share nothing, Bonferroni's.
    """
    check_choice("unit", unit, UNITS)
    margin, level = check_margin(margin), check_level(level)
    found = _responses(data)
    cells = _cells(found, cluster)
    pairs = _pairs(found, baseline, by)
    places = _groups(found, by)
    lines: list[tuple[str, int, int, Paired]] = []
    for group, where in places.items():
        for i, j in pairs:
            both = cells.common(i, j) & where
            names = found.models[i], found.models[j]
            _check(found, both, names, unit, cells, cluster, f" in {by} {group!r}" if by else "")
            lines.append((group, i, j, cells.paired(i, j, both)))
    several = [line[3] for line in lines]
    students = [p.student(unit) for p in several]
    p = np.array([p_of(s, unit, default_test(s, unit)) for s in several])
    evidence = [evidence_of(s, unit, margin, own) for s, own in zip(several, p, strict=True)]
    p = np.array([e.p for e in evidence], float)
    if by is None and unit == "questions":
        reach = np.full(len(lines), reach_of(_contributions(lines, cells), cells.n_clusters, level))
    else:
        reach = np.array([s.reach(1 - (1 - level) / len(lines)) / s.se for s in students])
    value, se = (np.array([getattr(s, name) for s in students], float) for name in ("value", "se"))
    return ComparisonTable(
        tuple(found.models[i] for _, i, _, _ in lines),
        tuple(found.models[j] for _, _, j, _ in lines),
        tuple(str(group) for group, *_ in lines) if by else (),
        by or "",
        value,
        se,
        value - reach * se,
        value + reach * se,
        p,
        holm(p),
        benjamini_hochberg(p),
        adjusted(evidence, 1 - level),
        np.array([len(s.differences) for s in several]),
        np.array([s.n_clusters for s in several]),
        unit,
        cluster or QUESTION,
        margin,
        level,
        _gap_notes(found, several),
    )


class _Cells(NamedTuple):
    """Cells of all models: **means**, **spread** (sample variance), **trials** (L, M); **weights**, **labels** of the
    clusters (M,); the largest **step** that one trial can make on the scale."""

    means: np.ndarray
    spread: np.ndarray
    trials: np.ndarray
    weights: np.ndarray
    labels: np.ndarray
    step: float

    @property
    def n_clusters(self) -> int:
        return int(self.labels.max()) + 1

    def common(self, i: int, j: int) -> np.ndarray:
        """bool (M,): questions that both have and that count."""
        return (self.trials[i] > 0) & (self.trials[j] > 0) & (self.weights > 0)

    def paired(self, i: int, j: int, both: np.ndarray) -> Paired:
        clusters = np.unique(self.labels[both], return_inverse=True)[1]
        trials = self.trials[[i, j]][:, both]
        return Paired(
            self.means[i, both] - self.means[j, both],
            self.weights[both],
            clusters,
            self.spread[[i, j]][:, both],
            trials,
            self.step / float(trials.max()),
        )


def _cells(data: Responses, cluster: str | None) -> _Cells:
    labels = np.arange(len(data.questions))
    if cluster is not None:
        labels = np.unique(_column(data, cluster, "cluster").astype(str), return_inverse=True)[1]
    step = float(data.levels[-1] - data.levels[0]) if data.levels else 0.0
    return _Cells(data.cell_means, data.cell_variances, data.trials, data.weights, labels, step)


def _column(data: Responses, name: Any, argument: str) -> np.ndarray:
    if not isinstance(name, str) or name not in data.question_columns:
        have = ", ".join(map(repr, data.question_columns)) or "none"
        raise OptionError(f"{argument}={shown(name)}; the questions have no such column; there are {have}")
    return np.asarray(data.question_columns[name])


def _responses(data: DataLike) -> Responses:
    remedy = "use jaxrank.fit(data).difference_intervals(), which has the differences of all pairs of battles and lists"
    found = responses_of(as_data(data, at_least=1), "a comparison by question", remedy)
    if len(found.models) < 2:
        raise DataError(
            f"there is one model, {name_list(found.models, [0])}; a comparison needs two: join the runs by "
            "jaxrank.runs(new=..., old=...)"
        )
    return found


def _pair(data: Responses, new: Any, old: Any) -> tuple[int, int]:
    if new is None and old is None:
        if len(data.models) > 2:
            known = name_list(data.models, range(len(data.models)))
            raise OptionError(f"there are {len(data.models)} models; name the new and the old one of {known}")
        return 0, 1
    if new is None or old is None:
        raise OptionError("a comparison needs both models: name the new and the old one")
    i, j = model_index(data.models, new, "new"), model_index(data.models, old, "old")
    if i == j:
        raise OptionError(f"new and old are the same model, {data.models[i]!r}; name two")
    return i, j


def _pairs(data: Responses, baseline: Any, by: str | None) -> list[tuple[int, int]]:
    n = len(data.models)
    if baseline is not None:
        j = model_index(data.models, baseline, "baseline")
        return [(i, j) for i in range(n) if i != j]
    if by is not None and n > 2:
        raise OptionError(f"by={shown(by)} takes two models or a baseline; there are {n} models: name the baseline")
    return [(i, j) for i in range(n) for j in range(i + 1, n)]


def _groups(data: Responses, by: str | None) -> dict[Any, np.ndarray]:
    """Questions, bool (M,), of every value of a column in the order met; all of them for None."""
    if by is None:
        return {"": np.ones(len(data.questions), bool)}
    column = _column(data, by, "by").astype(str)
    return {name: column == name for name in dict.fromkeys(column.tolist())}


def _check(
    data: Responses,
    both: np.ndarray,
    names: tuple[str, str],
    unit: str,
    cells: _Cells,
    cluster: str | None,
    where: str = "",
) -> None:
    """`DataError` where the questions that two models have in common say nothing of their difference."""
    pair = f"{names[0]!r} and {names[1]!r}"
    if not both.any():
        own = [name_list(data.questions, np.flatnonzero(cells.trials[data.models.index(n)] > 0), 3) for n in names]
        raise DataError(
            f"{pair} have no question in common{where}: {names[0]!r} has {own[0]}, {names[1]!r} {own[1]}; give the "
            "questions of both the same names"
        )
    if unit == "questions" and len(np.unique(cells.labels[both])) < 2:
        what = f"one {cluster}" if cluster else "one question"
        raise DataError(
            f"{pair} have {what} in common{where}, which says nothing about others; use unit='trials', or give more"
        )
    i, j = (data.models.index(n) for n in names)
    single = both & (np.minimum(cells.trials[i], cells.trials[j]) < 2)
    if unit == "trials" and single.any():
        raise DataError(
            f"unit='trials' needs two trials in every cell; {pair} have one on {int(single.sum())} questions{where} "
            f"({name_list(data.questions, np.flatnonzero(single), 3)}); use unit='questions'"
        )


def _check_test(test: str, data: Responses, paired: Paired, unit: str) -> None:
    if unit == "trials" and test != "t":
        raise OptionError(f"test={test!r} is about questions; unit='trials' has test='t' only")
    if test == "mcnemar":
        plain = data.binary and int(paired.trials.max()) == 1 and paired.n_clusters == len(paired.differences)
        if not plain or np.ptp(paired.weights) > 0:
            raise OptionError(
                "test='mcnemar' reads right and wrong, one trial of each question, no weights and no clusters; use "
                "test='sign_flip', which is the same there and reads all else"
            )


def _notes(
    data: Responses, paired: Paired, gone: np.ndarray, names: tuple[str, str], unit: str, cluster: str | None
) -> tuple[str, ...]:
    notes = list(data.notes)
    if len(gone):
        notes.append(
            f"{len(gone)} of {len(data.questions)} questions left out, which {names[0]!r} and {names[1]!r} do not both "
            f"have: {name_list(data.questions, gone, 5)}"
        )
    if not data.higher_is_better.all():
        notes.append("where lower is better the sign of the scores is turned: a positive difference is an improvement")
    if unit == "questions" and paired.constant:
        notes.append(
            f"the differences are all {paired.mean:.4g}, which tells no standard error and no interval; the verdict is "
            "that of the exact test"
        )
    elif unit == "questions" and paired.n_clusters < FEW:
        what = cluster or QUESTION
        notes.append(f"there are {paired.n_clusters} {what}s, too few for an interval to be relied on: take 10 or more")
    if unit == "trials" and not paired.by_trial.se > 0:
        notes.append("the trials of every cell are alike, which tells no standard error and no interval")
    return tuple(notes)


def _gap_notes(data: Responses, several: Iterable[Paired]) -> tuple[str, ...]:
    notes = list(data.notes)
    fewest = min(len(s.differences) for s in several)
    if data.gaps:
        notes.append(f"{data.gaps}; each pair is compared on the questions that both have, {fewest} or more")
    few = sum(s.n_clusters < FEW for s in several)
    if few:
        notes.append(f"{few} comparisons have fewer than {FEW} clusters, too few for an interval to be relied on")
    return tuple(notes)


def _contributions(lines: list[tuple[str, int, int, Paired]], cells: _Cells) -> Iterable[np.ndarray]:
    """Columns of the clusters' contributions (G, pairs) over the standard error of each difference, in blocks."""
    block = []
    for _, i, j, paired in lines:
        student = paired.by_question
        if not student.se > 0:
            continue
        off = np.zeros(cells.n_clusters)
        own = np.unique(cells.labels[cells.common(i, j)])
        n = len(own)
        off[own] = (paired.totals - paired.sizes * paired.mean) / (paired.weights.sum() * student.se)
        block.append(off * np.sqrt(n / (n - 1)))
        if len(block) == 256:
            yield np.stack(block, axis=1)
            block = []
    if block:
        yield np.stack(block, axis=1)
