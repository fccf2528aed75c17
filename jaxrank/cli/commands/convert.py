"""``jaxrank convert FILE... -o OUT.parquet``: any results as one file that is read back whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.arguments import check_output, with_data
from jaxrank.cli.runtime import say


@with_data
def convert(
    data: Any, output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="The parquet file to write.")]
) -> None:
    """Write the results of FILE as one parquet file: names, weights, directions and further columns are kept."""
    from jaxrank.data.readers.own import write_parquet

    check_output("--output", output, (".parquet",))
    write_parquet(data, output)
    say(f"wrote {data!r} to {output}")


COMMANDS = (convert,)
