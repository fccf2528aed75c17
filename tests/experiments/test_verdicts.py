"""A slice of experiments/verdicts: statements of comparisons are seldom false, and what was measured is what stands."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import binom

from experiments.verdicts import run
from experiments.verdicts.truths import TRUTHS
from jaxrank.numerics.paired import Paired

BY_NAME = {truth.name: truth for truth in TRUTHS}


@pytest.mark.parametrize(("name", "questions", "trials"), [("rate .95", 20, 1), ("clusters of 5", 150, 3)])
def test_verdicts_are_seldom_false(name: str, questions: int, trials: int) -> None:
    studies = 2000
    most = run.ALPHA + 3 * np.sqrt(run.ALPHA * (1 - run.ALPHA) / studies)
    for gap in (0.0, 0.05):
        found = run.measure(BY_NAME[name], questions, trials, gap, "questions", studies)
        key = run.key_of(BY_NAME[name], questions, trials, gap, "questions")
        assert all(share <= most for share in run.false_share(key, found).values()), (key, found)
        assert sum(found[f"verdict {v}"] for v in (*run.NAMES, "undecided")) == pytest.approx(1)


@pytest.mark.parametrize("questions", [20, 50, 120])
def test_single_trials_of_equal_models_are_told_apart_in_one_of_twenty(questions: int) -> None:
    """Not drawn: the chance of every number of questions won and lost, for any share of discordant ones up to .6 (of
    independent models at most half are). Student's t alone reaches 5.4, 5.4 and 5.3 %."""
    won, lost = np.array([(w, n - w) for n in range(questions + 1) for w in range(n + 1)]).T
    m = np.arange(questions)
    d = (m < won[:, None]).astype(float) - ((m >= won[:, None]) & (m < (won + lost)[:, None]))
    unknown, ones = np.full((len(d), 2, questions), np.nan), np.ones((2, questions), int)
    found = run.judged(Paired(d, np.ones(questions), m, unknown, ones, 1.0), "questions", np.full(len(d), 0.05))
    told = found["verdict better"] | found["verdict worse"]
    shares = np.linspace(0.02, 0.6, 30)
    discordant = binom.pmf(won + lost, questions, shares[:, None]) * binom.pmf(won, won + lost, 0.5)
    assert 0.04 < (discordant * told).sum(axis=1).max() < 0.0515
    assert (discordant * found["t"]).sum(axis=1).max() > 0.052


def test_no_cell_of_the_table_fails() -> None:
    done = json.loads((run.RESULTS / "verdicts.json").read_text(encoding="utf-8"))
    assert len(done) > 100 and not run.failures(done)
