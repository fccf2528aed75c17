"""``jaxrank demo``: a ranking of bundled real data, to see that everything works."""

from __future__ import annotations

from jaxrank.cli.arguments import Level, Method, Out
from jaxrank.cli.runtime import say
from jaxrank.cli.tables import check_out


def demo(method: Method = "bayes", interval: Level = 0.95, out: Out = None) -> None:
    """Rank the 58 language models of the bundled MisguidedAttention results, with intervals."""
    from jaxrank.cli.results import fit_quietly, result_table, say_notes
    from jaxrank.data import datasets

    check_out(out)
    data = datasets.load("misguided_attention")
    for note in data.notes:
        say(f"note: {note}")
    result = fit_quietly(data, method)
    result_table(result, interval).emit(out)
    say_notes(result)


COMMANDS = (demo,)
