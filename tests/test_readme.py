"""Every code block of the README runs, every file it links to is there, and every make target it names exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import jax
import pytest

from jaxrank.cli.app import make_app

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


COMMANDS = [line.split("#")[0].strip() for block in blocks("bash") for line in block.splitlines()]


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
def test_python_blocks_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    assert len(blocks("python")) >= 2
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    assert len(names["fit"].ranks) == 58
    assert (names["low"] < names["high"]).all()


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("jaxrank ")])
def test_commands_run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with jax.enable_x64(True), pytest.raises(SystemExit) as end:
        make_app()(shlex.split(command)[1:], prog_name="jaxrank")
    assert not end.value.code
    if "--out" in command:
        assert any(tmp_path.iterdir())


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"make ([a-z-]+)", " ".join([*COMMANDS, *re.findall(r"`(make [^`]*)`", README)])))
    assert {"demo", "test"} <= named <= targets


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_every_other_command_is_known() -> None:
    """A shell block holds jaxrank, make and nothing that this file does not run or check."""
    assert {command.split()[0] for command in COMMANDS if command} == {"jaxrank", "make"}
