"""The published counterexample and a part of the enumeration that shows it is the smallest."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import jaxrank as jr
from tests.oracles import golden

SCRIPT = Path(__file__).parents[2] / "experiments" / "counterexample" / "run.py"


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("counterexample", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_counterexample(study):
    found = study.counterexample()
    expected = golden("10_counterexample")["c2"]
    assert found["wins"] == expected["wins"]
    assert found["order_bradley_terry"] == [1, 0, 2] and found["order_average"] == [0, 1, 2]
    assert found["difference_from_root"] < 1e-10
    assert abs(found["b"] - float(expected["b_star_50"])) < 1e-10


def test_strengths_of_the_counterexample():
    expected = golden("10_counterexample")["c2"]
    result = jr.fit(jr.Comparisons.from_matrix(expected["wins"]), "bradley_terry", dtype="float64")
    np.testing.assert_allclose(result.scores, expected["log_strengths_centered"], atol=1e-10)


def test_enumeration(study):
    found = study.enumerate_all(7)
    assert (found["data_sets"], found["qualifying"], found["disagreements"]) == (6434, 1506, 0)
