"""What calls return: one contract for all classes, so that a class that lacks a part of it fails (interface 3)."""

from __future__ import annotations

import inspect
import io
import json
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import jaxrank as jr
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.evaluation import judges
from jaxrank.results.drawing import kinds_of
from jaxrank.results.returned import NOTEBOOK_ROWS, RankedModels, Returned, Row

RATES = np.linspace(0.85, 0.15, 4)
R = (np.random.default_rng(3).random((4, 12, 5)) < RATES[:, None, None]).astype(int)
DATA = jr.Responses(R, models=["ada", "bob", "cyd", "<dee>"])
PRICED = jr.Responses(
    R, {"model": DATA.models, "cost": [4.0, 1.0, 2.0, 3.0], "llm": ["a", "a", "b", "b"], "prompt": ["p", "q"] * 2}
)
BATTLES = jr.Comparisons.from_matrix([[0, 7, 9], [3, 0, 6], [1, 4, 0]], models=["x", "y", "z"])
VOTES = jr.Comparisons(
    *zip(*[("x", "y"), ("y", "z"), ("z", "x")] * 6, strict=True),
    [1, 1, 0, 0, 1, 1, 1, 0, 0] * 2,
    columns={"length": np.tile([0.5, -1, 0.2, 0.1, -0.3, 0.9], 3), "category": ["p", "q"] * 9, "time": [0.0, 1, 2] * 6},
)
ONE_SIDED = jr.Comparisons(
    *(["x", "y", "x"] * 8, ["y", "z", "z"] * 8, [1] * 23 + [0]), columns={"category": ["p", "q"] * 12}
)
MAKE: dict[str, Any] = {
    "Result": lambda: jr.fit(DATA, "bayes"),
    "Replicates": lambda: jr.bootstrap(DATA, "avg", n_replicates=60),
    "Summary": lambda: jr.bootstrap(DATA, "avg", n_replicates=60, keep="summary", scheme="questions"),
    "Posterior": lambda: jr.posterior(DATA, "bayes", n_samples=50),
    "PosteriorByCategory": lambda: jr.posterior(ONE_SIDED, by="category", n_chains=1, n_warmup=60, n_samples=40),
    "FitTable": lambda: jr.fit_all(DATA, ["bayes", "avg", "borda"]),
    "Agreement": lambda: jr.agreement(DATA, ["bayes", "avg", "borda"]),
    "Convergence": lambda: jr.convergence(DATA, ["avg", "bayes"], n_replicates=40),
    "Pools": lambda: jr.model_pools(DATA, ["avg"], size=3, n_replicates=8),
    "Diagnosis": lambda: jr.diagnose(DATA),
    "Tiers": lambda: jr.tiers(jr.fit(DATA)),
    "Comparison": lambda: jr.compare(DATA, "<dee>", "ada", margin=0.1),
    "ComparisonTable": lambda: jr.compare_all(DATA),
    "CostFrontier": lambda: jr.cost_frontier(PRICED, n_replicates=60),
    "Factors": lambda: jr.compare_factors(PRICED, ["llm", "prompt"]),
    "Coefficients": lambda: jr.coefficients(jr.fit(VOTES, "bradley_terry", covariates="length", side=True)),
    "Ratings": lambda: jr.ratings(jr.fit(BATTLES, "bradley_terry")),
    "Categories": lambda: jr.by(VOTES, "category", "bradley_terry_map"),
    "RatingsOverTime": lambda: jr.ratings_over_time(VOTES, drift=0.1),
}
RANKINGS = ("Result", "Replicates", "Summary", "Posterior", "PosteriorByCategory")
WITHOUT_PLOTS = ("Pools", "Diagnosis", "Tiers", "Factors", "Ratings")


@pytest.fixture(scope="module")
def returned() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: make() for name, make in MAKE.items()}


def test_the_table_holds_every_class_that_a_call_returns() -> None:
    classes = {
        name for name in jr.__all__ if inspect.isclass(getattr(jr, name)) and issubclass(getattr(jr, name), Returned)
    }
    assert classes == set(MAKE)
    assert {name for name in classes if issubclass(getattr(jr, name), RankedModels)} == set(RANKINGS)


@pytest.fixture(params=MAKE)
def thing(request: pytest.FixtureRequest, returned: dict[str, Any]) -> Any:
    found = returned[request.param]
    assert type(found).__name__ == request.param
    return found


def test_every_format_of_the_summary_is_text(thing: Any) -> None:
    """interface 3: ``summary()`` was text three times and a data frame once."""
    text = {form: thing.summary(form) for form in ("text", "html", "latex", "csv")}
    assert all(isinstance(t, str) and t for t in text.values()) and thing.summary() == text["text"]
    assert "<table" in text["html"] and "<dee>" not in text["html"] and r"\toprule" in text["latex"]
    rows = pd.read_csv(io.StringIO(text["csv"]))
    assert len(rows) > 0
    with pytest.raises(OptionError, match="format='pdf'"):
        thing.summary("pdf")


def test_a_notebook_shows_the_table(thing: Any) -> None:
    """front-door C5."""
    page = thing._repr_html_()
    assert page.startswith("<table") and page.count("<tr>") <= NOTEBOOK_ROWS + 2
    assert page == thing.summary("html")  # short tables are whole


def test_a_notebook_shows_thirty_rows_of_a_long_table() -> None:
    many = jr.fit(np.eye(40, 12, dtype=int), "avg")
    page = many._repr_html_()
    assert page.count("<tr>") == 1 + NOTEBOOK_ROWS + 1 and "and 10 more rows" in page


def test_rows_have_names_and_are_counted(thing: Any) -> None:
    """interface 3: ``list(table)`` raised KeyError 0; front-door C5: ``fit["model"]``."""
    rows = list(thing)
    assert len(rows) == len(thing) > 0
    if type(thing).__name__ == "RatingsOverTime":
        return  # a row a model and period: [model] is a frame
    names = {
        "Coefficients": lambda: thing.names,
        "Agreement": lambda: thing.methods,
        "Comparison": lambda: [thing.new],
        "ComparisonTable": lambda: thing.names,
        "Factors": lambda: list(thing.components),
        "Diagnosis": lambda: [f.name for f in thing],
        "FitTable": lambda: [r.method for r in thing],
    }.get(type(thing).__name__, lambda: [row.get("model", row.get("method")) for row in thing])()
    for name, row in zip(names, rows, strict=True):
        assert name in thing
        again = thing[name]
        if isinstance(row, Row):
            assert again.keys() == row.keys()
            assert all(again[k] == row[k] or again[k] != again[k] for k in row)
            assert getattr(row, next(iter(row))) == row[next(iter(row))]
        else:
            assert np.all(np.asarray(again == row)) if isinstance(row, np.ndarray) else again is row
    assert "nobody" not in thing
    with pytest.raises(OptionError, match="nobody"):
        thing["nobody"]


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
def test_files_hold_the_table(thing: Any, suffix: str, tmp_path: Any) -> None:
    """interface 3: two writers of one extension."""
    path = thing.save(tmp_path / f"table{suffix}")
    if suffix == ".csv":
        rows = pd.read_csv(path)
    elif suffix == ".json":
        rows = pd.DataFrame(json.loads(path.read_text(encoding="utf-8"))["rows"])
    else:
        rows = pd.read_parquet(path)
    if suffix == ".parquet" and isinstance(thing, jr.Replicates):
        assert len(rows) == thing.n_replicates * len(thing)
        return
    assert len(rows) == len(thing.to_frame())
    assert set(map(str, thing.to_frame().columns)) <= set(rows.columns)


def test_npz_holds_everything(thing: Any, tmp_path: Any) -> None:
    back = jr.load(thing.save(tmp_path / "whole.npz"))
    assert type(back) is type(thing) and back.summary() == thing.summary() and len(back) == len(thing)
    for suffix in (".txt", ""):  # interface 25: a posterior was written as npz under any name
        with pytest.raises(OptionError, match="choose a name"):
            thing.save(tmp_path / f"a{suffix}")
    assert not (tmp_path / "a.txt").exists()


def test_plots_by_kind(thing: Any) -> None:
    if type(thing).__name__ in WITHOUT_PLOTS:
        assert not kinds_of(type(thing))
    else:
        assert isinstance(thing.plot(ax=Figure()), Axes)
    with pytest.raises(OptionError, match=f"a {type(thing).__name__} has"):
        thing.plot("sculpture")


@pytest.fixture(params=RANKINGS)
def ranking(request: pytest.FixtureRequest, returned: dict[str, Any]) -> Any:
    return returned[request.param]


def test_scores_and_ranks_are_of_the_whole_data(ranking: Any) -> None:
    """interface 3: scores were (B, L) here and (L,) there, and had three names."""
    assert ranking.scores.shape == ranking.ranks.shape == (len(ranking.models),)
    np.testing.assert_array_equal(ranking.ranks, np.asarray(jr.rank_scores(ranking.scores)))
    assert [row.model for row in ranking] == [ranking.models[i] for i in ranking.order]
    assert [row["rank"] for row in ranking] == sorted(ranking.ranks)
    assert {"rank", "model", "score", "lower", "upper"} <= set(ranking.to_frame().columns)
    assert not {"lower", "upper"} & set(ranking.to_frame(level=None).columns)


def test_intervals_unpack_and_say_what_they_are(ranking: Any) -> None:
    """interface 3: a pair, a 4-tuple and an (L, 2) array that unpacked wrongly for two models."""
    for make in intervals_of(ranking):
        wide, narrow = make(0.95), make(level=0.5)
        assert isinstance(wide, jr.Interval) and (wide.level, narrow.level) == (0.95, 0.5)
        low, high = wide
        assert low is wide.lower and high is wide.upper and low.shape == high.shape
        assert low.shape[0] == len(ranking.models) and np.asarray(wide).shape == (2, *low.shape)
        assert np.all(low <= narrow.lower) and np.all(narrow.upper <= high)
        assert wide.kind and "95 %" in wide.words and "95 %" in repr(wide)
        drawn = isinstance(ranking, jr.Replicates | jr.Summary)
        units = {ranking.unit} if drawn else {None} if isinstance(ranking, jr.Posterior) else {"trials", "questions"}
        assert wide.unit in units
        own = isinstance(ranking, jr.Result) or "Wilson" in wide.kind  # of the scores, whatever the replicates
        assert (wide.used is None) == own and wide.left_out == 0
        for level in (0.0, 1.0, 95, "wide", float("nan")):
            with pytest.raises(OptionError, match="between 0 and 1"):
                make(level)
    low, high = ranking.interval(0.9)
    frame = ranking.to_frame(level=0.9)
    np.testing.assert_allclose(frame["lower"], low[ranking.order])
    np.testing.assert_allclose(frame["upper"], high[ranking.order])
    assert "90 %" in ranking.summary(level=0.9)


def intervals_of(ranking: Any) -> Iterator[Any]:
    yield ranking.interval
    if not isinstance(ranking, jr.Summary):
        yield ranking.difference_intervals
    if not isinstance(ranking, jr.Result):
        yield ranking.rank_intervals


def test_superiority_has_one_orientation(ranking: Any) -> None:
    """interface 3: 0 or 1/2 on the diagonal, an array or a pair of them."""
    above, tied = found = ranking.superiority()
    assert isinstance(found, jr.Superiority)
    n = len(ranking.models)
    off = ~np.eye(n, dtype=bool)
    assert above.shape == tied.shape == (n, n) and np.all(np.diag(above) == 0)
    np.testing.assert_allclose((above + above.T + tied)[off], 1, atol=1e-6)
    np.testing.assert_array_equal(tied, tied.T)
    best, worst = ranking.order[0], ranking.order[-1]
    assert above[best, worst] > 0.9 > 0.1 > above[worst, best]


WRONG = {
    "None": None,
    "a word": "nonsense",
    "no word": "",
    "True": True,
    "-1": -1,
    "0": 0,
    "2.5": 2.5,
    "bytes": b"x",
    "NaN": float("nan"),
    "a huge integer": 10**400,
    "a list": [1, 2, 3],
    "a mapping": {"a": 1},
    "complex": 1j,
    "an object": object(),
    "an array": np.zeros((2, 2, 2)),
    "lists of lists": [[1, 2], [3]],
    "nothing": [],
}
LEFT = ("save", "plot", "to_arviz", "within", "statistic")
"""Paths, options of figures and the library's own calls; the first two have tests of their own."""


def public_methods(thing: Any) -> Iterator[tuple[Any, str]]:
    """Every argument of every public method that can be called with it alone, or with a method and a replicate."""
    needed = {"method": "avg", "replicate": 0}
    for name in dir(thing):
        call = getattr(thing, name) if not name.startswith("_") and name not in LEFT else None
        if not inspect.ismethod(call):
            continue
        arguments = [a for a in inspect.signature(call).parameters.values() if a.kind is not a.VAR_KEYWORD]
        must = {a.name for a in arguments if a.default is a.empty}
        for argument in (a.name for a in arguments):
            others = {n: needed[n] for n in must - {argument} if n in needed}
            if must <= {argument, *others}:
                yield lambda value, c=call, a=argument, o=others: c(**{**o, a: value}), f"{name}({argument})"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*MAKE, "Responses", "Comparisons", "Rankings"])
def test_no_argument_of_a_method_ends_in_a_traceback(returned: dict[str, Any], name: str, record_property: Any) -> None:
    """Interface 21: agreement(gold=[...]), tau("x"), top_k(None), fit[None] and some 50 like them were raw errors."""
    lists = jr.Rankings([["a", "b"], ["b", "a"]])
    thing = {**returned, "Responses": DATA, "Comparisons": BATTLES, "Rankings": lists}[name]
    calls = [*public_methods(thing)]
    if isinstance(thing, Returned):
        calls.append((lambda value: thing[value], "[]"))
    n_refused = 0
    for call, where in calls:
        for kind, value in WRONG.items():
            try:
                call(value)
            except jr.JaxrankError as error:
                n_refused += 1
                assert "\n" not in str(error), (where, kind)  # noqa: PT017
            except Exception as error:
                raise AssertionError(f"{name}.{where}: {kind}: {error!r}") from error
    assert n_refused > 0
    record_property("refused", f"{n_refused} of {len(calls) * len(WRONG)}")


def test_the_unit_is_what_was_drawn() -> None:
    cases = {
        "trials": (DATA, "trials"),
        "questions": (DATA, "questions"),
        "bayesian(questions)": (DATA, "questions"),
        "questions_and_trials": (DATA, "questions and trials"),
    }
    for scheme, (data, unit) in cases.items():
        rep = jr.bootstrap(data, "avg", n_replicates=4, scheme=scheme)
        assert rep.unit == rep.interval().unit == unit
    battles = jr.bootstrap(BATTLES, "bradley_terry_map", n_replicates=20)
    assert battles.unit == battles.rank_intervals().unit == "battles"


@pytest.mark.parametrize("method", ["bayes_ci", "rasch_mml_credible"])
def test_quantiles_are_no_centres_of_intervals(method: str) -> None:
    """numerics 8: the interval of bayes_ci lay around the lower quantile that it ranks by."""
    fit = jr.fit(DATA, method)
    assert not fit.has_interval and "lower" not in fit.to_frame() and "interval" not in fit.summary()
    for call in (fit.interval, fit.superiority, fit.difference_intervals):
        with pytest.raises(UnsupportedDataError, match="without quantile="):
            call()


def test_estimates_and_judges_speak_the_same_words() -> None:
    estimate = jr.evaluation.pass_at_k(R, 2, level=0.8)
    low, high = found = estimate.interval()
    assert (found.level, found.kind) == (0.8, "Wilson, effective number of questions")
    np.testing.assert_array_equal(low, estimate.lower)
    np.testing.assert_array_equal(high, estimate.upper)
    draws = np.random.default_rng(0).normal([0.0, 1.0, 2.0], 0.5, (200, 3))
    post = judges.JudgePosterior(draws, *np.zeros((4, 3)), "moderate")
    low, high = post.interval(0.8)
    assert low.shape == high.shape == post.scores.shape == (3,) and post.ranks.tolist() == [3, 2, 1]
    assert post.rank_intervals(0.5).lower.tolist() == [3, 2, 1]
    above, tied = post.superiority()
    np.testing.assert_allclose(above + above.T + tied, 1)


def test_only_data_and_method_have_a_place() -> None:
    """interface 3: the order of the arguments differed by call."""
    calls = (jr.fit, jr.fit_all, jr.agreement, jr.bootstrap, jr.subsample, jr.convergence, jr.model_pools, jr.posterior)
    for call in (*calls, jr.numpyro_model):
        places = [p.name for p in inspect.signature(call).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert places[0] == "data" and places[1:] in (["method"], ["methods"], ["model"]), call.__name__
    two = (jr.evaluation.pass_at_k, jr.evaluation.pass_hat_k, jr.evaluation.mg_pass_at_k)
    for call, most in ((jr.evaluation.bayes, 1), (jr.evaluation.avg, 1), *((c, 2) for c in two)):
        kinds = [p.kind for p in inspect.signature(call).parameters.values()]
        assert kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) == most, call.__name__


def test_intervals_end_where_the_scale_ends() -> None:
    """interface 27: one trial right had an upper end of 1.1286."""
    for method, levels in (("bayes", (0, 1)), ("avg", (0, 1)), ("bayes", (-3, 5))):
        fit = jr.fit(jr.Responses(np.array(levels)[[[[1]], [[0]]]], levels=levels), method)
        low, high = fit.interval()
        assert low.min() == levels[0] and high.max() == levels[1]
        assert np.all((low <= fit.scores) & (fit.scores <= high))


def test_the_note_on_missing_questions_is_true_of_the_method() -> None:
    """interface 9: the default said that means are over the questions that each model has."""
    gapped = [[1, 1, np.nan, np.nan], [1, 1, 1, 1]]
    said = {}
    for method in ("bayes", "avg", "rasch_map"):
        with pytest.warns(jr.JaxrankWarning, match="1 model has no result on some questions"):
            fit = jr.fit(gapped, method)
        said[method] = fit.ranker.gaps
        assert any(said[method] in note for note in fit.notes)
    assert "means are over the questions" in said["avg"] and "mean of its prior" in said["bayes"]
    assert len(set(said.values())) == 3


@pytest.mark.parametrize(
    ("call", "options", "meant"),
    [
        (jr.bootstrap, {"n": 10}, "n_replicates, an argument of jaxrank.bootstrap"),
        (jr.bootstrap, {"n_replicate": 10}, "n_replicates, an argument of jaxrank.bootstrap"),
        (jr.fit, {"quantiles": 0.1}, "quantile"),
        (jr.fit, {"n_replicates": 10}, "the argument of jaxrank.bootstrap"),
        (jr.subsample, {"chunksize": 5}, "chunk_size, an argument of jaxrank.bootstrap"),
    ],
)
def test_an_unknown_option_names_the_one_that_was_meant(call: Any, options: dict[str, Any], meant: str) -> None:
    """front-door B15."""
    with pytest.raises(OptionError, match=f"did you mean {meant}"):
        call(DATA, "bayes", **options)
    with pytest.raises(OptionError, match="no option 'xyzzy'; its options are"):
        call(DATA, "bayes", xyzzy=1)


def test_all_differences_at_once_and_tiers_by_one_rule() -> None:
    """front-door B19: tiers had no names, and a fit and its replicates had different tests."""
    fit, rep = jr.fit(DATA, "bayes"), jr.bootstrap(DATA, "bayes", n_replicates=400, scheme="questions_and_trials")
    post = jr.posterior(DATA, "bayes", n_samples=400)
    assert {jr.tiers(source).rule.split(" (")[0] for source in (fit, rep, post)} == {
        "simultaneous intervals of all differences"
    }
    for source in (fit, rep, post):
        one, all_at_once = source.difference_intervals(), source.difference_intervals(simultaneous=True)
        off = ~np.eye(4, dtype=bool)
        assert np.all((all_at_once.upper - all_at_once.lower)[off] > (one.upper - one.lower)[off])
        groups = jr.tiers(source).groups
        assert [name for group in groups for name in group] == [source.models[i] for i in source.order]
    # independent scores of one spread: the studentised range of three normal scores, 3.314 / sqrt(2) at 95 %
    alike = jr.fit(np.tile([1, 0], (3, 20)), "mml_rasch", dtype="float64")
    _, high = alike.difference_intervals(simultaneous=True)
    assert high[0, 1] / (alike.standard_errors[0] * np.sqrt(2)) == pytest.approx(3.314 / np.sqrt(2), rel=0.03)
    assert jr.tiers(alike).groups == [alike.models]


def test_the_command_line_writes_the_table_of_save(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """interface 3: ``fit --out x.json`` was a list of rows, ``Result.save`` a record with rows, csv without se."""
    from jaxrank.cli.app import make_app

    source = tmp_path / "data.csv"
    lines = [f"{m},q{q},{t},{R[i, q, t]}" for i, m in enumerate(DATA.models) for q in range(12) for t in range(5)]
    source.write_text("\n".join(["model,question,trial,score", *lines]), encoding="utf-8")
    for suffix in (".csv", ".json"):
        ours, theirs = tmp_path / f"ours{suffix}", tmp_path / f"theirs{suffix}"
        make_app()(["fit", str(source), "-m", "bayes", "-o", str(theirs)], prog_name="jaxrank", standalone_mode=False)
        jr.fit(jr.read(source), "bayes", dtype="float64").save(ours)
        assert ours.read_bytes() == theirs.read_bytes()
    capsys.readouterr()
