"""Findings on who voted: voters who favour a model, one voter's weight, votes that are alike, bursts, repetitions."""

from __future__ import annotations

import numpy as np

from jaxrank.data.clusters import clustering
from jaxrank.data.comparisons import A_WINS, TIE
from jaxrank.results.fit import Result
from jaxrank.studies.diagnosis.finding import CAUTION, NOTE, Finding, few
from jaxrank.studies.diagnosis.votes import PROMPT, TIME, VOTER, Votes, moved

_BURST, _TIMES = 0.05, 3.0  # of all votes; of the mean share of a voter
_ALIKE = 1.5  # a design effect from which errors are visibly too small
_TRIED = 5  # voters whose votes are left out and everything fitted again
_LEAST = 1.0  # variance of a count of wins below which it says nothing of a voter


def one_sided_voters(votes: Votes) -> Finding | None:
    """Voters whose votes for or against a model are beyond chance, given the strengths."""
    if votes.voters is None:
        return None
    data, scores = votes.data, votes.whole.scores
    names, code = _voters(votes)
    decided = data.outcome != TIE
    a, b, code, count = data.a[decided], data.b[decided], code[decided], data.count[decided]
    chance = 1 / (1 + np.exp(scores[b] - scores[a]))
    excess, spread = count * ((data.outcome[decided] == A_WINS) - chance), count * chance * (1 - chance)
    n, size = len(data.models), len(names) * len(data.models)
    total = lambda v, sign: np.bincount(code * n + a, v, size) + np.bincount(code * n + b, sign * v, size)
    gain, variance = total(excess, -1).reshape(-1, n), total(spread, 1).reshape(-1, n)
    tried = variance > _LEAST
    z = np.where(tried, gain / np.sqrt(np.where(tried, variance, 1)), 0)
    # Votes of one voter are alike, so that the counts of all voters spread more than chance says.
    usual = max(float(np.sqrt(np.mean(z[tried] ** 2))), 1.0) if tried.any() else 1.0
    found = np.argwhere(np.abs(z) > votes.sure(votes.whole, int(tried.sum())) * usual)
    if not len(found):
        return None
    found = found[np.argsort(-np.abs(z[tuple(found.T)]))]
    v, m = found[0]
    without = votes.fit(clustering(data, VOTER).index != v)
    who = list(dict.fromkeys(names[i] for i in found[:, 0]))
    return Finding(
        "one-sided voters",
        CAUTION,
        f"{len(who)} of {len(names)} voters favour or disfavour a model beyond chance: {few(who)}; most: {names[v]!r} "
        f"gave {data.models[m]!r} {gain[v, m]:+.1f} wins more than its strength says ({z[v, m]:+.1f} standard errors "
        f"of independent votes); without this voter its rank is {without.ranks[m]}, with it {votes.whole.ranks[m]}",
        "Look at these votes, and leave them out if they are no judgements: data.select(battles=...).",
        models=tuple(dict.fromkeys(data.models[i] for i in found[:, 1])),
    )


def one_voter(votes: Votes) -> Finding | None:
    """The largest change of a rank when any one voter is left out: by one step for all, exact for those that come out
    largest."""
    if votes.voters is None:
        return None
    whole, index = votes.whole, clustering(votes.data, VOTER)
    if whole.deviations is None:
        return None
    change, shares = whole.deviations
    n, data = len(whole.models), votes.data
    decided = data.count * data.weight * (data.outcome != TIE)
    who = np.flatnonzero(np.bincount(index.index, decided, index.size))  # voters of ties alone change nothing
    if shares is None or len(change) != len(who):
        return None
    scores = whole.scores - change[:, :n] / (1 - np.minimum(shares, 0.99))[:, None]
    order = np.argsort(np.argsort(-scores, axis=1), axis=1) + 1
    largest = np.abs(order - whole.ranks).max(axis=1)
    tried = who[np.lexsort([-np.abs(change[:, :n]).max(axis=1), -largest])[:_TRIED]]
    names, _ = _voters(votes)
    exact: list[tuple[int, int, Result]] = []
    for v in tried.tolist():
        without = votes.fit(index.index != v)
        exact.append((int(np.abs(without.ranks - whole.ranks).max()), v, without))
    by_how_much, v, without = max(exact, key=lambda found: found[0])
    if by_how_much == 0:
        return None
    return Finding(
        "one voter",
        NOTE,
        f"of all voters {names[v]!r} changes most when left out: {moved(whole, without)}",
        'Ranks that hang on one voter are not known: see the intervals of fit(...).clustered("voter").',
    )


def battles_alike(votes: Votes) -> Finding | None:
    """The design effect of voters and of prompts, and the correlation within them."""
    said, worst, column = [], 1.0, ""
    for name in (VOTER, PROMPT):
        if name not in votes.data.columns or (name == VOTER and votes.voters is None):
            continue
        index, count = clustering(votes.data, name), votes.data.count
        sizes = np.bincount(index.index, count, index.size)
        mates = (sizes**2).sum() / sizes.sum() - 1
        if mates <= 0:
            continue
        effect = votes.effect_of(name)
        alike = (effect - 1) / mates
        said.append(f"by {name} variances are {effect:.2f} times those of independent battles, correlation {alike:.3f}")
        if effect > worst:
            worst, column = effect, name
    if worst < _ALIKE:
        return None
    return Finding(
        "battles are alike",
        CAUTION,
        "; ".join(said),
        f'Errors that take battles for independent are too small: use fit(...).clustered("{column}"), or '
        f'bootstrap(scheme=jaxrank.clusters("{column}")).',
    )


def bursts(votes: Votes) -> Finding | None:
    """Voters with more than a twentieth of the votes."""
    if votes.voters is None:
        return None
    names, code = _voters(votes)
    share = np.bincount(code, votes.data.count, len(names)) / votes.data.count.sum()
    many = np.flatnonzero(share > max(_BURST, _TIMES / len(names)))
    if not len(many):
        return None
    many = many[np.argsort(-share[many])]
    said = ", ".join(f"{names[i]!r} {100 * share[i]:.1f} %" for i in many[:5])
    return Finding(
        "few voters give many votes",
        CAUTION,
        f"{len(many)} of {len(names)} voters give more than {100 * _BURST:.0f} % of the votes each: {said}",
        'The ranking is theirs to that extent: see fit(...).clustered("voter"), and the ranking without them.',
    )


def repetitions(votes: Votes) -> Finding | None:
    """Rows that repeat another in everything that is known, where that is enough to tell battles apart."""
    data = votes.data
    if VOTER not in data.columns or not {PROMPT, TIME} & set(data.columns):
        return None
    import pandas as pd

    again = pd.DataFrame({**data.columns, "a": data.a, "b": data.b, "outcome": data.outcome}).duplicated().to_numpy()
    if not again.any():
        return None
    return Finding(
        "repeated battles",
        CAUTION,
        f"{int(again.sum())} of {len(again)} rows repeat another in every column, the first is row {again.argmax()}",
        "A vote that was counted twice makes errors too small: leave repetitions out.",
    )


def _voters(votes: Votes) -> tuple[list[str], np.ndarray]:
    """Names of the clusters by voter, and which each battle is of."""
    import pandas as pd

    index = clustering(votes.data, VOTER)
    _, names = pd.factorize(votes.data.columns[VOTER])
    named = [f"{n:g}" if isinstance(n, float) else str(n) for n in names]
    return [*named, *("(no name)" for _ in range(index.alone))], index.index
