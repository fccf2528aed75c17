"""One family of ranking methods a file. ``jaxrank.methods.BradleyTerry`` and the like find a class in its file."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        for module in _files():
            value = vars(importlib.import_module(f"{__name__}.{module}")).get(name)
            if isinstance(value, type) and value.__module__ == f"{__name__}.{module}":
                return value
    raise AttributeError(f"module {__name__!r} has no method class {name!r}")


def _files() -> list[str]:
    return sorted(info.name for info in pkgutil.iter_modules(__path__))
