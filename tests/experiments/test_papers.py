"""Every numbered item of the papers has a row: what computes it and what came out; the page is made of them."""

from __future__ import annotations

import importlib
import importlib.util
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from jaxrank.methods.catalogue import entries

ROOT = Path(__file__).resolve().parents[2]
PAPERS = ("ranking", "bayes", "arise", "judges")


@pytest.fixture(scope="module")
def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("papers", ROOT / "docs" / "papers.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def papers(module: ModuleType) -> dict[str, dict[str, Any]]:
    found = module.papers()
    assert tuple(found) == PAPERS
    return found


def test_the_page_is_made_from_the_list(module: ModuleType) -> None:
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "make it again: python docs/papers.py"


@pytest.mark.parametrize("name", PAPERS)
def test_no_item_is_missing_or_stands_twice(name: str, module: ModuleType, papers: dict[str, Any]) -> None:
    found: Counter[tuple[str, int]] = Counter()
    for item in papers[name]["items"]:
        kind, which = module.numbers(item["item"])
        found.update((kind, n) for n in which)
    wanted = {(kind, n): 1 for kind in module.KINDS for n in range(1, papers[name].get(kind, 0) + 1)}
    assert dict(found) == wanted


@pytest.mark.parametrize("name", PAPERS)
def test_rows_say_what_the_verdict_asks(name: str, module: ModuleType, papers: dict[str, Any]) -> None:
    for item in papers[name]["items"]:
        label = f"{name}: {item['item']}"
        assert set(item) <= {"item", "what", "where", "verdict", "text"}, label
        assert item["verdict"] in module.VERDICTS, label
        assert item["what"], label
        if item["verdict"] in ("reproduced", "implemented", "in part", "contradicted"):
            assert item.get("where"), f"{label} names nothing that computes it"
        if item["verdict"] in ("reproduced", "in part", "contradicted", "not possible"):
            assert item.get("text"), f"{label} does not say what came out"


@pytest.mark.parametrize("name", PAPERS)
def test_what_rows_name_is_there(name: str, papers: dict[str, Any]) -> None:
    """A path of the repository, a dotted name of the library, or an identifier of the catalogue."""
    for item in papers[name]["items"]:
        for place in item.get("where", []):
            assert _exists(place), f"{name}, {item['item']}: {place}"
            if place.startswith("experiments/") and (ROOT / place).is_dir():
                assert (ROOT / place / "README.md").exists() and (ROOT / place / "run.py").exists(), place


def _exists(place: str) -> bool:
    if "/" in place:
        return (ROOT / place).exists()
    if not place.startswith("jaxrank."):
        return place in entries()
    module, _, rest = place, "", ""
    while module:
        try:
            found: Any = importlib.import_module(module)
        except ModuleNotFoundError:
            module, _, last = module.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
            continue
        for part in filter(None, rest.split(".")):
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False
