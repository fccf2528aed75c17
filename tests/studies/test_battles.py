"""Studies of battles: by category, over time, with battles that came later; and style of answers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.periods import periods_of
from jaxrank.errors import DataError, OptionError, UnsupportedDataError
from jaxrank.models.pairs.dynamic import smooth
from tests.oracles import golden


def example(kind: str) -> dict:
    return next(e for e in golden("battles") if e["kind"] == kind)


def battles_of(given: dict, **columns) -> jr.Comparisons:
    outcome = (np.array(given["outcome"]) + 1) / 2
    return jr.Comparisons(given["a"], given["b"], outcome, models=given["models"], columns=columns)


def test_categories_are_those_of_an_independent_program():
    given, value = example("by_category")["input"], example("by_category")["values"]
    found = jr.by(battles_of(given, category=given["category"]), "category", "bradley_terry", dtype="float64")
    order = np.argsort([float(n) for n in found.names])
    theta = [found.results[found.names[i]].scores for i in order]
    assert np.allclose(theta, value["theta_by_category"], atol=1e-8)
    assert found.test is not None and found.test.degrees == value["df"]
    assert found.test.statistic == pytest.approx(value["lr"], abs=1e-7)
    assert found.test.p_value == pytest.approx(value["p"], abs=1e-8)
    assert found.ranks().shape == (3, 4) and found["m3"]["rank"] == found.whole.ranks[3]


def test_a_category_without_an_answer_is_left_out_by_name():
    battles = jr.Comparisons(
        ["x", "y", "x", "z", "z"], ["y", "x", "z", "x", "x"], [1, 1, 1, 1, 1],
        columns={"language": ["en"] * 4 + ["fr"]},
    )  # fmt: skip
    found = jr.by(battles, "language", "bradley_terry")
    assert list(found.left_out) == ["fr"] and found.names == ("en",) and found.test is None
    with pytest.raises(OptionError, match="'language'"):
        jr.by(battles, "tongue")
    shown = jr.by(battles, "language", "bradley_terry_map")
    assert shown.names == ("en", "fr") and shown.to_frame()["fr"].isna().sum() == 1


def test_categories_that_are_numbers_keep_all_their_digits():
    weeks = [1_000_001.0, 1_000_002.0, 0.5]
    battles = jr.Comparisons(["x", "y"] * 3, ["y", "x"] * 3, [1] * 6, columns={"week": np.repeat(weeks, 2)})
    assert jr.by(battles, "week", "bradley_terry").names == ("1000001", "1000002", "0.5")


DYNAMIC = example("bradley_terry_dynamic")


@pytest.mark.parametrize(
    ("name", "drift", "start"), [("drift_0_05", 0.05, 1.0), ("drift_0_3", 0.3, 1.0), ("drift_1_start_4", 1.0, 4.0)]
)
def test_ratings_over_time_are_those_of_an_independent_program(name, drift, start, record_property):
    """A dense Newton on all periods and models; period 3 has no battle."""
    given, value = DYNAMIC["input"], DYNAMIC["values"][name]
    battles = battles_of(given, time=np.array(given["period"], float))
    found = jr.ratings_over_time(battles, period=1, drift=drift, start_var=start)
    worst = max(np.abs(found.scores - value["theta"]).max(), np.abs(found.standard_errors - value["sd"]).max())
    record_property("largest", float(worst))
    assert worst < 1e-8
    assert found.log_marginal == pytest.approx(value["log_marginal_laplace"], abs=1e-8)
    assert found["m0"].shape[0] == given["n_periods"] and not found.battles[3].any()


def test_the_drift_maximises_the_marginal_likelihood():
    given, value = DYNAMIC["input"], DYNAMIC["values"]["laplace"]
    found = jr.ratings_over_time(battles_of(given, time=np.array(given["period"], float)), period=1)
    assert found.estimated and found.drift == pytest.approx(value["argmax_drift"], rel=1e-3)
    assert found.log_marginal == pytest.approx(value["max"], abs=1e-8)


def test_a_model_that_does_not_play_keeps_its_mean_and_widens():
    wins = np.zeros((4, 2, 2))
    wins[0] = [[0, 6], [2, 0]]
    with jax.enable_x64(True):
        found = smooth(jnp.asarray(wins), 0.5, 1.0)
    assert np.allclose(found.theta, found.theta[0])
    assert np.all(np.diff(found.sd, axis=0) > 0)


def test_periods_are_of_one_length_and_without_gaps():
    battles = jr.Comparisons(
        ["x"] * 3, ["y"] * 3, [1, 0, 1], columns={"time": ["2024-01-01", "2024-01-05", "2024-03-02"], "day": [0, 4, 61]}
    )
    names, index = periods_of(battles, "time", "30D")
    assert names == ("2024-01-01", "2024-01-31", "2024-03-01") and index.tolist() == [0, 0, 2]
    assert periods_of(battles, "day", 30)[1].tolist() == [0, 0, 2]
    assert periods_of(battles, "day", None)[0] == ("0", "4", "61")
    for column, period, says in (
        ("time", "soon", "length of time"),
        ("time", 30, "30D"),
        ("hour", 1, "no such column"),
    ):
        with pytest.raises(OptionError, match=says):
            periods_of(battles, column, period)
    gap = jr.Comparisons(["x"] * 2, ["y"] * 2, [1, 0], columns={"time": [1.0, np.nan]})
    with pytest.raises(DataError, match="row 1"):
        jr.ratings_over_time(gap)


@pytest.mark.parametrize("options", [{}, {"covariates": ["length"]}])
def test_an_update_is_the_fit_of_all(options):
    given = example("davidson")["input"]["table"]
    rows = np.arange(len(given["a"]))
    part = lambda some: jr.Comparisons(
        *(np.array(given[c])[some] for c in "ab"), (np.array(given["outcome"])[some] + 1) / 2,
        models=[f"m{i}" for i in range(5)], columns={"length": np.array(given["length"])[some]},
    )  # fmt: skip
    old, new = part(rows < 150), part(rows >= 150)
    fit = jr.fit(old, "bradley_terry_davidson", dtype="float64", **options)
    found, whole = jr.update(fit, new), jr.fit(part(rows >= 0), "bradley_terry_davidson", dtype="float64", **options)
    assert np.allclose(found.scores, whole.scores, atol=1e-9)
    assert found.data.n_results == 180 and found.ranker == fit.ranker
    with pytest.raises(UnsupportedDataError, match="paired"):
        jr.update(jr.fit(old, "elo"), new)


STYLE = [
    (
        "# Title\n\nSome **bold** words and __more__ here.\n\n- one\n- two\n\n1. first\n2. second\n\n## End\n",
        (18, 2, 4, 2, 0),
    ),
    ("Plain text only, with a # in the middle and 3.5 numbers.\nNo list - just a dash.", (18, 0, 0, 0, 0)),
    (
        "Intro\n\n```python\nx = 1\nprint(x)\n```\n\n* **a** item\n  * nested **b c**\n+ plus\n\n### H3\n",
        (18, 1, 3, 2, 1),
    ),
    ("```\n# not a header\n- not an item\n**not bold**\n```\nafter", (13, 0, 0, 0, 1)),
    ("", (0, 0, 0, 0, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "counts"), STYLE)
def test_style_counts_what_a_markdown_text_shows(text, counts):
    assert tuple(jr.evaluation.style(text).values()) == counts


@pytest.mark.parametrize("draw", ["coefficients", "ratings", "ranks"])
def test_plots_of_battles(draw):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    given = example("by_category")["input"]
    battles = battles_of(given, category=given["category"], time=np.arange(len(given["a"])) // 50.0)
    source = {
        "coefficients": lambda: jr.coefficients(jr.fit(battles, "bradley_terry", side=True)),
        "ratings": lambda: jr.ratings_over_time(battles, drift=0.1),
        "ranks": lambda: jr.by(battles, "category", "bradley_terry"),
    }[draw]()
    ax = source.plot(ax=Figure())
    assert ax.get_title(loc="left")
    assert type(source).__name__ in repr(source) and source.summary("html")
