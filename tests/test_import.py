"""Importing the library has no side effects and costs little."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from typing import Any

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


PROGRAM = f"""
import json, sys, time
import jax
before, x64 = dict(jax.config.values), jax.config.jax_enable_x64
start = time.process_time()
import jaxrank
[getattr(jaxrank, name) for name in jaxrank.__all__]
seconds = time.process_time() - start
after = dict(jax.config.values)
jaxrank.catalogue()
import jax._src.xla_bridge as bridge
print(json.dumps({{
    "changed": [k for k in after if k in before and before[k] != after[k]],
    "x64": [x64, jax.config.jax_enable_x64],
    "backends": sorted(bridge._backends),
    "heavy": [m for m in {HEAVY!r} if m in sys.modules],
    "seconds": seconds,
}}))
"""


@functools.cache
def imported(_turn: int = 0) -> dict[str, Any]:
    """What a fresh process finds after ``import jax`` and after ``import jaxrank``; another number, another process."""
    return json.loads(
        subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    )


def test_case_K01_import_changes_no_configuration() -> None:
    assert imported()["changed"] == []


def test_case_K01_import_leaves_64_bit_alone() -> None:
    assert imported()["x64"] == [False, False]


def test_case_K03_import_initialises_no_backend() -> None:
    """The catalogue included: no method file makes an array while it is imported."""
    assert imported()["backends"] == []


def test_import_leaves_heavy_packages_out() -> None:
    assert imported()["heavy"] == []


def test_import_costs_little_more_than_jax() -> None:
    """CPU seconds of ``import jaxrank`` and all its names after ``import jax``: about 0.25; the bound, and two more
    turns, leave room for a busy machine."""
    assert any(imported(turn)["seconds"] < 1.2 for turn in range(3))


def test_nothing_has_to_be_named_before_it_is_used() -> None:
    """Names are imported when they are asked for: plots of results had none until jr.plots was named."""
    program = """
import jaxrank as jr
R = jr.Responses([[1, 1, 0], [0, 1, 0], [0, 0, 0]])
fit = jr.fit(R)
rep = jr.bootstrap(R, n_replicates=5, progress=False)
try:
    jr.bootstrap(R, n_replicates=5, scheme="clusters(nowhere)")
except jr.JaxrankError as error:
    assert "no such column" in str(error), error
import matplotlib
matplotlib.use("Agg")
fit.plot(), rep.plot(), jr.fit_all(R, ["avg", "borda"]).plot(), jr.compare(R, 0, 1).plot()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
