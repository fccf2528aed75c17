"""Statements that hold however often one looks: sequences, races, the stopping rule."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest

from jaxrank import evaluation
from jaxrank.errors import DataError, JaxrankError, OptionError
from jaxrank.evaluation import sequential

ALPHA = 0.05


def test_the_truth_is_seldom_ever_excluded() -> None:
    """A thin slice of experiments/verdicts/sequences.py: 2,000 streams, 400 looks."""
    x = jax.random.bernoulli(jax.random.key(1), 0.8, (2000, 400)).astype(float)
    goal = np.log(1 / ALPHA)
    most = ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / len(x))
    for process in (
        sequential.betting_process(x, 0.8, alpha=ALPHA),
        sequential.betting_process(x, x.mean(axis=1), alpha=ALPHA, population=400)[:, :-1],
        sequential.sign_sequence(x[:, ::2] - x[:, 1::2]),
    ):
        assert np.mean(np.asarray(process >= goal).any(axis=1)) <= most
    assert np.mean(np.asarray(sequential.betting_process(x, 0.65) >= goal).any(axis=1)) > 0.95


def test_bounds_narrow_and_close_without_replacement() -> None:
    x = (np.random.default_rng(3).random(80) < 0.7).astype(float)
    found = sequential.confidence_sequence(x, population=80)
    assert np.all(np.diff(found.lower) >= 0) and np.all(np.diff(found.upper) <= 0)
    assert found.lower[-1] == pytest.approx(x.mean()) == found.upper[-1]
    again = sequential.confidence_sequence(2 * x - 1, -1, 1, population=80)
    np.testing.assert_allclose((again.lower + 1) / 2, found.lower, atol=1e-12)
    assert found.first_excluding(0.2) is not None and found.first_excluding(float(x.mean())) is None


def table(seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).random((3, 300)) < np.array([0.8, 0.5, 0.4])[:, None]).astype(float)


def test_a_race_asks_little_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    R, asked = table(0), []
    names, questions = ["a", "b", "c"], [f"q{m}" for m in range(300)]

    def sample(model: str, question: str) -> float:
        asked.append((model, question))
        return R[names.index(model), int(question[1:])]

    whole = sequential.race(sample, names, questions)
    assert whole.separated and whole.top == ("a",) and whole.asked.sum() == len(asked) == len(set(asked)) < 700
    assert "separated" in whole.sentence and whole.to_frame()["model"].iloc[0] == "a"
    state, n = tmp_path / "race.jsonl", len(asked)
    asked.clear()
    part = sequential.race(sample, names, questions, budget=40, state=state)
    assert part.ended == "budget" and part.asked.sum() == 40
    with state.open("a", encoding="utf-8") as file:
        file.write('["a", "q')  # it was stopped in the middle of a line
    rest = sequential.race(sample, names, questions, state=state)
    assert len(asked) == n == len(set(asked)) and rest.top == whole.top
    np.testing.assert_array_equal(rest.lower, whole.lower)
    with pytest.raises(DataError, match="holds another race \\(it differs in questions\\)"):
        sequential.race(sample, names, questions[:5], state=state)


def test_a_race_of_equals_ends_when_all_was_asked() -> None:
    found = sequential.race(lambda m, q: float(q[1:]) % 2, ["a", "b"], [f"q{m}" for m in range(12)])
    assert found.ended == "asked" and found.asked.tolist() == [12, 12] and not found.separated


def test_looking_after_every_trial() -> None:
    """Two equal models, a look after each of 300 trials: a fixed z stops in most, the mixture in 5 % to a side."""
    rng = np.random.default_rng(0)
    gap = np.cumsum(rng.normal(0, 0.5, (1000, 300)), axis=1) / np.arange(1, 301)
    sd = np.broadcast_to(0.5 / np.sqrt(np.arange(1, 301)), gap.shape)
    mu = np.stack([0.5 + gap, np.full(gap.shape, 0.5)], axis=-1)
    sigma = np.stack([sd, np.zeros(gap.shape)], axis=-1)
    fixed = np.asarray(evaluation.stopping_rule(mu, sigma, looks=1).stop).any(axis=1).mean()
    held = np.asarray(evaluation.stopping_rule(mu, sigma, anytime=True).stop).any(axis=1).mean()
    assert fixed > 0.4 and held <= 0.1 + 3 * 0.01
    one = evaluation.stopping_rule([0.9, 0.1], [0.01, 0.01], anytime=True)
    assert bool(one.stop)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: sequential.confidence_sequence([0.2, 1.5]), r"x\[1\] is 1.5, which is not between low=0 and high=1"),
        (lambda: sequential.confidence_sequence([]), "one sequence"),
        (lambda: sequential.confidence_sequence([1, 0, 1], population=2), "population=2, but 3 values"),
        (lambda: sequential.confidence_sequence([1], alpha=2), "alpha"),
        (lambda: sequential.sign_process(-1, 2), "wins"),
        (lambda: sequential.sign_process(1, 2, alternative="up"), "alternative"),
        (lambda: sequential.race(lambda m, q: 2.0, ["a", "b"], ["q"]), "scored 2, which is not from 0 to 1"),
        (lambda: sequential.race(lambda m, q: "x", ["a", "b"], ["q"]), "gave 'x', which is no number"),  # pyright: ignore[reportArgumentType]
        (lambda: sequential.race(lambda m, q: 1.0, ["a"], ["q"]), "two models or more"),
        (lambda: evaluation.stopping_rule([1, 0], [0.1, 0.1], anytime=True, scale=0), "scale"),
    ],
)
def test_bad_input(call, said) -> None:
    with pytest.raises((DataError, OptionError), match=said) as error:
        call()
    assert isinstance(error.value, JaxrankError) and "\n" not in str(error.value)
