"""What a command does where nobody reads what it prints: all the same work, in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = r"""
import json, os, sys

import matplotlib
matplotlib.use("agg")
from jaxrank.cli import main

codes = []
for words in json.loads(sys.argv[2]):
    if sys.argv[1] == "gone":
        read, write = os.pipe()
        os.close(read)
    else:
        write = os.open(sys.argv[1], os.O_WRONLY)
    os.dup2(write, 1)
    os.close(write)
    try:
        main(words)
    except SystemExit as end:
        codes.append(end.code or 0)
    assert (sys.stdout, sys.stderr) == (sys.__stdout__, sys.__stderr__)
print(json.dumps(codes), file=sys.stderr)
"""
"""Runs commands one after the other, each with a stdout of its own, whose reader is gone or which is a file; the last
line on stderr is their exit codes."""

PAIR = ["misguided_attention", "--old", "claude-4-sonnet-0522-thinking", "--new", "claude-sonnet-4"]


def run(stdout: str, commands: list[list[str]]) -> tuple[list[int], str]:
    typed = [sys.executable, "-c", COMMANDS, stdout, json.dumps(commands)]
    done = subprocess.run(typed, capture_output=True, text=True, check=True)
    *said, codes = done.stderr.strip().splitlines()
    return json.loads(codes), "\n".join(said)


def test_files_are_written_and_gates_close_without_a_reader(tmp_path: Path) -> None:
    files = ("fit.csv", "diff.csv", "diff.svg", "diff.xml", "pass.csv", "all.csv")
    named = {name: str(tmp_path / name) for name in files}
    commands = [
        ["list"],
        ["fit", "misguided_attention", "-o", named["fit.csv"]],
        ["diff", *PAIR, "--fail-if", "worse", "-o", named["diff.csv"], "--plot", named["diff.svg"]],
        ["diff", *PAIR, "--fail-if", "worse", "--format", "json", "--junit", named["diff.xml"]],
        ["evaluate", "misguided_attention", "-m", "pass_hat_k", "--set", "k=1", "-o", named["pass.csv"]],
        ["methods", "misguided_attention", "-m", "avg", "-m", "borda", "--save", named["all.csv"]],
        ["fit", "misguided_attention", "-m", "no such method"],
        ["--help"],
    ]
    codes, said = run("gone", commands)
    assert codes == [0, 0, 3, 3, 0, 0, 2, 0], said
    assert said.count("the gate worse is closed by the comparison") == 2
    assert all(Path(file).stat().st_size for file in named.values())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_told_after_all_else_is_done(tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    codes, said = run("/dev/full", [["fit", "misguided_attention", "-o", str(file)], ["list"], ["--version"]])
    assert codes == [2, 2, 2]
    assert said.count("jaxrank: error: what is printed could not be written: No space left on device") == 3
    assert file.stat().st_size


@pytest.mark.parametrize(
    ("shell", "code"),
    [("list | head -1", 0), ("list >&-", 0), ("list >&- 2>&-", 0), ("lis 2>&-", 2), ("lis 2>&1 | true", 2)],
)
def test_streams_of_a_shell(shell: str, code: int) -> None:
    command = f"set -o pipefail; {sys.executable} -m jaxrank {shell}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.startswith("family  ") or "head" not in shell
