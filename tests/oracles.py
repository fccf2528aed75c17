"""Golden values from independent programs; golden/SOURCES.md says where each file's numbers come from."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
TENSORS = ("T1_6x8x5", "T2_11x30x10", "T3_5x6x5", "T4_ties_5x7x4", "T5_counterexample_3x8x1")


@functools.cache
def golden(name: str) -> Any:
    """The golden file ``name`` (without .json)."""
    return json.loads((HERE / "golden" / f"{name}.json").read_text(encoding="utf-8"))


def tensor_params(*starts: str, slow: tuple[str, ...] = ("T2", "T3", "T5")) -> list[Any]:
    """Parameters: the golden tensors of 11b whose names start so, all by default. Each has a shape, and so
    compilations, of its own: those of ``slow`` are marked."""
    return [
        pytest.param(name, marks=pytest.mark.slow if name.startswith(slow) else ())
        for name in TENSORS
        if name.startswith(starts or "T")
    ]
