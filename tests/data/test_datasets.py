"""Bundled data: shapes, sources, and figures that their publishers printed."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from jaxrank.data import datasets
from jaxrank.errors import OptionError

SHAPES = {
    "misguided_attention": (58, 52, 3),
    "lrm_token_economy": (23, 19, 5),
    "inspect_popularity": (3, 10, 5),
    "tau_bench_airline": (1, 50, 4),
}


def test_available_lists_every_file_and_no_other() -> None:
    assert set(datasets.available()) == set(SHAPES)
    files = {f.name for f in datasets._folder().iterdir()}
    assert files == {f"{name}.npz" for name in SHAPES} | {"SOURCES.toml"}


@pytest.mark.parametrize(("name", "shape"), SHAPES.items())
def test_load_gives_named_binary_outcomes_with_their_source(name: str, shape: tuple[int, int, int]) -> None:
    data = datasets.load(name)
    assert data.shape == shape
    assert data.binary
    assert set(np.unique(data.outcomes)) <= {-1, 0, 1}
    assert not any(model.startswith("model ") for model in data.models)
    source = datasets.sources()[name]
    assert source.licence in ("CC0-1.0", "Apache-2.0", "MIT")
    assert len(source.commit) == 40
    assert any(source.licence in note for note in data.notes)
    assert any(source.commit in note for note in data.notes)


def test_missing_cells_stay_missing() -> None:
    assert (datasets.load("misguided_attention").outcomes == -1).sum() == 51
    assert (datasets.load("misguided_attention", graded=True).outcomes == -1).sum() == 51
    assert (datasets.load("lrm_token_economy").outcomes == -1).sum() == 12


def test_graded_scores_are_those_of_the_publisher() -> None:
    """Mean scores of average_scores.txt in the source repository, printed to three decimals."""
    data = datasets.load("misguided_attention", graded=True)
    assert data.levels == (0.0, 0.5, 1.0)
    grade = np.asarray(data.levels)
    observed = data.trials > 0
    cells = (data.counts @ grade) / np.maximum(data.trials, 1)
    mean = dict(zip(data.models, (cells * observed).sum(axis=1) / observed.sum(axis=1), strict=True))
    for model, printed in {
        "o3-mini": 0.468,
        "deepseek-r1": 0.551,
        "claude-3.7-thinking-4k": 0.561,
        "DeepSeek-V3": 0.269,
    }.items():
        assert mean[model] == pytest.approx(printed, abs=5.1e-4), model


def test_binary_outcome_is_the_top_grade() -> None:
    binary, graded = datasets.load("misguided_attention"), datasets.load("misguided_attention", graded=True)
    assert np.array_equal(binary.outcomes == 1, graded.outcomes == 2)


def test_tau_bench_gives_the_published_pass_hat_k() -> None:
    """pass^1..4 of the source's README: 0.420, 0.273, 0.220, 0.200; here C(c, k) / C(n, k) by hand."""
    from math import comb

    k_of_n = datasets.load("tau_bench_airline").counts[0, :, 1]
    printed = [0.420, 0.273, 0.220, 0.200]
    for k, value in enumerate(printed, start=1):
        assert np.mean([comb(c, k) / comb(4, k) for c in k_of_n]) == pytest.approx(value, abs=5.1e-4)


def test_inspect_gives_the_accuracies_of_the_log_headers() -> None:
    assert np.allclose(datasets.load("inspect_popularity").outcomes.mean(axis=(1, 2)), [0.60, 0.70, 0.66], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "digest"), [("misguided_attention", "6d45f5a3731a48d5"), ("lrm_token_economy", "9aa26691f2b361a3")]
)
def test_bundled_arrays_are_those_made_from_the_originals(name: str, digest: str) -> None:
    """The start of the SHA-256 of the outcomes (int8, C order), taken when they were made from the source's files."""
    outcomes = np.ascontiguousarray(datasets.load(name).outcomes, np.int8)
    assert hashlib.sha256(outcomes.tobytes()).hexdigest().startswith(digest)


def test_unknown_names_and_absent_grades_are_refused_with_a_remedy() -> None:
    with pytest.raises(OptionError, match="did you mean 'misguided_attention'"):
        datasets.load("misguided_atention")
    with pytest.raises(OptionError, match="works for misguided_attention"):
        datasets.load("inspect_popularity", graded=True)
