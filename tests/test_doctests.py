"""The examples in docstrings give what they say, and the main public functions have one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import jaxrank

EXAMPLES = (
    *("fit", "fit_all", "agreement", "bootstrap", "convergence", "read", "diagnose", "catalogue", "rank_scores"),
    *("kendall_tau", "Responses", "Responses.from_counts", "Comparisons", "Comparisons.from_matrix", "Rankings"),
    *("datasets.load", "evaluation.bayes", "evaluation.pass_at_k", "evaluation.pass_hat_k"),
    *("evaluation.rank_with_intervals", "evaluation.trials_needed"),
)
"""Public names that need an example."""


def examples() -> list[doctest.DocTest]:
    """Every docstring of the package that holds an example. The command line's modules hold none."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found: dict[str, doctest.DocTest] = {}
    for info in pkgutil.walk_packages(jaxrank.__path__, "jaxrank."):
        if not info.name.startswith(("jaxrank.cli", "jaxrank.__main__")):
            tests = finder.find(importlib.import_module(info.name), info.name)
            found |= {test.name: test for test in tests if test.examples}
    return list(found.values())


@pytest.mark.parametrize("test", [pytest.param(t, id=t.name.removeprefix("jaxrank.")) for t in examples()])
def test_example(test: doctest.DocTest) -> None:
    report: list[str] = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.DocTestRunner(optionflags=flags).run(test, out=report.append)
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize("name", EXAMPLES)
def test_has_an_example(name: str) -> None:
    found: object = jaxrank
    for part in name.split("."):
        found = getattr(found, part)
    assert ">>> " in (found.__doc__ or "")
