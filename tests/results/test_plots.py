"""Plots: Axes out, frames on request, names whole, nothing global."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

import jaxrank as jr  # noqa: E402
from jaxrank.posteriors.specs import Evidence  # noqa: E402
from jaxrank.results import drawing  # noqa: E402
from jaxrank.results.plots.canvas import spread  # noqa: E402
from jaxrank.results.plots.hodge_parts import cyclic_triads  # noqa: E402
from jaxrank.results.plots.views import view_of  # noqa: E402
from jaxrank.results.tiers import inseparable, separated  # noqa: E402
from tests.wrong import MORE  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")

LONG = "organisation/a-model-with-a-name-of-quite-unusual-length-2026-11-28-instruct-thinking"
NAMES = [LONG, "$x_1$ & <b>", "c", "d"]


@pytest.fixture(autouse=True)
def _nothing_global() -> Iterator[None]:
    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before
    plt.close("all")


@pytest.fixture(scope="module")
def data() -> jr.Responses:
    skill = np.array([0.8, 0.8, 0.5, 0.2])[:, None, None]
    R = (np.random.default_rng(1).random((4, 12, 5)) < skill).astype(float)
    R[3, 0] = np.nan
    R[1] = R[0]  # identical models tie
    return jr.Responses(R, NAMES)


def scaled() -> Any:
    rng = np.random.default_rng(3)
    y = (rng.random((2, 10, 3, 2)) < 0.5).astype(float)
    t = np.broadcast_to(100 * 2.0 ** np.arange(3)[:, None], y.shape)
    return jr.scaling.evaluate_scaling(y, t, models=NAMES[:2], n_replicates=20, n_exchanges=2)


def voted() -> Any:
    labels = np.random.default_rng(5).choice(["x", "y", "z"], (2, 6, 4))
    return jr.Answers(labels, truth=["x"] * 6, models=NAMES[:2]).curve(n_replicates=20, n_paths=4)


def priced(data: jr.Responses) -> Any:
    table = {"model": list(data.models), "cost": [1.0, 30.0, 400.0, 2.0]}
    return jr.cost_frontier(jr.Responses(data.values, table), n_replicates=20)


def judged() -> Any:
    scores = np.random.default_rng(4).integers(0, 3, (2, 3, 20))
    return jr.judges.infer(scores, prior="perfect", n_samples=50)


VOTES = jr.Comparisons(
    *zip(*[(0, 1), (1, 2), (2, 0)] * 6, strict=True),
    [1, 1, 0, 0, 1, 1, 1, 0, 0] * 2,
    models=NAMES[:3],
    columns={"category": ["p", "$q$"] * 9, "time": [0.0, 1, 2] * 6},
)


def drawn_by_category(rng: np.random.Generator) -> jr.PosteriorByCategory:
    """Draws of four models in ten categories, as if from a chain; the first name has a dollar sign."""
    theta = rng.normal(size=(2, 100, 4)) + np.array([3.0, 2, 1, 0])
    tau = np.exp(rng.normal(size=(2, 100)) / 4 - 1)
    apart = tau[..., None, None] * rng.normal(size=(2, 100, 10, 4))
    draws = {"theta": theta, "tau": tau, "theta_by_category": theta[:, :, None] + apart}
    design = {"a": np.zeros(10, int), "b": np.ones(10, int), "total": np.arange(10.0), "category": np.arange(10)}
    names = ("$a$", *(f"c{k}" for k in range(9)))
    evidence = Evidence(design, np.zeros((10, 3)))
    size = {"evidence": evidence, "categories": names}
    return jr.PosteriorByCategory(draws, tuple(NAMES), "bradley_terry", "nuts", by="category", **size)


@pytest.fixture(scope="module")
def sources(data: jr.Responses) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    theta = rng.normal(size=(2, 100, 4)) + np.array([3.0, 2, 1, 0])
    return {
        "Result": jr.fit(data),
        "Complete": data.select(questions=range(1, 12)),
        "Replicates": jr.bootstrap(data, "avg", n_replicates=60),
        "Convergence": jr.convergence(data, ["bayes", "avg"], n_replicates=60),
        "Posterior": jr.Posterior({"theta": theta}, tuple(NAMES), "bradley_terry", "nuts"),
        "PosteriorByCategory": drawn_by_category(rng),
        "FitTable": jr.fit_all(data, ["bayes", "avg", "borda"]),
        "Scaling": scaled(),
        "AnswerCurves": voted(),
        "Judges": judged(),
        "Coefficients": jr.coefficients(jr.fit(VOTES, "bradley_terry", side=True)),
        "RatingsOverTime": jr.ratings_over_time(VOTES, drift=0.1),
        "Categories": jr.by(VOTES, "category", "bradley_terry_map"),
        "Sensitivity": {"weak": judged(), "perfect": judged()},
        "Estimate": jr.evaluation.avg(data),
        "Comparison": jr.compare(data, NAMES[0], "d", margin=0.1),
        "ComparisonTable": jr.compare_all(data),
        "CostFrontier": priced(data),
        "Sequence": jr.evaluation.sequential.confidence_sequence([0.2, 1, 1, 0, 1]),
    }


CASES = [
    (of, kind)
    for of in (
        *("Result", "Replicates", "Convergence", "Posterior", "PosteriorByCategory", "FitTable"),
        *("Comparison", "ComparisonTable", "CostFrontier"),
        *("Coefficients", "RatingsOverTime", "Categories"),
    )
    for kind in drawing.kinds_of(getattr(jr, of))
    if kind not in ("items", "wright", "hodge", "critical_difference")
]


@pytest.mark.parametrize(("of", "kind"), CASES)
def test_every_plot_gives_axes_and_its_frame(sources: dict[str, Any], of: str, kind: str) -> None:
    figure = Figure()
    ax, frame = sources[of].plot(kind, figure, return_data=True)
    assert isinstance(ax, Axes) and ax.figure is figure and len(frame) > 0
    assert ax.get_title(loc="left")
    figure.draw_without_rendering()
    width, height = figure.bbox.size
    for label in (*ax.get_yticklabels(), *ax.get_xticklabels()):
        if label.get_text() in NAMES:
            box = label.get_window_extent()
            assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height, label.get_text()


def test_models_with_items(data: jr.Responses) -> None:
    fit = jr.fit(data, "rasch_map")
    ax, frame = fit.plot("items", questions=[0, "question 3"], return_data=True)
    assert len(frame) == 8 and frame["expected"].between(0, 1).all()
    assert len(ax.figure.axes) == 1
    _, frame = fit.plot("wright", return_data=True)
    assert list(frame["kind"]).count("model") == 4
    with pytest.raises(jr.errors.OptionError, match="no item parameters"):
        jr.fit(data).plot("wright")


@pytest.mark.parametrize("posthoc", ["nemenyi", "conover", "wilcoxon"])
def test_critical_difference_diagram_shows_the_test(sources: dict[str, Any], posthoc: str) -> None:
    """Every name stands inside the figure, and models under one bar are those that the test does not tell apart."""
    figure, complete = Figure(), sources["Complete"]
    ax, frame = jr.plots.critical_difference(complete, figure, posthoc=posthoc, return_data=True)
    found = jr.critical_difference(complete, posthoc)
    assert sorted(frame["mean_rank"]) == sorted(found.mean_ranks.tolist())
    together = {name: set(groups.split()) for name, groups in zip(frame["model"], frame["groups"], strict=True)}
    for i, j in np.argwhere(found.p_values <= 0.05):
        assert not together[found.models[i]] & together[found.models[j]]
    figure.draw_without_rendering()
    shown = [t for t in ax.texts if t.get_text() in NAMES]
    assert len(shown) == len(NAMES)
    for text in shown:
        box = text.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= figure.bbox.width, text.get_text()
    with pytest.raises(jr.errors.DataError, match="needs every model on every question"):
        sources["Result"].plot("critical_difference")


def test_profiles_are_the_shares_above() -> None:
    R = np.array([[[0.2, 0.4], [0.6, 0.8]], [[0.1, 0.3], [0.5, 0.7]]])
    _, frame = jr.plots.profiles(jr.Responses(R), return_data=True)
    for row in frame.itertuples():
        assert row.share == pytest.approx((R[int(row.model[-1])] > row.tau).mean())
        assert row.lower <= row.share <= row.upper
    _, turned = jr.plots.profiles(jr.Responses(R, lower_is_better=True), return_data=True)
    for row in turned.itertuples():
        assert row.share == pytest.approx((R[int(row.model[-1])] < row.tau).mean())


def test_hodge_shares_add_up() -> None:
    wins = np.array([[0, 6, 1], [2, 0, 6], [6, 2, 0.0]])
    fit = jr.fit(jr.Comparisons.from_matrix(wins), "hodge_rank")
    _, frame = fit.plot("hodge", return_data=True)
    assert frame["share"].sum() == pytest.approx(1, abs=1e-5) and frame["share"][1] > 0.5
    assert cyclic_triads(wins) == (1, 1)
    assert cyclic_triads(np.triu(np.ones((4, 4)), 1)) == (0, 4)


def test_battles_have_a_matrix() -> None:
    battles = jr.Comparisons(["a", "a", "b"], ["b", "b", "c"], [1, 0.5, 1])
    _, share = jr.plots.win_matrix(battles, return_data=True)
    assert share.loc["a", "b"] == 0.75 and share.loc["b", "a"] == 0.25 and np.isnan(share.loc["a", "c"])
    _, counts = jr.plots.win_matrix(battles, show="counts", return_data=True)
    assert counts.loc["a", "b"] == 2


def test_a_class_draws_itself_once_its_plots_are_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A subclass has the plots of the class it comes from; a class without plots says so."""
    monkeypatch.setattr(drawing, "KINDS", dict(drawing.KINDS))

    class Ranking:
        pass

    class Other(Ranking):
        pass

    with pytest.raises(jr.errors.OptionError, match="a Other has no plots"):
        drawing.draw(Other(), None, None, {})
    drawing.register(Ranking, {"bars": lambda source, ax, width=1: (source, ax, width)})
    source = Other()
    assert drawing.draw(source, None, "axes", {"width": 2}) == (source, "axes", 2)
    assert drawing.kinds_of(jr.Summary) == drawing.kinds_of(jr.Replicates) != {}


def test_ordered_lists_have_a_matrix() -> None:
    """interface 16: plot("wins") refused ordered lists."""
    orders = jr.Rankings([["a", "b", "c"], ["b", "a", "c"], ["a", "b", "c"]])
    _, share = jr.plots.win_matrix(orders, return_data=True)
    assert share.loc["a", "b"] == pytest.approx(2 / 3) and share.loc["a", "c"] == 1
    with pytest.raises(jr.errors.OptionError, match="not from list"):
        jr.plots.win_matrix([[1, 0]])


def test_captions_say_what_the_bars_are(sources: dict[str, Any]) -> None:
    """The words are those of the intervals, and a class without probabilities of ranks says so."""
    for name in ("Result", "Replicates", "Posterior"):
        view = view_of(sources[name], 0.9)
        assert view.interval == sources[name].interval(0.9).words and "90 %" in view.caption, name
    with pytest.raises(jr.errors.OptionError, match="not Convergence"):
        view_of(sources["Convergence"])
    with pytest.raises(jr.errors.OptionError, match="not from Result"):
        jr.plots.rank_distribution(sources["Result"])


def test_axes_of_the_user_are_used(sources: dict[str, Any]) -> None:
    _, ax = plt.subplots()
    assert sources["Result"].plot(ax=ax) is ax
    assert isinstance(sources["Result"].plot(), Axes)
    with pytest.raises(jr.errors.OptionError, match="has the plots"):
        sources["Result"].plot("pie")
    with pytest.raises(jr.errors.OptionError, match="ax must be"):
        sources["Result"].plot(ax=3)


def test_tiers_follow_from_separated_pairs(sources: dict[str, Any]) -> None:
    for name in ("Result", "Replicates", "Posterior"):
        source = sources[name]
        above, tier = separated(source), jr.tiers(source).tiers
        assert not (above & above.T).any() and tier.min() == 1
        for first, last in inseparable(source):
            assert last > first
    assert jr.tiers(sources["Result"]).tiers[0] == jr.tiers(sources["Result"]).tiers[1]  # the twins


def test_spread_keeps_order_and_gaps() -> None:
    places = spread([0.0, 0.1, 0.1, 5.0], 1.0, -1.0, 6.0)
    assert (np.diff(places) >= 1 - 1e-12).all() and places[-1] == 5.0 and places[0] >= -1
    assert spread([2.0, 1.0], 0.5).tolist() == [2.0, 1.0]


ALWAYS = ("ax", "return_data")
ARGUMENTS = {
    "leaderboard": ("Result", ("source", "level", "top")),
    "tiers": ("Result", ("source", "level", "top")),
    "superiority": ("Replicates", ("source",)),
    "rank_distribution": ("Replicates", ("source", "top")),
    "agreement": ("FitTable", ("source", "merge")),
    "bump": ("Convergence", ("con", "method", "replicate", "coloured")),
    "convergence": ("Convergence", ("con", "methods", "show")),
    "tau_curve": ("Convergence", ("con", "methods", "level")),
    "trace": ("Posterior", ("post", "model")),
    "chain_ranks": ("Posterior", ("post", "model", "bins")),
    "effective_size": ("Posterior", ("post",)),
    "hodge": ("hodge_rank", ("result",)),
    "item_curves": ("rasch_map", ("result", "questions")),
    "wright_map": ("rasch_map", ("result", "bins")),
    "pass_curves": ("Result", ("data", "models", "level", "max_k")),
    "answer_curves": ("AnswerCurves", ("curves", "model", "rules")),
    "response_matrix": ("Result", ("source",)),
    "win_matrix": ("Result", ("source", "show")),
    "critical_difference": ("Complete", ("source", "posthoc", "level")),
    "profiles": ("Result", ("source", "models", "level")),
    "scaling_curves": ("Scaling", ("source",)),
    "scaling_parts": ("Scaling", ("source", "level")),
    "coefficients": ("Coefficients", ("source",)),
    "ratings_over_time": ("RatingsOverTime", ("source", "level", "coloured")),
    "ranks_by_category": ("Categories", ("source", "coloured")),
    "strengths_by_category": ("PosteriorByCategory", ("source", "level", "top")),
    "judge_scores": ("Judges", ("source", "candidates", "level")),
    "judge_triangle": ("Judges", ("source", "candidates", "judges")),
    "judge_ranks": ("Sensitivity", ("source", "candidates", "level")),
    "estimates": ("Estimate", ("source", "models", "metric")),
    "paired_dots": ("Comparison", ("source", "top")),
    "forest": ("ComparisonTable", ("source", "top")),
    "frontier": ("CostFrontier", ("source",)),
    "confidence_sequence": ("Sequence", ("source", "reference")),
}


def test_no_plot_is_left_out_of_the_next_test() -> None:
    assert sorted(ARGUMENTS) == sorted(jr.plots.__all__)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_no_argument_of_a_plot_ends_in_a_traceback(
    data: jr.Responses, sources: dict[str, Any], name: str, record_property: Any
) -> None:
    """Interface 21: 416 of the 1,752 calls were errors of Python or matplotlib; top=-1, coloured=nan, merge="" and
    return_data="no" were taken. What is taken here is at most the default, a name or a place."""
    of, arguments = ARGUMENTS[name]
    source = sources[of] if of in sources else jr.fit(data, of)
    n_refused = 0
    for argument in (*arguments, *ALWAYS):
        for kind, value in MORE.items():
            given = {arguments[0]: source, argument: value}
            try:
                getattr(jr.plots, name)(**given)
            except jr.JaxrankError as error:
                n_refused += 1
                assert "\n" not in str(error), (argument, kind)  # noqa: PT017
            except Exception as error:
                raise AssertionError(f"{name}({argument}): {kind}: {error!r}") from error
            else:
                named = argument in ("candidates", "judges") and kind in ("words", "lists of lists")  # two of anything
                named |= argument == "metric" and isinstance(value, str)
                assert named or kind in ("None", "True", "0", "a list"), (argument, kind)
                plt.close("all")
    record_property("refused", f"{n_refused} of {(len(arguments) + 2) * len(MORE)}")


def test_options_that_a_plot_does_not_have_are_named(sources: dict[str, Any]) -> None:
    """Interface 21: an unknown option was an error of Python, as was kind=[]."""
    with pytest.raises(jr.errors.OptionError, match="no option 'best'; it has level, top, return_data"):
        sources["Result"].plot(best=3)
    for value in MORE.values():
        if value is not None:
            with pytest.raises(jr.errors.OptionError, match="has the plots"):
                sources["Result"].plot(value)


@pytest.mark.parametrize("name", ["scaling_curves", "scaling_parts", "judge_scores", "judge_triangle", "judge_ranks"])
def test_plots_of_scaling_and_judges(sources: dict[str, Any], name: str) -> None:
    figure = Figure()
    ax, frame = getattr(jr.plots, name)(sources[ARGUMENTS[name][0]], figure, return_data=True)
    assert isinstance(ax, Axes) and ax.figure is figure and ax.get_title(loc="left")
    if name == "scaling_parts":
        np.testing.assert_allclose(frame["gains"] + frame["losses"], frame["arise"], rtol=1e-5)
    if name == "judge_triangle":
        np.testing.assert_allclose(frame[["p0", "p1", "p2"]].sum(axis=1), 1)


def test_names_of_the_best_stand_apart_where_their_ranks_in_a_category_are_low() -> None:
    """Thirty names of 59 models lay on each other, as the axis had room for thirty ranks."""
    rng = np.random.default_rng(0)
    pairs = rng.permuted(np.tile(np.arange(20), (600, 1)), axis=1)[:, :2]
    won = rng.random(600) < 1 / (1 + np.exp((pairs[:, 0] - pairs[:, 1]) / 6))
    votes = jr.Comparisons(
        pairs[:, 0], pairs[:, 1], won, models=[f"m{i}" for i in range(20)], columns={"c": ["p", "q"] * 300}
    )
    ax = jr.plots.ranks_by_category(jr.by(votes, "c", "bradley_terry_map"), Figure(), best=5)
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert len(boxes) == 5
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
