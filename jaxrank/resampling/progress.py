"""The one progress bar of the library: what is done, rate, time left; shown when the work takes long, on a terminal."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

DELAY = 2.0
"""Seconds of work before a bar appears."""
WIDE, NARROW = 100, 80
"""Cells of a terminal that has room for the rate and the time that has passed, and of one that has for the bar."""


def is_shown(show: bool | None) -> bool:
    """Whether there will be a bar: as ``show`` says, and by default on a terminal only."""
    return sys.stderr.isatty() if show is None else bool(show)


@contextlib.contextmanager
def progress_bar(title: str, total: int, show: bool | None = None, unit: str = "") -> Iterator[Callable[[int], None]]:
    """Yields ``advance(n)``: n more of ``total`` are done. ``show``: see `is_shown`.

    Until the first call the bar says that the work is being compiled, which is most of what is then done.
    """
    if not is_shown(show):
        yield lambda n: None
        return
    bar = _Bar(title, total, unit)
    timer = threading.Timer(DELAY, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield bar.advance
    finally:
        timer.cancel()
        bar.stop()


class _Bar:
    """A bar that a timer starts while the work goes on in another thread."""

    def __init__(self, title: str, total: int, unit: str) -> None:
        self.title, self.total, self.unit = title, total, unit
        self.done = 0
        self.lock = threading.Lock()
        self.shown: Any = None
        self.stopped = False
        self.narrow = False

    def start(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        console = Console(stderr=True)
        wide, self.narrow = console.width >= WIDE, console.width < NARROW  # no number of it is cut
        columns: list[Any] = [
            TextColumn("{task.description}", markup=False),
            *([] if self.narrow else [BarColumn()]),
            MofNCompleteColumn(),
            *([TextColumn("{task.fields[rate]}"), TimeElapsedColumn()] if wide else []),
            TimeRemainingColumn(),
        ]
        with self.lock:
            if self.stopped:
                return
            self.shown = Progress(*columns, console=console)
            self.task = self.shown.add_task(self._description(), total=self.total, completed=self.done, rate=self.unit)
            self.shown.start()

    def advance(self, n: int) -> None:
        with self.lock:
            self.done += n
            if self.shown is None:
                return
            self.shown.update(self.task, completed=self.done, description=self._description())
            speed = self.shown.tasks[self.task].speed
            whole = speed is not None and speed >= 1  # of a slower one the time left says more
            self.shown.update(self.task, rate=f"{self.unit} {speed:,.0f}/s" if whole else self.unit)

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            if self.shown is not None:
                self.shown.stop()

    def _description(self) -> str:
        return self.title if self.done or self.narrow else f"{self.title}: compiling"
