"""The subcommands evaluate, arise and judges, as a user calls them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import jaxrank as jr
from jaxrank import evaluation as ev
from jaxrank.cli.app import make_app


def run(*args, code=0):
    result = CliRunner().invoke(make_app(), [str(a) for a in args])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def results(tmp_path):
    R = np.random.default_rng(0).integers(0, 2, (3, 5, 4))
    index = pd.MultiIndex.from_product([["a", "b", "c"], range(5), range(4)], names=["model", "question", "trial"])
    path = tmp_path / "results.csv"
    pd.DataFrame({"score": R.ravel()}, index=index).reset_index().to_csv(path, index=False)
    return path, R


def test_evaluate(results, tmp_path):
    path, R = results
    out = tmp_path / "table.json"
    run("evaluate", path, "--method", "pass_at_k", "--set", "k=2", "--output", out)
    rows = {row["model"]: row for row in json.loads(out.read_text())["rows"]}
    want = ev.pass_at_k(R, 2)
    for i, name in enumerate("abc"):
        assert rows[name]["pass_at_k"] == pytest.approx(float(want.point[i]), abs=1e-6)
        assert rows[name]["lower"] == pytest.approx(float(want.lower[i]), abs=1e-5)


def test_metrics_rubrics_and_data_are_drawn(results, tmp_path):
    path, _ = results
    signals, votes = (tmp_path / name for name in ("signals.csv", "votes.csv"))
    rows = [f"{m},{q},{t},{(q + t) % 2},0.{t + 1}" for m in ("a", "b") for q in range(3) for t in range(4)]
    signals.write_text("\n".join(["model,question,trial,is_correct,completion_bpt", *rows]))
    votes.write_text("model_a,model_b,winner\n" + "a,b,model_a\nb,c,tie\nc,a,model_b\n" * 4)
    for i, (words, said) in enumerate(
        [
            (("evaluate", path, "-m", "pass_at_k", "-s", "k=2"), "Models by pass_at_k (k=2)"),
            (("evaluate", path, "-m", "maj_at_k", "-s", "k=2"), "Models by maj_at_k (k=2)"),
            (("rubrics", signals), "Models by mean weight"),
            (("check", path), "mean outcome"),
            (("check", votes), "Wins of the row over the column"),
        ]
    ):
        file = tmp_path / f"{i}.svg"
        assert f"drew {file}" in run(*words, "--plot", file)
        drawn = file.read_text()
        assert f"<!-- {said}" in drawn and "<!-- a -->" in drawn, words
    refused = run("check", votes, "--plot", f"responses={tmp_path / 'x.svg'}", code=2)
    assert "the plots are wins" in " ".join(refused.split())


def test_evaluate_says_what_is_missing(results):
    path, _ = results
    run("evaluate", path, "--method", "pass_at_k", code=2)
    run("evaluate", path, "-m", "pass_at_k", "-s", "k=9", code=2)
    run("evaluate", path, "--method", "best", code=2)


def test_arise(tmp_path):
    rng = np.random.default_rng(1)
    axes = pd.MultiIndex.from_product(
        [["a", "b"], range(6), range(3), range(2)], names=["model", "question", "level", "trial"]
    )
    frame = pd.DataFrame(index=axes).reset_index()
    frame["correct"] = rng.integers(0, 2, len(frame))
    frame["tokens"] = 100 * 2.0 ** frame["level"]
    path, out = tmp_path / "curve.csv", tmp_path / "arise.csv"
    frame.to_csv(path, index=False)
    run("arise", path, "--replicates", "20", "--output", out)
    table = pd.read_csv(out)
    assert set(table["model"]) == {"a", "b"}
    assert (table["levels"] == 3).all()
    frame["level"] = frame["level"].map({0: "low", 1: "medium", 2: "high"})  # never by the alphabet
    frame.to_csv(path, index=False)
    run("arise", path, "--replicates", "20", "--output", out)
    again = pd.read_csv(out)
    pd.testing.assert_frame_equal(again, table)
    frame["level"] = frame["level"].map({"low": "brief", "medium": "some", "high": "ample"})
    frame.to_csv(path, index=False)
    run("arise", path, code=2)
    for more in (("--efforts", "brief,some,ample"), ("--efforts-by-tokens",)):
        run("arise", path, "--replicates", "20", "--output", out, *more)
        pd.testing.assert_frame_equal(pd.read_csv(out), table)
    frame.drop(columns="tokens").to_csv(path, index=False)
    run("arise", path, code=2)


@pytest.mark.slow
@pytest.mark.rank_promotion("allow")
def test_judges(tmp_path):
    rng = np.random.default_rng(2)
    axes = pd.MultiIndex.from_product([["x", "y"], ["a", "b"], range(40)], names=["judge", "candidate", "question"])
    frame = pd.DataFrame(index=axes).reset_index()
    frame["score"] = 1 + (rng.random(len(frame)) < np.where(frame["candidate"] == "a", 0.8, 0.3))
    path, out = tmp_path / "scores.csv", tmp_path / "judges.csv"
    frame.to_csv(path, index=False)
    run("judges", path, "--prior", "perfect", "--samples", "200", "--output", out)
    assert pd.read_csv(out)["candidate"].tolist() == ["a", "b"]


def test_judges_scales(tmp_path):
    """papers-arise-judges: a 1-5 file where nobody gave 1 was fitted with four levels; 0, .5, 1 were refused; 0, 50,
    100, 150 became 151 levels."""
    rng = np.random.default_rng(3)
    axes = pd.MultiIndex.from_product([["x", "y"], ["a", "b"], range(20)], names=["judge", "candidate", "question"])
    frame = pd.DataFrame(index=axes).reset_index()
    place = rng.integers(0, 4, len(frame))
    path, out = tmp_path / "scores.csv", tmp_path / "judges.csv"
    perfect = ("judges", path, "--prior", "perfect", "--samples", "200", "--output", out)
    for scale, more, n_levels in (
        ([2, 3, 4, 5], ("--levels", "1:5"), 5),
        ([0, 0.5, 1, 1], (), 3),
        ([0, 50, 100, 150], (), 4),
        ([0, 50, 100, 150], ("--levels", "0,50,100,150,200"), 5),
    ):
        frame["score"] = np.array(scale, float)[place]
        frame.to_csv(path, index=False)
        said = run(*perfect, *more)
        assert f"{n_levels} levels" in said
        means = frame.groupby(["judge", "candidate"])["score"].mean().groupby("candidate").mean()
        table = pd.read_csv(out).set_index("candidate")
        np.testing.assert_allclose(table["score"], means[table.index], atol=0.02 * max(scale))
        assert "dawid_skene" not in table and "Dawid-Skene" in said
    run(*perfect, "--levels", "0,50,100", code=2)
    frame["gold"], frame["own"] = 150.0, (frame["judge"] == "x") & (frame["candidate"] == "a")
    frame.to_csv(path, index=False)
    run(*perfect, "--gold-column", "gold")
    np.testing.assert_allclose(pd.read_csv(out)["score"], 150, atol=1e-6)
    run(*perfect, "--family-column", "own")
    alone = frame[(frame["judge"] == "y") & (frame["candidate"] == "a")]["score"].mean()
    assert pd.read_csv(out).set_index("candidate")["score"]["a"] == pytest.approx(alone, abs=4)
    run(*perfect, "--family-column", "own", "--own-family", "own_matrix")  # a judge more, whose word counts again
    apart = frame[frame["candidate"] == "a"].groupby("judge")["score"].mean().mean()
    assert pd.read_csv(out).set_index("candidate")["score"]["a"] == pytest.approx(apart, abs=4)
    for more in (("--own-family", "own_matrix"), ("--spread", "wide"), ("--spread", "-1")):
        run(*perfect, *more, code=2)
    frame["score"] = np.array([0.0, 0.5, 1, 1])[place]
    frame.to_csv(path, index=False)
    drawn = {kind: tmp_path / f"{kind}.svg" for kind in ("scores", "triangle")}
    run(*perfect, *(word for kind, file in drawn.items() for word in ("--plot", f"{kind}={file}")))
    assert all("<!-- a -->" in file.read_text() for file in drawn.values())  # the name, not its number
    run(*perfect, "--plot", f"ranks={tmp_path / 'r.svg'}", code=2)
    run(*perfect, "--levels", "0,0.5,1,2", "--plot", f"triangle={tmp_path / 't.svg'}", code=2)


def test_judges_options_reach_the_posterior(tmp_path, monkeypatch):
    """Every option of `infer` that a file can state has its option on the command line."""
    rng = np.random.default_rng(4)
    axes = pd.MultiIndex.from_product([["x", "y"], ["a", "b"], range(10)], names=["judge", "candidate", "question"])
    frame = pd.DataFrame({"score": rng.integers(0, 3, 40)}, index=axes).reset_index()
    path, asked = tmp_path / "scores.csv", []
    frame.to_csv(path, index=False)
    real = jr.judges.sensitivity

    def seen(scores, priors, **options):
        asked.append(options)
        return dict.fromkeys(priors, real(scores, priors=["perfect"], **{**options, "spread": 0})["perfect"])

    monkeypatch.setattr("jaxrank.evaluation.judges.sensitivity", seen)
    run("judges", path, "--spread", "0.5", "--likelihood", "counts", "--values", "0,1,5", "--samples", "50")
    run("judges", path, "--spread", "free", "--samples", "50")
    assert [o["spread"] for o in asked] == [0.5, "free"] and asked[0]["likelihood"] == "counts"
    assert list(asked[0]["values"]) == [0, 1, 5] and asked[0]["n_levels"] == 3


def test_rubrics(tmp_path):
    rng = np.random.default_rng(2)
    index = pd.MultiIndex.from_product([["a", "b"], ["q", "r"], range(6)], names=["model", "question", "trial"])
    right, bits = rng.integers(0, 2, len(index)), rng.random(len(index))
    frame = pd.DataFrame({"is_correct": right, "completion_bpt": bits, "notes": "x"}, index=index).reset_index()
    path, out = tmp_path / "attempts.csv", tmp_path / "table.json"
    frame.to_csv(path, index=False)
    run("rubrics", path, "--output", out)
    rows = {row["model"]: row for row in json.loads(out.read_text())["rows"]}
    signals, models, _ = ev.rubrics.Signals.from_frame(frame)
    want = ev.rubrics.evaluate(signals, "conservative")
    for i, name in enumerate(models):
        assert rows[name]["mean"] == pytest.approx(float(want.mean[i]), abs=1e-6)
        assert rows[name]["share_3"] == pytest.approx(frame[frame.model == name].is_correct.mean())
    run("rubrics", path, "--rubric", "conf_wrong_penalty", "--weights", "0,-1,0,1", "--by-model")
    assert "no published weights" in run("rubrics", path, "--rubric", "conf_wrong_penalty", code=2)
    assert "has_box" in run("rubrics", path, "--rubric", "format_aware", code=2)
    assert "conservative" in run("rubrics", path, "--rubric", "vibes", code=2)


def test_answers(tmp_path):
    rng = np.random.default_rng(0)
    axes = pd.MultiIndex.from_product([["a", "b"], range(6), range(5)], names=["model", "question", "seed"])
    frame = pd.DataFrame(index=axes).reset_index()
    frame["prediction"] = np.where(rng.random(len(frame)) < 0.6, "1/2", rng.choice(["1", "2"], len(frame)))
    frame["gold"], frame["confidence"] = 0.5, rng.random(len(frame))
    path, out = tmp_path / "completions.csv", tmp_path / "curves.csv"
    frame.to_csv(path, index=False)
    more = ("--replicates", "20", "--paths", "8", "--output", out)
    said = run("answers", path, "--completions", "1,5", "--scheme", "orders", *more, "--plot", tmp_path / "curves.svg")
    table = pd.read_csv(out)
    assert set(table["rule"]) == {"majority", "weighted", "best_of_n"} and set(table["n"]) == {1, 5}
    answers = jr.read_answers(path)
    for rule, name in (("weighted", "weighted"), ("best_of_n", "best_of_n")):
        rows = table[(table["rule"] == name) & (table["n"] == 5)]
        assert rows["accuracy"].to_numpy() == pytest.approx(answers.accuracy(rule), abs=1e-6)
    assert "score 'confidence'" in said and (tmp_path / "curves.svg").exists()
    run("answers", path, "--stop", "esc:window=2", "-o", out)
    assert pd.read_csv(out)["mean_used"].between(2, 5).all()
    frame["confidence"] *= -1
    frame.to_csv(path, index=False)
    run("answers", path, "--completions", "1", *more)
    assert "softmax" in set(pd.read_csv(out)["rule"])
    for wrong in (
        ("--rule", "vote"),
        ("--completions", "x"),
        ("--completions", "6"),
        ("--stop", "esc", "--rule", "majority"),
        ("--answer-column", "x"),
    ):
        run("answers", path, *wrong, code=2)


def test_evaluate_beyond_the_trials(results):
    """What the refusal names can be typed as it stands: k=5 of questions with four trials."""
    path, _ = results
    for metric in ("pass_at_k", "maj_at_k", "geom_at_k", "max_at_k"):
        command = ("evaluate", path, "-m", metric, "--set", "k=5")
        assert "--set extrapolate=true" in run(*command, code=2), metric
        run(*command, "--set", "extrapolate=true")
