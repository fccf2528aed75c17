"""Findings on the graph of wins: separation and groups that nothing connects."""

from __future__ import annotations

import numpy as np

from jaxrank.data.kind import Data
from jaxrank.data.statistics import Pairs
from jaxrank.numerics.graph import component_labels, reachability, strong_components
from jaxrank.studies.diagnosis.finding import PAIRED_ML, PROBLEM, Finding, few, pick


def findings_of_wins(data: Data) -> list[Finding]:
    """Separation and disconnected groups of the graph in which an edge leads from a model to one that it beat."""
    if len(data.models) < 2:
        return []
    pairs = data.statistic(Pairs, data.pairing)
    wins, ties = np.asarray(pairs.wins) > 0, np.asarray(pairs.ties) > 0
    groups = _components(wins | wins.T)
    findings = []
    if len(groups) > 1:
        compared = _components(wins | wins.T | ties)
        what = "no comparison at all" if len(compared) == len(groups) else "ties at most"
        findings.append(
            Finding(
                "disconnected",
                PROBLEM,
                f"the models fall into {len(groups)} groups with {what} between them: "
                + "; ".join(few([data.models[i] for i in group]) for group in groups[:4])
                + ("; ..." if len(groups) > 4 else ""),
                "Nothing orders one group against another but ties or a prior: paired maximum likelihood has no "
                "answer, and with a prior the order between groups is the prior's.",
                methods=PAIRED_ML,
            )
        )
    closure = reachability(wins)
    components = strong_components(closure)
    reach, together = np.asarray(closure), np.asarray(components)
    if len(groups) == 1 and not together.all():
        top = pick(data.models, (together | ~reach.T).all(axis=1))
        bottom = pick(data.models, (together | ~reach).all(axis=1))
        n_parts = len(set(np.asarray(component_labels(components)).tolist()))
        parts = []
        if top:
            parts.append(f"{few(top)} never lost to any of the others")
        if bottom:
            parts.append(f"{few(bottom)} never beat any of the others")
        findings.append(
            Finding(
                "separation",
                PROBLEM,
                f"wins lead one way between {n_parts} groups of models: {'; '.join(parts)}",
                "Paired maximum likelihood has no finite strengths (the methods say so): use the variant with a "
                'prior (..._map), or separation="extend", or more trials. Resamples are separated more often still.',
                models=(*top, *bottom),
                methods=PAIRED_ML,
            )
        )
    return findings


def _components(edges: np.ndarray) -> list[list[int]]:
    """Groups of nodes that symmetric edges connect, the largest first."""
    labels = np.asarray(component_labels(reachability(edges)))
    groups = [np.flatnonzero(labels == k).tolist() for k in dict.fromkeys(labels.tolist())]
    return sorted(groups, key=len, reverse=True)
