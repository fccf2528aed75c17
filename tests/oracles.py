"""Golden values from independent programs: those that ship with the tests, and those read where they lie."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SHARED = HERE.parent.parent / "shared"


@functools.cache
def _load(path: Path) -> Any:
    return json.loads(path.read_text())


def golden(name: str) -> Any:
    """The golden file ``name`` (without .json); skips the test with the reason where it is absent."""
    for path in (HERE / "golden" / f"{name}.json", SHARED / "oracles" / "golden" / f"{name}.json"):
        if path.exists():
            return _load(path)
    pytest.skip(f"golden file {name}.json is not here: it may be read but not shipped")


def shared(*parts: str) -> Path:
    """A file of the shared data beside the repository; skips the test with the reason where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not here: it may be read but not shipped")
    return path
