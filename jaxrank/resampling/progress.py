"""A progress bar on a terminal: replicates done, rate, time left. Silent where the output is no terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def progress_bar(title: str, total: int, show: bool | None = None) -> Iterator[Callable[[int], None]]:
    """Yields ``advance(n)``. ``show``: None shows the bar on a terminal only."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda n: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns: list[Any] = [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total, rate="")

        def advance(n: int) -> None:
            bar.update(task, advance=n)
            speed = bar.tasks[task].speed
            bar.update(task, rate=f"{speed:,.0f}/s" if speed else "")

        yield advance
