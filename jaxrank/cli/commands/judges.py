"""``jaxrank judges FILE``: candidates ranked from judges of unknown quality."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import (
    Level,
    Output,
    Samples,
    Seed,
    check_output,
)
from jaxrank.cli.drawing import Plots, check_plots, draw_plots
from jaxrank.cli.runtime import say
from jaxrank.cli.sharing import GRACE, CheckpointFolder, ClaimTimeout, Grace, Shard, Steal, share_of, shared
from jaxrank.cli.tables import Table
from jaxrank.errors import DataError, OptionError
from jaxrank.results.bars import Bars

MOST_LEVELS = 1000


def judges(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A csv, jsonl or parquet file, one row a score.")],
    judge_column: Annotated[str, typer.Option(help="Column of the judge.")] = "judge",
    candidate_column: Annotated[str, typer.Option(help="Column of the candidate.")] = "candidate",
    question_column: Annotated[str, typer.Option(help="Column of the question.")] = "question",
    score_column: Annotated[str, typer.Option(help="Column of the score.")] = "score",
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH or A,B,...",
            help="The scale, such as 1:5 or 0,0.5,1, so that a level that nobody gave counts; else the scores found.",
        ),
    ] = None,
    values: Annotated[
        str | None, typer.Option(metavar="V,...", help="Value of each level in the score; else the level itself.")
    ] = None,
    gold_column: Annotated[str | None, typer.Option(help="Column of the true level, empty where unknown.")] = None,
    family_column: Annotated[
        str | None,
        typer.Option(
            help="Column that is true where the judge is of the candidate's own family: those scores are set apart."
        ),
    ] = None,
    own_family: Annotated[
        str | None,
        typer.Option(
            help="What own-family scores are: leave_out (default), or own_matrix for a matrix of their own;"
            " with --family-column."
        ),
    ] = None,
    prior: Annotated[
        str, typer.Option(help="Trust in the judges: free, weak, moderate, strong, perfect.")
    ] = "moderate",
    likelihood: Annotated[
        str, typer.Option(help="joint: question by question; counts: how often each level, as published.")
    ] = "joint",
    spread: Annotated[
        str,
        typer.Option(
            metavar="SD or free",
            help="How far a judge may differ by candidate: sd of its entries' log odds; 0, not at all; free, learned.",
        ),
    ] = "0",
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Ranks under every prior, one column each.")
    ] = False,
    samples: Samples = 1000,
    level: Level = 0.95,
    seed: Seed = 0,
    output: Output = None,
    plot: Plots = [],  # noqa: B006  (typer reads the default and never changes it)
    checkpoint: CheckpointFolder = None,
    shard: Shard = None,
    steal: Steal = False,
    claim_timeout: ClaimTimeout = 60.0,
    grace: Grace = GRACE,
) -> None:
    """Rank the candidates of FILE from the scores of judges: posterior scores and ranks beside the plain means."""
    import warnings

    import numpy as np

    from jaxrank.cli.frames import read_frame
    from jaxrank.errors import JaxrankWarning
    from jaxrank.evaluation import judges as judging
    from jaxrank.evaluation.judges.priors import find_prior
    from jaxrank.evaluation.scaling.frames import dense
    from jaxrank.results.plots.judge_simplex import judge_ranks, judge_scores, judge_triangle

    check_output("--output", output)
    kinds = {"scores": judge_scores, "triangle": judge_triangle, "ranks": judge_ranks}
    plots = check_plots(plot, kinds)
    if not sensitivity and any(kind == "ranks" for kind, _ in plots):
        raise OptionError("--plot ranks=... shows the ranks under every prior; it needs --sensitivity")
    find_prior(prior)
    if own_family is not None and family_column is None:
        raise OptionError(f"--own-family {own_family} needs --family-column, the column that says which scores are own")
    deviation = spread if spread == "free" else _deviation(spread)
    axes = {"judge": judge_column, "candidate": candidate_column, "question": question_column}
    numbers = {"score": score_column}
    for role, column in (("gold", gold_column), ("family", family_column)):
        if column is not None:
            numbers[role] = column
    frame = read_frame(file, names=axes, ordered={}, numbers=numbers)
    arrays, labels = dense(frame, axes, numbers)
    if not np.isfinite(arrays["score"]).any():
        raise DataError(f"{file}: column {score_column!r} holds no score")
    scale = _scale(levels, arrays["score"])
    scores = _places(arrays["score"], scale, f"{file}: column {score_column!r}")
    if len(scale) != 3 and any(kind == "triangle" for kind, _ in plots):
        raise OptionError(f"--plot triangle=... needs scores of three levels; these have {len(scale)}")
    worth = scale if values is None else _numbers("--values", values)
    gold = None if gold_column is None else _gold(_places(arrays["gold"], scale, f"column {gold_column!r}"), labels)
    if family_column is not None:
        own = np.nanmax(np.where(np.isnan(arrays["family"]), 0, arrays["family"]), axis=2) > 0
        scores = judging.split_own(scores, own, own_family or "leave_out")
    options: dict[str, Any] = {
        "n_levels": len(scale),
        "values": worth,
        "n_samples": samples,
        "n_warmup": samples,
        "seed": seed,
    }
    options |= {"likelihood": likelihood, "gold": gold, "spread": deviation}
    share = share_of(shard, steal, claim_timeout, checkpoint)
    options |= {"checkpoint": checkpoint, "shard": share}
    wanted = [prior, *(name for name in judging.FAMILY if sensitivity and name != prior)]
    with shared(checkpoint, share, grace), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", JaxrankWarning)
        under = judging.sensitivity(scores, priors=wanted, **options)
    found = under[prior]
    for warning in caught:
        say(f"note: {warning.message}")
    if found.expected_accuracy is not None:
        right = ", ".join(f"{100 * a:.0f}" for a in found.expected_accuracy)
        true = ", ".join(f"{v:g}" for v in scale)
        trust = f"{prior} trust expects judges to be right on {right} % of answers of level {true}"
        say(f"note: {len(scale)} levels; {trust}")
    low, high = found.interval(level)
    first, last = found.rank_intervals(level)
    order = np.argsort(-found.scores, kind="stable")
    columns = {
        "rank": found.ranks[order],
        "candidate": [labels["candidate"][i] for i in order],
        "score": found.scores[order],
        "lower": low[order],
        "upper": high[order],
        "rank_lower": first[order],
        "rank_upper": last[order],
        **{f"rank_{name}": other.ranks[order] for name, other in under.items() if name != prior},
        "plain_mean": _plain_means(judging.level_counts(scores, len(scale)), worth)[order],
    }
    if len(scores) >= 3:
        columns["dawid_skene"] = (judging.dawid_skene(scores, len(scale)).pi @ worth)[order]
    else:
        say("note: fewer than three judges do not identify Dawid-Skene; its column is left out")
    columns["r_hat"] = found.r_hat[order]
    title = f"Judges ({prior} trust), {100 * level:g} % credible intervals"
    table = Table(columns, title, Bars("score", "lower", "upper"))
    ranks = f"; its rank is from {first[order[0]]} to {last[order[0]]}" if last[order[0]] > 1 else ""
    say(table.first(f"expected true score ({prior} trust)", f"{100 * level:g} % credible interval") + ranks)
    table.emit(output)
    whole = labels["judge"] if len(labels["judge"]) == len(scores) else None  # own-family scores may be judges more
    names = {"candidates": labels["candidate"], "judges": whole, "level": level}
    draw_plots(found, [(kind, path) for kind, path in plots if kind != "ranks"], kinds, **names)
    by_trust = {name: under[name] for name in judging.FAMILY if name in under}
    draw_plots(by_trust, [(kind, path) for kind, path in plots if kind == "ranks"], kinds, **names)


def _plain_means(counts: Any, worth: Any) -> Any:
    """Mean over the judges of their mean scores, (candidates,)."""
    import numpy as np

    n = counts.sum(-1)
    means = np.where(n > 0, counts @ worth / np.maximum(n, 1), np.nan)
    return np.nanmean(means, axis=0)


def _scale(levels: str | None, found: Any) -> Any:
    """The numbers that are levels, in ascending order."""
    import numpy as np

    if levels is not None and ":" in levels:
        ends = _numbers("--levels", levels.replace(":", ","))
        if len(ends) != 2 or np.any(ends != np.round(ends)) or not 0 < ends[1] - ends[0] < MOST_LEVELS:
            raise OptionError(f"--levels {levels}; a range is two whole numbers, such as 1:5")
        return np.arange(ends[0], ends[1] + 1)
    if levels is not None:
        scale = np.unique(_numbers("--levels", levels))
        if len(scale) < 2:
            raise OptionError(f"--levels {levels}; a scale has two levels or more")
        return scale
    scale = np.unique(found[np.isfinite(found)])
    whole = bool(np.all(scale == np.round(scale)))
    steps = np.diff(scale)
    if (
        whole and len(scale) > 1 and not np.all(steps == steps[0])
    ):  # such as 1, 2, 5: levels between have not been given
        scale = np.arange(scale[0], scale[-1] + 1)
    if len(scale) == 1:
        scale = np.array([scale[0], scale[0] + 1])
    if len(scale) > MOST_LEVELS or (not whole and len(scale) > 20):
        raise DataError(f"the scores have {len(scale)} distinct values; name the levels with --levels")
    say(f"note: the levels are the scores found, {', '.join(f'{v:g}' for v in scale[:12])}; --levels names others")
    return scale


def _places(scores: Any, scale: Any, where: str) -> Any:
    import numpy as np

    known = np.isfinite(scores)
    place = np.searchsorted(scale, np.where(known, scores, scale[0])).clip(0, len(scale) - 1)
    strange = known & (scale[place] != np.where(known, scores, scale[0]))
    if strange.any():
        raise DataError(f"{where}: {scores[strange][0]:g} is none of the levels {', '.join(f'{v:g}' for v in scale)}")
    return np.where(known, place, -1)


def _gold(levels: Any, labels: Any) -> Any:
    """(candidates, questions) of the true levels that stand in the rows of all judges; these must agree."""
    import numpy as np

    high, low = levels.max(0), np.where(levels < 0, levels.max() + 1, levels).min(0)
    clash = (high >= 0) & (high != low)
    if clash.any():
        k, q = np.argwhere(clash)[0]
        raise DataError(
            f"two true levels for candidate {labels['candidate'][k]!r} on question {labels['question'][q]!r}"
        )
    return high


def _deviation(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"--spread {text}; it must be a number of 0 or more, or free") from None


def _numbers(option: str, text: str) -> Any:
    import numpy as np

    try:
        return np.array([float(word) for word in text.split(",")])
    except ValueError:
        raise OptionError(f"{option} {text}; it must be numbers with commas between") from None


COMMANDS = (judges,)
