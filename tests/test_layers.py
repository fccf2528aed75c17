"""The layers of the library: a module imports its own layer or lower, never in a cycle; files stay small."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "jaxrank"
MAX_LINES = 400

# A package's layer holds for all files in it.
LAYERS = {
    "jaxrank.errors": 0,
    "jaxrank.fit": 0,
    "jaxrank.responses": 0,
    "jaxrank.comparisons": 0,
    "jaxrank.orderings": 0,
    "jaxrank.dirichlet": 1,
    "jaxrank.graph": 1,
    "jaxrank.options": 0,
    "jaxrank.hypergeometric": 1,
    "jaxrank.statistics": 1,
    "jaxrank.weights": 1,
    "jaxrank.placement": 2,
    "jaxrank.order_statistic": 1,
    "jaxrank.symmetric": 1,
    "jaxrank.diagnostics": 1,
    "jaxrank.sampling": 2,
    "jaxrank.posterior_specs": 2,
    "jaxrank.posterior_outcomes": 2,
    "jaxrank.posterior_models": 2,
    "jaxrank.posterior_checks": 4,
    "jaxrank.posterior_files": 4,
    "jaxrank.posterior_draws": 4,
    "jaxrank.posterior": 5,
    "jaxrank.setwise": 2,
    "jaxrank.setwise_fit": 2,
    "jaxrank.setwise_likelihoods": 2,
    "jaxrank.paths": 1,
    "jaxrank.preferences": 1,
    "jaxrank.ranking": 1,
    "jaxrank.solve": 1,
    "jaxrank.likelihood": 2,
    "jaxrank.pair_likelihoods": 2,
    "jaxrank.paired_fit": 2,
    "jaxrank.priors": 2,
    "jaxrank.ranker": 2,
    "jaxrank.stream": 2,
    "jaxrank.irt_table": 2,
    "jaxrank.rasch_fit": 2,
    "jaxrank.irt_cells": 2,
    "jaxrank.irt_joint_fit": 2,
    "jaxrank.irt_marginal_fit": 2,
    "jaxrank.irt_conditional_fit": 2,
    "jaxrank.methods": 3,
    "jaxrank.evaluation": 3,
    "jaxrank.scaling": 4,
    "jaxrank.judges": 3,
    "jaxrank.catalogue": 4,
    "jaxrank.diagnosis": 4,
    "jaxrank.resampling": 4,
    "jaxrank.convergence": 4,
    "jaxrank.prefixes": 4,
    "jaxrank.pools": 4,
    "jaxrank.result": 4,
    "jaxrank.uncertainty": 4,
    "jaxrank.replicates": 4,
    "jaxrank.datasets": 5,
    "jaxrank.io": 5,
    "jaxrank.plots": 4,
    "jaxrank.tiers": 4,
    "jaxrank.storage": 4,
    "jaxrank.report": 5,
    "jaxrank.tabular": 4,
    "jaxrank.agreement": 5,
    "jaxrank.api": 5,
    "jaxrank.studies": 5,
    "jaxrank.prefix_studies": 5,
    "jaxrank.pool_studies": 5,
    "jaxrank.cli": 6,
    "jaxrank.__main__": 6,
    "jaxrank": 5,
}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def layer(module: str) -> int:
    name = module
    while name not in LAYERS:
        name = name.rpartition(".")[0]
        if name == "jaxrank":
            pytest.fail(f"{module} has no layer: add it to LAYERS in tests/test_layers.py")
    return LAYERS[name]


def imports(path: Path, *, lazy: bool) -> set[str]:
    """Modules of the package that a file imports; ``lazy`` includes imports inside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = ast.walk(tree) if lazy else _at_import_time(tree)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the full name"
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


@pytest.mark.parametrize("module", FILES)
def test_module_imports_its_own_layer_or_lower(module: str) -> None:
    above = [name for name in imports(FILES[module], lazy=True) if layer(name) > layer(module)]
    assert not above, f"{module} (layer {layer(module)}) imports {above} from above"


def test_no_import_cycles() -> None:
    graph = {module: imports(path, lazy=False) - {"jaxrank"} for module, path in FILES.items() if module != "jaxrank"}
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


def test_method_files_never_import_each_other() -> None:
    for module, path in FILES.items():
        if module.startswith("jaxrank.methods."):
            others = {name for name in imports(path, lazy=True) if name.startswith("jaxrank.methods")}
            assert not others, f"{module} imports {others}; shared mathematics belongs in a lower layer"


@pytest.mark.parametrize("module", FILES)
def test_files_stay_small(module: str) -> None:
    n_lines = len(FILES[module].read_text(encoding="utf-8").splitlines())
    assert n_lines <= MAX_LINES, f"{module} has {n_lines} lines; one concept a file, {MAX_LINES} lines at most"


def test_no_grab_bag_files() -> None:
    assert not [m for m in FILES if m.rpartition(".")[2] in ("utils", "util", "helpers", "misc", "common")]


def test_the_reader_of_imports_sees_every_form() -> None:
    source = (
        "import jaxrank.fit\nfrom jaxrank import api\n"
        "def f():\n    from jaxrank.cli import main\nif TYPE_CHECKING:\n    from jaxrank.ranking import kendall_tau\n"
    )
    names = {type(n).__name__ for n in _at_import_time(ast.parse(source))}
    assert "ImportFrom" in names
    lines = {n.lineno for n in _at_import_time(ast.parse(source)) if isinstance(n, ast.Import | ast.ImportFrom)}
    assert lines == {1, 2}
