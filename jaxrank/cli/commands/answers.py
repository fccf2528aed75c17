"""``jaxrank answers FILE``: one answer of n completions, by several rules, and what it is worth."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import READING, Level, Output, Replicates, Seed, check_output, parse_options, whole
from jaxrank.cli.drawing import Plots, check_plots, draw_plots
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import Table
from jaxrank.errors import OptionError
from jaxrank.results.bars import Bars


def _column(what: str) -> Any:
    return typer.Option(help=f"Column of {what}.", rich_help_panel=READING)


def answers(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Files, patterns or folders of completions: tables (csv, jsonl, parquet; a row a completion), samples"
            " of lm-eval, logs of Inspect, details of lighteval.",
        ),
    ],
    rule: Annotated[
        list[str],
        typer.Option(
            "--rule",
            help="How one answer is made: majority, best_of_n, weighted, ..., or with options softmax:T=0.5; may be "
            "repeated. By default majority, with scores weighted (softmax, where some are negative) and best_of_n too.",
        ),
    ] = [],  # noqa: B006  (typer reads the default and never changes it)
    completions: Annotated[
        str | None,
        typer.Option("--completions", metavar="N,...", help="Numbers of completions; by default 1, 2, 4, ..."),
    ] = None,
    ties: Annotated[str, typer.Option(help="Ties: earliest (the answer that came first), share or abstain.")] = (
        "earliest"
    ),
    stop: Annotated[
        list[str],
        typer.Option(
            "--stop",
            help="Replay a stopping rule instead: adaptive_consistency, esc:window=4, ...; may be repeated.",
        ),
    ] = [],  # noqa: B006
    scheme: Annotated[
        str, typer.Option(help="Completions drawn: independent (with replacement) or orders (without).")
    ] = "independent",
    extract: Annotated[
        str | None,
        typer.Option(
            help="How an answer is found in a text: boxed (the last \\boxed{...}) or a regular expression.",
            rich_help_panel=READING,
        ),
    ] = None,
    normalize: Annotated[
        str,
        typer.Option(help="Which answers are the same: number, text, choice or none.", rich_help_panel=READING),
    ] = "number",
    model: Annotated[
        str | None,
        typer.Option("--model-name", help="The model of files that do not name it.", rich_help_panel=READING),
    ] = None,
    model_column: Annotated[str | None, _column("the model")] = None,
    question_column: Annotated[str | None, _column("the question")] = None,
    trial_column: Annotated[str | None, _column("the number of the completion")] = None,
    answer_column: Annotated[str | None, _column("the answer, or of the text that holds it")] = None,
    truth_column: Annotated[str | None, _column("the right answer")] = None,
    correct_column: Annotated[str | None, _column("verdicts, where right answers are not given")] = None,
    score_column: Annotated[
        str | None, _column("the score of a completion: a confidence, reward or log-probability")
    ] = None,
    replicates: Replicates = 10_000,
    paths: Annotated[
        int, typer.Option("--paths", callback=whole("--paths", 2), help="Random orders of each question's completions.")
    ] = 100,
    level: Level = 0.95,
    seed: Seed = 0,
    output: Output = None,
    plot: Plots = [],  # noqa: B006
) -> None:
    """Accuracy of one answer made of n completions of FILE: rules, numbers of completions, bands."""
    import numpy as np

    from jaxrank.evaluation.answers import read_answers
    from jaxrank.numerics.interval import percent
    from jaxrank.results.plots.rules_by_n import answer_curves

    check_output("--output", output)
    kinds = {"curves": answer_curves}
    plots = check_plots(plot, kinds)
    if stop and (rule or plot or completions):
        raise OptionError("--stop replays all completions: leave --rule, --completions and --plot out")
    found = read_answers(
        files,
        extract=extract,
        normalize=normalize,
        model=model,
        model_column=model_column,
        question_column=question_column,
        trial_column=trial_column,
        answer_column=answer_column,
        truth_column=truth_column,
        correct_column=correct_column,
        score_column=score_column,
    )
    for note in found.notes:
        say(f"note: {note}")
    say(str(found))
    if found.good is not None and not found.good.any():
        how = (
            ""
            if extract
            else "; where they are texts, --extract boxed or a regular expression finds the answers in them"
        )
        say(f"note: no completion is the right answer of its question{how}")
    if stop:
        _stopped(found, stop).emit(output)
        return
    names = rule or _usual(found.scores)
    curves = found.curve(
        [_rule(name) for name in names],
        _sizes(completions, found.shape[2]),
        n_replicates=replicates,
        n_paths=paths,
        scheme=scheme,
        ties=ties,
        seed=seed,
        level=level,
    )
    best = np.unravel_index(curves.accuracy[..., -1].argmax(), curves.accuracy.shape[:2])
    at = (*best, -1)
    right, low, high = (100 * float(v[at]) for v in (curves.accuracy, curves.lower, curves.upper))
    say(
        f"{curves.models[best[1]]} is right most often, by {curves.rules[best[0]]} of {curves.n[-1]} completions: on "
        f"{right:.0f} % of the questions ({percent(level)} band {low:.0f} to {high:.0f})"
    )
    frame = curves.to_frame()
    if len(names) == 1:
        frame = frame.drop(columns=["gain", "gain_lower", "gain_upper"])
    order = np.lexsort((frame["n"], frame["rule"].map(curves.rules.index), frame["model"].map(curves.models.index)))
    title = f"Accuracy of one answer of n completions, {100 * level:g} % bands"
    Table.of(frame.iloc[order], title, Bars("accuracy", "lower", "upper")).emit(output)
    say(
        f"lower, upper: {100 * level:g} % of data sets with n completions of these questions; "
        + ("gain: over " + curves.rules[0] + " on the same completions; " if len(names) > 1 else "")
        + "exact: without simulation"
    )
    draw_plots(curves, plots, kinds)


def _stopped(found: Any, names: list[str]) -> Table:
    import pandas as pd

    from jaxrank.evaluation.answers.stops import stop_of

    frames = []
    for text in names:
        name, _, options = text.partition(":")
        done = found.stop(stop_of(name, **parse_options([o for o in options.split(",") if o], name)))
        made = done.to_frame()
        made.insert(0, "stop", done.rule)
        frames.append(made)
        mean = made.mean(numeric_only=True)
        said = f"{done.rule} uses {mean['mean_used']:.1f} of {found.shape[2]} completions"
        if "accuracy" in mean:
            right, whole = 100 * mean["accuracy"], 100 * mean["full_accuracy"]
            said += f" and is right on {right:.0f} % of the questions, with all of them on {whole:.0f} %"
        say(f"{said} (mean of the models)" if len(made) > 1 else said)
    return Table.of(pd.concat(frames, ignore_index=True), f"Stopping rules on {found.shape[2]} recorded completions")


def _rule(text: str) -> Any:
    from jaxrank.evaluation.answers.rules import rule_of

    name, _, options = text.partition(":")
    return rule_of(name, **parse_options([o for o in options.split(",") if o], name))


def _usual(scores: Any) -> list[str]:
    """The rules by default; sums of log-probabilities, which are negative, would speak against frequent answers."""
    if scores is None:
        return ["majority"]
    return ["majority", "softmax" if (scores < 0).any() else "weighted", "best_of_n"]


def _sizes(text: str | None, most: int) -> list[int]:
    if text is None:
        return sorted({2**k for k in range(most.bit_length())} | {most})
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise OptionError(f"--completions {text}; it must be whole numbers, such as 1,4,16") from None


COMMANDS = (answers,)
