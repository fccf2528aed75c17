"""Published figures of real evaluations, recomputed from the files through ``read`` and ``fit``."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from tests.oracles import shared


def load(name: str, **options):
    path = shared("data", f"{name}.npz")
    return jr.read(path, **options), np.load(path)


def test_swe_bench_leaderboard():
    """Percent resolved, to two decimals as printed; the source lacks results of the two systems left out."""
    data, published = load("swebench_verified_bashonly_2026feb")
    percent = 100 * jr.fit(data, "avg", dtype="float64").scores
    difference = np.abs(percent - published["published_resolved_pct"])
    known = published["consistent_with_published"]
    assert known.sum() == 38
    assert difference[known].max() < 0.05
    assert difference[~known].min() > 0.1


def test_inspect_log_headers():
    """Accuracies in the headers of the logs."""
    data, _ = load("inspect_popularity_2025")
    scores = dict(zip(data.models, jr.fit(data, "avg", dtype="float64").scores, strict=True))
    expected = {"openai/gpt-5": 0.6, "google/gemini-2.5-pro": 0.7, "anthropic/claude-sonnet-4-20250514": 0.66}
    assert scores == pytest.approx(expected, abs=1e-12)


def test_misguided_attention_average_scores():
    """Mean scores of the repository's list, to three decimals, on the scale 0, 0.5, 1."""
    data, _ = load("misguided_attention_long_2025", array="R3")
    with pytest.warns(jr.JaxrankWarning, match="no result on some questions"):
        result = jr.fit(data, "avg", dtype="float64")
    scores = dict(zip(data.models, result.scores / 2, strict=True))
    for model, printed in {"o3-mini": 0.468, "deepseek-r1": 0.551, "DeepSeek-V3": 0.269}.items():
        assert scores[model] == pytest.approx(printed, abs=5e-4)


def test_llmfao_bradley_terry_of_evalica():
    """Strengths of another program, ties as half a win for each side."""
    data, golden = load("llmfao_battles", ties="half")
    expected = golden["golden_scores"][golden["golden_algorithms"].tolist().index("bradley_terry")]
    strength = np.exp(jr.fit(data, "bradley_terry", dtype="float64").scores)
    np.testing.assert_allclose(strength / strength.sum(), expected / expected.sum(), rtol=1e-8)


def test_tau_bench_pass_hat_k():
    """pass^1 to pass^4 of gpt-4o on the airline tasks, to three decimals as printed."""
    data, _ = load("tau_bench_gpt4o_airline")
    for k, printed in enumerate((0.420, 0.273, 0.220, 0.200), 1):
        estimate = jr.evaluation.pass_hat_k(data, k)
        assert float(np.ravel(estimate.point)[0]) == pytest.approx(printed, abs=5e-4)
