"""Importing the library has no side effects and costs little."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

HEAVY = (
    "numpyro",
    "pandas",
    "pyarrow",
    "matplotlib",
    "typer",
    "rich",
    "scipy.optimize",
    "scipy.stats",
    "polars",
    "arviz_base",
)


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_case_K01_import_changes_no_configuration() -> None:
    code = (
        "import jax, json; before = dict(jax.config.values); import jaxrank; after = dict(jax.config.values);"
        "print(json.dumps([k for k in after if k in before and before[k] != after[k]]))"
    )
    assert json.loads(run(code)) == []


def test_case_K01_import_leaves_64_bit_alone() -> None:
    code = "import jax; a = jax.config.jax_enable_x64; import jaxrank; print(a, jax.config.jax_enable_x64)"
    before, after = run(code).split()
    assert before == after == "False"


def test_case_K03_import_initialises_no_backend() -> None:
    """The catalogue included: no method file makes an array while it is imported."""
    code = "import jaxrank; jaxrank.catalogue(); import jax._src.xla_bridge as xb; print(dict(xb._backends))"
    assert run(code).strip() == "{}"


def test_import_leaves_heavy_packages_out() -> None:
    code = f"import jaxrank, sys; jaxrank.catalogue(); print([m for m in {HEAVY!r} if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_import_costs_little_more_than_jax() -> None:
    """CPU seconds of ``import jaxrank`` after ``import jax``: about 0.25; the bound leaves room for a busy machine."""
    code = "import time, jax; t = time.process_time(); import jaxrank; print(time.process_time() - t)"
    assert statistics.median(float(run(code)) for _ in range(3)) < 1.2
