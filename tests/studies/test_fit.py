"""The public calls: results, explanations, errors, precision, all methods at once."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import jaxrank as jr
from jaxrank.studies.fit import as_key

R = (np.random.default_rng(7).random((6, 10, 5)) < np.linspace(0.8, 0.2, 6)[:, None, None]).astype(int)
QUICK = ("avg", "bayes", "bradley_terry", "inverse_difficulty")


def test_default_is_the_accuracy_and_cannot_fail():
    assert jr.fit(R).method == "avg"
    for odd in (np.ones_like(R), np.zeros_like(R), [[1], [0]]):
        assert jr.fit(odd).status == jr.Status.CONVERGED


def test_result_for_people():
    result = jr.fit(jr.Responses(R, models=list("abcdef")), "bradley_terry", dtype="float64")
    frame = result.to_frame()
    assert frame.columns.tolist() == ["rank", "model", "score", "se", "lower", "upper"]
    assert frame["rank"].is_monotonic_increasing and frame["score"].is_monotonic_decreasing
    lower, upper = result.interval(0.9)
    np.testing.assert_allclose((lower + upper) / 2, result.scores, atol=1e-12)
    student = scipy.stats.t.ppf(0.95, R.shape[1] - 1)
    np.testing.assert_allclose((upper - lower) / 2, student * result.standard_errors, rtol=1e-6)
    text = result.summary()
    assert "converged" in text and "95 %" in text and "bradley_terry" in text
    assert "best: a" in repr(result)


def test_methods_without_errors_say_what_to_do():
    with pytest.raises(jr.errors.UnsupportedDataError, match="bootstrap"):
        jr.fit(R, "inverse_difficulty").interval()


def test_options_and_identifiers():
    with pytest.raises(jr.errors.UnknownMethodError, match="bradley_terry"):
        jr.fit(R, "bradley_tery")
    with pytest.raises(jr.errors.OptionError, match="separation"):
        jr.fit(R, "bradley_terry", separaton="extend")
    with pytest.raises(jr.errors.OptionError, match="aligned"):
        jr.fit(R, "bradley_terry", pairing="some")
    ranker = jr.methods.BradleyTerry(prior=jr.priors.Gaussian(0.0, 2.0))
    by_name = jr.fit(R, "bradley_terry", prior=2.0)
    np.testing.assert_array_equal(jr.fit(R, ranker).scores, by_name.scores)


def test_a_number_option_does_not_compile_again(caplog):
    """Interface 5: the test asked for a name that equinox had changed, and compared None with None."""

    def compiled(sd: float) -> int:
        caplog.clear()
        with jax.log_compiles(True):
            jr.fit(R, jr.methods.BradleyTerry(prior=jr.priors.Gaussian(0.0, sd)))
        return sum("Compiling" in record.getMessage() for record in caplog.records)

    jax.clear_caches()
    assert compiled(1.0) > 0
    assert compiled(3.0) == 0


def test_dtype_is_local():
    before = jax.config.jax_enable_x64
    assert jr.fit(R, dtype="float64").scores.dtype == np.float64
    assert jr.fit(R, dtype="float32").scores.dtype == np.float32
    assert jax.config.jax_enable_x64 == before
    with pytest.raises(jr.errors.OptionError, match="float64"):
        jr.fit(R, dtype="int8")


def test_case_K02_single_precision_keeps_the_ranking():
    sim = (np.random.default_rng(1).random((8, 12, 10)) < np.linspace(0.8, 0.2, 8)[:, None, None]).astype(int)
    for data in (R, sim):
        for method in ("bradley_terry", "bradley_terry_davidson", "rasch"):
            narrow, wide = (jr.fit(data, method, dtype=t) for t in ("float32", "float64"))
            assert np.max(np.abs(narrow.scores - wide.scores)) < 1e-3
            apart = wide.scores[:, None] - wide.scores > 1e-3
            assert apart.any()
            assert np.all(narrow.ranks[:, None] < narrow.ranks, where=apart)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int64", "float32", "float16", "list"])
def test_case_H06_types_of_input(dtype):
    data = [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]]
    data = data if dtype == "list" else np.array(data, dtype)
    result = jr.fit(data, "bradley_terry", dtype="float64")
    np.testing.assert_allclose(np.exp(result.scores) / np.exp(result.scores).sum(), [0.5, 0.25, 0.25], atol=1e-12)
    assert result.ranks.tolist() == [1, 2, 2]


def test_case_A06_one_model():
    for method in jr.catalogue():
        with pytest.raises(jr.errors.DataError, match="two models"):
            jr.fit([[[1, 0], [0, 1], [1, 1]]], method)


@pytest.mark.parametrize(("shape", "axis"), [((3, 0, 4), "questions"), ((3, 5, 0), "trials"), ((0, 5, 4), "models")])
def test_case_A07_empty_axis(shape, axis):
    with pytest.raises(ValueError, match=axis):
        jr.fit(np.zeros(shape, int))


def test_case_H01_missing_cells():
    with pytest.warns(jr.JaxrankWarning, match="2/3"):
        result = jr.fit([[1, np.nan, 0], [0, 1, np.nan], [1, 1, 0]], "avg", dtype="float64")
    np.testing.assert_allclose(result.scores, [0.5, 0.5, 2 / 3])
    assert result.ranks.tolist() == [2, 2, 1]


def test_case_H03_masked_array():
    with pytest.warns(jr.JaxrankWarning, match="1/2"):
        result = jr.fit(np.ma.masked_array([[1, 0], [0, 1]], mask=[[0, 1], [0, 0]]), "avg")
    np.testing.assert_allclose(result.scores, [1.0, 0.5])
    assert result.ranks.tolist() == [1, 2]


def test_case_H04_coverage_is_told():
    counts = np.array([[9, 8, 0, 0], [9, 8, 4, 3]])
    data = jr.Responses.from_counts(counts, [[10, 10, 0, 0], [10, 10, 10, 10]], models=["a", "b"])
    with pytest.warns(jr.JaxrankWarning, match="'a' 2/4"):
        result = jr.fit(data, "avg", dtype="float64")
    np.testing.assert_allclose(result.scores, [0.85, 0.6])
    np.testing.assert_allclose(result.coverage, [0.5, 1.0])
    assert any("2/4" in note for note in result.notes)
    np.testing.assert_allclose(jr.fit(data.select(questions=[0, 1]), "avg").scores, [0.85, 0.85], atol=1e-6)


def test_case_G05_interval_of_a_perfect_model_has_width():
    data = jr.Responses.from_counts([[30], [15]], 30)
    for method in ("bayes", "avg"):
        lower, upper = jr.fit(data, method).interval()
        assert np.all(upper > lower)
    np.testing.assert_allclose(jr.fit(data, "bayes", dtype="float64").scores, [0.96875, 0.5])


def test_categories_are_refused_by_binary_methods_by_name():
    graded = np.random.default_rng(0).integers(0, 3, (3, 4, 2))
    with pytest.raises(jr.errors.UnsupportedDataError, match=r"inverse_difficulty.*3 categories"):
        jr.fit(graded, "inverse_difficulty")


def test_counts_alone_cannot_be_paired_by_trial():
    data = jr.Responses.from_counts([[3, 1], [1, 2]], 4)
    with pytest.raises(jr.errors.UnsupportedDataError, match='pairing="all"'):
        jr.fit(data, "bradley_terry")
    assert jr.fit(data, "bradley_terry", pairing="all").ranks.tolist() == [1, 2]


def test_battles_are_refused_by_methods_that_read_counts():
    battles = jr.Comparisons(["a", "b"], ["b", "a"], [1, 0.5])
    with pytest.raises(jr.errors.UnsupportedDataError, match="battles"):
        jr.fit(battles, "avg")


def test_fit_all_shares_and_reports():
    table = jr.fit_all(R, QUICK, dtype="float64")
    assert table.methods == QUICK and set(table.seconds) == set(QUICK)
    for name in QUICK:
        np.testing.assert_array_equal(table[name].scores, jr.fit(R, name, dtype="float64").scores)
    assert table.to_frame().shape == (6, 4)
    separated = jr.fit_all([[1, 1, 1], [0, 1, 0], [0, 0, 1]], QUICK)
    assert separated["bradley_terry"].status == jr.Status.NO_FINITE_OPTIMUM
    assert "bradley_terry" not in separated.methods
    assert jr.fit_all(R, ["bayes_greedy", "avg"]).skipped.keys() == {"bayes_greedy"}
    assert jr.fit_all(R, ["bayes_greedy"], R0=R[0, :, :1]).methods == ("bayes_greedy",)
    with pytest.raises(jr.errors.UnknownMethodError):
        jr.fit_all(R, ["nonsense"])


def test_agreement():
    agreement = jr.agreement(R, QUICK, dtype="float64")
    assert np.allclose(np.diag(agreement.tau), 1) and np.allclose(agreement.tau, agreement.tau.T)
    assert agreement.tau_with_gold["avg"] == 1.0
    assert sum(len(g) for g in agreement.groups) == len(QUICK)
    assert any({"avg", "bayes"} <= set(g) for g in agreement.groups)
    assert agreement.consensus.min() == 1
    with_variants = jr.fit_all([[1, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 1]], ["avg", "minimax", "copeland", "schulze"])
    with_variants = dataclasses.replace(
        with_variants.agreement("avg"),
        ranks=np.array([[1, 2, 3.0], [2, 1, 3], [2, 1, 3], [2, 1, 3]]),
        families=("pointwise", "condorcet", "condorcet", "condorcet"),
    )  # front-door A10: however many variants of a family agree, they count as one
    assert with_variants.consensus.tolist() == [1, 1, 3]
    assert jr.agreement(R, ["avg"], gold="bayes").methods == ("avg", "bayes")  # run too
    with pytest.raises(jr.errors.OptionError, match="gold"):
        jr.fit_all(R, ["avg"]).agreement("bayes")


def test_seeds_are_integers_or_keys():
    assert as_key(3) == as_key(np.int64(3)) == jax.random.key(3)
    assert as_key(jax.random.PRNGKey(3)) == jax.random.key(3)
    with pytest.raises(jr.errors.OptionError, match="seed"):
        as_key("3")


def test_a_ranker_is_a_pure_function():
    """Users may map it over anything, for instance a prior's width."""
    stat = jr.methods.BradleyTerry().statistic.of(jr.Responses(R))
    widths = jnp.array([0.1, 1.0, 10.0])
    scores = jax.vmap(lambda v: jr.methods.BradleyTerry(prior=jr.priors.Gaussian(0.0, v))(stat).scores)(widths)
    spread = np.asarray(jnp.ptp(scores, axis=1))
    assert np.all(np.diff(spread) > 0)
