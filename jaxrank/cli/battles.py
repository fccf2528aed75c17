"""What ``jaxrank fit`` shows of battles beside a ranking: coefficients, points of Elo, categories, periods."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jaxrank.cli.runtime import in_flags, say
from jaxrank.cli.tables import Bars, Table
from jaxrank.errors import OptionError

if TYPE_CHECKING:
    from jaxrank.results.changes import Changes

BATTLES = "Battles"
Covariates = Annotated[
    list[str],
    typer.Option(
        "--covariate",
        metavar="COLUMN",
        help="A column whose difference shifts the odds, or NAME of two columns NAME_a and NAME_b; of ordered lists a "
        "column with a number for each model of a list; may be repeated.",
        rich_help_panel=BATTLES,
    ),
]
Side = Annotated[
    bool, typer.Option("--side", help="Estimate what being shown first is worth.", rich_help_panel=BATTLES)
]
Scale = Annotated[
    str | None, typer.Option("--scale", metavar="elo", help="Show points of Elo.", rich_help_panel=BATTLES)
]
Anchor = Annotated[
    str | None,
    typer.Option("--anchor", metavar="MODEL=POINTS", help="The level of --scale elo.", rich_help_panel=BATTLES),
]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="COLUMN", help="Ranks in each category of a column.", rich_help_panel=BATTLES),
]
Period = Annotated[
    str | None,
    typer.Option(
        "--period", metavar="LENGTH", help="Ratings over time by periods such as 30D.", rich_help_panel=BATTLES
    ),
]

Since = Annotated[
    bool,
    typer.Option(
        "--since",
        help="FILES are old votes and, last, those that came since (old.parquet new.parquet): the ranking of all, "
        "found from that of the old ones, with each model's rank before, the change of its score and its new battles.",
        rich_help_panel=BATTLES,
    ),
]


def check_since(method: str, options: dict[str, Any], by: str | None, period: str | None, prior_file: Any) -> None:
    """`OptionError` for what does not go with ``--since``, before anything is computed."""
    from jaxrank.methods.catalogue import make
    from jaxrank.models.pairs.fit import PairedModel

    if not isinstance(make(method, **options), PairedModel):
        raise OptionError(
            f"--since is for paired comparison models of battles, and {method} is none; leave it out, or choose "
            "bradley_terry or bradley_terry_davidson"
        )
    other = next((name for name, given in (("by", by), ("period", period), ("prior-file", prior_file)) if given), None)
    if other is not None:
        raise OptionError(f"--since and --{other} exclude each other; leave one out")


def updated(old: Any, new: Any, anchor: str | None, ranks: Any) -> tuple[Any, Changes]:
    """The fit of old and new battles, begun at the old one, and what changed; says how much is new."""
    import warnings

    import jaxrank as jr
    from jaxrank.data.names import name_list
    from jaxrank.results.changes import changes

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jr.JaxrankWarning)  # the notes of the result repeat them
        result = jr.update(old, new)
    found = changes(old, result, anchor=anchor, rule=ranks)
    joined = found.joined
    said = f"; not ranked before: {name_list(joined, range(len(joined)))}" if joined else ""
    say(f"since the old files {new.count.sum():,g} battles came to {old.data.n_results:,g}{said}")
    return result, found


def check_views(
    scale: str | None, anchor: str | None, by: str | None, period: str | None, plots: Sequence[str] = ()
) -> None:
    """`OptionError` for options that do not go together, before anything is computed."""
    if scale not in (None, "elo"):
        raise OptionError(f"--scale {scale}; it must be elo")
    if anchor is not None and scale is None:
        raise OptionError("--anchor is the level of --scale elo; add --scale elo")
    parse_anchor(anchor)
    if by is not None and period is not None:
        raise OptionError("--by and --period exclude each other; leave one out")
    if plots and (by is not None or period is not None):
        raise OptionError("--plot draws the ranking of all battles; leave --by and --period out")
    if scale is not None and (by is not None or period is not None):
        raise OptionError("--scale elo is for the ranking of all battles; leave --by and --period out")


def parse_anchor(text: str | None) -> tuple[str, float] | None:
    """``"gpt-4=1000"`` -> ("gpt-4", 1000.0)."""
    if text is None:
        return None
    model, equals, points = text.rpartition("=")
    try:
        return (model, float(points)) if equals else (text, 1000.0)
    except ValueError:
        raise OptionError(f"--anchor {text!r}; it must be MODEL=POINTS, such as gpt-4=1000") from None


def parse_period(text: str | None) -> str | float | None:
    """``"30D"`` as it is, ``"7"`` -> 7.0."""
    return float(text) if text is not None and text.replace(".", "", 1).isdecimal() else text


def show_ratings(
    result: Any, anchor: str | None, level: float, output: Path | None, moved: Changes | None = None
) -> None:
    import jaxrank as jr
    from jaxrank.results.headline import headline
    from jaxrank.results.ratings import ELO

    found = jr.ratings(result, anchor=parse_anchor(anchor), level=level)
    say(headline(result, level, found))
    title = f"{result.method}, points of Elo, {100 * level:g} % intervals"
    frame = found.to_frame() if moved is None else moved.beside(found.to_frame(), ELO)
    Table.of(frame, title, Bars("rating", "lower", "upper"), result._record()).emit(output)
    say(f"note: {found.note}")


def show_coefficients(result: Any, level: float) -> None:
    """The coefficients of covariates of a fit or of replicates, where there are any."""
    ranker = getattr(result, "estimate", result).ranker
    if getattr(ranker, "covariates", ()) or getattr(ranker, "side", False):
        import jaxrank as jr

        found = jr.coefficients(result, level=level)
        Table.of(found.to_frame(), "coefficients: log-odds by unit of the covariate").show()


def show_categories(
    data: Any, column: str, method: str, options: dict[str, Any], level: float, output: Path | None
) -> None:
    import jaxrank as jr
    from jaxrank.cli.results import say_headline

    found = jr.by(data, column, method, dtype="float64", **options)
    say_headline(found.whole, level)
    Table.of(found.to_frame(), f"{method}: ranks by {column}").emit(output)
    for line in found._foot():
        say(line)


def show_periods(
    data: Any, period: str, method: str, options: dict[str, Any], level: float, output: Path | None
) -> None:
    import jaxrank as jr

    if method != "bradley_terry" or {*options} - {"ties"}:
        raise OptionError(
            "--period is for Bradley-Terry strengths that move; leave --method out, --set has ties=half alone"
        )
    found = jr.ratings_over_time(data, period=parse_period(period), **options)
    Table.of(found.to_frame(level=level), found._title()).emit(output)
    for note in found.notes[len(data.notes) :]:
        say(f"note: {in_flags(note)}")
