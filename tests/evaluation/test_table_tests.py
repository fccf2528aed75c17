"""Friedman's test, critical differences and the probability of improvement against independent programs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import DataError

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "tables.json").read_text())["examples"]
TESTS = {e["id"]: e for e in GOLDEN if e["kind"] == "friedman"}
TABLES = {e["id"]: e for e in GOLDEN if e["kind"] == "table"}


@pytest.mark.parametrize("name", TESTS)
def test_golden_values(name):
    values = TESTS[name]["values"]
    data = jr.Responses(np.array(TESTS[name]["input"]["cell_means"], float), kind="real")
    test = jr.friedman(data)
    np.testing.assert_allclose(test.mean_ranks, values["mean_ranks"], rtol=1e-12)
    found = (test.chi2, test.df, test.p_chi2, test.F, test.p_F)
    np.testing.assert_allclose(found, [float(values[k]) for k in ("chi2", "df", "p_chi2", "F", "p_F")], rtol=1e-9)
    for level, alpha in ((0.95, "0.05"), (0.9, "0.1")):
        nemenyi = jr.critical_difference(data, level=level)
        np.testing.assert_allclose(nemenyi.distance, values["nemenyi_critical_difference"][alpha], rtol=1e-6)
        conover = jr.critical_difference(data, "conover", level)
        expected = values["conover_critical_difference_mean_rank"][alpha]
        np.testing.assert_allclose(conover.distance, expected, rtol=1e-9)
    np.testing.assert_allclose(nemenyi.p_values, values["nemenyi_p"], atol=1e-6)
    assert [sorted(g) for g in jr.critical_difference(data).groups] == [sorted(g) for g in values["nemenyi_groups_05"]]
    np.testing.assert_allclose(conover.p_values, values["conover_p_holm"], rtol=1e-8)
    if "ties" not in name:
        wilcoxon = jr.critical_difference(data, "wilcoxon")
        np.testing.assert_allclose(wilcoxon.p_values, values["wilcoxon_exact_holm"], rtol=1e-9)


@pytest.mark.parametrize("name", TABLES)
def test_golden_probability_of_improvement(name):
    given, values = TABLES[name]["input"], TABLES[name]["values"]
    higher = np.array(given["higher_is_better"])
    data = jr.Responses(np.array(given["scores"], float), lower_is_better=~higher)
    got = jr.evaluation.probability_of_improvement(data)
    np.testing.assert_allclose(got, values["probability_of_improvement"], rtol=1e-11)


def test_all_questions_alike_and_gaps():
    test = jr.friedman([[0.9, 0.8], [0.5, 0.4], [0.1, 0.2]])
    assert np.isinf(test.F) and test.p_F == 0
    same = jr.friedman([[0.5, 0.5], [0.5, 0.5]])
    assert same.chi2 == 0 and same.p_chi2 == 1
    with pytest.raises(DataError, match=r"'model 1' lacks some: use data.common"):
        jr.friedman([[0.5, 0.1], [0.2, None]])
