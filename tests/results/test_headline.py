"""The answer in a sentence: who is first, and who is not separated from it."""

from __future__ import annotations

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.numerics.interval import share
from jaxrank.results.headline import headline, settling
from jaxrank.results.tiers import separated, tiers

pytestmark = pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
TABLE = jr.Responses([[1] * 40, [1] * 36 + [0] * 4, [0] * 40], models=["ada", "bob", "cyd"])


def test_first_near_and_apart() -> None:
    said = headline(jr.fit(TABLE))
    assert said.startswith("ada is first by avg with 1.000 (95 % interval 0.9")
    assert said.endswith("; bob is not separated from it at 95 %, the other one is.")
    assert headline(jr.bootstrap(TABLE, n_replicates=50)).split(", in ")[1].endswith(said.split("; ")[1])


def test_all_that_are_not_separated_are_named() -> None:
    """A tier ends at the first model that is separated from its leader; one below it that varies more may not be."""
    varied = np.tile([1.0, 1, 1, 0, 0], 8)[None] - 0.05
    R = np.concatenate([np.full((1, 40), 0.65), np.full((1, 40), 0.6), varied])
    R += np.random.default_rng(0).normal(0, 0.01, R.shape)
    fit = jr.fit(jr.Responses(R, models=["ada", "bob", "cyd"]), "avg")
    assert separated(fit)[0].tolist() == [False, True, False]
    assert tiers(fit).groups == [("ada",), ("bob", "cyd")]
    assert headline(fit).endswith("; cyd is not separated from it at 95 %, the other one is.")


def test_all_apart_all_tied_and_no_error() -> None:
    apart = jr.Responses([[1] * 40, [0] * 40], models=["ada", "bob"])
    assert headline(jr.fit(apart)).endswith("; all others are separated from it at 95 %.")
    same = jr.Responses(np.tile([1, 0], (3, 20)), models=["ada", "bob", "cyd"])
    assert headline(jr.fit(same)) == "ada, bob and cyd share the first place by avg."
    assert headline(jr.fit(TABLE, "copeland")) == "ada is first by copeland with 2."


def test_credible_intervals_are_called_so() -> None:
    """Bayes@N's interval holds under its prior, and misses the accuracy of most models with one trial."""
    assert " (95 % credible interval 0." in headline(jr.fit(TABLE, "bayes"))
    assert " (95 % interval " in headline(jr.fit(jr.Comparisons(["x"] * 9, ["y"] * 9, [1, 1, 0] * 3)))


def test_a_ranking_of_nobody_has_no_headline() -> None:
    assert headline(jr.fit(TABLE, "rasch", on_failure="return")) == ""


def test_names_come_without_what_acts_on_a_terminal() -> None:
    evil = jr.Responses([[1] * 9, [0] * 9], models=["a\x1b[31m", "b"])
    assert "\x1b" not in headline(jr.fit(evil, "copeland"))


def test_shares_of_replicates_are_rounded_and_never_claim_all_or_none() -> None:
    told = [share(value) for value in (0, 1e-4, 0.005, 0.924, 0.9949, 0.9996, 1)]
    assert told == ["0 %", "under 1 %", "under 1 %", "92 %", "99 %", "over 99 %", "100 %"]


def test_what_replicates_draw_again_is_named_by_the_data() -> None:
    """Battles drawn again were said to be replicates "by trials"."""
    votes = jr.Comparisons(["x", "y", "x"] * 5, ["y", "z", "z"] * 5, [1, 1, 0.5] * 5)
    drawn = jr.bootstrap(votes, n_replicates=20)
    assert drawn.drawn == "battles" and "20 replicates by battles" in repr(drawn)
    assert jr.bootstrap(TABLE, n_replicates=20).drawn == "questions"


def test_one_trial_is_no_trials() -> None:
    """A page read "after 1 trials"."""
    R = np.stack([np.ones((6, 3)), np.zeros((6, 3))]).astype(int)
    said = settling(jr.convergence(R, "bayes", n_replicates=20))
    assert "after 1 trial and" in said and "1 trials" not in said
