"""Replicates of unequal trials: a cell is redrawn from its own observed trials, never from the padding."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.responses import Responses
from jaxrank.errors import UnsupportedDataError
from jaxrank.methods.catalogue import make
from jaxrank.numerics.status import Status
from jaxrank.resampling import SCHEMES, as_scheme, draws
from jaxrank.resampling.sources import make_source
from jaxrank.resampling.uneven import WithinCells, is_uneven

SHAPE = (4, 8, 6)
SCHEME_NAMES = [
    *("trials", "trials_per_question", "independent", "questions", "questions_and_trials", "bayesian"),
    *("bayesian(questions)", "subsample(1)", "subsample(3)", "subsample(6)"),
]
pytestmark = pytest.mark.filterwarnings("ignore:.*no result on some questions")


def complete(seed: int = 1) -> np.ndarray:
    rates = np.linspace(0.8, 0.3, SHAPE[0])[:, None, None]
    return (np.random.default_rng(seed).random(SHAPE) < rates).astype(int)


def few() -> np.ndarray:
    """The first model has a single trial of every question, the second half of them."""
    R = complete()
    R[0, :, 1:] = -1
    R[1, :, 3:] = -1
    return R


def holes() -> np.ndarray:
    """Cells miss at random, and some are missing as a whole."""
    R = complete()
    R[np.random.default_rng(2).random(SHAPE) < 0.3] = -1
    R[2, 3] = R[3, 0] = -1
    return R


DATA = {"few": few(), "holes": holes()}


@pytest.mark.parametrize("scheme", SCHEME_NAMES)
@pytest.mark.parametrize("name", DATA)
def test_the_mean_over_replicates_is_the_models_own_average(name: str, scheme: str) -> None:
    """Unbiased, and no replicate lost, under every scheme."""
    R, n = DATA[name], 3000
    rep = jr.bootstrap(R, "avg", n_replicates=n, scheme=scheme, seed=4, dtype="float64")
    own = jr.fit(R, "avg", dtype="float64").scores
    assert rep.n_replicates == n and rep.status_counts() == {Status.CONVERGED: n}
    error = np.maximum(rep.sd, 1e-12) / np.sqrt(n)
    assert np.all(np.abs(rep.mean - own) < 4.5 * error), (rep.mean - own) / error


@pytest.mark.parametrize("scheme", ["trials", "independent", "subsample(6)"])
def test_every_prefix_is_unbiased_too(scheme: str) -> None:
    """The first n trials of a cell, not of the table: a cell whose first place is empty has a first trial."""
    R = np.where(np.arange(SHAPE[0])[:, None, None] % 2 == 0, holes(), complete())
    with jax.enable_x64(True):
        data = Responses(R)
        source = make_source(data, make("avg"), as_scheme(scheme), "aligned", "avg")

        def scores(b, n):
            key = draws.replicate_key(jax.random.key(0), b)
            draw = source.scheme.draw(key, b, data.shape, jnp.float64)
            return make("avg")(source.made_from(draw, n)).scores

        table = jax.jit(jax.vmap(jax.vmap(scores, (None, 0)), (0, None)))
        found = np.asarray(table(jnp.arange(3000), jnp.array([1, 2, 6])))
    own = jr.fit(R, "avg", dtype="float64").scores
    error = np.maximum(found.std(axis=0), 1e-12) / np.sqrt(3000)
    assert np.isfinite(found).all() and np.all(np.abs(found.mean(axis=0) - own) < 4.5 * error + 1e-12)


def test_a_model_with_one_trial_of_ten_is_ranked_by_what_it_has() -> None:
    """It was first in .010 of the replicates by bayes, in whose score an empty cell counts 1/2; by counts in .987."""
    rng = np.random.default_rng(0)
    R = (rng.random((3, 60, 10)) < np.array([0.9, 0.55, 0.5])[:, None, None]).astype(int)
    R[0, :, 1:] = -1
    data = Responses(R)
    counts = Responses.from_counts(data.counts[..., 1], data.trials)
    right = jr.bootstrap(
        counts, "bayes", n_replicates=2000, scheme="independent", dtype="float64"
    ).rank_probabilities()[0, 0]
    assert right > 0.95
    for scheme in ("trials", "trials_per_question", "independent", "questions_and_trials", "bayesian"):
        share = jr.bootstrap(data, "bayes", n_replicates=2000, scheme=scheme, dtype="float64").rank_probabilities()[
            0, 0
        ]
        assert share > 0.95, scheme


def test_counts_and_trials_agree_on_unequal_trials() -> None:
    """Independent draws of cells are the multinomial draws of their counts."""
    data = Responses(holes())
    counts = Responses.from_counts(data.counts[..., 1], data.trials)
    a, b = (jr.bootstrap(d, "bayes", n_replicates=4000, scheme="independent", dtype="float64") for d in (data, counts))
    np.testing.assert_allclose(a.sd, b.sd, rtol=0.06)
    np.testing.assert_allclose(a.mean, b.mean, atol=5 * a.sd.max() / np.sqrt(4000))


@pytest.mark.parametrize("scheme", ["trials", "trials_per_question", "independent", "questions_and_trials"])
def test_a_cell_keeps_its_places_and_its_own_trials(scheme: str) -> None:
    """Every cell gets as many trials as it has, where it has them, each from its own."""
    R = holes()
    labels = np.where(R >= 0, np.arange(R.size).reshape(R.shape), -1)  # which trial of which cell
    within = WithinCells(as_scheme(scheme))
    for b in range(20):
        draw = within.draw(draws.replicate_key(jax.random.key(1), b), b, SHAPE, jnp.float32)
        got = np.asarray(within.gather(draw, jnp.asarray(labels)))
        order = np.asarray(draw[0])[:, 0] if scheme == "questions_and_trials" else np.arange(SHAPE[1])
        kept = labels[:, order]
        np.testing.assert_array_equal(got >= 0, kept >= 0)
        cell = np.where(got >= 0, got // SHAPE[2], -1)
        np.testing.assert_array_equal(cell, np.where(kept >= 0, kept // SHAPE[2], -1))


@pytest.mark.parametrize("scheme", ["trials", "trials_per_question", "subsample(3)"])
def test_cells_with_the_same_trials_are_drawn_alike(scheme: str) -> None:
    """Sharing over models and questions is kept: equal cells stay equal, and complete ones are as ever."""
    R = complete()
    R[2] = R[1] = few()[1]
    within, plain = WithinCells(as_scheme(scheme)), as_scheme(scheme)
    for b in range(10):
        key = draws.replicate_key(jax.random.key(2), b)
        got = np.asarray(within.gather(within.draw(key, b, SHAPE, jnp.float32), jnp.asarray(R)))
        np.testing.assert_array_equal(got[1], got[2])
        whole = np.asarray(plain.gather(plain.draw(key, b, SHAPE, jnp.float32), jnp.asarray(R)))
        np.testing.assert_array_equal(got[[0, 3]], whole[[0, 3]])


def test_complete_data_and_whole_missing_cells_are_drawn_as_ever() -> None:
    """The scheme of unequal trials is for them alone: one product for all others, and the same bits as before."""
    R = complete()
    R[1, 2] = -1
    assert not is_uneven(R) and not is_uneven(complete()) and not is_uneven(None) and is_uneven(few())
    for name in SCHEMES:
        if name not in ("models", "clusters"):
            source = make_source(Responses(R), make("avg"), as_scheme(name), "aligned", "avg")
            assert not isinstance(source.scheme, WithinCells) and source.trials is None


@pytest.mark.parametrize("method", ["bradley_terry_map", "bradley_terry_luce_map", "elo"])
def test_comparisons_keep_their_number(method: str) -> None:
    """Who met whom how often is the design, and is held fixed: no model is left without a contest."""
    data = Responses(few())
    with jax.enable_x64(True):
        source = make_source(data, make(method), as_scheme("trials"), "aligned", method)
        stat = source(draws.replicate_key(jax.random.key(0), 3), 3, None)[0]
        if method == "bradley_terry_map":
            whole = make(method).statistic.of(data)
            np.testing.assert_array_equal(stat.total, whole.total)
    rep = jr.bootstrap(data, method, n_replicates=40, scheme="trials")
    assert rep.status_counts() == {Status.CONVERGED: 40}


def test_pools_need_every_model_in_every_trial() -> None:
    """Trial 5 of a model with one trial is no result of its, and was ranked as one."""
    with pytest.raises(UnsupportedDataError, match=r"some trials have no result of 'model 0', 'model 1'; leave"):
        jr.model_pools(few(), "avg", size=2, n_replicates=5)
    assert jr.model_pools(holes(), "avg", size=2, n_replicates=5).n_replicates == 5
