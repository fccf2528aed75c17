"""The twelve rooms of the library: each imports itself and the rooms above it in the list; files stay small."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import jaxrank

PACKAGE = Path(__file__).resolve().parent.parent / "jaxrank"
MAX_LINES = 400

# Lowest first. ``import jaxrank`` itself (the public names) stands above all of them but the command line.
ROOMS = (
    "errors",
    "numerics",
    "data",
    "models",
    "methods",
    "resampling",
    "evaluation",
    "posteriors",
    "results",
    "studies",
    "reports",
    "cli",
)


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}


def room(module: str) -> int:
    """Place of a module's room in the list; the package's own name is just below the command line."""
    parts = module.split(".")
    if len(parts) == 1:
        return ROOMS.index("cli") - 1
    return ROOMS.index("cli" if parts[1] == "__main__" else parts[1])


def imports(tree: ast.AST, *, lazy: bool) -> set[str]:
    """Modules of the package that a file imports; ``lazy`` includes imports inside functions and for type checkers."""
    found: set[str] = set()
    for node in ast.walk(tree) if lazy else _at_import_time(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}; write the full name"
            # ``from package import module`` names a module, ``from module import thing`` a thing
            found |= {
                name if (name := f"{node.module}.{alias.name}") in FILES else str(node.module) for alias in node.names
            }
    return {name for name in found if name in FILES}


def _at_import_time(tree: ast.AST) -> list[ast.AST]:
    """Nodes that run when the module is imported: no function bodies, no ``if TYPE_CHECKING``."""
    found, queue = [], [tree]
    while queue:
        node = queue.pop()
        found.append(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            queue.extend(node.orelse)
            continue
        queue.extend(ast.iter_child_nodes(node))
    return found


def test_the_package_holds_the_twelve_rooms_and_nothing_else() -> None:
    entries = {p.stem for p in PACKAGE.iterdir() if p.is_dir() or p.suffix == ".py"} - {"__pycache__"}
    assert entries - {"__init__", "__main__"} == set(ROOMS)
    assert len(ROOMS) == 12


def test_no_import_goes_up_not_even_a_lazy_one() -> None:
    upward = [
        f"{module} imports {name}"
        for module, tree in TREES.items()
        if module != "jaxrank"
        for name in sorted(imports(tree, lazy=True))
        if room(name) > room(module)
    ]
    assert not upward, "\n".join(upward)


def test_no_import_cycles() -> None:
    graph = {module: imports(tree, lazy=False) - {"jaxrank"} for module, tree in TREES.items() if module != "jaxrank"}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        if module in trail:
            pytest.fail("import cycle: " + " -> ".join([*trail[trail.index(module) :], module]))
        if module not in done:
            for name in graph[module] - {module}:
                visit(name, (*trail, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_a_folder_and_its_neighbour_import_one_way() -> None:
    """Inside a room a folder stands above or below what lies beside it (numerics.graph and numerics.solve did both)."""
    part = lambda module: ".".join(module.split(".")[:3])
    folders = {part(module) for module in FILES if module.count(".") > 2}
    arrows = {(part(a), part(b)) for a, tree in TREES.items() for b in imports(tree, lazy=True) if part(a) != part(b)}
    both = {(a, b) for a, b in arrows if (b, a) in arrows and a in folders and b.count(".") == 2}
    assert not both


def test_results_import_no_plot() -> None:
    """Plots register themselves in ``results/drawing.py``: they import results, and never the reverse."""
    plots = "jaxrank.results.plots"
    back = [
        f"{module} imports {name}"
        for module, tree in TREES.items()
        if room(module) <= ROOMS.index("results") and not module.startswith(plots)
        for name in imports(tree, lazy=True)
        if name.startswith(plots)
    ]
    assert not back, "\n".join(back)


def test_files_of_methods_never_import_each_other() -> None:
    families = {name for name in FILES if name.startswith("jaxrank.methods.") and _has_entries(TREES[name])}
    assert len(families) > 20
    crossing = [
        f"{module} imports {name}" for module in families for name in imports(TREES[module], lazy=True) & families
    ]
    assert not crossing, "shared mathematics belongs in a lower room:\n" + "\n".join(crossing)


def _has_entries(tree: ast.AST) -> bool:
    return any(isinstance(n, ast.Name) and n.id == "ENTRIES" and isinstance(n.ctx, ast.Store) for n in ast.walk(tree))


KINDS = {"Responses", "Comparisons", "Rankings", "Counted"}
ASKING = 11
"""Tests of the class of data outside ``data``: only what has mathematics of its own for a kind. It may only fall."""


def test_few_ask_for_the_class_of_data() -> None:
    """architecture 1: the kinds answer for themselves (`jaxrank.data.kind.Data`); the others ask them, not for them."""
    found = [
        f"{module}:{node.lineno}"
        for module, tree in TREES.items()
        if room(module) != ROOMS.index("data")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "issubclass")
        and any(isinstance(n, ast.Name) and n.id in KINDS for n in ast.walk(node.args[1]))
    ]
    assert len(found) == ASKING, f"{len(found)}, not {ASKING}: where fewer ask, lower the number: {found}"


def test_files_stay_small() -> None:
    lines = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in FILES.items()}
    large = {module: n for module, n in lines.items() if n > MAX_LINES}
    assert not large, f"one concept a file, {MAX_LINES} lines at most: {large}"


def test_no_grab_bag_files() -> None:
    assert not [m for m in FILES if m.rpartition(".")[2] in ("utils", "util", "helpers", "misc", "common")]


def test_no_name_shadows_a_module() -> None:
    """``import jaxrank.a.b`` then finds the module under that name, and a reload finds it again."""
    shadowed = []
    for info in pkgutil.walk_packages(jaxrank.__path__, "jaxrank."):
        if info.name == "jaxrank.__main__":
            continue
        module = importlib.import_module(info.name)
        parent, _, name = info.name.rpartition(".")
        if getattr(sys.modules[parent], name) is not module:
            shadowed.append(info.name)
    assert not shadowed


def test_every_module_can_be_reloaded_and_the_calls_still_work() -> None:
    program = (
        "import importlib, sys, jaxrank as jr\n[getattr(jr, n) for n in jr.__all__]\n"
        "names = [n for n in sys.modules if n.startswith('jaxrank.studies') or n == 'jaxrank.methods.catalogue']\n"
        "assert len(names) > 5, names\n"
        "for name in names + ['jaxrank']: importlib.reload(sys.modules[name])\n"
        "assert jr.fit([[1, 1, 0], [0, 1, 0]], 'avg').ranks.tolist() == [1, 2]\n"
        "assert jr.catalogue() and jr.diagnose([[1, 1, 0], [0, 1, 0]]) is not None\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=PACKAGE.parent)


def test_dir_shows_the_public_names_and_nothing_else() -> None:
    assert dir(jaxrank) == sorted(jaxrank.__all__)
    assert all(hasattr(jaxrank, name) for name in jaxrank.__all__)


def test_the_reader_of_imports_sees_every_form() -> None:
    source = (
        "import jaxrank.models.fit\nfrom jaxrank.studies import fit\n"
        "def f():\n    from jaxrank.cli import main\n"
        "if TYPE_CHECKING:\n    from jaxrank.numerics.ranks import kendall_tau\n"
    )
    tree = ast.parse(source)
    assert imports(tree, lazy=False) == {"jaxrank.models.fit", "jaxrank.studies.fit"}
    assert imports(tree, lazy=True) == {
        "jaxrank.models.fit", "jaxrank.studies.fit", "jaxrank.cli", "jaxrank.numerics.ranks",
    }  # fmt: skip
    assert room("jaxrank.cli.app") > room("jaxrank") >= room("jaxrank.reports") > room("jaxrank.errors")
