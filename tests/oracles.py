"""Golden values from independent programs; golden/SOURCES.md says where each file's numbers come from."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@functools.cache
def golden(name: str) -> Any:
    """The golden file ``name`` (without .json)."""
    return json.loads((HERE / "golden" / f"{name}.json").read_text(encoding="utf-8"))
