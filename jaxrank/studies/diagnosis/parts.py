"""Findings on whether one ranking is enough: strengths by time and category, cycles, neighbours."""

from __future__ import annotations

import itertools

import numpy as np

from jaxrank.data.comparisons import Comparisons
from jaxrank.numerics.interval import normal_quantile
from jaxrank.numerics.solve.linear import pseudo_inverse
from jaxrank.studies.diagnosis.finding import CAUTION, NOTE, Finding
from jaxrank.studies.diagnosis.votes import CATEGORY, FEWEST, TIME, P, Votes

_LARGEST = 30  # categories that are looked at
_DRAWS = 1999  # of battles under the fitted model
_SHOWN = 3


def drift(votes: Votes) -> Finding | None:
    """Models whose strength differs between the first and the second half of the battles."""
    data = votes.data
    if TIME not in data.columns:
        return None
    at = _codes(data, TIME)
    known = np.flatnonzero(at >= 0)
    if len(known) < 2 * FEWEST or at[known].min() == at[known].max():
        return None
    order = known[np.argsort(at[known], kind="stable")]
    halves = [np.zeros(len(at), bool) for _ in range(2)]
    for half, rows in zip(halves, np.array_split(order, 2), strict=True):
        half[rows] = True
    moving, gap = _differing(votes, *halves, tests=len(data.models))
    if not len(moving):
        return None
    said = ", ".join(f"{data.models[i]!r} {gap[i]:+.2f}" for i in moving[:5])
    return Finding(
        "drift",
        CAUTION,
        f"{len(moving)} of {len(gap)} strengths differ between the first and the second half of the time: {said}",
        "One ranking of all battles is of no time: see jaxrank.ratings_over_time.",
        models=tuple(data.models[i] for i in moving),
    )


def categories(votes: Votes) -> Finding | None:
    """Models whose strength in one category differs from that in the others."""
    data = votes.data
    if CATEGORY not in data.columns:
        return None
    code, total = _codes(data, CATEGORY), data.count.sum()
    sizes = np.bincount(code[code >= 0], data.count[code >= 0])
    tried = [k for k in np.argsort(-sizes, kind="stable")[:_LARGEST] if min(sizes[k], total - sizes[k]) >= FEWEST]
    said, models = [], []
    for k in tried:
        inside = code == k
        other, gap = _differing(votes, ~inside, inside, tests=len(tried) * len(data.models))
        if len(other):
            name = data.columns[CATEGORY][int(np.argmax(inside))]
            most = ", ".join(f"{data.models[i]!r} {gap[i]:+.2f}" for i in other[:_SHOWN])
            said.append(f"{name!s} ({most})")
            models += [data.models[i] for i in other]
    if not said:
        return None
    return Finding(
        "categories differ",
        CAUTION,
        f"strengths in {len(said)} of {len(tried)} categories differ from those in the others: {'; '.join(said[:5])}",
        f'One ranking of all battles is a mean over categories: see jaxrank.by(data, "{CATEGORY}").',
        models=tuple(dict.fromkeys(models)),
    )


def _differing(votes: Votes, first: np.ndarray, second: np.ndarray, tests: int) -> tuple[np.ndarray, np.ndarray]:
    """Which models' strengths differ between two sets of battles, the most certain first, and by how much (L,)."""
    fits = [votes.fit(inside) for inside in (first, second)]
    gap = fits[1].scores - fits[0].scores
    # A model that lost its few battles runs off, and what voters add to its error then vanishes: the information tells.
    variances = [np.maximum(f.standard_errors**2, np.diag(f.covariance("information"))) for f in fits]
    error = np.sqrt(sum(variances))
    sure = max(votes.sure(f, tests) for f in fits)
    z = np.abs(gap) / error
    order = np.argsort(-z, kind="stable")
    return order[z[order] > sure], gap


def cycles(votes: Votes) -> Finding | None:
    """What no order explains of the differences between pairs [jiang2011], against what that is under the fitted model,
    battles as much alike as those of one voter are. Tested by its size, not by its share of all differences, which says
    little where models are nearly equal."""
    from scipy.sparse import csr_matrix  # slow to import

    data, scores = votes.data, votes.whole.scores
    wins, ties = data.wins, data.ties
    first, second = np.nonzero(np.triu(wins + wins.T + ties > 0, 1))
    n, total = len(scores), (wins + wins.T + ties)[first, second]
    decided = (wins + wins.T)[first, second]
    if len(first) < n:
        return None  # a tree: every order explains it
    chance, rows = 1 / (1 + np.exp(scores[second] - scores[first])), np.arange(len(first))
    one = np.ones(len(first))
    ends = csr_matrix((np.r_[one, -one], (np.r_[rows, rows], np.r_[first, second])), (len(first), n))
    inverse = pseudo_inverse((ends.T @ (ends.multiply(total[:, None]))).toarray())

    def flows(net: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared lengths: of all differences, and of what is left of them."""
        pull, every = (ends.T @ net.T).T, (net**2 / total).sum(axis=-1)
        return every, every - ((pull @ inverse) * pull).sum(axis=-1)

    every, seen = (float(v) for v in flows(2 * wins[first, second] - decided))
    rng = np.random.default_rng(0)
    mean, alike = decided * chance, np.sqrt(votes.design_effect)
    totals, left = [], []
    for size in (_DRAWS // 20, _DRAWS - _DRAWS // 20):
        drawn = mean + alike * (rng.binomial(np.rint(decided).astype(int), chance, (size, len(first))) - mean)
        total_usual, usual = flows(2 * drawn - decided)
        totals, left = [*totals, total_usual], [*left, usual]
        if 1 + sum((part >= seen).sum() for part in left) > P * (1 + _DRAWS):
            return None  # whatever further draws would say
    total_usual, usual = np.concatenate(totals), np.concatenate(left)
    return Finding(
        "cycles",
        CAUTION,
        f"no order explains {100 * seen / every:.1f} % of the differences between pairs; under Bradley-Terry of these "
        f"strengths it is {100 * np.median(usual / total_usual):.1f} %, and what is left would be "
        f"{seen / np.median(usual):.1f} times smaller",
        "Who wins depends on the pair, and one number a model cannot say it: see the plot of hodge_rank.",
    )


def neighbours(votes: Votes) -> Finding | None:
    """How many battles it takes to tell neighbours of the ranking apart with 95 % confidence, one pair at a time."""
    whole = votes.whole
    gap, error = whole.differences()
    order = whole.order
    pairs = list(itertools.pairwise(order))
    times = np.array([(normal_quantile(0.95) * error[p] / max(gap[p], 1e-12)) ** 2 for p in pairs])
    open_ = np.flatnonzero(times > 1)
    if not len(open_):
        return None
    n = votes.data.count.sum()
    said = [
        f"{whole.models[pairs[k][0]]!r} and {whole.models[pairs[k][1]]!r} {_size(n * times[k])}" for k in open_[:_SHOWN]
    ]
    return Finding(
        "neighbours",
        NOTE,
        f"{len(open_)} of {len(pairs)} neighbours in the ranking are not told apart at 95 % by {_size(n)} battles; if "
        f"they differ as they seem to it takes: {', '.join(said)}",
        "Tiers say what is known: jaxrank.tiers(fit).",
    )


def _size(n: float) -> str:
    return f"{n:,.0f}" if n < 1e7 else f"{n:.0e}"


def _codes(data: Comparisons, column: str) -> np.ndarray:
    """The values of a column as their places in order, int (E,); -1 where absent."""
    import pandas as pd

    index, names = pd.factorize(data.columns[column])
    order = np.argsort(names if names.dtype.kind == "f" else np.array([str(v) for v in names], object))
    place = np.empty(len(names) + 1, int)
    place[order], place[-1] = np.arange(len(names)), -1
    return place[index]
