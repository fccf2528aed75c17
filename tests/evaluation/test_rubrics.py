"""Rubrics: predicates, categories, the published schemes, user-defined ones, data frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from jaxrank import evaluation as ev
from jaxrank.errors import DataError, OptionError
from jaxrank.evaluation import rubrics
from jaxrank.evaluation.rubrics import SCHEMATA, SCHEMES, Schema, Signals
from jaxrank.evaluation.signals import Predicates, calibrated
from tests.oracles import golden


def signals(seed=0, shape=(4, 10, 6)):
    rng = np.random.default_rng(seed)
    verifier = rng.dirichlet((2, 1, 0.5), shape)
    return Signals(
        is_correct=rng.integers(0, 2, shape),
        has_box=rng.random(shape) < 0.8,
        token_ratio=rng.lognormal(-2, 0.5, shape),
        repeated_pattern=rng.random(shape) < 0.05,
        prompt_bpt=rng.random(shape),
        completion_bpt=rng.gamma(2, 0.3, shape),
        compass_A=verifier[..., 0],
        compass_B=verifier[..., 1],
        compass_C=verifier[..., 2],
    )


def test_eight_schemes_and_twelve_schemata():
    assert len(SCHEMES) == 8
    assert len(SCHEMATA) == 12
    assert SCHEMES["conservative"].weights == (0, -0.10, 0.05, 1)
    assert SCHEMES["balanced"].weights == (0, 0.10, 0.06, -0.02, 0.90, 0.95, 0.97, 1)
    assert SCHEMES["rare_event"].weights == (0, 0.05, 1, 0.08, 0.95, 0.20)


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("name", [*SCHEMES, *SCHEMATA])
def test_every_schema_covers_all_valid_attempts(name, pooled):
    s = signals()
    schema = rubrics.find(name)
    categories = schema.categories(s, pooled)
    out = getattr(Predicates(s), schema.invalid)
    assert np.all(categories[out] == 0)
    assert np.all(categories[~out] > 0) or name in ("verifier_only",)
    assert categories.max() == len(schema.labels)


def test_conservative_by_hand():
    s = Signals(
        is_correct=[[[0, 0, 0, 1, 1]]],
        completion_bpt=[[[0.1, 0.5, 0.9, 0.2, 0.3]]],
        repeated_pattern=[[[0, 0, 0, 0, 1]]],
    )
    # The 40th percentile of all is 0.26: of the wrong ones the first alone is confident.
    assert SCHEMES["conservative"].categories(s).tolist() == [[[1, 2, 2, 3, 0]]]
    # The 60th percentile of the wrong ones (0.1, 0.5, 0.9) is 0.58: the first two are confidently wrong.
    assert SCHEMATA["conf_wrong_penalty"].categories(s).tolist() == [[[1, 1, 2, 3, 0]]]
    estimate = rubrics.evaluate(s, "conservative", dtype="float64")
    by_hand = ev.bayes([[[1, 2, 2, 3, 0]]], w=(0, -0.1, 0.05, 1), dtype="float64")
    assert estimate.mean[0] == by_hand.mean[0]


def test_published_thresholds_are_by_model_for_the_eight_and_over_all_for_the_twelve():
    assert not any(s.pooled for s in SCHEMES.values()) and all(s.pooled for s in SCHEMATA.values())
    s = signals()
    for schema in (SCHEMES["efficiency_adjusted"], SCHEMATA["efficiency_adjusted"]):
        np.testing.assert_array_equal(schema.categories(s), schema.categories(s, pooled=schema.pooled))
    apart = SCHEMES["efficiency_adjusted"].categories(s) != SCHEMATA["efficiency_adjusted"].categories(s)
    assert apart.any()


def test_the_verifier_is_right_from_six_tenths_on_in_the_twelve():
    """Half sure of "correct", the largest of the three, is not enough there."""
    a, b, c = np.array([[0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.2, 0.3, 0.45]]).T.reshape(3, 1, 1, 3)
    s = Signals(compass_A=a, compass_B=b, compass_C=c)
    assert SCHEMATA["verifier_only"].categories(s).tolist() == [[[2, 3, 1]]]
    assert SCHEMES["verifier_only"].categories(s).tolist() == [[[3, 3, 1]]]


def test_the_low_threshold_is_an_argument():
    s = Signals(is_correct=np.ones((1, 1, 3)), compass_A=[[[0.1, 0.35, 0.5]]])
    assert SCHEMES["verifier_calibrated"].categories(s).tolist() == [[[3, 4, 4]]]
    assert SCHEMES["verifier_calibrated"].categories(s, A_low=0.4).tolist() == [[[3, 3, 4]]]
    assert rubrics.evaluate(s, "verifier_calibrated", A_low=0.4).mean < rubrics.evaluate(s, "verifier_calibrated").mean
    with pytest.raises(OptionError, match="A_low"):
        rubrics.evaluate(s, "verifier_calibrated", A_low=2)


def test_calibrated_logits():
    """A prompt without content that gets the same logits leaves nothing to choose; a temperature flattens."""
    logits = np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 3.0]])
    np.testing.assert_allclose(calibrated(logits, logits[0])[0], 1 / 3)
    np.testing.assert_allclose(calibrated(logits, np.zeros(3), 2.0)[1], np.exp([0, 0, 1.5]) / (2 + np.exp(1.5)))
    assert calibrated([1e4, 0.0], [0.0, 0.0]).tolist() == [1, 0]
    with pytest.raises(DataError, match="labels"):
        calibrated(logits, np.zeros(2))
    with pytest.raises(OptionError, match="temperature"):
        calibrated(logits, logits, 0)


def test_thresholds_per_model_or_pooled():
    ratio = np.array([[[0.1, 0.2, 0.3]], [[1.0, 2.0, 3.0]]])
    s = Signals(is_correct=np.ones((2, 1, 3)), token_ratio=ratio)
    schema = SCHEMES["efficiency_adjusted"]
    assert schema.categories(s, pooled=False).tolist() == [[[4, 5, 6]], [[4, 5, 6]]]
    assert schema.categories(s, pooled=True).tolist() == [[[4, 4, 5]], [[5, 6, 6]]]


def test_exact_match_is_bayes_on_correctness():
    s = signals()
    plain = Signals(is_correct=s.is_correct)
    categories = SCHEMATA["exact_match"].categories(plain)
    assert np.array_equal(categories, s.is_correct.astype(int) + 1)
    order = np.argsort(-rubrics.evaluate(plain, "exact_match").mean, kind="stable")
    assert order.tolist() == np.argsort(-ev.bayes(s.is_correct.astype(int)).mean, kind="stable").tolist()


def test_a_schema_of_ones_own():
    mine = Schema(
        "two tries", ("wrong", "long", "short"), lambda p: (p.wrong, p.lengths[2], p.correct), weights=(0, 0, 0.5, 1)
    )
    assert rubrics.evaluate(signals(), mine).mean.shape == (4,)
    with pytest.raises(OptionError, match="2 weights for 2"):
        Schema("bad", ("one", "two"), lambda p: (p.wrong, p.correct), weights=(0, 1))
    with pytest.raises(OptionError, match="names 2 categories; its rule gives 1"):
        Schema("bad", ("one", "two"), lambda p: (p.correct,), weights=(0, 0, 1)).categories(signals())


def test_missing_attempts_and_signals():
    s = Signals(is_correct=[[[1, np.nan], [0, 1]]])
    assert SCHEMATA["length_robust"].categories(s).tolist() == [[[2, -1], [1, 2]]]
    with pytest.raises(DataError, match="has_box"):
        SCHEMES["format_aware"].categories(s)
    with pytest.raises(OptionError, match="no published weights"):
        rubrics.evaluate(signals(), "verifier_prob")
    assert rubrics.evaluate(signals(), "verifier_prob", weights=(0, 0, 0.1, 0.8, 1)).mean.shape == (4,)
    with pytest.raises(OptionError, match="unknown schema"):
        rubrics.evaluate(signals(), "vibes")
    with pytest.raises(DataError, match="agree"):
        Signals(is_correct=np.ones((1, 2, 3)), has_box=np.ones((1, 2, 4)))


def test_signals_from_a_data_frame():
    s = signals(shape=(2, 3, 4))
    index = pd.MultiIndex.from_product([["a", "b"], ["q0", "q1", "q2"], range(4)], names=["model", "question", "trial"])
    columns = {name: value.ravel() for name, value in vars(s).items() if value is not None}
    frame = pd.DataFrame(columns, index=index).reset_index().sample(frac=1, random_state=0)
    read, models, questions = Signals.from_frame(frame)
    assert (models, questions) == (("a", "b"), ("q0", "q1", "q2"))
    for name, value in vars(s).items():
        np.testing.assert_array_equal(getattr(read, name), value)
    with pytest.raises(DataError, match="'model'"):
        Signals.from_frame(frame.drop(columns="model"))
    with pytest.raises(DataError, match="two rows"):
        Signals.from_frame(pd.concat([frame, frame]))


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
def test_schemata_at_the_medians_as_the_golden_values_say() -> None:
    """scorio counts a missing cell as weight 0 and the weights seen for a model as categories; here a missing cell is
    missing, and the categories are those of the schema, which the golden values have beside its own."""
    names = {
        "Confident & Correct": "confident_correct",
        "Token Surprise vs. Correctness": "token_surprise",
        "Format Compliance & Correctness": "format_correct",
        "Difficulty-Adjusted Correctness": "difficulty_adjusted",
        "IO Ratio Profile": "io_ratio",
    }
    compared, largest = 0, 0.0
    for e in golden("answers")["examples"]:
        if e["kind"] != "schemata":
            continue
        given = e["input"]
        signals, models, questions = Signals.from_frame(given, question="problem")
        found = rubrics.evaluate_all(signals, dtype="float64")
        assert set(found) == set(names.values())
        for theirs, name in names.items():
            schema, wanted = rubrics.BY_MEDIANS[name], e["values"]["schemata"][theirs]
            assert schema.weights is not None and set(schema.weights) == set(e["values"]["weights"][theirs].values())
            categories = schema.categories(signals)
            cells = zip(given["model"], given["problem"], given["trial"], wanted["row_weight"], strict=True)
            for model, question, trial, weight in cells:
                c = categories[models.index(model), questions.index(question), int(trial)]
                assert schema.weights[c] == weight
            means = ev.avg(categories, w=schema.weights, dtype="float64").point
            for i, model in enumerate(models):
                own = wanted["by_model"][model]
                gaps = [means[i] - own["mean_of_question_means"]]
                if "bayes_all_distinct_weights" in own:
                    mean, sd = own["bayes_all_distinct_weights"]
                    gaps += [found[name].mean[i] - mean, found[name].sd[i] - sd]
                largest = max(largest, *np.abs(gaps))
                compared += len(gaps)
    print(f"answers.json schemata: {compared} values, largest difference {largest:.1e}")
    assert compared > 40 and largest < 1e-12
