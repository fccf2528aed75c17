"""Cases reduced from public reports of bugs in other programs of this kind, each with an answer worked out by hand.

The first words of a docstring are the case's number and the report. Cases that stand elsewhere name their number there.
"""

from __future__ import annotations

import json
import re
import warnings
from math import comb, erf, exp, log, pi, sqrt
from pathlib import Path

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import DataError, OptionError, UnsupportedDataError

ROWS = "model,question,score\n"


def battles(*rows: tuple, models: str | None = None) -> jr.Comparisons:
    """``(a, b, outcome, times)``."""
    a, b, outcome, count = zip(*rows, strict=True)
    return jr.Comparisons(a, b, outcome, count, models=list(models) if models else None)


def file(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def by_name(fit: jr.Result) -> dict[str, float]:
    return dict(zip(fit.models, map(float, fit.scores), strict=True))


# Battles


def test_n01_a_star_splits_into_fits_of_two():
    """N01 (arena-hard-auto 84): a further model that meets the baseline alone changes nothing between the others."""
    few = [("x", "b", 1, 7), ("x", "b", 0, 3), ("y", "b", 1, 4), ("y", "b", 0, 6)]
    for rows in (few, [*few, ("z", "b", 1, 9), ("z", "b", 0, 1)]):
        fit = jr.fit(battles(*rows), "bradley_terry", dtype="float64")
        s = by_name(fit)
        assert s["x"] - s["b"] == pytest.approx(log(7 / 3), abs=1e-9)
        assert s["y"] - s["b"] == pytest.approx(log(4 / 6), abs=1e-9)
        i, j = fit.models.index("x"), fit.models.index("b")
        ends = fit.difference_intervals(0.95)
        se = (np.asarray(ends.upper)[i, j] - np.asarray(ends.lower)[i, j]) / (2 * 1.959963984540054)
        assert se == pytest.approx(sqrt(1 / 7 + 1 / 3), rel=1e-6)


def test_n12_replicates_without_an_optimum_are_counted():
    """N12 (tabarena 193): of six battles 5:1 a replicate has one winner with probability (5/6)^6 + (1/6)^6 = .3349."""
    data = battles(("x", "y", 1, 5), ("x", "y", 0, 1))
    rep = jr.bootstrap(data, "bradley_terry", n_replicates=4000, seed=0)
    without = np.isnan(np.asarray(rep.replicate_scores)).any(axis=1).mean()
    want = (5 / 6) ** 6 + (1 / 6) ** 6
    assert abs(without - want) < 4 * sqrt(want * (1 - want) / 4000)
    counted = rep.status_counts()
    assert sum(counted.values()) == 4000 and len(counted) == 2
    assert list(jr.bootstrap(data, "bradley_terry_map", n_replicates=400).status_counts().values()) == [400]


def test_n28_batch_methods_do_not_read_the_order_of_rows():
    """N28 (whole_history_rating 10)."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 60)
    b = (a + rng.integers(1, 4, 60)) % 4
    won = rng.choice([0, 0.5, 1], 60)
    turn = rng.permutation(60)
    one, other = (jr.Comparisons(a[s], b[s], won[s]) for s in (np.arange(60), turn))
    for method in ("bradley_terry_davidson", "bradley_terry_map", "rao_kupper_map", "pagerank", "hodge_rank"):
        np.testing.assert_allclose(jr.fit(one, method).scores, jr.fit(other, method).scores, atol=1e-5)
    assert np.ptp(jr.fit(one, "elo", K=32).scores - jr.fit(other, "elo", K=32).scores) > 1
    assert any("order" in f.name for f in jr.diagnose(one).findings)


def test_n34_draws_that_elo_skips_are_said():
    """N34 (elo-rank 2, skelo 10): b beats a, c beats b, and a draws with c, ten times each."""
    data = battles(*[row for row in (("b", "a", 1, 1), ("c", "b", 1, 1), ("a", "c", 0.5, 1)) for _ in range(10)])
    skipped, drawn = jr.fit(data, "elo", K=32), jr.fit(data, "elo", K=32, ties="draw")
    assert any("10 of 30" in note for note in skipped.notes)
    assert by_name(drawn)["a"] > by_name(skipped)["a"] and by_name(drawn)["c"] < by_name(skipped)["c"]
    np.testing.assert_allclose([by_name(drawn)[m] for m in "abc"], [1463.83, 1467.75, 1568.42], atol=0.01)


@pytest.mark.parametrize("method", ["elo", "glicko", "trueskill"])
def test_n35_a_draw_has_no_direction(method: str):
    """N35 (elote 84)."""
    options = {"draw_margin": 0.7} if method == "trueskill" else {}
    one, other = (
        by_name(jr.fit(battles(("a", "b", 1, 1), (*pair, 0.5, 1)), method, ties="draw", dtype="float64", **options))
        for pair in (("a", "b"), ("b", "a"))
    )
    for model, rating in one.items():
        assert other[model] == pytest.approx(rating, abs=1e-9)


def test_n37_draws_against_wins():
    """N37 (FastChat 1886): 40-0-60 is no better than 40-60-0 where a tie is half a win."""
    rows = [("A", "c", 1, 40), ("A", "c", 0, 60), ("B", "c", 1, 33), ("B", "c", 0, 33), ("B", "c", 0.5, 34)]
    s = by_name(jr.fit(battles(*rows), "bradley_terry", ties="half", dtype="float64"))
    assert s["A"] - s["c"] == pytest.approx(log(40 / 60), abs=1e-9) and s["B"] - s["c"] == pytest.approx(0, abs=1e-9)
    rows[:2] = [("A", "c", 1, 40), ("A", "c", 0.5, 60)]
    s = by_name(jr.fit(battles(*rows), "bradley_terry", ties="half", dtype="float64"))
    assert s["A"] - s["c"] == pytest.approx(log(70 / 30), abs=1e-9)
    with pytest.raises(UnsupportedDataError, match="win_rate"):
        jr.fit(battles(*rows), "win_rate")


def test_n38_ninety_eight_ties():
    """N38 (JudgeArena 1): one win, one loss, 98 ties."""
    data = battles(("x", "y", 1, 1), ("x", "y", 0, 1), ("x", "y", 0.5, 98))
    fits = {m: jr.fit(data, m, dtype="float64") for m in ("bradley_terry", "bradley_terry_davidson")}
    for fit in fits.values():
        np.testing.assert_allclose(fit.scores, 0, atol=1e-9)
    assert any("98 of 100" in note for note in fits["bradley_terry"].notes)
    assert float(fits["bradley_terry_davidson"].params["nu"]) == pytest.approx(98, rel=1e-6)
    kappa = jr.fit(data, "rao_kupper", tie_strength=None, dtype="float64").params["kappa"]
    assert float(kappa) == pytest.approx(99, rel=1e-6)


def test_n39_a_winner_by_name(tmp_path: Path):
    """N39 (ai-agent-book 203)."""
    rows = "model_a,model_b,winner\nGPT-4,Llama-2,GPT-4\nLlama-2,GPT-4,GPT-4\nGPT-4,Llama-2,Llama-2\n"
    data = jr.read(file(tmp_path / "x.csv", rows))
    wins = dict(zip(data.models, data.wins.sum(axis=1).tolist(), strict=True))
    assert wins == {"GPT-4": 2, "Llama-2": 1}


def test_n41_verdicts_that_are_ties_or_none(tmp_path: Path):
    """N41 (ja-vicuna-qa-benchmark 47)."""
    words = ("model_a", "tie", "error", "", "model_b", "tie (bothbad)")
    head = "model_a,model_b,winner\n"
    data = jr.read(file(tmp_path / "x.csv", head + "".join(f"x,y,{w}\n" for w in words)))
    assert len(data.a) == 4 and data.ties[0, 1] == 2
    assert any("2 of 6 rows have no winner" in note for note in data.notes)
    with pytest.raises(DataError, match=r"row 2.*'C' is not an outcome"):
        jr.read(file(tmp_path / "y.csv", head + "x,y,A\nx,y,C\nx,y,B\n"))


def test_n42_both_bad_is_apart_from_a_tie(tmp_path: Path):
    """N42 (evalica 41)."""
    words = ["model_a"] * 3 + ["model_b"] + ["tie"] * 2 + ["both_bad"] * 4
    path = file(tmp_path / "x.csv", "model_a,model_b,winner\n" + "".join(f"x,y,{w}\n" for w in words))
    for bothbad, ties, said in (("tie", 6, "were read as ties"), ("drop", 2, "were dropped")):
        data = jr.read(path, bothbad=bothbad)
        assert data.ties[0, 1] == ties
        assert any('4 "both bad"' in note and said in note for note in data.notes)


KINDS = {
    "comparisons": jr.Comparisons(list("abcde"), list("bcdef"), [1.0] * 5),
    "rankings": jr.Rankings([list("abc"), list("bac"), list("de")]),
    "responses": np.array([[1, 1, 0, 0, 1, 1], [1, 1, 0, 0, 1, 0], [1, 1, 0, 0, 0, 0]])[:, :, None],
}


@pytest.mark.parametrize("kind", KINDS)
def test_n66_a_diagnosis_warns_of_methods_that_read_the_data(kind: str):
    """N66: battles were warned of win_rate and borda, which do not read them."""
    found = [f for f in jr.diagnose(KINDS[kind]) if "cannot read" not in f.means]
    assert found
    for finding in found:
        for name, entry in jr.entries().items():
            if name in finding.methods or re.search(rf"\b{name}\b", finding.means):
                ranker = entry.ranker()
                assert kind in (ranker.kinds or ranker.statistic.kinds), (finding.name, name)


# Trials


def test_n02_n62_means_are_on_the_scale_of_the_grades(tmp_path: Path):
    """N02 (alpaca_eval 471): ties are halves. N62 (deepeval 1915, PyRIT 1444): grades 1 to 5 were put on 0 to 4."""
    R = np.repeat([1, 0, 0.5], (371, 417, 17))[None, :, None]
    both = jr.Responses(np.concatenate([R, 1 - R]), levels=(0, 0.5, 1))
    assert jr.fit(both, "avg", dtype="float64").scores[0] == pytest.approx(379.5 / 805, rel=1e-12)
    grades = {"A": (5, 4, 5), "B": (3, 3, 3), "C": (1, 2, 1)}
    rows = "".join(f"{m},q{q},{g}\n" for m, row in grades.items() for q, g in enumerate(row))
    path = file(tmp_path / "x.csv", ROWS + rows)
    data = jr.read(path, levels=(1, 2, 3, 4, 5))
    assert by_name(jr.fit(data, "avg")) == pytest.approx({m: np.mean(g) for m, g in grades.items()}, rel=1e-6)
    # a uniform prior over five grades: the sum of the grades + 15, over six
    want = {m: np.mean([(g + 15) / 6 for g in row]) for m, row in grades.items()}
    assert by_name(jr.fit(data, "bayes")) == pytest.approx(want, rel=1e-6)
    assert by_name(jr.fit(jr.read(path), "avg")) == pytest.approx({m: np.mean(g) for m, g in grades.items()}, rel=1e-6)


def test_n07_n08_standard_errors_over_questions():
    """N07 (lm-evaluation-harness 3966): 0 between 0 and 1. N08 (lighteval 661): trials are no further questions."""
    for right, n in ((14, 307), (2, 123), (8, 154)):
        R = (np.arange(n) < right).astype(int)[None, :, None]
        p = right / n
        found = jr.evaluation.clustered_error(R)
        assert float(np.ravel(found)[0]) == pytest.approx(sqrt(p * (1 - p) / (n - 1)), rel=1e-6)
    R = (np.arange(4) < np.array([4, 3, 0, 1, 2])[:, None]).astype(int)[None]
    want = np.std(R.mean(axis=2), ddof=1) / sqrt(5)
    assert float(np.ravel(jr.evaluation.clustered_error(R))[0]) == pytest.approx(want, rel=1e-6)


def test_n10_discordant_questions():
    """N10 (SWE-bench 624): of 100 questions 10 only i solves and 4 only j; the bootstrap of questions, exactly."""
    R = np.zeros((2, 100, 1), int)
    R[0, :10] = R[1, 10:14] = 1
    R[:, 14:50] = 1
    rep = jr.bootstrap(R, "avg", n_replicates=20_000, scheme="questions", seed=1)

    def p(i: int, j: int) -> float:
        return comb(100, i) * comb(100 - i, j) * 0.1**i * 0.04**j * 0.86 ** (100 - i - j)

    ahead = sum(p(i, j) for i in range(101) for j in range(min(i, 101 - i)))
    even = sum(p(i, i) for i in range(51))
    found = rep.superiority()
    for value, want in ((found.above[0, 1], ahead), (found.tied[0, 1], even)):
        assert abs(float(value) - want) < 4 * sqrt(want * (1 - want) / 20_000)


def test_n11_replicates_of_data_without_variation():
    """N11 (scipy 14351): an unreadable error, or NaN."""
    R = np.ones((3, 6, 2), int)
    for method in ("avg", "bradley_terry"):
        rep = jr.bootstrap(R, method, n_replicates=200, scheme="questions")
        assert rep.ranks.tolist() == [1, 1, 1] and np.all(np.asarray(rep.replicate_ranks) == 1)
        assert not np.isnan(np.asarray(rep.replicate_scores)).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ends = jr.bootstrap(R, "avg", n_replicates=200, scheme="questions").interval()
    assert np.all(np.asarray(ends.lower) <= 1) and np.all(np.asarray(ends.upper) >= 1)


def test_n45_invalid_trials_are_missing_and_counted(tmp_path: Path):
    """N45 (stella 1054)."""
    rows = [("m", "t1", s, k) for k, s in enumerate(["1", "1", "1", "", ""])] + [("m", "t2", "0", k) for k in range(5)]
    rows += [("o", q, str(k % 2), k) for q in ("t1", "t2") for k in range(5)]
    text = "model,question,score,trial\n" + "".join(f"{m},{q},{s},{k}\n" for m, q, s, k in rows)
    data = jr.read(file(tmp_path / "x.csv", text))
    assert any("2 of 20 rows have no score" in note for note in data.notes)
    assert by_name(jr.fit(data, "avg"))["m"] == pytest.approx(0.5)
    assert by_name(jr.fit(data, "avg", pooled=True))["m"] == pytest.approx(3 / 8)


def test_n47_only_a_whole_reward_is_a_success(tmp_path: Path):
    """N47 (olmo-eval 338): two half rewards were one success."""
    rewards = (0.5, 0.5, 1, 0.9999999999)
    simulations = [
        {"id": str(k), "task_id": str(k), "trial": 0, "reward_info": {"reward": r}, "termination_reason": "agent_stop"}
        for k, r in enumerate(rewards)
    ]
    content = {
        "info": {"agent_info": {"llm": "m"}, "environment_info": {"domain_name": "d"}, "num_trials": 1},
        "tasks": [{"id": str(k)} for k in range(4)],
        "simulations": simulations,
    }
    data = jr.read(file(tmp_path / "x.json", json.dumps(content)))
    assert np.asarray(data.outcomes).ravel().tolist() == [0, 0, 1, 1]


def test_n48_n50_rows_that_are_absent_or_twice_are_named(tmp_path: Path):
    """N48 (rllm 382): a task without rows raised pass@1 in silence. N50 (reward-bench 273): ids 30 to 39 twice."""
    gap = ROWS + "m,q0,1\nm,q1,0\nq,q0,1\nq,q1,0\nq,q2,1\n"
    with pytest.warns(jr.JaxrankWarning, match=r"'m' 2/3"):
        fit = jr.fit(jr.read(file(tmp_path / "x.csv", gap)), "avg")
    assert any("'m' 2/3" in note for note in fit.notes)
    ids = [*range(10, 40), *range(30, 40)]
    rows = "".join(f"m,{i},{i % 2}\n" for i in ids) + "".join(f"n,{i},{i % 3 == 0:d}\n" for i in range(40))
    found = jr.diagnose(jr.read(file(tmp_path / "y.csv", ROWS + rows))).findings
    said = " ".join(f.says for f in found)
    assert "'m'" in said and "30" in said


def test_n51_questions_without_information_are_named():
    """N51 (SWE-bench 650): two of six solved by all, two by none."""
    R = np.array([[1, 1, 0, 0, 1, 1], [1, 1, 0, 0, 1, 0], [1, 1, 0, 0, 0, 1]])[:, :, None]
    silent = {q for f in jr.diagnose(R).findings if "solved" in f.says for q in f.questions}
    assert silent == {f"question {k}" for k in range(4)}
    with_them, without = (jr.fit(x, "mml_rasch", dtype="float64").scores for x in (R, R[:, 4:]))
    np.testing.assert_allclose(with_them, without, atol=2e-3)


# Ballots and lists


def test_n19_a_candidate_twice_in_a_ballot():
    """N19 (Condorcet 155)."""
    with pytest.raises(DataError, match=r"order 0 lists 'B' twice"):
        jr.Rankings([list("BEDCB")], models=list("ABCDE"))


def test_n21_schulze_of_45_voters():
    """N21 (Condorcet 155)."""
    votes = "5 ACBED, 5 ADECB, 8 BEDAC, 3 CABED, 7 CAEBD, 2 CBADE, 7 DCEBA, 8 EBADC"
    counts, orders = zip(*(v.split() for v in votes.split(", ")), strict=True)
    fit = jr.fit(jr.Rankings([list(o) for o in orders], list("ABCDE"), [int(c) for c in counts]), "schulze")
    assert fit.ranks.tolist() == [2, 4, 3, 5, 1]


def test_n22_minimax_strengths():
    """N22 (civs 65): equal worst margins; by winning votes another wins."""
    data = jr.Rankings([["A", "B", "C"], ["B", "C", "A"], ["C", ["A", "B"]]], list("ABC"), [3, 2, 2])
    fits = [jr.fit(data, "minimax", variant=v, tie_policy="ignore") for v in ("margin", "winning_votes")]
    assert [np.round(f.scores, 9).tolist() for f in fits] == [[-1, -1, -3], [-4, -3, -5]]


def test_n24_borda_of_a_ballot_with_a_gap():
    """N24 (VoteKit 174): an absent pair shares its point; each ballot gives three points."""
    grades = np.array([[1, 2], [0, 0], [-1, 1]])[:, :, None]
    with pytest.warns(jr.JaxrankWarning, match="shares its point"):
        fit = jr.fit(jr.Responses(grades), "borda")
    np.testing.assert_allclose(fit.scores, [3.5, 0.5, 2])


def test_n14_n15_agreement_of_scores():
    """N14 (scipy 12951): NaN gave a number. N15 (scipy 6763): scores, not ranks; the top weighs most."""
    x, y = [12, 2, 1, 12, 2], [1, 4, 7, 1, float("nan")]
    for measure in (jr.weighted_tau, jr.kendall_tau, jr.spearman):
        assert np.isnan(float(measure(np.array(x, float), np.array(y))))
    assert float(jr.weighted_tau(np.array(x, float), np.array([1, 4, 7, 1, 0.0]))) == pytest.approx(-0.566950, abs=1e-5)
    top, base, bottom = np.array([4.0, 5, 3, 2, 1]), np.array([5.0, 4, 3, 2, 1]), np.array([5.0, 4, 3, 1, 2])
    pairs = sum(1 / i + 1 / j for i in range(1, 6) for j in range(i + 1, 6))
    assert float(jr.weighted_tau(base, top)) == pytest.approx(1 - 2 * 1.5 / pairs, abs=1e-6)
    assert float(jr.weighted_tau(base, bottom)) > float(jr.weighted_tau(base, top))


# Graphs and ratings


def test_n27_pagerank_of_an_undefeated_model():
    """N27 (TheAlgorithms 14885): the weight of a model without losses was dropped."""
    fit = jr.fit(jr.Comparisons(["B", "C"], ["A", "B"], [1.0, 1.0], models=list("ABC")), "pagerank", dtype="float64")
    np.testing.assert_allclose(fit.scores, [0.184417, 0.341171, 0.474412], atol=1e-6)


def test_n30_glicko_of_sixty_games():
    """N30 (elote 71): the deviation was squared twice. One rating period a game, c = 20."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 60)
    b = (a + rng.integers(1, 4, 60)) % 4
    won = rng.choice([0, 0.5, 1], 60)
    fit = jr.fit(jr.Comparisons(a, b, won, models=list("0123")), "glicko", c=20, ties="draw", dtype="float64")
    q, r, rd = log(10) / 400, np.full(4, 1500.0), np.full(4, 350.0)
    for i, j, s in zip(a, b, won, strict=True):
        rd = np.minimum(np.sqrt(rd**2 + 20**2), 350)  # time passes for everyone
        new = []
        for own, other, result in ((i, j, s), (j, i, 1 - s)):
            g = 1 / sqrt(1 + 3 * q**2 * rd[other] ** 2 / pi**2)
            e = 1 / (1 + 10 ** (-g * (r[own] - r[other]) / 400))
            spread = 1 / (1 / rd[own] ** 2 + q**2 * g**2 * e * (1 - e))
            new.append((r[own] + q * spread * g * (result - e), sqrt(spread)))
        (r[i], rd[i]), (r[j], rd[j]) = new
    np.testing.assert_allclose(fit.scores, r, atol=1e-6)
    np.testing.assert_allclose(fit.params["rd"], rd, atol=1e-6)


def test_n32_trueskill_of_two_games():
    """N32 (trueskill 63): after one win each the last winner is ahead; Herbrich's updates written out."""
    density = lambda x: exp(-x * x / 2) / sqrt(2 * pi)
    below = lambda x: (1 + erf(x / sqrt(2))) / 2
    beta, margin = 25 / 6, 0.740466
    mu, sigma = [25.0, 25.0], [25 / 3, 25 / 3]
    for win, lose in ((0, 1), (1, 0)):
        c = sqrt(2 * beta**2 + sigma[0] ** 2 + sigma[1] ** 2)
        t = (mu[win] - mu[lose] - margin) / c
        v = density(t) / below(t)
        w = v * (v + t)
        mu[win] += sigma[win] ** 2 / c * v
        mu[lose] -= sigma[lose] ** 2 / c * v
        sigma = [s * sqrt(1 - s**2 / c**2 * w) for s in sigma]
    games = jr.Comparisons(["al", "bo"], ["bo", "al"], [1.0, 1.0], models=["al", "bo"])
    fit = jr.fit(games, "trueskill", tau=0, draw_margin=margin, dtype="float64")
    np.testing.assert_allclose(fit.scores, mu, atol=1e-9)
    np.testing.assert_allclose(fit.params["sigma"], sigma, atol=1e-9)
    np.testing.assert_allclose(mu, [23.35728, 26.64272], atol=1e-4)


@pytest.mark.slow
def test_n58_one_chain_is_one_warning():
    """N58 (arviz 1441): a warning for every parameter that R-hat cannot be had."""
    data = battles(("x", "y", 1, 7), ("x", "y", 0, 3), ("y", "z", 1, 4), ("y", "z", 0, 6))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        post = jr.posterior(data, "bradley_terry", n_chains=1, n_samples=300)
        post.summary()
    assert len([w for w in caught if issubclass(w.category, jr.JaxrankWarning)]) <= 1
    assert len(post.to_frame()) == 3


def test_unknown_scales_are_refused_by_name():
    """N04, N05: an Elo scale and a side effect are no options of Bradley-Terry, and are not taken in silence."""
    data = battles(("x", "y", 1, 10), ("x", "y", 0, 1))
    assert np.ptp(jr.fit(data, "bradley_terry", dtype="float64").scores) == pytest.approx(log(10), rel=1e-9)
    for option in ("scale", "home"):
        with pytest.raises(OptionError, match=option):
            jr.fit(data, "bradley_terry", **{option: 400})
