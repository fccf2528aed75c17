"""Arguments of studies that cannot be: one sentence before the work, never an error of Python's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import jaxrank as jr
from jaxrank.errors import OptionError
from jaxrank.resampling import as_scheme
from jaxrank.resampling.schemes import Bayesian, Models, Subsample
from tests.problems import graded

R = graded()
BATTLES = jr.Comparisons(["x", "x", "y"], ["y", "z", "z"], [1, 0.5, 1])
WRONG: dict[str, tuple[Callable, dict]] = {
    **{f"bootstrap {s}": (jr.bootstrap, {"scheme": s}) for s in ("subsample(0)", "subsample(abc)", "subsample(1.5)")},
    **{f"bootstrap {s}": (jr.bootstrap, {"scheme": s}) for s in ("subsample(-3)", "trials(3)", "bayesian(5)", "x(")},
    **{
        f"bootstrap {s}": (jr.bootstrap, {"scheme": s}) for s in ("subsample(2", "subsample(2))", "subsample(1, 2)", "")
    },
    **{f"chunk_size {c!r}": (jr.bootstrap, {"chunk_size": c}) for c in (2.5, "2", 0, True)},
    **{f"n_replicates {n!r}": (jr.bootstrap, {"n_replicates": n}) for n in (0, 2.0, "5", True, 2**40)},
    **{f"grid {g!r}": (jr.convergence, {"grid": g}) for g in (3, "abc", [1.7, 2.2], [0], [99], [None])},
    **{f"dtype {d}": (jr.convergence, {"dtype": d}) for d in ("float33", "float16", 3)},
    "reference": (jr.convergence, {"reference": ["a", "b", "c", "d", "e"]}),
    **{f"pools {n!r}": (jr.model_pools, {"size": 2, "n_replicates": n}) for n in (10.0, "2")},
    **{f"pool size {s!r}": (jr.model_pools, {"size": s}) for s in ("2", 2.0, 1, 99)},
    "pool chunk": (jr.model_pools, {"size": 2, "chunk_size": 2.5}),
    "subsample": (jr.subsample, {"n": 2.0}),
    "battles": (lambda R, m, **how: jr.bootstrap(BATTLES, "bradley_terry_map", **how), {"scheme": "subsample(abc)"}),
}


@pytest.mark.parametrize("case", WRONG)
def test_arguments_are_refused_before_the_work(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """interface 21: IndexError, TypeError, ValueError, or a grid cut to whole numbers."""
    call, how = WRONG[case]
    for module in ("replicates", "convergence", "pools"):
        monkeypatch.setattr(f"jaxrank.studies.{module}.replicate", None)  # the engine is not reached
    with pytest.raises(OptionError) as refused:
        call(R, "avg", **how)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "scheme"),
    [
        *[("subsample(3)", Subsample(3)), ("subsample( n = 3 )", Subsample(3)), ("subsample", Subsample(1))],
        *[("models(size=4)", Models(4)), ("bayesian('questions')", Bayesian("questions")), ("bayesian()", Bayesian())],
    ],
)
def test_names_of_schemes_are_read(text: str, scheme: object) -> None:
    assert as_scheme(text) == scheme and as_scheme(str(scheme)) == scheme
