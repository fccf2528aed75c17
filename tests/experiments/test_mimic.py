"""The mimic of the published benchmarks: what is matched exactly."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import mimic


@pytest.mark.parametrize("name", mimic.BENCHMARKS)
def test_totals_equal_the_published_means(name: str) -> None:
    bench, rows = mimic.benchmark(name, match="totals"), mimic.published(name)
    n_models, n_questions, n_trials = bench.R.shape
    assert bench.models == rows["models"] and bench.R.shape == (20, mimic.N_QUESTIONS, mimic.N_TRIALS)
    assert set(np.unique(bench.R)) == {0, 1}
    totals = bench.R.sum(axis=(1, 2))
    np.testing.assert_array_equal(totals, np.rint(rows["mean"] * n_questions * n_trials))
    np.testing.assert_allclose(totals / (n_questions * n_trials), rows["mean"], rtol=0, atol=5e-4)
    np.testing.assert_array_equal(bench.greedy.sum(axis=1), np.rint(rows["greedy"] * n_questions))
    # the rates are the same as with match="rates", whose trials only scatter around the published means
    free = mimic.benchmark(name)
    np.testing.assert_array_equal(bench.p, free.p)
    assert (free.R.sum(axis=(1, 2)) != totals).sum() > n_models // 2


def test_combined_joins_the_questions() -> None:
    combined = mimic.benchmark("Combined", match="totals")
    parts = [mimic.benchmark(b, match="totals").R for b in mimic.BENCHMARKS]
    np.testing.assert_array_equal(combined.R, np.concatenate(parts, axis=1))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown match 'means'"):
        mimic.benchmark("AIME24", match="means")
    with pytest.raises(ValueError, match="unknown benchmark 'AIME23'"):
        mimic.benchmark("AIME23")
