"""The picture of the rooms is that of the imports, and a method is one file."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests import test_layers

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def architecture() -> ModuleType:
    spec = importlib.util.spec_from_file_location("architecture", ROOT / "docs" / "architecture.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_that_of_the_imports(architecture: ModuleType) -> None:
    now = architecture.picture()
    assert architecture.PICTURE.read_text(encoding="utf-8") == now, "make it again: python docs/architecture.py"


def test_its_arrows_are_the_imports_that_the_layers_see(architecture: ModuleType) -> None:
    assert tuple(architecture.ROOMS) == test_layers.ROOMS
    found: set[tuple[str, str]] = set()
    for module, tree in test_layers.TREES.items():
        if module not in ("jaxrank", "jaxrank.__main__"):
            names = test_layers.imports(tree, lazy=True) - {"jaxrank"}
            found |= {(module.split(".")[1], name.split(".")[1]) for name in names}
    assert architecture.arrows() == found
    order = architecture.NAMES.index
    assert len(found) > 40 and all(order(a) >= order(b) for a, b in found)


def test_the_page_names_every_room_and_files_that_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^\d+\. \*\*(\w+)\*\*", text, flags=re.MULTILINE)) == test_layers.ROOMS
    for path in re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", text):
        assert any((ROOT / folder / path).exists() for folder in ("", "jaxrank")), path


def test_a_method_is_one_file(tmp_path: Path) -> None:
    """The class of docs/new_method.md, dropped as one file where methods are looked for, is in the catalogue, fit,
    bootstrap and the command line."""
    page = (ROOT / "docs" / "new_method.md").read_text(encoding="utf-8")
    code = re.search(r"```\{code-cell\}\n(.*?)```", page, flags=re.DOTALL)
    assert code and "ENTRIES" in code[1] and "import jaxrank" not in code[1]
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods" / "geometric_mean.py").write_text(code[1], encoding="utf-8")
    program = (
        "import sys, jaxrank.methods\n"
        "jaxrank.methods.__path__.append(sys.argv[1])\n"
        "import jaxrank as jr\n"
        "from jaxrank.cli import main\n"
        "assert 'geometric_mean' in jr.catalogue() and len(jr.catalogue()) > 90\n"
        "R = [[[1, 1, 1], [1, 0, 1]], [[1, 0, 0], [0, 0, 1]]]\n"
        "assert jr.fit(R, 'geometric_mean', a=0.5).ranks.tolist() == [1, 2]\n"
        "rep = jr.bootstrap(R, 'geometric_mean', n_replicates=20, progress=False)\n"
        "assert rep.rank_probabilities().shape == (2, 2)\n"
        "assert jr.methods.GeometricMean(a=2.0).a == 2.0\n"
        "main(['fit', 'lrm_token_economy', '-m', 'geometric_mean', '--set', 'a=0.5'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "methods")], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:3] == ["rank", "model", "score"]
    assert len(done.stdout.splitlines()) == 24
