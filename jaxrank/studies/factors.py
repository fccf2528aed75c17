"""``compare_factors``: which part of the variance is the model's, the prompt's, the question's."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxrank.data.accepted import DataLike, as_data
from jaxrank.data.names import name_list
from jaxrank.data.responses import Responses, responses_of
from jaxrank.errors import DataError, OptionError
from jaxrank.models.options import shown
from jaxrank.numerics.interval import check_level
from jaxrank.numerics.paired import Paired
from jaxrank.results.factors import TRIALS, Factors

QUESTION = "question"


def compare_factors(data: DataLike, factors: Sequence[str], *, level: float = 0.95) -> Factors:
    """Two factors that the runs varied, such as model and prompt: differences, interactions, shares of the variance.

    **data**: results of every run, a run a "model" of the data, on the same questions with equally many trials.
    **factors**: two columns of the model table (`Responses(models=frame)`, or columns of the file), which say what each
    run is; one run for every combination. `DataError` names what is missing where the table is not balanced.
    **level**: of the intervals, by question.

    Shares of variance: mean squares of the balanced table equated with their expectations, all factors random;
    components may come out negative and count as 0 in the shares. With one trial a cell the product of all three and
    the trials are one. Question weights are not read.

    >>> import jaxrank as jr
    >>> runs = {"model": ["a0", "a1", "b0", "b1"], "llm": ["a", "a", "b", "b"], "prompt": [0, 1, 0, 1]}
    >>> data = jr.Responses([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 1]], models=runs)
    >>> jr.compare_factors(data, ["llm", "prompt"])
    Factors(2 llms x 2 prompts)
    """
    check_level(level)
    found = responses_of(as_data(data), "compare_factors", "use jaxrank.fit(data) for battles and lists")
    columns = _columns(found, factors)
    first, second = (tuple(dict.fromkeys(map(str, column))) for column in columns)
    values = first, second
    x = _table(found, columns, values)
    names = (*map(str, factors), QUESTION)
    squares, degrees = _mean_squares(x, names)
    cells = x.mean(axis=3)
    means = cells.mean(axis=(1, 2)), cells.mean(axis=(0, 2))
    differences: list[dict[str, Any]] = []
    for axis in (0, 1):
        by_question = np.moveaxis(cells, axis, 0).mean(axis=1)  # (values, questions): paired by the other factor
        for i, j in itertools.combinations(range(len(values[axis])), 2):
            named = {"factor": names[axis], "new": values[axis][i], "old": values[axis][j]}
            differences.append(named | _by_question(by_question[i] - by_question[j], level))
    interactions: list[dict[str, Any]] = []
    for (i, j), (k, l) in itertools.product(*(itertools.combinations(range(len(v)), 2) for v in values)):
        named = {
            "factor": f"{names[0]}:{names[1]}",
            "new": f"{values[0][i]} - {values[0][j]} with {values[1][k]}",
            "old": f"with {values[1][l]}",
        }
        change = cells[i, k] - cells[j, k] - cells[i, l] + cells[j, l]
        interactions.append(named | _by_question(change, level))
    notes = list(found.notes)
    if x.shape[3] == 1:
        notes.append("one trial a cell: chance of the trials and the product of all three factors are one component")
    if found.weighted:
        notes.append("question weights are not read")
    components = _components(squares, x.shape, names)
    negative = [name for name, value in components.items() if value < 0]
    if negative:
        notes.append(f"negative components count as 0 in the shares: {', '.join(negative)}")
    two: Any = names[:2]
    return Factors(
        factors=two,
        values=values,
        mean_squares=squares,
        degrees=degrees,
        components=components,
        means=means,
        differences=tuple(differences),
        interactions=tuple(interactions),
        level=level,
        notes=tuple(notes),
    )


def _columns(data: Responses, factors: Any) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(factors, str) or not isinstance(factors, Sequence) or len(factors) != 2 or factors[0] == factors[1]:
        raise OptionError(f"factors={shown(factors)}; it must be two columns of the model table")
    for name in factors:
        if not isinstance(name, str) or name not in data.model_columns:
            have = ", ".join(map(repr, data.model_columns)) or "none"
            raise OptionError(f"factors: the models have no column {shown(name)}; there are {have}")
    first, second = (np.asarray(data.model_columns[name]).astype(str) for name in factors)
    return first, second


def _table(data: Responses, columns: Any, values: Any) -> np.ndarray:
    """Scores (values of the first factor, of the second, questions, trials); `DataError` where it is not balanced."""
    runs = list(zip(*columns, strict=True))
    twice = sorted({run for run in runs if runs.count(run) > 1})
    if twice:
        same = [i for i, run in enumerate(runs) if run == twice[0]]
        raise DataError(f"{name_list(data.models, same)} have the same factors {' and '.join(twice[0])}; keep one run")
    wanted = list(itertools.product(*values))
    lacking = [run for run in wanted if run not in runs]
    if lacking:
        raise DataError(f"there is no run of {' with '.join(lacking[0])}; the table must hold every combination once")
    if any(len(v) < 2 for v in values):
        raise DataError("a factor has one value; it needs two to be compared")
    if not data.complete:
        short = np.flatnonzero((data.trials < data.trials.max()).any(axis=1))
        raise DataError(
            f"{name_list(data.models, short)} lack trials on some questions; the table must be balanced: use "
            "data.common() and equally many trials"
        )
    x = data.oriented[[runs.index(run) for run in wanted]]
    if x.shape[1] < 2:
        raise DataError("there is one question, which says nothing about others")
    return x.reshape(*map(len, values), *x.shape[1:])


def _by_question(d: np.ndarray, level: float) -> dict[str, float]:
    """A mean over questions with its interval and p-value."""
    n = len(d)
    student = Paired(d, np.ones(n), np.arange(n), np.full((2, n), np.nan), np.ones((2, n), int)).by_question
    reach = student.reach(level)
    found = {"difference": student.value, "lower": student.value - reach, "upper": student.value + reach}
    return {name: float(x) for name, x in (found | {"se": student.se, "p": student.p}).items()}


def _mean_squares(x: np.ndarray, names: tuple[str, ...]) -> tuple[dict[str, float], dict[str, int]]:
    """Mean squares and degrees of freedom of all effects of a balanced table, and of the trials within its cells."""
    squares: dict[str, float] = {}
    degrees: dict[str, int] = {}
    cells = x.mean(axis=3)
    for axes in _subsets():
        effect = np.zeros_like(cells)
        for part in itertools.chain.from_iterable(itertools.combinations(axes, k) for k in range(len(axes) + 1)):
            others = tuple(a for a in range(3) if a not in part)
            effect = effect + (-1) ** (len(axes) - len(part)) * cells.mean(axis=others, keepdims=True)
        name = ":".join(names[a] for a in axes)
        degrees[name] = int(np.prod([x.shape[a] - 1 for a in axes]))
        squares[name] = float(x.shape[3] * (effect**2).sum() / degrees[name])
    if x.shape[3] > 1:
        degrees[TRIALS] = cells.size * (x.shape[3] - 1)
        squares[TRIALS] = float(((x - cells[..., None]) ** 2).sum() / degrees[TRIALS])
    return squares, degrees


def _subsets() -> list[tuple[int, ...]]:
    return [axes for k in (1, 2, 3) for axes in itertools.combinations(range(3), k)]


def _components(squares: dict[str, float], shape: tuple[int, ...], names: tuple[str, ...]) -> dict[str, float]:
    """Variances from mean squares: an effect's expectation is the sum over all effects that hold it of their variance
    times the observations that share one value of them."""
    found: dict[str, float] = {TRIALS: squares[TRIALS]} if TRIALS in squares else {}
    expected = lambda axes: (
        found.get(TRIALS, 0.0)
        + sum(
            found[":".join(names[a] for a in other)] * _shared(other, shape)
            for other in _subsets()
            if set(other) > set(axes)
        )
    )
    for axes in reversed(_subsets()):
        name = ":".join(names[a] for a in axes)
        found[name] = (squares[name] - expected(axes)) / _shared(axes, shape)
    return found


def _shared(axes: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """Observations of one value of an effect."""
    return int(np.prod([n for a, n in enumerate(shape) if a not in axes]))
