"""``jaxrank demo``: a ranking of bundled real data, to see that everything works."""

from __future__ import annotations

from jaxrank.cli.arguments import (
    Level,
    Method,
    Output,
    check_output,
    chosen_method,
    read_data,
)
from jaxrank.cli.drawing import Plots, check_plots, draw_plots


def demo(
    method: Method = None,
    level: Level = 0.95,
    output: Output = None,
    plot: Plots = [],  # noqa: B006  (typer reads the default and never changes it)
) -> None:
    """Rank the 58 language models of the bundled MisguidedAttention results, with intervals."""
    from jaxrank.cli.results import fit_quietly, result_table, say_headline, say_notes
    from jaxrank.results.fit import Result

    check_output("--output", output)
    plots = check_plots(plot, Result)
    data = read_data(["misguided_attention"])
    result = fit_quietly(data, chosen_method(method, data))
    say_headline(result, level, include_partial=False)
    result_table(result, level).emit(output)
    draw_plots(result, plots, level=level)
    say_notes(result, level)


COMMANDS = (demo,)
