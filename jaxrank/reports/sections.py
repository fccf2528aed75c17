"""The sections of a report."""

from __future__ import annotations

import platform
from dataclasses import replace
from typing import Any

import numpy as np

from jaxrank.models.options import options_in_words
from jaxrank.numerics.interval import Interval, percent, share
from jaxrank.numerics.status import Status
from jaxrank.reports.blocks import Code, Figure, Items, Section, Table, Text
from jaxrank.reports.comparison import comparison
from jaxrank.reports.groups import groups
from jaxrank.reports.study import Found
from jaxrank.results import plots
from jaxrank.results.bars import Bars
from jaxrank.results.headline import headline, settling
from jaxrank.results.plots.views import size_of
from jaxrank.results.returned import ends_shown
from jaxrank.results.storage import versions
from jaxrank.results.tiers import tiers

MATRIX = 80  # models, above which matrices of all pairs are left out


def sections(found: Found) -> list[Section]:
    """All sections that these data and this method fill, answers first."""
    making = [
        _summary,
        comparison,
        _ranking,
        groups,
        _tiers,
        _mean_ranks,
        _ranks,
        _convergence,
        _agreement,
        _data,
        _making,
    ]
    return [section for make in making if (section := make(found)) is not None]


def _summary(found: Found) -> Section:
    ranked = found.result if found.result.has_interval or found.replicates is None else found.replicates
    settled = settling(found.convergence) if found.convergence is not None else ""
    lines = [headline(ranked, found.level) or f"{found.result.method} ranks no model.", _often(found), settled]
    cautions = [f.name for f in found.diagnosis.findings if f.severity != "note"]
    data = f"The data: {size_of(found.data)}."
    if cautions:
        data += f" To be known about them: {', '.join(cautions)} (see Data and diagnosis)."
    return Section("In short", [*(Text(line, lead=True) for line in lines if line), Text(data)])


def _often(found: Found) -> str:
    """How often the first is first, and who else is."""
    result, rep = found.result, found.replicates
    if rep is None:
        return ""
    likely = [i for i in np.argsort(-rep.p_best, kind="stable") if rep.p_best[i] >= 0.01][:5]
    told = [f"{result.models[i]} in {share(float(rep.p_best[i]))}" for i in likely]
    return f"First of {rep.n_replicates:,} replicates by {rep.drawn}: {', '.join(told)}." if told else ""


def _data(found: Found) -> Section:
    said = [*found.data.notes, *([found.missing["models"]] if "models" in found.missing else [])]
    notes = [("note", note) for note in said]
    findings = [(f.severity, f.sentences) for f in found.diagnosis.findings]
    blocks: list[Any] = [Items([*findings, *notes]) if notes or findings else Text("Nothing to report.")]
    if found.data.questions:
        draw = lambda ax: plots.response_matrix(found.result, ax)
        blocks.append(Figure("outcomes", "Mean outcome of every model on every question", draw))
    elif len(found.data.models) <= MATRIX:
        draw = lambda ax: plots.win_matrix(found.result, ax)
        words = f"Share of {found.data.content} in which each model is above each other"
        blocks.append(Figure("wins", words, draw))
    return Section("Data and diagnosis", blocks)


def _interval(found: Found) -> Interval | None:
    """The interval of the scores as shown: the method's own, else of replicates most of which have scores."""
    rep, result = found.replicates, found.result
    if result.has_interval:
        interval = result.interval(found.level)
    elif rep is not None and 2 * rep.tally.finite > rep.n_replicates:
        interval = rep.interval(found.level)
    else:
        return None
    lower, upper = ends_shown(result, interval)
    return replace(interval, lower=lower, upper=upper)


def _ranking(found: Found) -> Section:
    rep, result = found.replicates, found.result
    status = "" if result.status == Status.CONVERGED else f" Status: {result.status}."
    order = result.order
    frame, kinds = result.to_frame(level=None), []
    if rep is not None:
        ranks = rep.rank_intervals(found.level)
        frame["rank_interval"] = _ranges(ranks, order)
        kinds.append(f"rank_interval: of each model's rank, {ranks.words}")
        if rep.tally.finite > 1:
            frame["rank_set"] = _ranges(rep.rank_sets(found.level), order)
            kinds.append(f"rank_set: ranks that hold for all models at once with {percent(found.level)}")
        frame["p_best"] = rep.p_best[order]
        kinds.append("p_best: share of replicates in which the model is first, ties sharing it")
    if (played := _played(found.data)) is not None:
        frame[found.data.content] = played[order]
    elif found.data.gaps:
        frame["questions"] = found.data.n_seen[order]
    interval = _interval(found)
    if interval is not None:
        frame["lower"], frame["upper"] = (end[order] for end in interval)
        kinds.insert(0, f"lower, upper: interval of the score, {interval.words}")
    source = result if result.has_interval or rep is None else rep
    draw = lambda ax: plots.leaderboard(source, ax, level=found.level)
    figure = Figure("leaderboard", "Scores with intervals, best model first", draw)
    bars = Bars(result.column, "lower", "upper") if interval is not None else Bars(result.column)
    kinds += [result.direction] if result.direction else []
    told = [Text(". ".join(kinds) + ".")] if kinds else []
    return Section("Ranking", [Text(f"By {result.method}.{status}"), Table(frame, bars=bars, figure=figure), *told])


def _played(data: Any) -> np.ndarray | None:
    """How many battles or ordered lists each model took part in, (L,); None for trials."""
    if data.questions:
        return None
    played = data.count @ (data.events() >= 0)
    return played.astype(int) if data.whole else played


def _ranges(ends: Any, order: np.ndarray) -> list[str]:
    return [f"{a}" if a == b else f"{a}–{b}" for a, b in zip(ends.lower[order], ends.upper[order], strict=True)]


def _tiers(found: Found) -> Section | None:
    source = found.replicates if found.replicates is not None else found.result
    if found.replicates is None and not found.result.has_interval:
        return None
    if found.replicates is not None and found.replicates.tally.finite < 2:
        return Section("Tiers", [Text("No tiers: too few replicates have scores for all models.")])
    tier, order = tiers(source, found.level).tiers, found.result.order
    rows = []
    for t in range(1, tier.max() + 1):
        rows.append((f"Tier {t}", ", ".join(found.result.models[i] for i in order if tier[i] == t)))
    draw = lambda ax: plots.tiers(source, ax, level=found.level)
    words = (
        "A tier is everything down from its leader until the first model that is separated from that leader; all lines "
        f"hold at once at {percent(found.level)}."
    )
    return Section("Tiers", [Text(words), Items(rows), Figure("tiers", "Models coloured by tier", draw)])


def _mean_ranks(found: Found) -> Section | None:
    """Of a complete table of scores: what the mean ranks tell apart, and who is better whatever counts as good."""
    data = found.data
    few = 2 <= len(data.models) <= MATRIX and len(data.questions) > 1
    if data.kind != "real" or not few or data.gaps or data.weighted:
        return None
    words = "Every question ranks the models. The test is Friedman's, the bars are those of Nemenyi's."
    ranks = Figure(
        "critical_difference", "Mean ranks", lambda ax: plots.critical_difference(data, ax, level=found.level)
    )
    shares = Figure("profiles", "Performance profiles", lambda ax: plots.profiles(data, ax, level=found.level))
    return Section("Mean ranks", [Text(words), ranks, shares])


def _ranks(found: Found) -> Section | None:
    rep = found.replicates
    if rep is None:
        return None
    blocks: list[Any] = [Text(f"{rep.n_replicates:,} replicates by {rep.drawn}.")]
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
    orders = "distinct orders" if len(agreement.groups) > 1 else "order"
    words = (
        f"Kendall's tau-b of each method's ranking with {found.gold}; methods of one number in the column order rank "
        f"all models identically ({len(agreement.groups)} {orders} of {len(tau)} methods)."
    )
    left = [(name, why) for name, why in table.skipped.items()]
    left += [(name, r.explain()) for name, r in table.results.items() if name not in agreement.methods]
    draw = lambda ax: plots.agreement(agreement, ax)
    blocks: list[Any] = [Text(words), Table(frame)]
    if len(agreement.groups) > 2:  # of two orders the table has the one number
        blocks.append(Figure("agreement", "Tau-b between methods", draw))
    blocks.append(Table(ranks, folded="Ranks of every model by every method"))
    return Section("Agreement of methods", [*blocks, *([Text("Left out:"), Items(left)] if left else [])])


def _convergence(found: Found) -> Section | None:
    con = found.convergence
    if con is None:
        return None
    words = (
        "Trials are drawn again with replacement, and models ranked after each. convergence@n is the number of trials "
        "from which on the ranking equals that of Bayes@N on all trials; mean counts those that never settle as N. It "
        "says how these trials behave when drawn again, not that their ranking is the true one."
    )
    tau = Figure("tau", "Agreement with the reference against the number of trials", lambda ax: con.plot("tau", ax))
    if all(con.not_converged(method) == 1 for method in con.methods):  # a table and a figure of nothing
        never = f"No ranking by {' or '.join(con.methods)} settles within {con.n_trials} trials in any replicate."
        return Section("How soon the ranking settles", [Text(f"{words} {never}"), tau])
    when = Figure("convergence", "Distribution of convergence@n", lambda ax: con.plot("convergence", ax))
    return Section("How soon the ranking settles", [Text(words), Table(con.summary_frame()), tau, when])


def _making(found: Found) -> Section:
    options = options_in_words(found.result.ranker)
    rows = [(name, version) for name, version in versions().items()]
    rows += [("Python", platform.python_version()), ("seed", str(found.seed))]
    rows += [("method", found.result.method), ("options", ", ".join(f"{k}={v}" for k, v in options.items()) or "none")]
    rows += [("computed in", f"{found.seconds:.1f} s")]
    rows += [(f"no {name}", why) for name, why in found.missing.items() if name != "models"]
    return Section("How this page was made", [Items(rows), *([Code(found.command)] if found.command else [])])
