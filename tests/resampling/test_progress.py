"""One progress bar for all long work: after two seconds, on a terminal, with a total from the start."""

from __future__ import annotations

import contextlib
import io
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import jaxrank as jr
from jaxrank.resampling import progress
from tests.problems import graded

PACKAGE = Path(jr.__file__).parent


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(patch: pytest.MonkeyPatch) -> Terminal:
    """A terminal on which bars appear at once. Not a fixture: pytest sets stderr again between the two."""
    found = Terminal()
    patch.setattr("sys.stderr", found)
    patch.setattr(progress, "DELAY", 0.0)
    patch.setenv("TERM", "xterm")
    return found


def until(text: str, screen: Terminal) -> None:
    end = time.monotonic() + 10
    while text not in screen.getvalue():
        assert time.monotonic() < end, screen.getvalue()
        time.sleep(0.01)


def test_the_bar_says_compiling_first_and_the_total_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")  # narrower terminals have no room for the rate
    screen = terminal(monkeypatch)
    with progress.progress_bar("study", 10, unit="replicates") as advance:
        until("study: compiling", screen)
        assert "0/10" in screen.getvalue().replace(" ", "") and "None" not in screen.getvalue()
        advance(4)
        until(" 4/10", screen)
        advance(6)
    last = screen.getvalue().rpartition("study")[2]
    assert "10/10" in last and "compiling" not in last and "replicates" in last


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    monkeypatch.setattr(progress, "DELAY", 30.0)
    before = threading.active_count()
    with progress.progress_bar("study", 10) as advance:
        advance(10)
    time.sleep(0.05)
    assert screen.getvalue() == "" and threading.active_count() <= before


@pytest.mark.parametrize("show", [None, False])
def test_nothing_is_shown_where_there_is_no_terminal_or_it_is_not_wanted(
    show: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = terminal(monkeypatch)
    if show is None:
        monkeypatch.setattr(screen, "isatty", lambda: False)
    with progress.progress_bar("study", 10, show) as advance:
        time.sleep(0.05)
        advance(1)
    assert screen.getvalue() == ""


def test_an_error_ends_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with contextlib.suppress(KeyboardInterrupt), progress.progress_bar("study", 10):
        until("compiling", screen)
        raise KeyboardInterrupt
    said = screen.getvalue()
    time.sleep(0.3)
    assert screen.getvalue() == said


class AtOnce:
    """A timer that does not wait."""

    def __init__(self, delay: float, call: Callable[[], None]) -> None:
        self.start = call

    def cancel(self) -> None:
        pass


def test_every_long_call_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    monkeypatch.setattr(progress.threading, "Timer", AtOnce)
    R = graded()
    calls = {
        "avg": lambda: jr.bootstrap(R, "avg", n_replicates=20, scheme="questions"),
        "borda, every n": lambda: jr.convergence(R, "borda", n_replicates=20),
        "methods": lambda: jr.fit_all(R, ["avg", "bayes"]),
    }
    for title, call in calls.items():
        screen.truncate(0)
        call()
        assert title in screen.getvalue()
    screen.truncate(0)
    jr.fit_all(R, ["avg"], progress=False)
    assert screen.getvalue() == ""


def test_there_is_one_bar() -> None:
    """The posterior had another, whose total was unknown."""
    users = [p for p in PACKAGE.rglob("*.py") if "rich.progress" in p.read_text(encoding="utf-8")]
    assert users == [PACKAGE / "resampling" / "progress.py"]
