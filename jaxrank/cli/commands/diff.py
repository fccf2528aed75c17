"""``jaxrank diff OLD NEW``: is the new run better than the old one? A verdict, and a gate for pipelines."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import Level, Output, check_output, with_runs
from jaxrank.cli.drawing import Plots, check_plots, draw_plots
from jaxrank.cli.runtime import say, wrapped
from jaxrank.cli.tables import Table
from jaxrank.errors import OptionError
from jaxrank.results.bars import Bars

GATES = ("worse", "not-better", "not-equivalent")
CLOSED = 3
FLIPS = 10


@with_runs
def diff(
    several: Any,
    old: Annotated[str | None, typer.Option("--old", metavar="NAME", help="The old model.")] = None,
    new: Annotated[str | None, typer.Option("--new", metavar="NAME", help="The new model.")] = None,
    margin: Annotated[float, typer.Option("--margin", help="Differences of less do not matter.")] = 0.0,
    unit: Annotated[
        str, typer.Option("--unit", help="questions: about such questions; trials: about these very ones.")
    ] = "questions",
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="COLUMN", help="Column of questions that stand or fall together.")
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="A line for each value of this column of questions.")
    ] = None,
    fail_if: Annotated[
        str | None, typer.Option("--fail-if", metavar="GATE", help=f"End with exit code 3 if {', '.join(GATES)}.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="What is printed: text or json.")] = "text",
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit report as well.")] = None,
    level: Level = 0.95,
    output: Output = None,
    plot: Plots = [],  # noqa: B006
) -> None:
    """Compare a new run with an old one: OLD and NEW, or one file with --old and --new. Exit code 0, or 3 where the
    gate of --fail-if closes."""
    import jaxrank as jr
    from jaxrank.data.files import check_target, write_text
    from jaxrank.results.comparison import Comparison
    from jaxrank.results.comparison_table import ComparisonTable

    check_output("--output", output)
    if junit is not None:
        check_target(junit, (".xml",), "files of --junit")
    if fail_if is not None and fail_if not in GATES:
        raise OptionError(f"--fail-if {fail_if}; it must be one of {', '.join(GATES)}")
    if form not in ("text", "json"):
        raise OptionError(f"--format {form}; it must be text or json")
    if fail_if == "not-equivalent" and not margin > 0:
        raise OptionError("--fail-if not-equivalent needs --margin, below which differences do not matter")
    plots = check_plots(plot, Comparison if by is None else ComparisonTable)
    data, names = both(several, old, new)
    options: dict[str, Any] = {"unit": unit, "margin": margin, "level": level, "cluster": cluster}
    found = jr.compare(data, *names, **options)
    table = None if by is None else jr.compare_all(data.select(models=list(names)), by=by, **options)
    closed = [name for name, holds in _statements(found, table) if fail_if and _closes(fail_if, holds)]
    if form == "json":
        print(json.dumps(as_json(found, table, fail_if, closed), indent=1, ensure_ascii=False))
    else:
        _print(found, table)
    if output is not None:
        Table.of((found if table is None else table).to_frame()).save(output)
    draw_plots(found if table is None else table, plots)
    if junit is not None:
        write_text(junit, as_junit(found, table, fail_if, closed))
    if closed:
        say(f"the gate {fail_if} is closed by {', '.join(closed[:8])}{', ...' if len(closed) > 8 else ''}")
        raise SystemExit(CLOSED)


def both(several: list[Any], old: str | None, new: str | None) -> tuple[Any, tuple[str, str]]:
    """The two models as one set of data, and their names, new first."""
    from jaxrank.data.names import name_list
    from jaxrank.data.responses import responses_of
    from jaxrank.studies.compare import runs

    if len(several) == 1:
        data = several[0]
        if old is None or new is None:
            known = name_list(data.models, range(len(data.models)))
            raise OptionError(
                f"one file: name two of its models by --old and --new, or give a second file; it has {known}"
            )
        return data, (new, old)
    if len(several) > 2:
        raise OptionError(f"{len(several)} files; give the old and the new one (quote patterns: 'runs/*.json')")
    parts = []
    for data, name, flag in zip(several, (old, new), ("--old", "--new"), strict=True):
        run = responses_of(data, "diff", "of battles `jaxrank fit` has the differences")
        if name is not None:
            run = run.select(models=[name])
        elif len(run.models) > 1:
            known = name_list(run.models, range(len(run.models)))
            raise OptionError(f"the file holds {len(run.models)} models; choose one of {known} by {flag}")
        parts.append(run)
    labels = [run.models[0] for run in parts]
    if labels[0] == labels[1]:
        labels = ["old", "new"]
    return runs(**dict(zip(labels, parts, strict=True))), (labels[1], labels[0])


def _statements(found: Any, table: Any) -> list[tuple[str, Any]]:
    """What the gate looks at: the comparison, or each line of the table; and which statements hold of it."""
    if table is None:
        return [("the comparison", found.holds)]
    return [(name, lambda v, i=i: v in table.holding[i]) for i, name in enumerate(table.names)]


def _closes(gate: str, holds: Any) -> bool:
    return holds("worse") if gate == "worse" else not holds(gate.removeprefix("not-"))


def _print(found: Any, table: Any) -> None:
    print(wrapped(found.sentence, sys.stdout), flush=True)
    if table is not None:
        print(flush=True)
        lines = table.to_frame()
        if sys.stdout.isatty() and table.groups:  # the sentence above has the two names
            lines = lines.drop(columns=["new", "old"])
        Table.of(lines, f"by {table.by}: verdicts hold for all lines at once", Bars("difference")).show()
    flips = found.flips(FLIPS)
    if len(flips):
        print(flush=True)
        if sys.stdout.isatty() and "weight" in flips and (flips["weight"] == 1).all():
            flips = flips.drop(columns="weight")  # says nothing where every question counts once
        Table.of(flips, f"questions on which they differ most: {found.new} (new) and {found.old} (old)").show()
    if math.isfinite(found.se):
        say(f"the smallest true difference found with 80 % probability is {found.minimum_detectable():.3g}")
    say(found.planning)
    for note in found.notes:
        if note not in found.data_notes:
            say(f"note: {note}")


def as_json(found: Any, table: Any, gate: str | None, closed: list[str]) -> dict[str, Any]:
    """What --format json prints; docs/compare.md lists the keys."""
    from jaxrank.results.storage import plain_json, versions

    row = {str(k): plain_json(v) for k, v in next(iter(found)).items()}
    plans = {
        "minimum_detectable": found.minimum_detectable(),
        "questions_needed": found.questions_needed(found.margin or None)
        if found.difference or found.margin
        else math.inf,
        "trials_needed": found.trials_needed(found.margin or None) if found.difference or found.margin else math.inf,
    }
    lines = [] if table is None else [{str(k): plain_json(v) for k, v in line.items()} for line in table]
    flips = found.flips(FLIPS).to_dict("records")
    return {
        **row,
        "level": found.level,
        "unit": found.unit,
        "cluster": found.cluster,
        "margin": found.margin,
        **{name: plain_json(value) for name, value in plans.items()},
        "left_out": len(found.left_out),
        "sentence": found.sentence,
        "planning": found.planning,
        "notes": list(found.notes),
        "flips": [{str(k): plain_json(v) for k, v in flip.items()} for flip in flips],
        "lines": lines,
        "gate": {"fail_if": gate, "closed": bool(closed), "closed_by": closed},
        "versions": versions(),
    }


def as_junit(found: Any, table: Any, gate: str | None, closed: list[str]) -> str:
    """A test case for the comparison, or for each line; a failure where the gate closes."""
    from xml.etree import ElementTree as xml

    cases = [("the comparison", found.sentence)]
    if table is not None:
        told = lambda r: f"{r.verdict}: {r.difference:+.4g} [{r.lower:+.4g}, {r.upper:+.4g}]"
        cases = [(name, told(row)) for name, row in zip(table.names, table, strict=True)]
    about = {"name": f"{found.new} against {found.old}", "tests": str(len(cases)), "failures": str(len(closed))}
    suite = xml.Element("testsuite", about)
    for name, said in cases:
        case = xml.SubElement(suite, "testcase", {"classname": "jaxrank.diff", "name": _printable(name)})
        if name in closed:
            xml.SubElement(case, "failure", {"message": f"{gate}: {_printable(said)}"})
        else:
            xml.SubElement(case, "system-out").text = _printable(said)
    xml.indent(suite)
    return xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _printable(text: str) -> str:
    """Text that XML can hold."""
    from jaxrank.results.tables import visible

    return visible(text)


COMMANDS = (diff,)
ALSO = {"diff": ("compare",)}
