"""Golden values from independent programs; golden/SOURCES.md says where each file's numbers come from."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SHARED = HERE.parent.parent / "shared"


@functools.cache
def golden(name: str) -> Any:
    """The golden file ``name`` (without .json)."""
    return json.loads((HERE / "golden" / f"{name}.json").read_text(encoding="utf-8"))


def shared(*parts: str) -> Path:
    """A file of the shared data beside the repository; skips the test with the reason where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not here: it may be read but not shipped")
    return path
