"""Notebooks are tests: ``pytest --nbmake notebooks`` runs each of them from the first cell to the last."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SLOW = {"posterior_ranks.ipynb"}
"""Notebooks that `make test` leaves to `make test-all`."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE and item.path.name in SLOW:
            item.add_marker(pytest.mark.slow)
