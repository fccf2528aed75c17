"""Comparisons, tests and sequences against golden values (tests/golden/compare.json)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.evaluation import sequential
from jaxrank.numerics.adjusted import benjamini_hochberg, holm
from jaxrank.results.comparison import evidence_of
from tests.oracles import golden as read_golden

EXAMPLES = read_golden("compare")["examples"]


def of(kind: str) -> Any:
    chosen = [e for e in EXAMPLES if e["kind"] == kind]
    assert chosen
    return pytest.mark.parametrize("example", [pytest.param(e, id=e["id"]) for e in chosen])


def near(example: Any, found: Any, golden: Any) -> None:
    rel, least = (example["tolerance"].get(k, 0) for k in ("rel", "abs"))
    np.testing.assert_allclose(found, np.asarray(golden, float), rtol=max(rel, 1e-12), atol=max(least, 1e-14))


def responses(given: Any) -> jr.Responses:
    R = np.array([given["new"], given["old"]], float)  # null: nothing was seen
    questions = [f"q{m}" for m in range(R.shape[1])]
    keep = ~np.isnan(R).all(axis=2)
    assert keep.any(axis=0).all()
    options = {"weights": given["weight"], "groups": given["group"]}
    down = not given["higher_is_better"]
    return jr.Responses(R, ["new", "old"], questions, lower_is_better=down, **options)


@of("paired_difference")
def test_paired_differences(example: Any) -> None:
    given, golden = example["input"], example["values"]
    data = responses(given)
    for unit, cluster in (("question", None), ("group", "group")):
        own = golden["by_unit"][unit]
        found = jr.compare(data, "new", "old", cluster=cluster, test="t")
        assert len(found.questions) == golden["n_common"]
        assert list(found.left_out) == [f"q{m}" for m in golden["not_common"]]
        near(example, found.paired.differences, golden["d"])
        near(example, [found.difference, found.se, found.df], [own["D"], own["se"], own["df"]])
        near(example, found.p, own["p"])
        near(example, found.interval().lower, own["ci95"][0])
        near(example, found.interval(0.9).upper, own["ci90"][1])
        near(example, found.minimum_detectable(0.8), own["minimum_detectable_80"])
        near(example, found.minimum_detectable(0.9), own["minimum_detectable_90"])
        for margin, verdict in own["verdict_by_margin"].items():
            for test in ("t", None):
                again = jr.compare(data, "new", "old", cluster=cluster, margin=float(margin), test=test)
                assert again.verdict == verdict, (cluster, margin, test)
    trials, own = jr.compare(data, "new", "old").paired.by_trial, golden["unit_trials"]
    if own["se"] is not None:
        near(example, [trials.value, trials.se, trials.df], [own["D"], own["se"], own["welch_satterthwaite_df"]])
        near(example, trials.p, own["p_welch"])
        near(example, trials.value - trials.reach(0.95), own["ci95_welch"][0])
    flat = jr.compare(jr.Responses(data.values, ["new", "old"], lower_is_better=not given["higher_is_better"]))
    shares = golden["variance_shares_unweighted"]
    near(example, flat.paired.variance_between, shares["S2"])
    if shares["T"] is not None:
        near(example, flat.paired.variance_of_trials, shares["T"])
        near(example, flat.shares["trials"], shares["share_trials"])
    for gap, plan in golden.get("planning_normal_quantiles_power80_unweighted", {}).items():
        assert flat.questions_needed(float(gap)) == plan["questions_ceil"]
        if plan["trials_ceil"] is not None:
            assert flat.trials_needed(float(gap)) == float(plan["trials_ceil"])


@of("sign_flip")
def test_sign_flips(example: Any) -> None:
    given, golden = example["input"], example["values"]
    d = np.array(given["d_numerator"]) / given["d_denominator"]
    totals = np.bincount(given["cluster"], np.array(given["weight"]) * d)
    near(example, jr.evaluation.sign_flip(totals), golden["p_two_sided"])


@of("wilcoxon")
def test_signed_ranks(example: Any) -> None:
    golden = example["values"]
    near(example, jr.evaluation.signed_rank(example["input"]["d"]), golden["p_exact_zeros_dropped"])


@of("tost")
def test_two_one_sided_tests(example: Any) -> None:
    given, golden = example["input"], example["values"]
    data = jr.Responses([given["new"], given["old"]], ["new", "old"], kind="real")
    found = jr.compare(data, margin=given["margin"])
    plain = found.paired.by_question
    near(example, plain.above(-given["margin"]), golden["p_lower"])
    near(example, plain.below(given["margin"]), golden["p_upper"])
    near(example, np.asarray(found.interval(0.9)), golden["ci90"])
    assert (found.evidence.p_small <= 0.05) == golden["equivalent_at_05"]


@of("mcnemar")
def test_mcnemar(example: Any) -> None:
    given, golden = example["input"], example["values"]
    new, old = np.array(given["new"]), np.array(given["old"])
    counts = int((new > old).sum()), int((old > new).sum())
    assert counts == (golden["new_only"], golden["old_only"])
    near(example, jr.evaluation.mcnemar(*counts), golden["p"])
    near(example, jr.evaluation.mcnemar(*counts, mid=True), golden["mid_p"])
    found = jr.compare(np.array([new, old]), test="mcnemar")
    near(example, found.p, golden["p"])
    near(example, jr.compare(np.array([new, old]), test="sign_flip").p if sum(counts) <= 20 else found.p, golden["p"])


@of("adjusted_p")
def test_adjusted(example: Any) -> None:
    p, golden = np.array(example["input"]["p"]), example["values"]
    near(example, holm(p), golden["holm"])
    near(example, benjamini_hochberg(p), golden["bh"])


@of("all_pairs")
def test_all_pairs(example: Any) -> None:
    given, golden = example["input"], example["values"]
    data = jr.Responses(np.array(given["means"]), given["models"], kind="real")
    found = jr.compare_all(data)
    assert found.names == tuple(f"{g['new']} - {g['old']}" for g in golden["pairs"])
    near(example, found.difference, [g["D"] for g in golden["pairs"]])
    near(example, found.se, [g["se"] for g in golden["pairs"]])
    t = np.array([jr.compare(data, g["new"], g["old"], test="t").p for g in golden["pairs"]])
    near(example, t, [g["p"] for g in golden["pairs"]])
    near(example, holm(t), [g["holm"] for g in golden["pairs"]])
    near(example, benjamini_hochberg(t), [g["bh"] for g in golden["pairs"]])
    first = t[: len(given["models"]) - 1]
    near(example, holm(first), [g["holm"] for g in golden["against_first"]])
    near(example, benjamini_hochberg(first), [g["bh"] for g in golden["against_first"]])


@of("sign_process")
def test_sign_process(example: Any) -> None:
    wins, losses = np.array(example["input"]["wins_losses"]).T
    found, golden = sequential.sign_process(wins, losses), example["values"]
    better = sequential.sign_process(wins, losses, alternative="better")
    worse = sequential.sign_process(wins, losses, alternative="worse")
    for mine, key in ((found, "log_e"), (better, "log_e_upper")):  # to the last digit of the terms, some 4,000
        np.testing.assert_allclose(mine.log_e, [g[key] for g in golden], rtol=1e-12, atol=2e-11)
    np.testing.assert_allclose(found.p, [g["p_anytime"] for g in golden], rtol=2e-11)
    assert [bool(p <= 0.05) for p in found.p] == [g["reject_05"] for g in golden]
    np.testing.assert_allclose(better.e + worse.e, 2 * found.e, rtol=1e-9)
    for s, f in ((10, 2), (5, 5)):
        path = np.r_[np.ones(s), -np.ones(f)]
        last = np.asarray(sequential.sign_sequence(np.insert(path, 3, 0)))[-1]
        np.testing.assert_allclose(last, sequential.sign_process(s, f).log_e, rtol=1e-4)


@of("confidence_sequence")
def test_confidence_sequences(example: Any) -> None:
    given, golden = example["input"], example["values"]
    x, low, high, alpha = given["x"], given["low"], given["high"], given["alpha"]
    found = sequential.confidence_sequence(x, low, high, alpha, population=given["population"])
    ends = ("lower_logical", "upper_logical") if given["population"] else ("lower", "upper")
    np.testing.assert_allclose(found.lower, golden[ends[0]], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.upper, golden[ends[1]], rtol=1e-9, atol=1e-9)
    for mean in np.linspace(low, high, 7)[1:-1]:  # the process excludes what the bounds exclude, of a set of its own
        out = sequential.betting_process(np.array(x), mean, low, high, alpha, population=given["population"])
        first = found.first_excluding(mean)
        gone = np.flatnonzero(np.asarray(out) >= np.log(1 / alpha))
        if given["population"] is None:
            assert (int(gone[0]) + 1 if len(gone) else None) == first
        else:  # bounds know what is impossible a step sooner
            assert not len(gone) or (first is not None and first <= int(gone[0]) + 1)


@of("e_bh")
def test_e_benjamini_hochberg(example: Any) -> None:
    found = sequential.e_benjamini_hochberg(example["input"]["e"], example["input"]["alpha"])
    assert sorted(np.flatnonzero(found)) == sorted(example["values"]["rejected"])
    assert found.sum() == example["values"]["k"]


@of("bayes_probability")
def test_bayes_probability(example: Any) -> None:
    """By the normal approximation, which the file has beside the exact value."""
    data = jr.Responses([example["input"]["new"], example["input"]["old"]], ["new", "old"])
    found = jr.evaluation.probability_better(data, "new", "old")
    np.testing.assert_allclose(found, example["values"]["probability_normal"], atol=2e-6)


def test_the_margin_is_a_part_of_the_evidence() -> None:
    data = jr.Responses(np.random.default_rng(0).random((2, 40)), kind="real")
    paired = jr.compare(data).paired
    assert np.isnan(evidence_of(paired, "questions", 0.0, 1.0).p_small)
    small = [evidence_of(paired, "questions", m, 1.0).p_small for m in (0.1, 0.2, 0.4)]
    assert small == sorted(small, reverse=True)


@of("variance_components")
def test_variance_components(example: Any) -> None:
    y = np.array(example["input"]["y"])
    n_models, n_prompts = y.shape[:2]
    runs = [(f"m{i}", f"p{j}") for i in range(n_models) for j in range(n_prompts)]
    table = {"model": ["".join(r) for r in runs], "llm": [r[0] for r in runs], "prompt": [r[1] for r in runs]}
    data = jr.Responses(y.reshape(-1, *y.shape[2:]), table, kind="real")
    found, golden = jr.compare_factors(data, ["llm", "prompt"]), example["values"]
    own = lambda name: ":".join("llm" if part == "model" else part for part in name.split(":"))
    for table, mine in (("mean_squares", found.mean_squares), ("components_raw", found.components)):
        near(example, [mine[own(n)] for n in golden[table]], list(golden[table].values()))
    near(example, [found.shares[own(n)] for n in golden["shares_truncated"]], list(golden["shares_truncated"].values()))
    assert {own(n): d for n, d in golden["df"].items()} == dict(found.degrees)
    near(example, found.means[0], golden["marginal_mean_model"])
    near(example, found.means[1], golden["marginal_mean_prompt"])
    rows = {(r["factor"], r["new"], r["old"]): r for r in found.differences}
    for factor, key, name in (("llm", ("m0", "m1"), "model_0_minus_1"), ("prompt", ("p0", "p1"), "prompt_0_minus_1")):
        row = rows[(factor, *key)]
        near(example, [row["difference"], row["se"]], [golden[name]["D"], golden[name]["se_over_questions"]])
    row, golden = found.interactions[0], golden["interaction_model01_prompt01"]
    near(example, [row["difference"], row["se"]], [golden["D"], golden["se_over_questions"]])


@of("cost_frontier")
def test_cost_frontiers(example: Any) -> None:
    given, golden = example["input"], example["values"]
    data = jr.Responses(np.array(given["scores"]), {"model": given["models"], "cost": given["cost"]}, kind="real")
    found = jr.cost_frontier(data, n_replicates=40_000)
    assert [m for m, on in zip(found.models, found.frontier, strict=True) if on] == golden["frontier"]
    p = np.array(golden["bootstrap_probability"])
    assert np.all(np.abs(found.probability - p) <= 1e-9 + 4 * np.sqrt(p * (1 - p) / 40_000))
