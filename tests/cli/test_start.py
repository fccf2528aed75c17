"""Help and slips of the command line are answered without JAX, whose import takes longer than all else."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import jaxrank

# A command's help is everything that its file imports; a slip ends before the command runs.
PROGRAM = """
import contextlib, io, json, sys, time
start = time.process_time()
from jaxrank.cli import main
import typer
from jaxrank.cli.app import make_app
names = sorted(typer.main.get_command(make_app()).commands)
typed = [["--help"], ["--version"], [], *([name, "--help"] for name in names), ["fti", "x"], ["fit", "--methd", "avg"]]
codes = []
for arguments in typed:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            main(arguments)
        except SystemExit as ended:
            codes.append(ended.code)
    if len(codes) == 1:
        first = time.process_time() - start
late = sorted(m for m in sys.modules if m.split(".")[0] in ("jax", "jaxlib", "pandas", "scipy", "numpyro"))
print(json.dumps({"names": names, "codes": codes, "late": late, "seconds": first}))
"""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_help_and_slips_import_no_jax(found: dict[str, Any]) -> None:
    assert found["late"] == []
    assert len(found["names"]) >= 14
    n_helps = 2 + len(found["names"])
    assert found["codes"][:2] + found["codes"][3 : n_helps + 1] == [0] * n_helps
    assert found["codes"][n_helps + 1 :] == [2, 2]


def test_help_is_quick(found: dict[str, Any]) -> None:
    """CPU seconds from nothing to the help: about 0.3; the bound leaves room for a busy machine."""
    assert found["seconds"] < 1.0


def test_public_names_come_from_where_type_checkers_find_them() -> None:
    """`jaxrank.__getattr__` and the stub that type checkers read name the same things."""
    stub = ast.parse(Path(jaxrank.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.name: node.module or "jaxrank" for node in imports for alias in node.names}
    assert sorted(seen) == sorted(jaxrank.__all__)
    for name, place in seen.items():
        whole = sys.modules.get(f"{place}.{name}")
        assert getattr(jaxrank, name) is (whole or getattr(importlib.import_module(place), name)), name
