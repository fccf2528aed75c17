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


def demo(method: Method = None, level: Level = 0.95, output: Output = None) -> None:
    """Rank the 58 language models of the bundled MisguidedAttention results, with intervals."""
    from jaxrank.cli.results import fit_quietly, result_table, say_headline, say_notes

    check_output("--output", output)
    data = read_data(["misguided_attention"])
    result = fit_quietly(data, chosen_method(method, data))
    say_headline(result, level, include_partial=False)
    result_table(result, level).emit(output)
    say_notes(result, level)


COMMANDS = (demo,)
