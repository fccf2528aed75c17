"""Answers: rules, ties, stops and curves against golden values and enumeration."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import jax
import numpy as np
import pytest
from scipy.special import logsumexp

import jaxrank as jr
from jaxrank import answers as an
from jaxrank.data.labels import choice, number, text
from jaxrank.errors import DataError, OptionError
from jaxrank.evaluation.answers.expectation import majority_curves
from jaxrank.evaluation.answers.paths import credits_of, groups_of
from jaxrank.evaluation.answers.rules import NONE
from jaxrank.evaluation.answers.tally import TIES, credit, totals_of
from jaxrank.resampling import draws
from tests.oracles import golden

EXAMPLES = golden("answers")["examples"]
MADE: dict[str, Any] = {
    "majority": lambda o: an.Majority(),
    "weighted_sum": lambda o: an.Weighted(),
    "weighted_mean": lambda o: an.Weighted("mean"),
    "softmax": lambda o: an.Softmax(o["T"]),
    "rank_weighted": lambda o: an.RankWeighted(o["p"]),
    "logit_weighted": lambda o: an.LogitWeighted(o["b"]),
    "filtered": lambda o: an.Filtered(o["keep"]),
    "filtered_unweighted": lambda o: an.Filtered(o["keep"], weighted=False),
    "best_of_n": lambda o: an.BestOfN(),
    "majority_of_the_bests": lambda o: an.MajorityOfTheBests(),
    "best_of_majority": lambda o: an.BestOfMajority(o["alpha"], o["agg"]),
    "cges": lambda o: an.Cges(),
}


def of_kind(kind: str) -> list[Any]:
    return [e for e in EXAMPLES if e["kind"] == kind]


def table(given: Any, **more: Any) -> an.Answers:
    return an.Answers([[given["answers"]]], [[given["scores"]]], **more)


def scores_of(answers: an.Answers) -> np.ndarray:
    assert answers.scores is not None
    return answers.scores[0]


def test_rules_select_and_count_as_the_golden_values_say() -> None:
    largest: dict[str, float] = {}
    for e in of_kind("answer_rules"):
        for given, lines in zip(e["input"]["sets"], e["values"], strict=True):
            answers = table(given)
            for line in lines:
                rule = MADE[line["rule"]](line["options"])
                assert answers.select(rule)[0, 0] == line["selected"], (given, line)
                if not line["votes"] or not answers.classes[0]:
                    continue
                found, _ = totals_of(rule, answers.codes[0], scores_of(answers), len(answers.classes[0]))
                if line["rule"] == "cges":
                    found = np.exp(found - logsumexp([*found[:, 0], 0]))
                for label, total in zip(answers.classes[0], found[:, 0], strict=True):
                    if total > NONE / 2 and label in line["votes"]:
                        gap = abs(total - line["votes"][label]) / max(abs(line["votes"][label]), 1e-6)
                        largest[line["rule"]] = max(largest.get(line["rule"], 0.0), gap)
                    else:
                        assert label not in line["votes"], line
    for rule, gap in largest.items():
        print(f"answers.json answer_rules: {rule}: largest difference of a total {gap:.1e}, relative")
        assert gap < 1e-8, rule
    assert len(largest) == 11  # best_of_n has no totals there


def test_stops_as_the_golden_values_say() -> None:
    largest: dict[str, float] = dict.fromkeys(("adaptive_consistency", "dirichlet_leader", "cges_stop"), 0.0)
    for e in of_kind("stopping_rules"):
        for given, wanted in zip(e["input"]["sets"], e["values"], strict=True):
            answers = table(given)
            k = len(answers.classes[0])
            for step in wanted["steps"]:
                part = answers.codes[0][:, : step["n"]], scores_of(answers)[:, : step["n"]]
                found = {
                    "adaptive_consistency": an.AdaptiveConsistency().probability(part[0], k)[0],
                    "dirichlet_leader": an.DirichletLeader().probability(part[0], k)[0],
                    "cges_stop": an.CgesStop().probability(*part, k)[0],
                }
                for name, value in found.items():
                    largest[name] = max(largest[name], abs(value - step[name][1]))
                assert an.Esc(3, sliding=True).stops(part[0], None, k)[0] == step["esc_last_3_unanimous"]
            stops = {
                **{name: an.STOPS[name]() for name in largest},
                "esc_window_3_sliding": an.Esc(3, sliding=True),
                "esc_window_3_blocks": an.Esc(3),
            }
            for name, rule in stops.items():
                done = answers.stop(rule)
                at = int(done.used[0, 0]) if done.stopped[0, 0] else None
                assert at == wanted["stops_at"][name], name
    for name, gap in largest.items():
        print(f"answers.json stopping_rules: {name}: largest difference {gap:.1e}")
        assert gap < 1e-7, name


@pytest.mark.parametrize("replace", [False, True])
def test_expectations_as_the_golden_values_say(replace: bool) -> None:
    gaps = {"majority": 0.0, "best of n": 0.0}
    key = "with_replacement" if replace else "without_replacement"
    for e in of_kind("majority_curve"):
        labels = e["input"]["answers"]
        counts = {label: labels.count(label) for label in labels}
        right = counts.pop(e["input"]["truth"], 0)
        got = an.majority_curve(right, tuple(counts.values()), replace=replace)
        gaps["majority"] = max(gaps["majority"], np.abs(got - [v[f"{key}_share"] for v in e["values"]]).max())
    for e in of_kind("best_of_n_curve"):
        got = an.best_of_n_curve(np.array(e["input"]["scores"]), np.array(e["input"]["correct"]), replace=replace)
        gaps["best of n"] = max(gaps["best of n"], np.abs(got - [v[key] for v in e["values"]]).max())
    for name, gap in gaps.items():
        print(f"answers.json {name}, {key}: largest difference {gap:.1e}")
        assert gap < 1e-12


def simulated(seed: int = 0, shape: tuple[int, int, int] = (2, 30, 8)) -> an.Answers:
    rng = np.random.default_rng(seed)
    right = rng.random(shape) < rng.beta(1, 1, shape[:2])[..., None]
    labels = np.where(right, "right", rng.choice(["a", "b", "c"], shape)).astype(object)
    labels[rng.random(shape) < 0.05] = None
    scores = np.clip(rng.normal(0.5, 0.2, shape) + 0.1 * right, 0.01, 0.99)
    return an.Answers(labels, scores, ["right"] * shape[1])


EVERY = [an.Majority(), an.BestOfN(), an.Weighted(), an.Filtered(), an.MajorityOfTheBests(), an.Filtered(0.5, False)]


@pytest.mark.parametrize("scheme", ["independent", "orders"])
def test_curves_agree_with_the_expectations_and_with_the_rules_themselves(scheme: str) -> None:
    answers = simulated()
    curves = answers.curve(EVERY, n_paths=200, n_replicates=500, scheme=scheme)
    assert curves.accuracy.shape == (len(EVERY), 2, 8)
    off = np.abs(curves.accuracy[:2] - curves.exact[:2]) / np.maximum(curves.error[:2], 1e-9)
    certain = np.abs(curves.accuracy[:2] - curves.exact[:2]) < 1e-6
    print(f"{scheme}: majority and best of n against their expectations: {off[~certain].max():.1f} standard errors")
    assert off[~certain].max() < 4.5
    assert np.all(curves.lower <= curves.accuracy + 1e-6) and np.all(curves.accuracy <= curves.upper + 1e-6)
    if scheme == "orders":  # all completions in another order: only ties can differ
        for r, rule in enumerate(EVERY):
            if r not in (0, 5):
                assert curves.accuracy[r, :, -1] == pytest.approx(answers.accuracy(rule), abs=1e-6), rule
    frame = curves.to_frame()
    assert len(frame) == curves.accuracy.size
    assert curves.gain[0].max() == 0
    turned = np.array(curves.accuracy)
    turned[0, 0], turned[1, 0] = np.linspace(0, 1, 8), 0.5
    crossing = dataclasses.replace(curves, accuracy=turned)
    assert crossing.crossings("model 0", "majority", "best_of_n") == [5]


PATHS = [*EVERY, an.RankWeighted(), an.RankWeighted(1.5), an.Softmax(0.3), an.LogitWeighted(), an.Cges()]
PATHS += [an.KdeWeighted.fit([0.7, 0.6, 0.9, 0.2, 0.4, 0.5, 0.3, 0.8], [1, 1, 1, 0, 0, 1, 0, 0], 3)]
PATHS += [an.BestOfMajority(), an.BestOfMajority(0.3, "max"), an.Weighted("mean")]


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("few", [True, False])
def test_every_prefix_of_a_path_is_credited_as_the_rule_itself_does(few: bool, ties: str) -> None:
    """Scores of three levels too: of equal ones that come first which were drawn first."""
    given = simulated(3, (1, 8, 6))
    scores = scores_of(given) if not few else np.quantile([0.2, 0.6, 0.7], scores_of(given), method="nearest")
    good = given.good
    assert good is not None
    key = jax.random.key(4)
    groups, _ = groups_of(given.codes, good, scores[None], PATHS)
    assert any(g.mixed for g in groups) == few
    compared = 0
    for group in groups:
        found = credits_of(PATHS, ties, group, key, 5, True)
        for q, cell in enumerate(group.cells):
            for path in range(5):
                drawn = np.asarray(draws.integers(draws.replicate_key(draws.replicate_key(key, cell), path), (6,), 6))
                for n in range(1, 7):
                    part = given.codes[0, [cell]][:, drawn[:n]], scores[[cell]][:, drawn[:n]]
                    for r, rule in enumerate(PATHS):
                        totals, first = totals_of(rule, *part, good.shape[1])
                        wanted = credit(totals, first, good[[cell]].T, ties)[0]
                        assert found[q, path, r, n - 1] == pytest.approx(wanted, abs=1e-3), (rule, drawn[:n], *part)
                        compared += 1
    assert compared > 1500


def test_curves_are_the_same_with_float64_switched_on() -> None:
    """As the command line has it."""
    ask = lambda: simulated(5, (1, 6, 4)).curve(PATHS, n_paths=4, n_replicates=10)
    found = ask()
    with jax.enable_x64(True):
        wide = ask()
    assert np.array_equal(found.accuracy, wide.accuracy) and np.array_equal(found.lower, wide.lower)


def test_the_weight_of_the_first_ranks_is_the_sum_of_their_weights() -> None:
    for rule in (an.RankWeighted(), an.Filtered(), an.Filtered(0.3), an.MajorityOfTheBests()):
        for n in (1, 4, 9, 30):
            ranks = np.arange(n + 1.0)
            sums = np.cumsum([0, *rule.weight(ranks[:-1], np.full(n, n), np)])
            assert rule.upto(ranks, np.full(n + 1, n), 40, np) == pytest.approx(sums, abs=1e-12), rule
    assert an.RankWeighted(2.0).upto(np.zeros(1), np.ones(1), 9, np) is None


@pytest.mark.parametrize("replace", [False, True])
def test_the_majority_of_many_questions_is_that_of_each(replace: bool) -> None:
    """Against all ways to draw; questions that share counts, and some without an answer."""
    counts = np.array([[2, 0, 1, 1, 1], [2, 1, 2, 0, 0], [4, 1, 0, 0, 0], [1, 0, 2, 1, 1], [3, 2, 0, 0, 0]])
    found = majority_curves(counts, replace)
    for row, got in zip(counts, found, strict=True):
        labels = np.repeat(np.arange(5), row)
        for n in range(1, 5):
            ways = itertools.product(labels, repeat=n) if replace else itertools.permutations(labels, n)
            votes = np.array([np.bincount(way, minlength=5) for way in ways])[:, [0, 2, 3, 4]]
            top = votes == votes.max(axis=1, keepdims=True)
            wanted = np.mean((votes[:, 0] > 0) * top[:, 0] / top.sum(axis=1))
            assert got[n - 1] == pytest.approx(wanted, abs=1e-12)


def test_a_rule_ranks_models_like_any_method() -> None:
    answers = simulated(1)
    data = answers.responses("majority", n=4)
    assert data.shape == (2, 30, 2)
    fit = jr.fit(answers, "majority", n=4)
    assert fit.scores == pytest.approx(jr.fit(data, "avg").scores)
    low, high = fit.interval()
    assert np.all((low <= fit.scores) & (fit.scores <= high))
    rep = jr.bootstrap(answers, "weighted", n=2, n_replicates=50, progress=False)
    assert rep.replicate_scores.shape == (50, 2)
    assert answers.responses(n=3).notes[-1].endswith("the last 2 unused")


def test_labels_that_are_one_answer() -> None:
    assert [number(x) for x in ("0.50", "1/2", "\\frac{1}{2}", " .5 ", "$0.5$")] == [Fraction(1, 2)] * 5
    assert number("1,000") == number("1e3") == 1000
    assert number("1e999999999") != number("1e999999998")
    assert number("x + 1") == "x + 1" and number("") is None and number(float("nan")) is None
    assert [choice(x) for x in ("B", "(b)", "B. Paris", "The answer is B", "$B$")] == ["B"] * 5
    assert choice("Paris") is None
    assert text("  The Cat. ") == text("the  cat") == "the cat"
    answers = an.Answers([[["a", "A ", None]]], truth=["A"], normalize=lambda s: s.strip().lower())
    assert answers.codes.tolist() == [[[0, 0, -1]]] and answers.correct.tolist() == [[[True, True, False]]]


def test_ties() -> None:
    answers = an.Answers([[["a", "b", "b", "a"], ["a", "b", "b", "a"]]], truth=["b", "a"])
    assert answers.accuracy().tolist() == [0.5]
    assert answers.accuracy(ties="share").tolist() == [0.5]
    assert answers.accuracy(ties="abstain").tolist() == [0.0]
    assert answers.select(ties="abstain").tolist() == [[None, None]]
    assert answers.curve(ties="share", scheme="orders", n_paths=20, n_replicates=20).accuracy[0, 0, -1] == 0.5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: a.select("weighted"), "scores"),
        (lambda a: a.select("vote"), "did you mean 'majority'\\? the rules are majority"),
        (lambda a: a.select("majority", n=9), "n=9"),
        (lambda a: a.accuracy(), "truth"),
        (lambda a: an.Answers([[["a"], ["a", "b"]]]), "from 1 to 2 completions"),
        (lambda a: an.Answers([[["a", "b"]]], [[[0.5, np.nan]]]), "no finite score"),
        (lambda a: an.Answers([[["a", "a"]]], correct=[[[1, 0]]]), "right in one completion"),
        (lambda a: an.Answers([[[["a"], "b"]]]), "cannot be compared"),
        (lambda a: an.Answers([[["a"]]], truth=["a", "b"]), "truth has 2"),
        (lambda a: an.Answers([[["a"]]], [[[2.0]]]).select("cges"), "from 0 to 1"),
        (lambda a: a.stop("never"), "the stopping rules are"),
        (lambda a: an.KdeWeighted.fit([0.1, 0.9], [0, 1]), "two right and two wrong"),
    ],
)
def test_what_is_refused(call: Any, words: str) -> None:
    with pytest.raises((DataError, OptionError), match=words):
        call(an.Answers([[["a", "b"]]]))


def test_a_calibrated_vote_prefers_what_is_more_often_right() -> None:
    rng = np.random.default_rng(0)
    good = rng.random(400) < 0.5
    scores = np.clip(rng.normal(0.4 + 0.2 * good, 0.1), 0.01, 0.99)
    rule = an.KdeWeighted.fit(scores, good)
    assert rule.formula() == an.KdeWeighted.fit(scores[:200], good[:200]).formula()  # nothing is compiled for new data
    weights = rule.weights(np.array([0.3, 0.5, 0.7]))
    assert weights[0] < -1 < 1 < weights[2] and abs(weights[1]) < 0.5
    answers = an.Answers([[["a", "a", "b"]]], [[[0.3, 0.3, 0.7]]], ["b"])
    assert answers.select(rule)[0, 0] == "b" and answers.select()[0, 0] == "a"


def test_completions_of_equal_score_are_taken_as_they_come() -> None:
    """The best of n among equal scores is the first drawn, in random orders any of them: it was the first recorded."""
    answers = an.Answers([[["a", "b", "b", "b"]]], [[[0.5, 0.5, 0.5, 0.5]]], ["a"])
    curves = answers.curve("best_of_n", n_paths=1000, n_replicates=2)
    assert curves.exact[0, 0].tolist() == [0.25] * 4
    assert np.abs(curves.accuracy - 0.25).max() < 5 * 0.0137


def test_signals_of_traces_as_the_golden_values_say() -> None:
    largest = 0.0
    for e in of_kind("trace_signals"):
        v, line, top = e["values"], e["input"]["logprobs"], e["input"]["topk_logprobs"]
        pairs = [
            (an.mean_logprob(line), v["mean"]),
            (an.sequence_logprob(line), v["sum"]),
            (an.perplexity(line), v["perplexity"]),
            *((an.self_certainty(top, how), x) for how, x in v["self_certainty"].items()),
            *((an.token_entropy(top, how), x) for how, x in v["entropy"].items()),
            *zip(an.token_confidence(top), v["token_confidence"], strict=True),
            (an.deepconf(top), v["deepconf"]["mean"]),
            (an.deepconf(top, "tail", 3), v["deepconf"]["tail_3"]),
            (an.deepconf(top, "lowest", 3), v["deepconf"]["lowest_group_window_3"]),
            (an.deepconf(top, "bottom", 3, 0.5), v["deepconf"]["bottom_group_window_3_quantile_0.5"]),
            *((an.step_score(e["input"]["step_scores"], how), x) for how, x in v["steps"].items()),
        ]
        largest = max(largest, *(abs(got / want - 1) for got, want in pairs))
    print(f"answers.json trace_signals: largest difference {largest:.1e}, relative")
    assert largest < 1e-9


def test_a_trace_is_cut_where_its_confidence_falls() -> None:
    top = [[0.0, -2.0]] * 3 + [[-4.0, -6.0]] * 3
    assert an.deepconf_cut(top, 2.0, window=3) == 2 and an.deepconf_cut(top, 0.5, window=3) is None
    assert an.deepconf_cut(top[::-1], 4.0, window=3) == 3
    assert an.deepconf_threshold([1, 2, 3, 4, 5], keep=0.2) == pytest.approx(4.2)
    uniform = np.log(np.full((2, 4), 0.25))
    assert an.varentropy(uniform) == pytest.approx(0, abs=1e-12) and an.logprob_margin(uniform) == 0
    assert an.max_probability(uniform) == pytest.approx(0.25)
    for call, words in (
        (lambda: an.deepconf([[0.5]]), "above 0"),
        (lambda: an.perplexity([]), "finite numbers"),
        (lambda: an.logprob_margin([[-1.0]]), "two most probable"),
        (lambda: an.token_entropy([[-1.0], [-1.0, -2.0]]), "as many"),
        (lambda: an.step_score([1.0], "median"), "method"),
    ):
        with pytest.raises((DataError, OptionError), match=words):
            call()


def test_the_restaurant_agrees_with_one_completion_worked_out() -> None:
    """One completion before the horizon the leader is lost where its earlier rival is drawn: 1 - E 1 / (3 + alpha)."""
    from scipy.integrate import quad
    from scipy.stats import gamma

    scale = 1 / (1 + np.euler_gamma + np.log(3))
    wanted = 1 - quad(lambda a: gamma.pdf(a, 2, scale=scale) / (3 + a), 0, 60)[0]
    rule = an.Crp(horizon=4, n_draws=40_000)
    got = rule.probability(np.array([[0, 1, 1]]), 2)[0]
    assert abs(got - wanted) < 4.5 * np.sqrt(wanted * (1 - wanted) / 40_000)
    assert rule.probability(np.array([[0, 0, 1], [-1, -1, -1]]), 2).tolist() == [1.0, 0.0]  # a tie is the earlier one's
    answers = an.Answers([[["a"] * 8 + ["b"] * 4]], truth=["a"])
    done = answers.stop("crp", horizon=12)
    assert done.stopped.all() and done.used[0, 0] < 12
    assert answers.stop("crp", horizon=5, threshold=1).used[0, 0] == 3  # two more cannot overtake three
