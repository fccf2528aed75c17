"""``diagnose``: what it finds, and that the methods behave as it says."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import OptionError
from jaxrank.numerics.status import Status
from jaxrank.studies.diagnosis import PROBLEM, diagnose

RNG = np.random.default_rng(5)
FAIR = RNG.integers(0, 2, (4, 12, 3))


def test_plain_data_have_a_note_on_order_and_nothing_else():
    d = diagnose(FAIR)
    assert [f.name for f in d.findings] == ["trial order"]
    assert not d.problems
    assert "elo" in d["trial order"].methods
    assert "coverage" not in d
    with pytest.raises(OptionError):
        d["coverage"]


def test_coverage_and_unequal_trials():
    R = FAIR.astype(float)
    R[1, :5] = np.nan
    R[2, 0, 2] = np.nan
    d = diagnose(jr.Responses(R, models=list("abcd")))
    assert d["coverage"].models == ("b",)
    assert len(d["coverage"].questions) == 5
    assert "'b' on 7 of 12" in d["coverage"].says
    assert "7 questions have results of all models" in d["coverage"].says
    assert "between 2 and 3 trials" in d["unequal trials"].says


@pytest.mark.parametrize("seed", range(30))
def test_separation_is_found_exactly_where_bradley_terry_has_no_optimum(seed):
    rng = np.random.default_rng(seed)
    R = (rng.random((4, 3, 1)) < rng.random((4, 1, 1))).astype(int)
    found = diagnose(R)
    result = jr.fit(R, "bradley_terry", on_failure="return")
    separated = "separation" in found or "disconnected" in found
    assert separated == (result.status in (Status.NO_FINITE_OPTIMUM, Status.DISCONNECTED))


def test_separation_says_who_from_whom():
    d = diagnose(jr.Responses([[1, 1, 1], [0, 1, 0], [0, 0, 1]], models=["top", "b", "c"]))
    assert d["separation"].severity == PROBLEM
    assert "'top' never lost to any of the others; 'b', 'c' never beat any" in d["separation"].says
    assert "bradley_terry" in d["separation"].methods
    assert d["perfect or zero models"].models == ("top",)


def test_disconnected_groups():
    d = diagnose(jr.Comparisons(["a", "b", "c", "d"], ["b", "a", "d", "c"], [1, 1, 1, 1]))
    assert "2 groups with no comparison at all between them: 'a', 'b'; 'c', 'd'" in d["disconnected"].says
    tied = jr.Comparisons(["a", "b", "c", "d", "a"], ["b", "a", "d", "c", "c"], [1, 1, 1, 1, 0.5])
    assert "ties at most" in diagnose(tied)["disconnected"].says
    assert "disconnected" not in diagnose(jr.Comparisons(["a", "b", "c"], ["b", "c", "a"], [1, 1, 1]))


def test_models_that_never_played():
    d = diagnose(jr.Comparisons(["a", "b"], ["b", "a"], [1, 1], models=["a", "b", "c"]))
    assert "'c' never played" in d["sparse battles"].says
    assert d["sparse battles"].models == ("c",)
    assert "avg" in d["battles"].methods


def test_questions_and_models_without_variation():
    R = FAIR.copy()
    R[:, 0], R[:, 1], R[0], R[3] = 1, 0, 1, 0
    d = diagnose(R)
    assert d["perfect or zero models"].models == ("model 0", "model 3")
    assert "'model 0' succeeded in every trial; 'model 3' failed in every trial" in d["perfect or zero models"].says
    R = FAIR.copy()
    R[:, 0], R[:, 1] = 1, 0
    assert diagnose(R)["questions without information"].questions == ("question 0", "question 1")


def test_rasch_has_no_optimum_for_a_perfect_model():
    R = FAIR.copy()
    R[0] = 1
    assert "perfect or zero models" in diagnose(R)
    assert jr.fit(R, "rasch", on_failure="return").status == Status.NO_FINITE_OPTIMUM


def test_identical_models():
    R = FAIR.copy()
    R[2] = R[0]
    assert diagnose(R)["identical models"].models == ("model 0", "model 2")


def test_orders_that_look_made_up():
    k = RNG.integers(1, 5, (3, 8))
    R = np.arange(5) < k[..., None]
    assert "look" in diagnose(R)["trial order"].says
    assert diagnose(~R[..., ::-1])["trial order"].severity == "caution"
    assert diagnose(FAIR)["trial order"].severity == "note"


def test_counts_only_names_the_methods_that_refuse():
    data = jr.Responses.from_counts([[1, 2], [2, 1]], 3)
    d = diagnose(data)
    assert "trial order" not in d
    for name in ("bradley_terry", "elo"):
        assert name in d["counts only"].methods
        with pytest.raises(jr.JaxrankError):
            jr.fit(data, name)


def test_categories_name_the_methods_that_refuse():
    data = jr.Responses(RNG.integers(0, 3, (3, 5, 2)))
    methods = diagnose(data)["categories"].methods
    assert "pass_at_k" in methods
    assert "bayes" not in methods
    with pytest.raises(jr.errors.UnsupportedDataError):
        jr.fit(data, "pass_at_k", k=1)


def test_one_trial_and_one_model():
    d = diagnose([[1, 0, 1]])
    assert "pass_at_k" in d["one trial"].methods
    assert "separation" not in d


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
def test_look_alike_names():
    d = diagnose(jr.Responses(FAIR, models=["a", "a\u200b", "b", "c"]))
    assert d["look-alike names"].models == ("a", "a\u200b")


def test_every_method_that_is_named_exists():
    data = [
        jr.Responses.from_counts([[0, 3], [3, 1]], 3),
        jr.Responses([[1, 1, 1], [0, 1, 0]]),
        jr.Responses([[0, 1, 2], [0, 0, 1]]),
        jr.Comparisons([0], [1], [1]),
    ]
    named = {name for d in data for f in diagnose(d).findings for name in f.methods}
    assert named
    assert named <= set(jr.catalogue())


def test_report_and_columns():
    d = diagnose([[1, 1, 1], [0, 1, 0], [0, 0, 1]])
    text = str(d)
    assert text.splitlines()[0] == repr(d.data)
    assert "problem: separation:" in text
    columns = d.to_dict()
    assert columns["severity"] == sorted(columns["severity"], key=["problem", "caution", "note"].index)
    assert len({len(v) for v in columns.values()}) == 1


def test_one_voter_is_found_among_voters_of_ties_alone():
    """Voters whose votes nobody reads are in between, so that places among those who are read are not their own."""
    pairs = np.repeat([[0, 1], [1, 2], [0, 2]], 100, axis=0)
    voter, won = np.arange(300) % 40, (np.arange(300) % 5 < 3) * 1.0  # the first of a pair wins three of five
    won[voter < 4] = 0.5
    a, b = np.r_[pairs[:, 0], np.full(40, 2)], np.r_[pairs[:, 1], np.full(40, 1)]
    columns = {"voter": [f"v{v}" for v in [*voter, *[17] * 40]]}  # forty votes more for the last, against the second
    votes = jr.Comparisons(a, b, np.r_[won, np.ones(40)], models=["x", "y", "z"], columns=columns)
    assert "'v17'" in jr.diagnose(votes)["one voter"].says
