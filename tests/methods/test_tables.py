"""Rankings of tables of scores: golden values, weights as repetition, scales and directions, missing cells."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.methods.pointwise import within_variance

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "tables.json").read_text())["examples"]
TABLES = {e["id"]: e for e in GOLDEN if e["kind"] == "table"}
GRADED = {e["id"]: e for e in GOLDEN if e["kind"] == "graded_levels"}
pytestmark = pytest.mark.filterwarnings("ignore:.*no result on some questions")


def table(example: dict[str, Any], weight: str | None = None) -> jr.Responses:
    given, values = example["input"], example["values"]
    columns = {key: given[key] for key in ("low", "high", "group", "higher_is_better")}
    columns["question"] = given["questions"]
    if weight is not None:
        columns["weight"] = given.get(weight, values.get(weight))
    return jr.Responses(np.array(given["scores"], float), given["models"], columns)


WEIGHT, WHOLE = "weight", "integer_weight_used_for_iqm"
COMPARED: dict[str, tuple[str | None, str, dict[str, Any]]] = {
    "mean": (None, "avg", {}),
    "mean_weighted": (WEIGHT, "avg", {}),
    "mean_rank": (None, "mean_rank", {}),
    "mean_rank_weighted": (WEIGHT, "mean_rank", {}),
    "mean_win_rate": (None, "mean_win_rate", {}),
    "mean_win_rate_weighted": (WEIGHT, "mean_win_rate", {}),
    "median_score": (None, "median_score", {}),
    "iqm_floor": (None, "iqm", {"floor": True}),
    "iqm_fractional": (None, "iqm", {}),
    "trimmed_10_floor": (None, "trimmed_mean", {"p": 0.1, "floor": True}),
    "trimmed_10_fractional": (None, "trimmed_mean", {"p": 0.1}),
    "iqm_floor_integer_weight": (WHOLE, "iqm", {"floor": True}),
    "iqm_fractional_integer_weight": (WHOLE, "iqm", {}),
    "optimality_gap": (None, "optimality_gap", {"gamma": 0.6}),
    "normalized_mean_columns": (None, "normalized_mean", {"low": "low", "high": "high"}),
    "normalized_mean_worst_best_observed_cell": (None, "normalized_mean", {}),
    "improvability": (None, "improvability", {"high": "high"}),
    "improvability_weighted": (WEIGHT, "improvability", {"high": "high"}),
}


@pytest.mark.parametrize("name", TABLES)
def test_golden_values(name):
    example = TABLES[name]
    values, tolerance = example["values"], {"rtol": 1e-11, "atol": 1e-12}
    assert example["input"]["gamma"] == 0.6
    for key, (weight, method, options) in COMPARED.items():
        got = jr.fit(table(example, weight), method, **options).scores
        np.testing.assert_allclose(got, values[key], **tolerance, err_msg=key)
    plain = table(example)
    for tau, expected in values["performance_profile_mean_of_cells"].items():
        got = jr.fit(plain, "performance_profile", tau=float(tau)).scores
        np.testing.assert_allclose(got, expected, **tolerance)
    for data, key in (
        (plain.balanced(), "macro_of_observed_group_means"),
        (plain.common(), "mean_common"),
        (plain.filled(), "mean_filled_worst_cell_mean"),
    ):
        np.testing.assert_allclose(jr.fit(data, "avg").scores, values[key], **tolerance, err_msg=key)
    fit = jr.fit(table(example, WEIGHT), "avg")
    with fit.precision():
        share, variance = np.asarray(fit.stat.observed), within_variance(fit.stat)
    error = np.sqrt(((share / share.sum(axis=1, keepdims=True)) ** 2 * variance).sum(axis=1))
    expected = np.array([np.nan if v is None else v for v in values["se_trials_weighted"]])
    np.testing.assert_allclose(error, expected, rtol=1e-11)


@pytest.mark.parametrize("name", GRADED)
def test_golden_grades(name):
    given, values = GRADED[name]["input"], GRADED[name]["values"]
    levels = np.array(given["levels"], float)
    data = jr.Responses(levels[np.array(given["R"])], given["models"], levels=levels)
    real = jr.Responses(levels[np.array(given["R"])], given["models"], kind="real")
    for method in ("avg", "borda", "mean_rank", "copeland", "win_rate", "mean_win_rate"):
        for of in (data, real):
            np.testing.assert_allclose(jr.fit(of, method, dtype="float64").scores, values[method], atol=1e-13)


REAL = [e.name for e in jr.entries().values() if e.ranker().statistic.name not in ("orders", "battles", "margins")]


def _real(seed: int = 0, gaps: bool = True) -> np.ndarray:
    rng = np.random.default_rng(seed)
    R = np.round(rng.normal(np.linspace(0.5, -0.5, 4)[:, None, None], 1, (4, 5, 2)), 1)
    if gaps:
        R[1, 2], R[3, 0, 1] = np.nan, np.nan
    return R


def _ranks(data: jr.Responses, name: str, **options: Any) -> list[int] | None:
    """None where the method refuses these data by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return jr.fit(data, name, dtype="float64", on_failure="return", **options).ranks.tolist()
        except (UnsupportedDataError, OptionError):
            return None


TRIES = {"maj_at_k": {"k": 2}}  # by default three tries, and the binary table has two trials
ABSOLUTE = {"optimality_gap": "gamma", "performance_profile": "tau", "improvability": "high"}
BINARY_TABLE = (np.random.default_rng(5).random((4, 5, 2)) < np.linspace(0.7, 0.3, 4)[:, None, None]).astype(int)
CHECKED = {"real": _real(), "binary": BINARY_TABLE}


QUICK = {"avg", "mean_rank", "mean_win_rate", "trimmed_mean", "normalized_mean", "borda", "bradley_terry_map", "elo"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in REAL])
def test_weights_scales_and_directions(name, record_property):
    """Weights are repetitions; a x + b changes no rank of real scores; a direction turned twice changes nothing."""
    made = 0
    base = {ABSOLUTE[name]: 0.7} if name in ABSOLUTE else TRIES.get(name, {})
    for R in CHECKED.values():
        times = np.array([1, 2, 3, 1, 2])
        weighted = _ranks(jr.Responses(R, weights=times), name, **base)
        if weighted is not None:
            repeated = jr.Responses(np.repeat(R, times, axis=1))
            assert weighted == _ranks(repeated, name, **base)
            made += 1
        plain = _ranks(jr.Responses(R), name, **base)
        if plain is None:
            continue
        turned = jr.Responses(-R if R.dtype.kind == "f" else 1 - R, lower_is_better=True)
        if R is not BINARY_TABLE or name not in ABSOLUTE:
            assert _ranks(turned, name, **_turned(name, base)) == plain
            made += 1
        if R is not BINARY_TABLE:
            shifted = {key: 2.5 * value - 7 for key, value in base.items()}
            assert _ranks(jr.Responses(2.5 * R - 7), name, **shifted) == plain
            made += 1
    record_property("checks", ("weights, scales and directions of tables", made))
    assert made or _ranks(jr.Responses(BINARY_TABLE), name) is None


BATTLES = [e.name for e in jr.entries().values() if "comparisons" in (e.ranker().kinds or e.ranker().statistic.kinds)]
TIMES = np.array([1, 2, 3] * 7)


@pytest.mark.parametrize("name", BATTLES)
def test_weights_of_battles_are_repetitions(name, record_property):
    """A battle of weight 2 counts as two; methods without weights refuse them by name. Equal weights change nothing."""
    rng = np.random.default_rng(2)
    a, b = np.array([[i, j] for i in range(4) for j in range(4) if i < j] * 4)[: len(TIMES)].T
    outcome = rng.choice([1, 0, 0.5], len(a), p=[0.5, 0.3, 0.2])
    weighted = jr.Comparisons(a, b, outcome, columns={"weight": TIMES})
    repeated = jr.Comparisons(*(np.repeat(x, TIMES) for x in (a, b, outcome)))
    equal = jr.Comparisons(a, b, outcome, columns={"weight": np.ones(len(a))})
    if name in ORDERED:
        with pytest.raises(UnsupportedDataError, match='leave the column "weight" out'):
            jr.fit(weighted, name)
    else:
        expected = _scores(repeated, name)
        np.testing.assert_allclose(_scores(weighted, name), expected, atol=1e-6)
    np.testing.assert_array_equal(_scores(equal, name), _scores(jr.Comparisons(a, b, outcome), name))
    record_property("checks", ("weights of battles", 2))


ORDERED = [n for n in BATTLES if jr.entries()[n].ranker().statistic.name == "sequence"]


def _scores(data: jr.Comparisons, name: str) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return jr.fit(data, name, dtype="float64", on_failure="return").scores


def test_a_mean_over_very_different_scales_says_so():
    R = np.random.default_rng(0).random((3, 4))
    R[:, 1] *= 2000
    with pytest.warns(jr.JaxrankWarning, match="scores of 'question 1' reach .* normalized_mean and mean_rank"):
        fit = jr.fit(R, "avg")
    assert any("rule the mean" in note for note in fit.notes)
    assert not any("rule the mean" in note for note in jr.fit(R, "mean_rank").notes)
    assert not any("rule the mean" in note for note in jr.fit(R[:, [0, 2, 3]] * 50, "avg").notes)


@pytest.mark.parametrize("name", ["mean_rank", "optimality_gap", "improvability"])
def test_numbers_that_are_better_when_low_are_shown_as_they_are_known(name):
    """Higher is better inside; tables show the mean rank itself, its interval the right way round."""
    fit = jr.fit(np.random.default_rng(1).random((4, 12)), name, dtype="float64")
    frame = fit.to_frame()
    np.testing.assert_array_equal(frame[name], -fit.scores[fit.order])
    assert list(frame["rank"]) == [1, 2, 3, 4]
    assert frame[name].is_monotonic_increasing
    assert np.all((frame["lower"] >= 0) & (frame["lower"] <= frame[name]) & (frame[name] <= frame["upper"]))
    for text in (fit.summary(), fit.summary("html"), jr.bootstrap(fit.data, name, n_replicates=50).summary()):
        assert f"{name}: lower is better" in text
    assert fit[fit.models[0]][name] == -fit.scores[0]


def _turned(name: str, base: dict[str, float]) -> dict[str, float]:
    """Options where the scores are given with the other sign: improvability takes those on the user's scale."""
    return {key: -value for key, value in base.items()} if name == "improvability" else base
