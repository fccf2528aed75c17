"""Findings on ``Responses``: coverage, trials, outcomes, identical models, order."""

from __future__ import annotations

import numpy as np

from jaxrank.data.responses import Responses
from jaxrank.methods.catalogue import entries
from jaxrank.studies.diagnosis.finding import CAUTION, JOINT_ML, NOTE, PROBLEM, Finding, few, of_statistic, pick


def findings_of_responses(data: Responses) -> list[Finding | None]:
    """All checks of a response tensor; None where a check has nothing to say. Real scores have no successes and no
    categories: checks of these are left out."""
    checks = (
        _coverage,
        _unequal_trials,
        _one_trial,
        _counts_only,
        _categories,
        _extreme_questions,
        _extreme_models,
        _twins,
        _order_of_trials,
    )
    of_outcomes = (_categories, _extreme_questions, _extreme_models, _twins, _order_of_trials)
    return [check(data) for check in checks if data.kind != "real" or check not in of_outcomes]


def _coverage(data: Responses) -> Finding | None:
    tried = data.trials > 0
    gaps = ~tried.all(axis=1)
    if not gaps.any():
        return None
    worst = int(np.argmin(data.coverage))
    common = int(tried.all(axis=0).sum())
    return Finding(
        "coverage",
        CAUTION,
        f"{int(gaps.sum())} of {len(data.models)} models lack results on some questions (least: "
        f"{data.models[worst]!r} on {int(tried[worst].sum())} of {len(data.questions)}); {common} questions have "
        "results of all models",
        "Means over questions (avg, bayes, pass_at_k) compare models on different questions; paired methods use the "
        "trials that two models share; Rasch models adjust for difficulty. Responses.select keeps common questions.",
        pick(data.models, gaps),
        pick(data.questions, ~tried.all(axis=0)),
    )


def _unequal_trials(data: Responses) -> Finding | None:
    n = data.trials[data.trials > 0]
    if n.min() == n.max():
        return None
    return Finding(
        "unequal trials",
        CAUTION,
        f"cells have between {n.min()} and {n.max()} trials",
        f"Pass@k methods need k of at most {n.min()}; aligned pairing leaves out trials that a partner lacks "
        '(pairing="all" uses them).',
    )


def _one_trial(data: Responses) -> Finding | None:
    if data.shape[2] > 1:
        return None
    return Finding(
        "one trial",
        NOTE,
        "every cell has one trial",
        "Chance within a question cannot be told from its difficulty: Pass@k exists for k = 1 only, and resampling "
        'must draw questions (scheme="questions").',
        methods=tuple(k for k in entries() if "pass_" in k),
    )


def _counts_only(data: Responses) -> Finding | None:
    if data.outcomes is not None:
        return None
    return Finding(
        "counts only",
        CAUTION,
        "only counts are known, not which trial succeeded",
        'Paired methods need pairing="all"; methods that read trials in order refuse the data.',
        methods=of_statistic("pairs", "events", "sequence", kind="responses"),
    )


def _categories(data: Responses) -> Finding | None:
    if data.binary:
        return None
    return Finding(
        "categories",
        NOTE,
        f"outcomes have {data.n_categories} categories with values {', '.join(f'{v:g}' for v in data.levels)}",
        "Methods for right and wrong refuse them; turn R into 0 and 1 with a threshold, or use bayes or avg.",
        methods=tuple(k for k, e in entries().items() if e.ranker().binary),
    )


def _extreme(data: Responses, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Models (axis 1) or questions (axis 0) with the lowest, and with the highest, outcome in every observed trial."""
    n = data.counts.sum(axis=(axis, 2))
    return (data.counts[..., 0].sum(axis=axis) == n) & (n > 0), (data.counts[..., -1].sum(axis=axis) == n) & (n > 0)


def _extreme_questions(data: Responses) -> Finding | None:
    zero, full = _extreme(data, 0)
    if not (zero | full).any():
        return None
    return Finding(
        "questions without information",
        NOTE,
        f"of {len(data.questions)} questions {int(full.sum())} are solved in every trial and {int(zero.sum())} in none",
        "They shift no comparison between models; their difficulty has no finite maximum-likelihood value, and weights "
        "by difficulty (inverse_difficulty) clip it.",
        questions=pick(data.questions, zero | full),
        methods=(*JOINT_ML, "inverse_difficulty"),
    )


def _extreme_models(data: Responses) -> Finding | None:
    zero, full = _extreme(data, 1)
    if not (zero | full).any():
        return None
    parts = [
        f"{few(pick(data.models, which))} {word} in every trial"
        for which, word in ((full, "succeeded"), (zero, "failed"))
        if which.any()
    ]
    return Finding(
        "perfect or zero models",
        PROBLEM,
        "; ".join(parts),
        "Their ability has no finite maximum-likelihood value: use a method with a prior (rasch_map, "
        "bradley_terry_map), or avg, whose interval has a width for them too.",
        models=pick(data.models, zero | full),
        methods=JOINT_ML,
    )


def _twins(data: Responses) -> Finding | None:
    rows = data.counts if data.outcomes is None else data.outcomes
    groups: dict[bytes, list[str]] = {}
    for name, row in zip(data.models, rows, strict=True):
        groups.setdefault(row.tobytes(), []).append(name)
    twins = [names for names in groups.values() if len(names) > 1]
    if not twins:
        return None
    return Finding(
        "identical models",
        NOTE,
        "; ".join(" = ".join(map(repr, names[:5])) for names in twins[:3]) + (" and more" if len(twins) > 3 else ""),
        "Every cell is equal: every method ties them. Check that one run was not read under two names.",
        models=tuple(name for names in twins for name in names),
    )


def _order_of_trials(data: Responses) -> Finding | None:
    if data.outcomes is None or data.shape[2] == 1:
        return None
    ordered = of_statistic("sequence", kind="responses")
    if _is_sorted(data.outcomes):
        return Finding(
            "trial order",
            CAUTION,
            "within every cell that has both, all successes come before or after all failures: the order looks made "
            "up, as when counts are written out as trials",
            'Aligned pairing then compares unlike trials: use pairing="all". Methods that read trials in order depend '
            "on an order that was never there.",
            methods=ordered,
        )
    assumed = [note for note in data.notes if "order of appearance" in note or "not aligned" in note]
    says = assumed[0] if assumed else "trials are taken in the order given; whether it is that of the runs is not known"
    return Finding(
        "trial order",
        NOTE,
        says,
        "Ratings that read trials in order depend on it; other methods on the alignment of trial n of two models, "
        'and with pairing="all" not even on that.',
        methods=ordered,
    )


def _is_sorted(outcomes: np.ndarray) -> bool:
    """True when eight or more mixed cells of three or more trials are all sorted in one direction."""
    x = outcomes.astype(int)
    seen = x >= 0
    step = np.where(seen[..., :-1] & seen[..., 1:], np.diff(x, axis=2), 0)
    highest, lowest = x.max(axis=2), np.where(seen, x, x.max()).min(axis=2)
    mixed = np.argwhere((lowest < highest) & (seen.sum(axis=2) >= 3))
    steps = step[mixed[:, 0], mixed[:, 1]]
    return len(mixed) >= 8 and bool(np.all(steps >= 0) or np.all(steps <= 0))
