"""``AnswerCurves``: accuracy of rules against the number of completions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from jaxrank.errors import OptionError
from jaxrank.evaluation.answers.expectation import best_of_n_curve, majority_curves
from jaxrank.evaluation.answers.paths import credits_of, groups_of, recombined
from jaxrank.evaluation.answers.rules import BestOfN, Majority, Rule
from jaxrank.evaluation.answers.tally import TIES
from jaxrank.models.options import check_choice, check_count
from jaxrank.numerics.interval import check_level
from jaxrank.numerics.seeds import as_key

SCHEMES = ("independent", "orders")
"""Completions of every question and model drawn for themselves, with replacement or without."""
_EXACT = 256  # completions: the exact majority takes their third power


@dataclass(frozen=True, eq=False, repr=False)
class AnswerCurves:
    """Accuracy of rules at every n.

    **rules**, **models**, **n**: names of the first, second and third axis of the arrays.  **accuracy**: the mean over
    all paths.  **error**: how far it may be off by the simulation, one standard error.  **lower**, **upper**: hold the
    share ``level`` of the replicates: data sets with n completions a question spread so far about the mean. They say
    nothing about other questions.  **gain**: accuracy less that of the first rule, with **gain_lower** and
    **gain_upper**, on the same completions.  **exact**: the expectation without simulation, NaN for rules that have
    none, and with more than 256 completions.
    """

    rules: tuple[str, ...]
    models: tuple[str, ...]
    n: Int[np.ndarray, " sizes"]
    accuracy: Float[np.ndarray, "rules models sizes"]
    error: Float[np.ndarray, "rules models sizes"]
    lower: Float[np.ndarray, "rules models sizes"]
    upper: Float[np.ndarray, "rules models sizes"]
    gain: Float[np.ndarray, "rules models sizes"]
    gain_lower: Float[np.ndarray, "rules models sizes"]
    gain_upper: Float[np.ndarray, "rules models sizes"]
    exact: Float[np.ndarray, "rules models sizes"]
    level: float
    scheme: str
    n_replicates: int
    n_paths: int

    def to_frame(self) -> Any:
        """A pandas frame, a row for each rule, model and n: accuracy, error, lower, upper, exact, gain, gain_lower,
        gain_upper."""
        import pandas as pd

        at = np.indices(self.accuracy.shape).reshape(3, -1)
        names = {
            "rule": np.array(self.rules, object)[at[0]],
            "model": np.array(self.models, object)[at[1]],
            "n": self.n[at[2]],
        }
        values = ("accuracy", "error", "lower", "upper", "exact", "gain", "gain_lower", "gain_upper")
        return pd.DataFrame({**names, **{name: getattr(self, name).reshape(-1) for name in values}})

    def crossings(self, model: str, first: str, second: str) -> list[int]:
        """The n at which the order of two rules turns on one model, by their mean accuracies."""
        i = self._place(self.models, model, "model")
        a, b = (self.accuracy[self._place(self.rules, rule, "rule"), i] for rule in (first, second))
        sign = np.sign(np.round(a - b, 12))
        kept = np.flatnonzero(sign)
        turned = kept[1:][sign[kept[1:]] != sign[kept[:-1]]]
        return [int(x) for x in self.n[turned]]

    @staticmethod
    def _place(names: tuple[str, ...], name: str, what: str) -> int:
        if name not in names:
            raise OptionError(f"there is no {what} {name!r}; there are {', '.join(names)}")
        return names.index(name)

    def __repr__(self) -> str:
        sizes = f"n = {self.n[0]}..{self.n[-1]}" if len(self.n) > 1 else f"n = {self.n[0]}"
        return f"AnswerCurves({', '.join(self.rules)}; {len(self.models)} models, {sizes})"


def curves_of(
    data: tuple[np.ndarray, np.ndarray, np.ndarray | None, tuple[str, ...]],
    rules: Sequence[Rule],
    n: Sequence[int] | None,
    n_replicates: int,
    n_paths: int,
    scheme: str,
    ties: str,
    seed: int,
    level: float,
) -> AnswerCurves:
    """The curves of codes (L, M, N), right answers (M, K), scores and names of models; see `Answers.curve`."""
    codes, good, scores, models = data
    n_models, n_questions, n_all = codes.shape
    check_choice("scheme", scheme, SCHEMES)
    check_choice("ties", ties, TIES)
    check_count("n_replicates", n_replicates, 2)
    check_count("n_paths", n_paths, 2)
    level = check_level(level)
    sizes = np.arange(1, n_all + 1) if n is None else np.unique(np.asarray(list(n), int))
    if not len(sizes) or sizes[0] < 1 or sizes[-1] > n_all:
        raise OptionError(f"n must lie between 1 and the {n_all} completions of a question")
    names = tuple(map(str, rules))
    if len(set(names)) < len(names):
        raise OptionError(f"rules holds one rule twice: {', '.join(names)}")
    key = as_key(seed)
    groups, rest = groups_of(codes, good, scores, rules)
    rest = rest.reshape(n_models, n_questions)
    found = [credits_of(rules, ties, g, jax.random.fold_in(key, 1), n_paths, scheme == "independent") for g in groups]
    shape = (len(rules), n_models, n_all)
    out = {name: np.zeros(shape) for name in ("accuracy", "error", "lower", "upper", "gain_lower", "gain_upper")}
    tails = [(1 - level) / 2, (1 + level) / 2]
    for i in range(n_models):
        pools = [_of_model(g.cells, credits, i, n_questions) for g, credits in zip(groups, found, strict=True)]
        pools = [pool for pool in pools if len(pool[0])]
        constant = np.full((len(rules), n_all), np.nansum(rest[i]))
        mean, spread = constant.copy(), np.zeros_like(constant)
        for credits, _ in pools:
            p = credits.mean(axis=1, dtype=np.float64)
            mean += p.sum(axis=0)
            spread += (credits.astype(np.float32).var(axis=1, ddof=1) / n_paths).sum(axis=0)
        out["accuracy"][:, i], out["error"][:, i] = mean / n_questions, np.sqrt(spread) / n_questions
        drawn = recombined(pools, constant, jax.random.fold_in(key, 2 + i), n_replicates) / n_questions
        out["lower"][:, i], out["upper"][:, i] = _tails(drawn, tails)
        out["gain_lower"][:, i], out["gain_upper"][:, i] = _tails(drawn - drawn[:, :1], tails)
    exact = np.full(shape, np.nan)
    for r, rule in enumerate(rules):
        known = (isinstance(rule, Majority) and ties != "abstain") or (isinstance(rule, BestOfN) and ties == "earliest")
        if known and n_all <= _EXACT:
            exact[r] = expected(rule, codes, good, scores, scheme == "independent")
    kept = {name: values[..., sizes - 1] for name, values in out.items()}
    gain = kept["accuracy"] - kept["accuracy"][:1]
    return AnswerCurves(
        rules=names,
        models=models,
        n=sizes,
        gain=gain,
        exact=exact[..., sizes - 1],
        level=level,
        scheme=scheme,
        n_replicates=n_replicates,
        n_paths=n_paths,
        **kept,
    )


def _of_model(cells: np.ndarray, credits: np.ndarray, model: int, n_questions: int) -> tuple[np.ndarray, np.ndarray]:
    own = np.flatnonzero(cells // n_questions == model)
    return credits[own], cells[own] % n_questions


def _tails(drawn: np.ndarray, tails: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """The two quantiles over the first axis, without interpolation: values that were drawn."""
    n = len(drawn)
    places = [int(np.floor(tails[0] * (n - 1))), int(np.ceil(tails[1] * (n - 1)))]
    columns = np.ascontiguousarray(drawn.reshape(n, -1).T)
    columns.partition(places, axis=1)
    return tuple(columns[:, k].reshape(drawn.shape[1:]) for k in places)  # type: ignore[return-value]


def expected(
    rule: Rule, codes: np.ndarray, good: np.ndarray, scores: np.ndarray | None, replace: bool
) -> Float[np.ndarray, "models completions"]:
    """Exact accuracy of a majority or the best of n at every n, ties of votes or scores by chance."""
    n_models, n_questions, n_all = codes.shape
    out = np.zeros((n_models * n_questions, n_all))
    tables, rows = [], []
    for row, own in enumerate(codes.reshape(-1, n_all)):
        m = row % n_questions
        valid = own >= 0
        right = valid & good[m, np.maximum(own, 0)]
        if right.all():
            out[row] = 1
        elif right.any() and isinstance(rule, BestOfN):
            assert scores is not None
            out[row] = best_of_n_curve(scores[row // n_questions, m], right, valid, replace)
        elif right.any():
            votes = np.bincount(own[valid], minlength=good.shape[1])
            if (good[m] & (votes > 0)).sum() > 1:
                out[row] = np.nan  # several right answers: the formula has one
                continue
            wrong = np.sort(np.where(good[m], 0, votes))
            tables.append([int(right.sum()), int((~valid).sum()), *wrong])
            rows.append(row)
    if rows:
        out[rows] = majority_curves(np.array(tables), replace)
    return out.reshape(n_models, n_questions, n_all).mean(axis=1)
