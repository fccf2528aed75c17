"""Thompson sampling: golden values, seeds, labels, and streams that lists of models share."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import OptionError
from jaxrank.methods import thompson
from tests.oracles import golden, tensor_params


@pytest.mark.parametrize("tensor", tensor_params("T1", "T2", "T4"))
def test_golden_thompson(tensor):
    block = golden("11b_tensor_oracles")["tensors"][tensor]
    R, want = np.array(block["R"]), np.array(block["methods"]["thompson_exact_expectation"]["scores"])
    assert np.abs(jr.fit(R, "thompson_exact", dtype="float64").scores - want).max() < 1e-12
    sampled = jr.fit(R, "thompson", n_samples=2000, seed=5)
    assert np.all(np.abs(sampled.scores - want) <= 5 * sampled.params["monte_carlo_error"] + 1e-6)


def test_case_G03_seeds_of_thompson():
    R = np.random.default_rng(0).integers(0, 2, (4, 6, 3))
    before = np.random.get_state()[1].copy()  # noqa: NPY002  (that this state is left alone is the point)
    a = jr.fit(R, "thompson", n_samples=500, seed=3).scores
    b = jr.fit(R, "thompson", n_samples=500, seed=3).scores
    c = jr.fit(R, "thompson", n_samples=500, seed=4).scores
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_thompson_of_many_models_is_that_of_few(monkeypatch):
    """Ranks by sorting and integrals in blocks, which large numbers of models take, on a small one."""

    def results():
        draws = np.random.default_rng(0).integers(0, 6, (9, 200)).astype(float)  # with ties
        alpha, beta = np.array([1.0, 4, 4, 9, 2, 7]), np.array([3.0, 4, 4, 1, 8, 7])
        both = jax.jit(lambda d, a, b: (*thompson._rank_moments(d), thompson._expected_above(a, b)))
        return both(draws, alpha, beta)

    with jax.enable_x64(True):
        few = results()
        monkeypatch.setattr(thompson, "_COMPARED", 8)
        monkeypatch.setattr(thompson, "_PAIRS", 4)
        for a, b in zip(results(), few, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_thompson_does_not_depend_on_labels():
    R = np.random.default_rng(1).integers(0, 2, (5, 6, 3))
    R[3] = R[1]
    order = [4, 2, 0, 3, 1]
    scores = jr.fit(R, "thompson", n_samples=500).scores
    assert scores[1] == scores[3]
    assert np.array_equal(jr.fit(R[order], "thompson", n_samples=500).scores, scores[order])


def test_options_are_checked():
    with pytest.raises(OptionError, match="n_samples"):
        jr.fit(np.array([[1, 0], [0, 1]]), "thompson", n_samples=0)


def test_small_priors_of_models_without_successes():
    """Quantiles of Beta(0.1, 30.1) were not numbers."""
    R = np.zeros((3, 10, 3), int)
    R[1, :4], R[2, :5] = 1, 1
    sampled, exact = (jr.fit(R, method, a=0.1, b=0.1) for method in ("thompson", "thompson_exact"))
    assert np.all(np.abs(sampled.scores - exact.scores) <= 5 * sampled.params["monte_carlo_error"] + 1e-6)


def lists_of_models(*shape):
    """Counts of few successes in nine trials, so that lists have equal models and share many."""
    successes = np.random.default_rng(7).integers(0, 6, shape)
    return jnp.asarray(1 + successes, jnp.float32), jnp.asarray(10 - successes, jnp.float32)


def ranks(alpha, beta, key, n_samples=300):
    return thompson._ranks(alpha, beta, jax.random.key_data(key), jnp.zeros(n_samples, bool))


def one_by_one(alpha, beta, key):
    """The same without a batch: ``key`` one for all, or one for each member of the first axis."""
    if alpha.ndim == 1:
        return np.stack(jax.jit(ranks)(alpha, beta, key))
    keys = key if key.ndim else [key] * len(alpha)
    return np.stack([one_by_one(*each) for each in zip(alpha, beta, keys, strict=True)], axis=1)


@pytest.mark.parametrize("compiled", [False, True])
def test_lists_with_one_key_share_streams(compiled):
    alpha, beta = lists_of_models(7, 5)
    assert any(len(np.unique(row)) < 5 for row in alpha)
    key = jax.random.key(3)
    shared = jax.vmap(ranks, in_axes=(0, 0, None))
    found = (jax.jit(shared) if compiled else shared)(alpha, beta, key)
    np.testing.assert_array_equal(found, one_by_one(alpha, beta, key))


def test_one_column_of_counts_may_be_common():
    alpha, beta = lists_of_models(4, 5)
    found = jax.jit(jax.vmap(ranks, in_axes=(0, None, None)))(alpha, beta[0], jax.random.key(3))
    np.testing.assert_array_equal(found, one_by_one(alpha, jnp.tile(beta[0], (4, 1)), jax.random.key(3)))


def test_streams_that_do_not_fit_are_drawn_list_by_list(monkeypatch):
    alpha, beta = lists_of_models(7, 5)
    monkeypatch.setattr(thompson, "_STREAMS", 2)
    want = one_by_one(alpha, beta, jax.random.key(3))
    _, _, n_streams = thompson._distinct(*(x.ravel() for x in (alpha, beta, jax.vmap(thompson._twins)(alpha, beta))))
    for fit in (4, int(n_streams) - 1, int(n_streams)):  # the first holds not even one list
        monkeypatch.setattr(thompson, "_TABLE_BYTES", fit * 300 * 4)
        found = jax.jit(jax.vmap(ranks, in_axes=(0, 0, None)))(alpha, beta, jax.random.key(3))
        np.testing.assert_array_equal(found, want)


def test_batches_of_batches():
    alpha, beta = lists_of_models(3, 4, 5)
    key, keys = jax.random.key(3), jax.random.split(jax.random.key(4), 3)
    pools = jax.vmap(jax.vmap(ranks, in_axes=(0, 0, None)), in_axes=(0, 0, 0))
    np.testing.assert_array_equal(jax.jit(pools)(alpha, beta, keys), one_by_one(alpha, beta, keys))
    common = jax.vmap(jax.vmap(ranks, in_axes=(0, 0, None)), in_axes=(0, 0, None))
    np.testing.assert_array_equal(jax.jit(common)(alpha, beta, key), one_by_one(alpha, beta, key))
    # the inner axis has the keys, the outer one has the lists
    crossed = jax.vmap(jax.vmap(ranks, in_axes=(None, None, 0)), in_axes=(0, 0, None))
    found = np.asarray(jax.jit(crossed)(alpha[0], beta[0], keys))
    for i, own in enumerate(keys):
        np.testing.assert_array_equal(found[:, :, i], one_by_one(alpha[0], beta[0], own))


def test_distinct_triples():
    rng = np.random.default_rng(0)
    triples = rng.integers(1, 4, (3, 40))
    row, place, count = thompson._distinct(*map(jnp.asarray, triples))
    assert count == len(np.unique(triples, axis=1).T)
    np.testing.assert_array_equal(triples[:, np.asarray(place)[np.asarray(row)]], triples)
    assert sorted(set(np.asarray(row).tolist())) == list(range(count))


def test_pools_do_not_depend_on_chunks():
    R = np.random.default_rng(5).integers(0, 2, (6, 5, 4))
    method = {"t": thompson.Thompson(n_samples=200)}
    few, all_at_once = (jr.model_pools(R, method, size=4, n_replicates=200, chunk_size=c) for c in (64, 256))
    np.testing.assert_array_equal(few.gold["t"], all_at_once.gold["t"])
    np.testing.assert_array_equal(few.own["t"], all_at_once.own["t"])
