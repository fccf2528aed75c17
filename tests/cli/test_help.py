"""Help and the list of methods as terminals of any width show them: lines fit, and nothing that is typed is cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import jax
import pytest
import typer.main

import jaxrank as jr
from jaxrank.cli.app import make_app
from jaxrank.cli.commands.list import GROUPS, ORDER
from jaxrank.cli.commands.list import WIDEST as WIDEST_LIST
from jaxrank.cli.help import SECTIONS, WIDEST

WIDTHS = (60, 80, 140)
Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """What the command line prints on a terminal of some width."""

    def call(width: int, *words: str) -> str:
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", str(width))
        with pytest.raises(SystemExit) as end:
            make_app()(list(words), prog_name="jaxrank")
        assert not end.value.code
        return capsys.readouterr().out

    with jax.enable_x64(True):
        yield call


@pytest.mark.parametrize("width", WIDTHS)
def test_help_never_cuts_an_option(run: Run, width: int) -> None:
    """At 60 columns options ended in dots, as --score-col… did."""
    commands = typer.main.get_command(make_app()).commands  # pyright: ignore[reportAttributeAccessIssue]
    for name, command in commands.items():
        out = run(width, name, "--help")
        assert max(map(len, out.splitlines())) <= min(width, WIDEST), name
        words = {word.strip(",") for word in out.split()}
        assert {flag for p in command.params for flag in p.opts if flag.startswith("-")} <= words, name
        assert "…" not in out and not re.search(r"<[\w\[\]]+>", out) and "{" not in out.splitlines()[0], (name, out)
    out = run(width, "--help")
    assert max(map(len, out.splitlines())) <= min(width, WIDEST)


def test_the_help_has_every_command_under_a_heading(run: Run) -> None:
    lines = run(80, "--help").splitlines()
    names = {str(command.name) for command in make_app().registered_commands}
    assert {name for section in SECTIONS.values() for name in section} == names
    for section, members in SECTIONS.items():
        start = lines.index(f"{section}:")
        shown = [line.split()[0] for line in lines[start + 1 : lines.index("", start)] if line[2] != " "]
        assert shown == [*members]
    assert "  compare      Another name of diff." in lines


@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_names_every_method_whole(run: Run, width: int) -> None:
    """front-door B11: at 60 and 80 columns identifiers were broken in the middle."""
    out = run(width, "list")
    assert max(map(len, out.splitlines())) <= min(width, WIDEST_LIST)
    words = {word.strip(",") for word in out.split()}
    assert {*ORDER} <= words and all(title in out.splitlines() for title in GROUPS)
    assert {entry.name for entry in jr.entries().values() if not entry.options} <= words
    out = run(width, "list", "bradley_terry")
    assert max(map(len, out.splitlines())) <= min(width, WIDEST_LIST)
    assert "\nModel: " in out and "`" not in out and "**" not in out


def test_a_name_of_a_family_and_of_a_method_shows_both(run: Run) -> None:
    """`jaxrank list elo` showed the family alone, and no call the method."""
    out = run(120, "list", "elo")
    assert "elo_tie_draw" in out and "\nModel: " in out
    assert "elo with K=0.05, per_event=sum, ties=draw" in " ".join(out.split())
