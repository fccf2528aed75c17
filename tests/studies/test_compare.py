"""Comparisons of two models and many: what they say, what they refuse, and that all routes agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import DataError, JaxrankError, OptionError, UnsupportedDataError
from jaxrank.numerics.paired import Paired

rng = np.random.default_rng(5)
RATES = np.array([0.65, 0.4, 0.4])[:, None, None] + rng.uniform(-0.3, 0.3, (3, 60, 1))
R = (rng.random((3, 60, 4)) < RATES).astype(int)
R[2] = np.roll(R[1], 7, axis=0)  # as good as the second, on other questions
GROUPS = [f"g{m // 5}" for m in range(60)]
DATA = jr.Responses(R, models=["a", "b", "c"], groups=GROUPS)


def test_the_verdict_follows_the_interval_and_the_margin() -> None:
    found = jr.compare(DATA, "a", "b", margin=0.05)
    assert found.verdict == "better" and found.interval().lower > 0 and found.holds("not worse")
    assert jr.compare(DATA, "b", "a").verdict == "worse"
    near = jr.compare(DATA, "b", "c", margin=0.3)
    assert near.verdict == "equivalent" and jr.compare(DATA, "b", "c").verdict == "undecided"
    assert "nobody can tell" in jr.compare(DATA, "b", "c", margin=0.01).sentence
    one_way, other = jr.compare(DATA, "a", "c"), jr.compare(DATA, "c", "a")
    assert one_way.difference == -other.difference and one_way.p == other.p
    np.testing.assert_allclose(one_way.interval().lower, -other.interval().upper)


def test_agrees_with_the_fit_by_question() -> None:
    """The intervals of differences of `fit` and of `compare` are the same."""
    pair = jr.fit(DATA, "avg", dtype="float64").difference_intervals()
    found = jr.compare(DATA, "a", "c").interval()
    np.testing.assert_allclose([found.lower, found.upper], [pair.lower[0, 2], pair.upper[0, 2]], rtol=1e-6)
    at_once = jr.fit(DATA, "avg", dtype="float64").difference_intervals(simultaneous=True)
    table = jr.compare_all(DATA)
    for row in table:
        i, j = DATA.models.index(row.new), DATA.models.index(row.old)
        np.testing.assert_allclose([row.lower, row.upper], [at_once.lower[i, j], at_once.upper[i, j]], rtol=1e-5)


def test_counts_and_scores_of_the_same_trials_agree() -> None:
    counts = jr.Responses.from_counts(R.sum(axis=2), 4, models=DATA.models)
    real = jr.Responses(R + 0.25, models=DATA.models, kind="real")
    whole = jr.compare(DATA, "a", "b", unit="trials")
    for other in (counts, real):
        found = jr.compare(other, "a", "b", unit="trials")
        np.testing.assert_allclose([found.difference, found.se, found.df], [whole.difference, whole.se, whole.df])
    down = jr.Responses(-R, models=DATA.models, lower_is_better=True, kind="real")
    np.testing.assert_allclose(jr.compare(down, "a", "b").interval(), jr.compare(DATA, "a", "b").interval())


def test_many_comparisons_at_once_are_each_for_itself() -> None:
    d = rng.normal(size=(4, 30))
    spread = rng.random((4, 2, 30))
    fixed: Any = (rng.random(30) + 0.1, np.arange(30) // 3, spread, np.full((2, 30), 3), 0.5)
    many = Paired(d, *fixed)
    for unit in ("questions", "trials"):
        for b in range(4):
            one = Paired(d[b], fixed[0], fixed[1], spread[b], *fixed[3:])
            for name in ("student", "cautious"):
                whole, own = getattr(many, name)(unit), getattr(one, name)(unit)
                np.testing.assert_allclose([whole.value[b], whole.se[b]], [own.value, own.se])
                np.testing.assert_allclose(whole.above(-0.3)[b], own.above(-0.3))


def test_questions_that_agree_are_no_proof_of_equality() -> None:
    """Twenty questions on which both are right: Student's interval has no width, and one in seven may yet differ."""
    same = jr.Responses(np.ones((2, 20, 1), int), levels=[0, 1])
    few = jr.compare(same, margin=0.05)
    assert few.verdict == "undecided" and np.isnan(few.se) and any("all 0" in note for note in few.notes)
    assert jr.compare(same, margin=0.16).verdict == "equivalent"
    many = jr.Responses(np.ones((2, 500, 1), int), levels=[0, 1])
    assert jr.compare(many, margin=0.01).verdict == "equivalent"
    shift = jr.Responses([np.arange(12) + 0.3, np.arange(12)], kind="real")
    better = jr.compare(shift)
    assert better.verdict == "better" and better.p == pytest.approx(1 / 2**12) and np.isnan(better.interval().lower)
    three = jr.Responses([[0.3, 1.3, 2.3], [0, 1, 2]], kind="real")
    assert jr.compare(three).verdict == "undecided"


def test_four_of_four_is_not_better() -> None:
    """Student's t calls four discordant questions of twenty, all won by one, significant; one in eight such sets is
    chance."""
    R = np.zeros((2, 20), int)
    R[0, :4] = 1
    found = jr.compare(R)
    assert jr.compare(R, test="sign_flip").p == 0.125
    assert found.interval().lower > 0 and found.p == 0.0625 and found.verdict == "undecided"


def test_many_discordant_questions_of_one_trial_are_counted_not_drawn() -> None:
    """15 won and 6 lost: t is significant at 5 %, McNemar's mid-p is not and is the default, whatever the scale."""
    R = np.zeros((2, 200))
    R[0, :15] = R[1, 15:21] = 1
    found, plain = jr.compare(R), jr.compare(R, test="t")
    assert found.test == "sign_flip_mid" and found.p == jr.evaluation.mcnemar(15, 6, mid=True) > 0.05 > plain.p
    assert (found.verdict, plain.verdict) == ("undecided", "better")
    assert jr.compare(jr.Responses(7 * R + 0.1, kind="real")).p == pytest.approx(found.p)
    weighted = jr.compare(jr.Responses(R, weights=np.arange(200) + 1))
    assert weighted.test == "t"


def test_runs_are_matched_by_question() -> None:
    monday = jr.Responses([[1, 0, 1]], models=["m"], questions=["x", "y", "z"])
    today = jr.Responses([[1, 1]], models=["m"], questions=["z", "y"])
    found = jr.compare(jr.runs(new=today, old=monday))
    assert found.models == ("new", "old") and found.questions == ("z", "y") and found.left_out == ("x",)
    assert found.difference == 0.5 and any("1 of 3 questions left out" in note for note in found.notes)
    with pytest.raises(DataError, match="the run 'new' holds 3 models"):
        jr.runs(new=DATA, old=monday)
    with pytest.raises(OptionError, match="holds no run"):
        jr.runs()


def test_lines_by_group_and_against_a_baseline() -> None:
    table = jr.compare_all(DATA.select(models=["a", "b"]), by="group")
    assert table.names == tuple(dict.fromkeys(GROUPS)) and set(table.n_questions) == {5}
    assert np.all(table.holm >= table.p) and np.all(table.bh <= table.holm)
    against = jr.compare_all(DATA, "b")
    assert against.names == ("a - b", "c - b") and against["a - b"].verdict == "better"
    assert len(jr.compare_all(DATA, "b", by="group")) == 24
    with pytest.raises(OptionError, match="name the baseline"):
        jr.compare_all(DATA, by="group")


def test_planning_reaches_its_power() -> None:
    """Of studies as large as `questions_needed` says, four in five find the difference."""
    pilot = jr.compare(DATA, "b", "c")
    n = int(pilot.questions_needed(0.1))
    sd = float(np.sqrt(pilot.paired.variance_between))
    d = np.random.default_rng(1).normal(0.1, sd, (4000, n))
    fixed: Any = (np.ones(n), np.arange(n), np.full((2, n), np.nan), np.ones((2, n), int))
    assert np.mean(Paired(d, *fixed).by_question.p <= 0.05) == pytest.approx(0.8, abs=0.03)
    assert pilot.questions_needed(0.0) == np.inf and pilot.trials_needed(1e-6) == np.inf
    trials = jr.compare(DATA, "b", "c", unit="trials")
    assert trials.trials_needed(0.05) < pilot.trials_needed(0.05)


BAD: dict[str, tuple[Any, str]] = {
    "one model": (lambda: jr.compare(DATA.select(models=["a"])), "one model, 'a'; a comparison needs two"),
    "no pair named": (lambda: jr.compare(DATA), "there are 3 models; name the new and the old"),
    "one named": (lambda: jr.compare(DATA, "a"), "needs both models"),
    "the same twice": (lambda: jr.compare(DATA, "a", "a"), "the same model"),
    "unknown": (lambda: jr.compare(DATA, "a", "nobody"), "no model is named 'nobody'"),
    "nothing in common": (
        lambda: jr.compare(jr.Responses([[1, 0, np.nan, np.nan], [np.nan, np.nan, 1, 0]])),
        "no question in common: 'model 0' has 'question 0', 'question 1'",
    ),
    "one question": (lambda: jr.compare([[[1, 0]], [[0, 0]]]), "one question in common, which says nothing"),
    "one cluster": (
        lambda: jr.compare(jr.Responses(R[:2], groups=["g"] * 60), cluster="group"),
        "one group in common, which says nothing about others",
    ),
    "no such column": (lambda: jr.compare(DATA, "a", "b", cluster="task"), "no such column; there are 'group'"),
    "single trials": (lambda: jr.compare(R[:2, :, 0], unit="trials"), "have one on 60 questions"),
    "a margin below 0": (lambda: jr.compare(DATA, "a", "b", margin=-1), "margin"),
    "mcnemar of trials": (lambda: jr.compare(DATA, "a", "b", test="mcnemar"), "one trial of each question"),
    "battles": (lambda: jr.compare(jr.Comparisons(["a"], ["b"], [1])), "reads repeated trials"),
    "no cost": (lambda: jr.cost_frontier(DATA), "no such column"),
    "no factors": (lambda: jr.compare_factors(DATA, ["llm", "prompt"]), "no column"),
    "unbalanced": (
        lambda: jr.compare_factors(
            jr.Responses(R, {"model": list("abc"), "llm": list("xxy"), "p": list("uvu")}), ["llm", "p"]
        ),
        "there is no run of y with v",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told_in_one_sentence(name: str) -> None:
    call, said = BAD[name]
    with pytest.raises(JaxrankError, match=said) as error:
        call()
    assert "\n" not in str(error.value)
    if name == "battles":
        assert isinstance(error.value, UnsupportedDataError)


def test_frontier_in_words() -> None:
    data = jr.Responses(R, {"model": list("abc"), "cost": [3.0, 1.0, 2.0]})
    found = jr.cost_frontier(data, n_replicates=300)
    assert found["a"].frontier and found["b"].frontier and list(found.to_frame()["model"]) == ["b", "c", "a"]
    assert np.all(found.probability[found.cost == 1.0] == 1)
