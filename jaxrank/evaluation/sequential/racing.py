"""``race``: which models are the best, asking as few questions as the answers allow."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.data.names import check_names
from jaxrank.errors import DataError, OptionError, one_line
from jaxrank.evaluation.sequential.betting import Running
from jaxrank.models.options import check_count, check_number

Sampler = Callable[[str, str], float]
ENDS = {
    "separated": "the best models are separated from the others",
    "budget": "the budget is spent",
    "asked": "every question was asked of the models in question, and they are as good as each other",
}


@dataclass(frozen=True)
class Race:
    """How a race ended.

    **models**: names (L,).  **top**: the best so far, best first.  **means**, **lower**, **upper**: (L,), mean score
    and the bounds that hold for all models at all times at once; NaN means where nothing was asked.  **asked**: int
    (L,), questions asked of each.  **ended**: "separated", "budget" or "asked" (`ENDS` says it in words).
    """

    models: tuple[str, ...]
    top: tuple[str, ...]
    means: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    asked: np.ndarray
    ended: str
    alpha: float

    @property
    def separated(self) -> bool:
        return self.ended == "separated"

    @property
    def sentence(self) -> str:
        """How it ended, for a person."""
        return f"after {int(self.asked.sum()):,} questions {ENDS[self.ended]}; the best: {', '.join(self.top)}"

    def to_frame(self) -> Any:
        """A pandas frame, best first: model, mean, lower, upper, asked, top."""
        import pandas as pd

        order = np.argsort(-np.nan_to_num(self.means, nan=-np.inf), kind="stable")
        columns = {
            "model": [self.models[i] for i in order],
            "mean": self.means[order],
            "lower": self.lower[order],
            "upper": self.upper[order],
            "asked": self.asked[order],
            "top": [self.models[i] in self.top for i in order],
        }
        return pd.DataFrame(columns)


def race(
    sample: Sampler,
    models: Sequence[str],
    questions: Sequence[str],
    *,
    top: int = 1,
    alpha: float = 0.05,
    budget: int | None = None,
    low: float = 0.0,
    high: float = 1.0,
    state: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> Race:
    """Find the ``top`` best models by mean score on ``questions``, asking where it tells most.

    **sample**: called with a model and a question, gives the score of one trial, from ``low`` to ``high``. Every model
    has each question at most once, all in the same random order (``seed``).  **alpha**: probability of an order of the
    top and the rest that is wrong, whenever it ends.  **budget**: calls at most; None: until it is decided.
    **state**: a file that keeps every answer as it comes: a race that was stopped goes on from it, and asks nothing
    twice. `DataError` where the file is of another race.

    LUCB: in each round one question is asked of the leader with the lowest lower bound and of the challenger with the
    highest upper bound [kalyanakrishnan2012]; bounds are confidence sequences without replacement, at alpha / L each.
    It ends when no challenger's upper bound is above a leader's lower bound.

    >>> from jaxrank.evaluation import sequential
    >>> rate = {"ada": 1.0, "bob": 0.0}
    >>> sequential.race(lambda model, question: rate[model], ["ada", "bob"], [f"q{i}" for i in range(200)]).top
    ('ada',)
    """
    names, asked_of = check_names(models, len(models), "model"), check_names(questions, len(questions), "question")
    n_models, n_questions = len(names), len(asked_of)
    if n_models < 2:
        raise DataError("a race needs two models or more")
    check_count("top", top, 1, n_models - 1)
    check_number("alpha", alpha, above=0, below=1)
    check_number("high", high, above=low)
    if budget is not None:
        check_count("budget", budget)
    order = np.random.default_rng(seed).permutation(n_questions)
    log = _Log(state, {"models": list(names), "questions": list(asked_of), "seed": seed, "low": low, "high": high})
    scores: list[list[float]] = [[] for _ in names]
    sequences = [Running(alpha / n_models, n_questions) for _ in names]
    bounds = np.tile([float(low), float(high)], (n_models, 1))

    def ask(i: int) -> None:
        question = asked_of[order[len(scores[i])]]
        known = log.known.get((names[i], question))
        value = log.add(names[i], question, sample(names[i], question)) if known is None else known
        if not low <= value <= high:
            raise DataError(f"{names[i]!r} on {question!r} scored {value:g}, which is not from {low:g} to {high:g}")
        scores[i].append(value)
        bounds[i] = low + (high - low) * np.array(sequences[i].add((value - low) / (high - low)))

    ended = ""
    for i in range(n_models):
        if budget is not None and sum(map(len, scores)) >= budget:
            ended = "budget"
            break
        ask(i)
    while not ended:
        leaders, others = _split(scores, top)
        weakest = leaders[int(np.argmin(bounds[leaders, 0]))]
        rival = others[int(np.argmax(bounds[others, 1]))]
        if bounds[weakest, 0] > bounds[rival, 1]:
            ended = "separated"
            break
        open_ones = [i for i in (weakest, rival) if len(scores[i]) < n_questions]
        if not open_ones:
            ended = "separated" if np.mean(scores[weakest]) > np.mean(scores[rival]) else "asked"
            break
        for i in open_ones:
            if budget is not None and sum(map(len, scores)) >= budget:
                ended = "budget"
                break
            ask(i)
    leaders, _ = _split(scores, top)
    means = np.array([np.mean(s) if s else np.nan for s in scores])
    asked = np.array([len(s) for s in scores])
    best = tuple(names[i] for i in leaders)
    return Race(names, best, means, bounds[:, 0].copy(), bounds[:, 1].copy(), asked, ended, alpha)


def _split(scores: list[list[float]], top: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the best by mean so far, and of the others."""
    means = np.array([np.mean(s) if s else -np.inf for s in scores])
    order = np.argsort(-means, kind="stable")
    return order[:top], order[top:]


class _Log:
    """The answers of a race in a file: what it is about in the first line, then a line for each, as it comes."""

    def __init__(self, path: str | os.PathLike[str] | None, about: dict[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        self.known: dict[tuple[str, str], float] = {}
        if self.path is None:
            return
        if not self.path.exists():
            self.path.write_text(json.dumps(about) + "\n", encoding="utf-8")
            return
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]  # an answer that was being written when it stopped is asked again
        try:
            head, *rows = map(json.loads, whole.splitlines())
            self.known = {(str(m), str(q)): float(v) for m, q, v in rows}
        except ValueError:
            raise DataError(f"{self.path} does not hold the answers of a race; name another file") from None
        if head != about:
            differs = ", ".join(k for k in about if not isinstance(head, dict) or head.get(k) != about[k])
            raise DataError(f"{self.path} holds another race (it differs in {differs}); name another file")
        if whole != text:
            self.path.write_text(whole, encoding="utf-8")

    def add(self, model: str, question: str, value: Any) -> float:
        """The score as a number, kept."""
        try:
            score = float(value)
        except (TypeError, ValueError):
            raise OptionError(f"sample({model!r}, {question!r}) gave {one_line(value)}, which is no number") from None
        if self.path is not None and np.isfinite(score):
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([model, question, score]) + "\n")
        return score
