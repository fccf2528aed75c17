"""Findings on what shifts votes beside strength: the side, covariates; and on how ties count."""

from __future__ import annotations

import numpy as np

from jaxrank.data.comparisons import A_WINS, B_WINS, TIE, Comparisons
from jaxrank.data.covariates import Design, unidentified
from jaxrank.results.coefficients import coefficients
from jaxrank.studies.diagnosis.finding import CAUTION, NOTE, Finding
from jaxrank.studies.diagnosis.votes import Votes, moved
from jaxrank.studies.fit import fit


def side_bias(votes: Votes) -> Finding | None:
    """Whether a, who is taken to be shown first, wins more or less than its share."""
    data = votes.data
    if not ((data.outcome == A_WINS).any() and (data.outcome == B_WINS).any()):
        return None  # the winner is named first
    x, _ = Design((), side=True).values(data)
    if unidentified(data, x) is not None:
        return None
    sided = votes.fit(side=True)
    row = coefficients(sided)["side"]
    if abs(row.coefficient) < votes.sure(sided) * row.se:
        return None
    return Finding(
        "side bias",
        CAUTION,
        f"the model named first has {row.coefficient:+.3f} log-odds (95 %: {row.lower:+.3f} to {row.upper:+.3f}), odds "
        f"times {row.odds:.2f}; {moved(votes.whole, sided)}",
        "If the first model is who was shown first, votes depend on the place: fit with side=True.",
    )


def covariates(votes: Votes) -> Finding | None:
    """Whether what both sides have more or less of, such as length, shifts votes."""
    names = pairs_of_columns(votes.data)
    if not names:
        return None
    styled = votes.fit(covariates=names)
    sure = votes.sure(styled, len(names))
    rows = [r for r in coefficients(styled) if abs(r.coefficient) >= sure * r.se]
    if not rows:
        return None
    said = ", ".join(f"{r.covariate} {r.coefficient:+.3f} ({r.lower:+.3f} to {r.upper:+.3f})" for r in rows)
    return Finding(
        "covariates shift votes",
        CAUTION,
        f"log-odds by root mean square of the difference (95 %): {said}; {moved(votes.whole, styled)}",
        "The ranking is of strength and style together: fit with covariates= for strengths at equal style.",
    )


def pairs_of_columns(data: Comparisons) -> tuple[str, ...]:
    """Names of covariates that the battles hold for both sides as numbers of 0 or more, but for points, which say who
    won."""
    known = data.columns
    names = [c.removesuffix("_a") for c in known if c.endswith("_a") and f"{c.removesuffix('_a')}_b" in known]

    def usable(name: str) -> bool:
        both = [known[f"{name}_{side}"] for side in "ab"]
        return all(v.dtype.kind == "f" and bool((np.isfinite(v) & (v >= 0)).all()) for v in both)

    found = [name for name in names if name != "score" and usable(name)]
    x, _ = Design(tuple(found)).values(data)
    return tuple(name for name, row in zip(found, x, strict=True) if row.any())


def tie_convention(votes: Votes) -> Finding | None:
    """Ranks with ties dropped, as half a win, and as outcomes of their own."""
    data = votes.data
    if not (data.outcome == TIE).any():
        return None
    ways = {
        "dropped": votes.whole,
        "as half a win": votes.fit(ties="half"),
        "as outcomes of their own (Davidson)": fit(data, "bradley_terry_davidson_map", dtype="float64"),
    }
    ranks = np.stack([r.ranks for r in ways.values()])
    spread = np.ptp(ranks, axis=0)
    if not spread.any():
        return None
    worst = int(np.argmax(spread))
    said = ", ".join(f"{r[worst]} with ties {way}" for way, r in zip(ways, ranks, strict=True))
    return Finding(
        "tie convention",
        NOTE,
        f"ranks of {int((spread > 0).sum())} of {len(spread)} models depend on how ties count; most: "
        f"{data.models[worst]!r}, {said}",
        "State which convention a ranking has; differences within the errors need no more.",
        models=tuple(data.models[i] for i in np.flatnonzero(spread)),
    )
