"""The sections of a report."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from jaxrank.reports.blocks import Code, Figure, Items, Section, Table, Text
from jaxrank.reports.study import Found
from jaxrank.results import plots
from jaxrank.results.plots.views import size_of
from jaxrank.results.storage import versions
from jaxrank.results.tiers import tiers

MATRIX = 80  # models, above which matrices of all pairs are left out


def sections(found: Found) -> list[Section]:
    """All sections, in the order of reading."""
    made = [_summary(found), _data(found), _ranking(found), _tiers(found), _ranks(found), _agreement(found)]
    return [*made, _convergence(found), _making(found)]


def _summary(found: Found) -> Section:
    result, order = found.result, found.result.order
    best = [result.models[i] for i in order if result.ranks[i] == 1]
    lead = f"Best by {result.method}: {', '.join(best)}."
    rows = [("Data", size_of(found.data)), ("Best", lead)]
    if found.replicates is not None and found.replicates.tally.finite > 1:
        first = found.replicates.rank_sets(found.level).lower
        top = [result.models[i] for i in order if first[i] == 1]
        shown = ", ".join(top[:12]) + (f" and {len(top) - 12} more" if len(top) > 12 else "")
        rows.append((f"Not separable from the top at {found.level:.0%}", shown))
    problems = len(found.diagnosis.problems)
    rows.append(("Diagnosis", f"{len(found.diagnosis.findings)} findings, {problems} of them problems"))
    return Section("In short", [Items(rows)])


def _data(found: Found) -> Section:
    said = [*found.data.notes, *([found.missing["models"]] if "models" in found.missing else [])]
    notes = [("note", note) for note in said]
    findings = [(f.severity, f"{f.name}: {f.says}. {f.means}".replace("..", ".")) for f in found.diagnosis.findings]
    blocks: list[Any] = [Items([*notes, *findings]) if notes or findings else Text("Nothing to report.")]
    if found.data.questions:
        draw = lambda ax: plots.response_matrix(found.result, ax)
        blocks.append(Figure("outcomes", "Mean outcome of every model on every question", draw))
    elif len(found.data.models) <= MATRIX:
        draw = lambda ax: plots.win_matrix(found.result, ax)
        words = f"Share of {found.data.content} in which each model is above each other"
        blocks.append(Figure("wins", words, draw))
    return Section("Data and diagnosis", blocks)


def _ranking(found: Found) -> Section:
    rep, result = found.replicates, found.result
    blocks: list[Any] = [Text(f"Method: {result.method}. Status: {result.status}.")]
    frame = result.to_frame(level=found.level)
    has_sets = rep is not None and rep.tally.finite > 1
    if (played := _played(found.data)) is not None:
        frame[found.data.content] = played[result.order]
    if rep is not None:
        order = result.order
        if not result.has_interval and 2 * rep.tally.finite > rep.n_replicates:
            frame["lower"], frame["upper"] = (end[order] for end in rep.interval(found.level))
        ranks = rep.rank_intervals(found.level)
        frame["rank_interval"] = _ranges(ranks, order)
        if has_sets:
            sets = rep.rank_sets(found.level)
            frame["rank_set"] = _ranges(sets, order)
        frame["p_best"] = rep.p_best[order]
    kinds = []
    if result.has_interval:
        kinds.append(f"lower, upper: normal {found.level:.0%} interval of the score")
    elif "lower" in frame:
        kinds.append(f"lower, upper: {found.level:.0%} percentile interval of the score over replicates")
    if rep is not None:
        kinds.append(
            f"rank_interval: {found.level:.0%} percentile interval of the rank over {rep.n_replicates:,} "
            f"replicates by {rep.scheme}; p_best: share of replicates in which the model is first, ties sharing it"
        )
    if has_sets:
        kinds.append(f"rank_set: rank sets, which hold for all models at once with {found.level:.0%}")
    blocks += [Text(". ".join(kinds) + "."), Table(frame)] if kinds else [Table(frame)]
    source = result if result.has_interval or rep is None else rep
    draw = lambda ax: plots.leaderboard(source, ax, level=found.level)
    blocks.insert(1, Figure("leaderboard", "Scores with intervals, best model first", draw))
    return Section("Ranking", blocks)


def _played(data: Any) -> np.ndarray | None:
    """How many battles or ordered lists each model took part in, (L,); None for trials."""
    if data.questions:
        return None
    played = data.count @ (data.events() >= 0)
    return played.astype(int) if data.whole else played


def _ranges(ends: Any, order: np.ndarray) -> list[str]:
    return [f"{a}" if a == b else f"{a}–{b}" for a, b in zip(ends.lower[order], ends.upper[order], strict=True)]


def _tiers(found: Found) -> Section:
    source = found.replicates if found.replicates is not None else found.result
    if found.replicates is None and not found.result.has_interval:
        return Section("Tiers", [Text(f"No tiers: {found.missing.get('bootstrap', 'no replicates')}")])
    if found.replicates is not None and found.replicates.tally.finite < 2:
        return Section("Tiers", [Text("No tiers: too few replicates have scores for all models.")])
    tier, order = tiers(source, found.level).tiers, found.result.order
    rows = []
    for t in range(1, tier.max() + 1):
        rows.append((f"Tier {t}", ", ".join(found.result.models[i] for i in order if tier[i] == t)))
    draw = lambda ax: plots.tiers(source, ax, level=found.level)
    words = "A tier is everything down from its leader until the first model that is separated from that leader."
    return Section("Tiers", [Text(words), Items(rows), Figure("tiers", "Models coloured by tier", draw)])


def _ranks(found: Found) -> Section:
    rep = found.replicates
    if rep is None:
        return Section("How sure the ranks are", [Text(f"Not computed: {found.missing['bootstrap']}")])
    blocks: list[Any] = [Text(f"{rep.n_replicates:,} replicates by {rep.scheme}.")]
    failed = [(str(status), f"{n:,} replicates") for status, n in rep.status_counts().items() if status]
    blocks += [Items(failed)] if failed else []
    if rep.tally.ranked > 0:
        draw = lambda ax: rep.plot("ranks", ax)
        blocks.append(Figure("ranks", "Share of replicates of each rank of each model", draw))
    return Section("How sure the ranks are", blocks)


def _agreement(found: Found) -> Section:
    table = found.table
    if found.gold not in table.methods:
        return Section("Agreement of methods", [Text(f"{found.gold} does not rank every model.")])
    agreement = table.agreement(found.gold)
    import pandas as pd

    group = {name: i for i, names in enumerate(agreement.groups, start=1) for name in names}
    tau = agreement.tau_with_gold
    frame = pd.DataFrame({"method": list(tau), "tau_b": list(tau.values()), "order": [group[name] for name in tau]})
    ranks = table.to_frame().rename_axis("model").reset_index().iloc[found.result.order]
    words = (
        f"Kendall's tau-b of each method's ranking with {found.gold}; methods of one number in the column order rank "
        f"all models identically ({len(agreement.groups)} distinct orders of {len(tau)} methods)."
    )
    left = [(name, why) for name, why in table.skipped.items()]
    left += [(name, r.explain()) for name, r in table.results.items() if name not in agreement.methods]
    draw = lambda ax: plots.agreement(agreement, ax)
    blocks: list[Any] = [Text(words), Table(frame), Figure("agreement", "Tau-b between methods", draw)]
    blocks.append(Table(ranks, folded="Ranks of every model by every method"))
    return Section("Agreement of methods", [*blocks, *([Text("Left out:"), Items(left)] if left else [])])


def _convergence(found: Found) -> Section:
    con = found.convergence
    if con is None:
        return Section("How many trials are needed", [Text(f"Not computed: {found.missing['convergence']}.")])
    words = (
        "Trials are drawn again with replacement, and models ranked after each. convergence@n is the number of trials "
        "from which on the ranking equals that of Bayes@N on all trials; mean counts those that never settle as N."
    )
    figures = [
        Figure("tau", "Agreement with the reference against the number of trials", lambda ax: con.plot("tau", ax)),
        Figure("convergence", "Distribution of convergence@n", lambda ax: con.plot("convergence", ax)),
    ]
    return Section("How many trials are needed", [Text(words), Table(con.summary_frame()), *figures])


def _making(found: Found) -> Section:
    options = {
        k: np.asarray(v).tolist() if isinstance(v, np.ndarray) else v for k, v in vars(found.result.ranker).items()
    }
    rows = [(name, version) for name, version in versions().items()]
    rows += [("Python", platform.python_version()), ("seed", str(found.seed))]
    rows += [("method", found.result.method), ("options", ", ".join(f"{k}={v}" for k, v in options.items()) or "none")]
    rows += [("computed in", f"{found.seconds:.1f} s")]
    return Section("How this page was made", [Items(rows), *([Code(found.command)] if found.command else [])])
