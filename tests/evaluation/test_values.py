"""Values that evaluation must not misread: masks, NaN, categories under a trace, priors against the data."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank import evaluation as ev
from jaxrank.errors import JaxrankWarning, OptionError
from jaxrank.evaluation import rubrics

R = np.array([[[1, 1, 0, 1], [1, 0, 1, 1]], [[1, 0, 0, 0], [0, 1, 0, 0]]])
MASK = np.array([[[0, 0, 1, 1]] * 2, [[0, 0, 1, 1]] * 2], bool)


@pytest.mark.parametrize("form", [np.asarray, np.ma.asarray, jnp.asarray, np.ndarray.tolist, jr.Responses])
def test_decisions_read_all_forms_of_the_same_data_alike(form):
    """Numerics 10: `data` of an array is not its values."""
    want = ev.trials_needed(jr.Responses(R), (0, 1))
    assert ev.trials_needed(form(R), (0, 1)) == want
    np.testing.assert_array_equal(ev.next_trials(form(R), 6), ev.next_trials(jr.Responses(R), 6))
    assert ev.trials_needed(jr.fit(R), (0, 1)) == want


def test_masks_are_kept():
    """Numerics 10: a masked array lost its mask."""
    masked = np.ma.masked_array(R, MASK)
    assert ev.trials_needed(masked, (0, 1)) == ev.trials_needed(R[:, :, :2], (0, 1))
    np.testing.assert_array_equal(ev.next_trials(masked, 6), ev.next_trials(R[:, :, :2], 6))


def test_categories_of_traced_data_must_be_said():
    """Numerics 12: category 2 counted as missing inside jit."""
    graded = jnp.asarray([[0, 1, 2, 2], [2, 2, 1, 0]])
    for call in (ev.bayes, ev.avg):
        with pytest.raises(OptionError, match="w is needed inside jit"):
            jax.jit(lambda r, call=call: call(r).mean)(graded)
        inside = jax.jit(lambda r, call=call: call(r, w=(0, 1, 2)).mean)(graded)
        np.testing.assert_allclose(inside, call(graded).mean, rtol=1e-6)
    with pytest.raises(OptionError, match="w is needed inside jit"):
        jax.jit(ev.clustered_error)(graded)
    inside = jax.jit(lambda r: ev.clustered_error(r, w=(0, 1, 2)))(graded)
    np.testing.assert_allclose(inside, ev.clustered_error(graded), rtol=1e-6)


def test_trials_needed_are_those_in_the_direction_of_the_rates():
    """Numerics section 2: a prior against the data separated the pair the other way, at one trial."""
    against = np.array([[[0] * 8] * 2, [[1] * 8] * 2])
    free, held = ev.trials_needed(R, (0, 1)), ev.trials_needed(R, (0, 1), R0=against)
    assert held > free
    rate = R.mean(axis=2)
    mean = (1 + held * rate + 8 * against[:, :, 0]) / (2 + held + 8)
    assert mean[0].mean() > mean[1].mean()
    assert ev.trials_needed(R, (1, 0), R0=against) == held


def test_models_without_a_score_have_no_rank():
    """Numerics section 2: a NaN got rank 2."""
    ranks = ev.rank_with_intervals([0.9, np.nan, 0.1, 0.5], [0.01, 0.01, 0.01, np.nan])
    assert ranks.tolist() == [1, 0, 2, 0]
    dense = ev.rank_with_intervals([0.9, np.nan, 0.9, 0.5], 0.01 * np.ones(4), method="dense")
    assert dense.tolist() == [1, 0, 1, 2]
    both = ev.rank_with_intervals([[0.9, np.nan, 0.1], [0.1, 0.9, 0.5]], [0.01] * 3, ties="adjacent")
    assert both.tolist() == [[1, 0, 2], [3, 1, 2]]


def test_nan_in_agreement_is_never_the_best_model():
    """Interface 10 and N14."""
    nan = np.nan
    assert float(jr.top_k_overlap([nan, 3, 2, 1], [0, 3, 2, 1], 1)) == 1
    assert float(jr.top_k_overlap([nan, 3, 2, 1], [0, 3, 2, 1], 2)) == 1
    for measure in (jr.spearman, jr.kendall_tau, jr.weighted_tau):
        assert np.isnan(measure([nan, 3, 2, 1], [4, 3, 2, 1]))
        assert np.isnan(measure([12, 2, 1, 12, 2], [1, 4, 7, 1, nan]))
        rows = np.asarray(measure([[nan, 3, 2], [3, 2, 1]], [3.0, 2, 1]))
        assert np.isnan(rows[0])
        assert abs(rows[1] - 1) < 1e-6
    for k in (0, -1, 1.5, True, None, "2"):
        with pytest.raises(OptionError, match=r"^k="):
            jr.top_k_overlap([1, 2], [2, 1], k)


def signals(**more) -> rubrics.Signals:
    right = np.array([[[1.0, 0, 1, 0, 0]], [[0, 0, 1, 1, 0]]])
    return rubrics.Signals(is_correct=right, **more)


@pytest.mark.parametrize(("schema", "signal"), [("efficiency_adjusted", "token_ratio"), ("format_aware", "has_box")])
def test_an_unknown_signal_makes_an_attempt_missing_and_says_so(schema, signal):
    """Numerics 11: a right answer of unknown length was "invalid", one of unknown form "unboxed"."""
    values = np.linspace(0, 1, 10).reshape(2, 1, 5)
    values[0, 0, 2] = np.nan
    with pytest.warns(JaxrankWarning, match=f"1 attempts have some of the signals .*no {signal} of 1"):
        found = rubrics.find(schema).categories(signals(**{signal: values}))
    assert found[0, 0, 2] == -1
    assert (np.delete(found.reshape(-1), 2) >= 0).all()
    other = np.full((2, 1, 5), 0.2)
    other[0, 0, 2] = np.nan  # a signal that the schema does not read
    rubrics.find("exact_match").categories(signals(prompt_bpt=other))


def test_conservative_is_wrong_and_among_the_most_confident_of_all():
    """Numerics section 2: P40 of all attempts, not P60 of the wrong ones [hariri2026ranking, table 21]."""
    bits = np.array([[[0.1, 9, 0.2, 8, 7]], [[6, 5, 0.3, 0.4, 4]]])
    found = rubrics.find("conservative").categories(signals(completion_bpt=bits))
    assert (found[signals().is_correct == 1] == 3).all()
    assert (found[signals().is_correct == 0] == 2).all()  # all five confident attempts are right
    assert (rubrics.find("conf_wrong_penalty").categories(signals(completion_bpt=bits)) == 1).any()


JUDGED = [[[5, 3, 2], [2, 3, 5]]]
RIGHT, TOKENS = np.tile([0.0, 1.0], (2, 3, 2))[:, :, :2, None], np.tile([10.0, 20.0], (2, 3, 1))[..., None]
WRONG = [None, "x", -1, 2.5, np.nan, np.inf, 1e300, [1, 2, 3], object(), True]


@pytest.mark.parametrize(
    ("call", "option"),
    [
        *((lambda v, o=o: ev.bayes(R, R0=R[:, :, 0], **{o: v}), o) for o in ("strength", "method", "level")),
        *((lambda v, o=o: ev.bayes(R, method="exact", **{o: v}), o) for o in ("n_draws", "seed")),
        (lambda v: ev.bayes(R, w=v), "w"),
        (lambda v: ev.pass_at_k(R, v), "k"),
        (lambda v: ev.g_pass_at_k_tau(R, 2, v), "tau"),
        (lambda v: ev.next_trials(R, v), "budget"),
        (lambda v: ev.next_trials(R, 3, top=v), "top"),
        (lambda v: ev.trials_needed(R, (0, 1), z=v), "z"),
        (lambda v: ev.trials_needed(R, (0, 1), most=v), "most"),
        (lambda v: ev.rank_with_intervals([1, 2], [1, 1], level=v), "level"),
        (lambda v: ev.rank_with_intervals([1, 2], [1, 1], ties=v), "ties"),
        (lambda v: ev.rank_with_intervals([1, 2], [1, 1], method=v), "method"),
        (lambda v: ev.stopping_rule([1, 2], [1, 1], looks=1, width=v), "width"),
        (lambda v: ev.stopping_rule([1, 2], [1, 1], looks=1, top=v), "top"),
        (lambda v: jr.judges.infer(counts=JUDGED, n_chains=1, n_samples=4, n_warmup=0, seed=v), "seed"),
        *((lambda v, o=o: jr.judges.identifiability(JUDGED, **{o: v}), o) for o in ("n_starts", "seed")),
        *(
            (lambda v, o=o: jr.scaling.evaluate_scaling(RIGHT, TOKENS, **{o: v}), o)
            for o in ("resample", "n_replicates", "seed")
        ),
    ],
)
def test_arguments_are_refused_by_name(call, option):
    """Numerics section 2: no raw exception, and no word taken for a number."""
    refused = 0
    for value in WRONG:
        try:
            call(value)
        except jr.JaxrankError as error:
            refused += 1
            assert str(error).startswith((option, "R0")), error  # noqa: PT017
    assert refused >= 6
