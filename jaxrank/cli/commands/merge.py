"""``jaxrank merge FOLDER``: put a study together that several processes have done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from jaxrank.cli.arguments import Output, check_output
from jaxrank.cli.sharing import recall
from jaxrank.errors import OptionError

_FLAGS = {"--steal": 0, "--shard": 1, "--claim-timeout": 1, "--hosts": 1, "--checkpoint": 1}
"""What a merge leaves out of the command that began the study, and how many words follow it."""


def merge(
    context: typer.Context,
    checkpoint: Annotated[str, typer.Argument(metavar="FOLDER", help="The --checkpoint of the study.")],
    output: Output = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="As the option of the command that began the study.")
    ] = None,
) -> None:
    """Put a study together that several processes did: the result, and the bits, of one run.

    The command that began it is run again from its folder, on the same files, and does no replicate: a chunk that is
    missing is an error.
    """
    check_output("--output", output)
    words, folder = recall(checkpoint)
    if not folder.is_dir():
        raise OptionError(f"{checkpoint!r} was begun in {str(folder)!r}, which is no folder here; merge it there")
    where = checkpoint if "://" in checkpoint else str(Path(checkpoint).resolve())
    kept = _without(words, {*_FLAGS, *(["--output", "-o"] if output else []), *(["--save"] if save else [])})
    extra = ["--checkpoint", where, "--shard", "merge"]
    for option, path in (("--output", output), ("--save", save)):
        extra += [] if path is None else [option, str(path.resolve())]
    here = Path.cwd()
    os.chdir(folder)
    try:
        context.find_root().command.main(args=[*kept, *extra], standalone_mode=False)
    finally:
        os.chdir(here)


def _without(words: list[str], options: set[str]) -> list[str]:
    """What was typed but for some options and their values, also as --option=value."""
    left, skip = [], 0
    for word in words:
        if skip:
            skip -= 1
        elif word in options:
            skip = _FLAGS.get(word, 1)
        elif word.split("=")[0] not in options:
            left.append(word)
    return left


COMMANDS = (merge,)
