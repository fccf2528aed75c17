"""The answer in a sentence or two: who is first, how sure that is, and who cannot be told from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxrank.errors import JaxrankError
from jaxrank.numerics.interval import Interval, percent, share
from jaxrank.results.convergence import Convergence
from jaxrank.results.returned import as_shown, ends_shown
from jaxrank.results.tables import visible
from jaxrank.results.tiers import separated

if TYPE_CHECKING:
    from jaxrank.results.ratings import Ratings

MOST = 6  # names in a sentence


def headline(ranked: Any, level: float = 0.95, points: Ratings | None = None) -> str:
    """Who is first in a `Result`, `Replicates` or a `Posterior`, with its score, and which models are not separated
    from it (`separated`, at ``level``); only the first where the method has no errors. Empty where nobody is ranked.
    ``points``: the ratings that are shown beside it, in place of the scores."""
    names, ranks, order = ranked.models, np.asarray(ranked.ranks), ranked.order
    first = [i for i in order if ranks[i] == 1]
    if not first:
        return ""
    if len(first) > 1:
        said = f"{_listed([names[i] for i in first])} share the first place by {ranked.method}"
    else:
        score = _score(ranked, level, int(first[0])) if points is None else _points(points, int(first[0]))
        score = f"{ranked.column.replace('_', ' ')} {score}" if ranked.direction else score
        said = f"{visible(names[first[0]])} is first by {ranked.method} with {score}"
        if (p_best := getattr(ranked, "p_best", None)) is not None:
            said += f", in {share(float(p_best[first[0]]))} of the replicates"
    try:
        apart: Any = separated(ranked, level)[first].all(axis=0)
    except JaxrankError:
        return f"{said}."
    near = [names[i] for i in order if i not in first and not apart[i]]  # a tier may leave out some of these
    other = len(names) - len(near) - len(first)
    if not near and not other:
        return f"{said}."
    if not near:
        return f"{said}; all others are separated from it at {percent(level)}."
    verb = "are" if len(near) > 1 else "is"
    rest = "" if not other else f", the other {other} are" if other > 1 else ", the other one is"
    return f"{said}; {_listed(near)} {verb} not separated from it at {percent(level)}{rest}."


def settling(con: Convergence) -> str:
    """After how many trials the ranking by the first method of a convergence study stays at that of the reference."""
    method, n = con.methods[0], con.n_trials
    reference = {"gold": "that of Bayes@N", "self": "its own of all trials"}.get(con.reference, "the one given")
    trials = lambda k: f"{k} trial" if k == 1 else f"{k} trials"
    if con.not_converged(method) == 1:
        return f"In no replicate does the whole ranking by {method} settle on {reference} within {trials(n)}."
    after = {part: np.flatnonzero(con.cdf(method) >= part) for part in (0.5, 0.95)}
    told = [f"in {percent(part)} of the replicates after {trials(at[0])}" for part, at in after.items() if len(at)]
    told = told or [f"in {share(1 - con.not_converged(method))} of the replicates within {trials(n)}"]
    late = "" if len(after[0.95]) else f", in {share(con.not_converged(method))} not within {n}"
    whole = f"the whole ranking by {method} settles on {reference}"
    return f"When trials are drawn again, {whole} {' and '.join(told)}{late}."


def _score(ranked: Any, level: float, i: int) -> str:
    return _number(float(as_shown(ranked, ranked.scores)[i]), _interval(ranked, level), i)


def _points(ratings: Ratings, i: int) -> str:
    interval = Interval(ratings.lower, ratings.upper, ratings.level, ratings.kind)
    return f"a rating of {_number(float(ratings.ratings[i]), interval, i)}"


def _interval(ranked: Any, level: float) -> Interval | None:
    """The interval of the scores as they are shown; None where there is none."""
    try:
        interval = ranked.interval(level)
    except JaxrankError:
        return None
    lower, upper = ends_shown(ranked, interval)
    return replace(interval, lower=lower, upper=upper)


def _listed(names: Sequence[str]) -> str:
    shown = [visible(name) for name in names[:MOST]]
    if len(names) > MOST:
        return f"{', '.join(shown)} and {len(names) - MOST} more"
    return " and ".join([*([", ".join(shown[:-1])] if shown[1:] else []), shown[-1]])


def _number(score: float, interval: Interval | None, i: int) -> str:
    """A score with as many decimals as its interval gives sense to."""
    if interval is None or not np.isfinite(width := float(interval.upper[i] - interval.lower[i])):
        return f"{score:.4g}"
    decimals = max(0, 1 - math.floor(math.log10(width / 2))) if width > 0 else 4
    return (
        f"{score:.{decimals}f} ({percent(interval.level)} {interval.noun} {interval.lower[i]:.{decimals}f} to "
        f"{interval.upper[i]:.{decimals}f})"
    )
