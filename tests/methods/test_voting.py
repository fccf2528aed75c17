"""Voting rules: hand-worked elections, golden profiles, multiplicities, missing cells, batches."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.statistics import Counts
from jaxrank.errors import OptionError
from jaxrank.methods import majority
from jaxrank.methods.catalogue import entries, make
from jaxrank.models.preferences import preferences
from jaxrank.numerics.graph import reachability
from jaxrank.numerics.paths import widest_paths
from jaxrank.numerics.status import Status
from tests.oracles import golden, tensor_params

FAMILIES = ("voting", "condorcet", "elimination", "majority", "kemeny")
ALL = [name for name, e in entries().items() if e.family in FAMILIES]
ON_DEVICE = [name for name in ALL if not make(name).host]
CYCLE = [[[1, 1], [0, 0], [1, 0]], [[1, 0], [1, 1], [0, 0]], [[0, 0], [1, 0], [1, 1]]]


def tensor(voters):
    """R whose questions order the models as the voters do (repeated by weight): as many right as models below."""
    n = len(voters[0][1])
    rows = []
    for weight, ranks in voters:
        grade = [sum(r > own for r in ranks) for own in ranks]
        rows += [grade] * weight
    grades = np.array(rows).T  # (L, M)
    return (np.arange(n - 1) < grades[:, :, None]).astype(int)


def groups(ranks):
    """Tie groups, best first."""
    return [np.flatnonzero(ranks == r).tolist() for r in np.unique(ranks)]


votes_between = jax.jit(preferences)


@eqx.filter_jit
def mapped(ranker, stats):
    return jax.vmap(lambda s: ranker(s))(stats)


def counts(successes, trials, questions=None):
    """Counts of binary outcomes, arrays (..., L, M)."""
    k, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    q = np.ones(k.shape[:-2] + k.shape[-1:]) if questions is None else np.asarray(questions, float)
    levels = np.broadcast_to([0.0, 1.0], (*k.shape[:-2], 2))
    return Counts(np.stack([n - k, k], -1), q, levels)


# --- golden profiles -------------------------------------------------------------------------------------------------

GOLDEN = {
    "borda": ("borda", {}),
    "copeland": ("copeland", {}),
    "win_rate": ("win_rate", {}),
    "nanson": ("nanson_weak", {}),
    "nanson_rank_ties_average": ("nanson_strict", {"strict": True}),
    "baldwin": ("baldwin", {}),
    "majority_judgment": ("majority_judgment", {}),
}
PROFILES = (
    "tennessee",
    "cycle3",
    "condorcet60",
    "condorcet81",
    "schulze45",
    "schulze_vs_ranked_pairs",
    "nanson_vs_baldwin",
    "nanson_weak_vs_strict",
    "minimax_elects_condorcet_loser",
    "kemeny_schulze_rp_all_differ",
    "borda_copeland_minimax_all_differ",
    "margins_vs_winning_votes_ties",
    "weak_orders_small",
    "all_indifferent",
    "unanimous",
)
N_VOTERS = 11  # at most so many distinct voters in a profile; padded to it, so that profiles share compiled code


def profile(name):
    """Results, and counts: one question a distinct voter, with its weight as multiplicity."""
    found = golden("06_voting")["profiles"][name]
    ranks = np.array([ranks for _, ranks in found["voters"]])
    grades = (ranks[:, None, :] > ranks[:, :, None]).sum(axis=2).T  # (L, voters): number of models ranked below
    pad = N_VOTERS - grades.shape[1]
    weights = [weight for weight, _ in found["voters"]]
    return found["results"], np.pad(grades, ((0, 0), (0, pad))), np.pad(weights, (0, pad))


@eqx.filter_jit
def compiled(ranker, stat):
    return ranker(stat)


def fitted(profile, method, **options):
    """NumPy scores, tie groups (best first) and params, in float64."""
    _, grades, weights = profile
    with jax.enable_x64(True):
        ranker = make(method, **options)
        run = ranker if ranker.host else functools.partial(compiled, ranker)
        fit = run(counts(grades, len(grades) - 1, weights))
        ranks = np.asarray(jr.rank_scores(fit.scores, resolution=fit.resolution))
        return np.asarray(fit.scores), groups(ranks), jax.tree.map(np.asarray, fit.params)


def exact(values):
    """Nested lists, or a dict by candidate, of whole numbers and fractions in words."""
    if isinstance(values, dict):
        values = [values[str(i)] for i in range(len(values))]
    return np.array([exact(v) if isinstance(v, list) else float(Fraction(v)) for v in values])


def cases_of(results, rule):
    """The (tie policy, golden entry) pairs of a rule whose strength is winning votes."""
    for policy in ("ignore", "half"):
        yield policy, results.get(f"{rule}_winning_votes_{policy}", results.get(f"{rule}_winning_votes"))


@pytest.mark.parametrize("n_voters", [1, 30, 32, 33, 200])
@pytest.mark.parametrize("fraction", [1.0, 0.3])
def test_losses_are_wins_turned_round(n_voters: int, fraction: float) -> None:
    """To the last bit, whether they are summed on their own or not; so are margins antisymmetric."""
    rng = np.random.default_rng(n_voters)
    stat = Counts.of(jr.Responses((rng.random((7, n_voters, 3)) < 0.5).astype(int)))
    stat = eqx.tree_at(lambda s: s.questions, stat, jnp.asarray(rng.integers(0, 4, n_voters) * fraction))
    found = preferences(stat)
    np.testing.assert_array_equal(found.losses, found.wins.T)
    np.testing.assert_array_equal(found.margins, -found.margins.T)
    assert np.asarray(found.wins).any() or n_voters == 1


def test_every_golden_profile_is_tested():
    assert sorted(golden("06_voting")["profiles"]) == sorted(PROFILES)


def test_the_recipe_of_the_profiles():
    """The tensor of whole voters gives the same scores as one question a distinct voter, weighted."""
    found = golden("06_voting")["profiles"]["tennessee"]
    for method in ("borda", "copeland", "majority_judgment"):
        whole = jr.fit(tensor(found["voters"]), method)
        assert np.array_equal(whole.scores, fitted(profile("tennessee"), method)[0])


@pytest.mark.parametrize("name", PROFILES)
def test_golden_profile(name):
    election = results, grades, weights = profile(name)
    for method, (key, options) in GOLDEN.items():
        scores, ranking, _ = fitted(election, method, **options)
        assert ranking == results[key]["ranking"], method
        for kind in ("scores", "scores_wins_minus_losses"):
            if kind in results[key]:
                worst = np.abs(scores - exact(results[key][kind])).max()
                assert worst <= (1e-15 if method == "win_rate" else 0), method
    pref = votes_between(counts(grades, len(grades) - 1, weights))
    assert np.array_equal(pref.wins, results["pairwise_strict"])
    assert np.array_equal(pref.ties, results["pairwise_ties"])


@pytest.mark.parametrize("name", PROFILES)
def test_golden_minimax(name):
    election = results, *_ = profile(name)
    for policy, want in cases_of(results, "minimax"):
        scores, ranking, _ = fitted(election, f"minimax_variant_winning_votes_tie_{policy}")
        assert np.array_equal(scores, exact(want["scores"]))
        assert ranking == want["ranking"]
    scores, ranking, _ = fitted(election, "minimax")
    assert np.array_equal(scores, exact(results["minimax_margin"]["scores"]))
    assert ranking == results["minimax_margin"]["ranking"]


@pytest.mark.parametrize("name", PROFILES)
def test_golden_schulze(name):
    election = results, *_ = profile(name)
    for policy, want in cases_of(results, "schulze"):
        _, ranking, params = fitted(election, f"schulze_tie_{policy}")
        paths, off = params["paths"], ~np.eye(len(params["paths"]), dtype=bool)
        assert np.array_equal(paths[off], exact(want["strongest_paths"])[off])
        assert np.argwhere((paths > paths.T) & off).tolist() == sorted(want["relation_i_beats_j"])
        assert ranking == want["ranking"]


@pytest.mark.parametrize("name", PROFILES)
def test_golden_ranked_pairs(name):
    """The published order where all ways to break ties give one; else no pair against all of them."""
    election = results, *_ = profile(name)
    wanted = [("winning_votes", p, w) for p, w in cases_of(results, "ranked_pairs")]
    wanted += [("margin", "half", results["ranked_pairs_margin"])]
    for strength, policy, want in wanted:
        _, ranking, params = fitted(election, f"ranked_pairs_strength_{strength}_tie_{policy}")
        victory = exact(results["pairwise_strict"]) > exact(results["pairwise_strict"]).T
        if (
            want["unique"] or not (reachability(jnp.asarray(victory)) & victory.T).any()
        ):  # without cycles: any tie-break
            assert ranking == want["ranking_index_tie_break"]
        elif want["rankings_over_all_tie_breaks"]:
            orders = want["rankings_over_all_tie_breaks"]
            level = np.array([[[x in g for g in order].index(True) for x in range(len(victory))] for order in orders])
            for i, j in np.argwhere(params["above"]):
                assert (level[:, i] < level[:, j]).any()


# entries of the golden tensors -> identifiers and options
TENSOR_KEYS = {
    **{name: (name, {}) for name in ("borda", "win_rate", "copeland", "nanson", "baldwin", "majority_judgment")},
    "nanson_strict": ("nanson", {"strict": True}),
    "nanson_max": ("nanson_rank_ties_max", {}),
    "baldwin_max": ("baldwin_rank_ties_max", {}),
    **{f"schulze_{p}": (f"schulze_tie_{p}", {}) for p in ("half", "ignore")},
    **{f"kemeny_young_{p}": (f"kemeny_young_tie_{p}", {}) for p in ("half", "ignore")},
    **{
        f"{rule}_{strength}_{p}": (f"{rule}_{field}_{strength}_tie_{p}", {})
        for rule, field in (("minimax", "variant"), ("ranked_pairs", "strength"))
        for strength in ("margin", "winning_votes")
        for p in ("half", "ignore")
    },
}


@pytest.mark.parametrize("name", tensor_params(slow=("T1", "T2", "T3", "T5")))
def test_golden_tensors(name):
    found = golden("11b_tensor_oracles")["tensors"][name]
    R = np.array(found["R"])
    for key, (method, options) in TENSOR_KEYS.items():
        want = found["methods"][key]
        fit = jr.fit(R, method, dtype="float64", **options)
        if "ranking" in want:
            assert groups(fit.ranks) == want["ranking"], key
        if "scores" in want and method.startswith(("borda", "copeland", "win_rate", "minimax")):
            assert np.abs(fit.scores - np.array(want["scores"])).max() <= 1e-15 * R.shape[0] * R.shape[1], key


# --- cases -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("value", [0, 1])
def test_case_A08_all_equal(method, value):
    assert jr.fit(np.full((3, 2, 2), value), method).ranks.tolist() == [1, 1, 1]


@pytest.mark.parametrize("method", ALL)
def test_case_C03_cycle(method):
    """Ranked pairs too: three equal victories on a cycle are locked together, and their models tie."""
    assert jr.fit(CYCLE, method).ranks.tolist() == [1, 1, 1]


@pytest.mark.parametrize("method", ALL)
def test_case_C04_identical_rows(method):
    R = [  # rows 1, 2, 3 are equal
        [[1, 1], [0, 0], [1, 0]],
        [[1, 0], [1, 0], [0, 0]],
        [[1, 0], [1, 0], [0, 0]],
        [[1, 0], [1, 0], [0, 0]],
        [[0, 0], [1, 1], [1, 1]],
    ]
    fit = jr.fit(R, method)
    assert len(set(fit.ranks[1:4].tolist())) == 1
    assert len(set(fit.scores[1:4].tolist())) == 1


def test_case_C07_copeland():
    R = [
        [[1, 1, 1], [1, 0, 0], [1, 1, 0]],
        [[1, 1, 0], [1, 1, 1], [1, 0, 0]],
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
        [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
    ]
    fit = jr.fit(R, "copeland")
    assert fit.scores.tolist() == [1, 1, 1, -3]
    assert fit.ranks.tolist() == [1, 1, 1, 4]


def test_case_C08_lower_median():
    fit = jr.fit([[[1, 1, 1, 1], [0, 0, 0, 0]], [[1, 0, 0, 0], [1, 0, 0, 0]]], "majority_judgment")
    assert (4 * fit.params["median"]).tolist() == [0, 1]
    assert fit.ranks.tolist() == [2, 1]


def test_case_C11_win_rate_reads_deciding_votes():
    fit = jr.fit(jr.Responses.from_counts([[2, 2, 0], [2, 1, 0], [0, 2, 0]], 2), "win_rate", dtype="float64")
    assert np.allclose(fit.scores, [1, 1 / 3, 1 / 3], rtol=0, atol=1e-15)
    assert fit.ranks.tolist() == [1, 2, 2]


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.int64, np.float32, np.float16, list])
def test_case_H06_dtypes(dtype):
    R = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]])
    given = R.tolist() if dtype is list else R.astype(dtype)
    assert jr.fit(given, "copeland").ranks.tolist() == [1, 2, 2]
    assert jr.fit(given, "minimax").scores.tolist() == [0, -1, -1]


def test_case_J03_borda_depends_on_the_models():
    """Voters 2>0>1 twice, 0>1>2, 1>2>0 twice, as counts of 2 trials."""
    k = np.array([[1, 1, 2, 0, 0], [0, 0, 1, 2, 2], [2, 2, 0, 1, 1]])
    assert jr.fit(jr.Responses.from_counts(k, 2), "borda").scores.tolist() == [4, 5, 6]
    assert jr.fit(jr.Responses.from_counts(k[:2], 2), "borda").scores.tolist() == [3, 2]
    three, two = (jr.fit(jr.Responses.from_counts(x, 2), "avg").scores[:2] for x in (k, k[:2]))
    assert np.array_equal(three, two)
    wins = [votes_between(Counts.of(jr.Responses.from_counts(x, 2))).wins[:2, :2] for x in (k, k[:2])]
    assert np.array_equal(*wins)


# --- weights, missing cells, batches ---------------------------------------------------------------------------------


def run(method, k, n, questions=None):
    """One fit, compiled once for each shape."""
    ranker, stat = make(method), counts(k, n, questions)
    return ranker(stat) if ranker.host else compiled(ranker, stat)


@pytest.mark.parametrize("method", ALL)
def test_multiplicities_are_repeated_questions(method):
    rng = np.random.default_rng(3)
    k, times = rng.integers(0, 4, (6, 9)), np.array([2, 0, 1, 2, 1, 0, 2, 1, 0])
    weighted, repeated = run(method, k, 3, times), run(method, np.repeat(k, times, axis=1), 3)
    assert np.array_equal(weighted.scores, repeated.scores)


@pytest.mark.parametrize("method", ALL)
def test_fractional_weights_give_the_order_of_whole_ones(method):
    """All multiplicities one third: sums are rounded, and votes that tie must still tie."""
    rng = np.random.default_rng(4)
    for _ in range(3):
        k = rng.integers(0, 3, (6, 9))
        whole, thirds = run(method, k, 2), run(method, k, 2, np.full(9, 1 / 3))
        assert np.array_equal(jr.rank_scores(whole.scores), jr.rank_scores(thirds.scores))


@pytest.mark.parametrize("method", ALL)
def test_labels_do_not_matter(method):
    """On data full of ties and cycles, with cells of unequal trials and missing ones."""
    rng = np.random.default_rng(5)
    for _ in range(4):
        n = rng.integers(0, 3, (6, 9))
        n[:, 0] = 2
        k = rng.integers(0, n + 1)
        order = rng.permutation(6)
        fit, moved = run(method, k, n), run(method, k[order], n[order])
        assert int(fit.status) == Status.CONVERGED
        assert np.array_equal(fit.scores[order], moved.scores)


@pytest.mark.parametrize("method", ON_DEVICE)
def test_batch_is_a_loop(method):
    rng = np.random.default_rng(6)
    k = rng.integers(0, 4, (5, 6, 9))
    q = rng.multinomial(9, np.full(9, 1 / 9), size=5)
    batch = mapped(make(method), counts(k, 3, q))
    for b in range(5):
        assert np.array_equal(batch.scores[b], run(method, k[b], 3, q[b]).scores)


def test_shares_compare_unequal_trials():
    """1 of 3 and 2 of 6 tie; 1 of 2 beats both."""
    fit = jr.fit(jr.Responses.from_counts([[1], [2], [1]], [[3], [6], [2]]), "copeland")
    assert fit.scores.tolist() == [-1, -1, 2]


def test_missing_cells_abstain():
    """Where a pair is not compared on a question, that question has no vote; Borda shares its point."""
    R = np.array([[[1], [1], [-1]], [[0], [-1], [1]], [[0], [0], [0]]])
    pref = votes_between(Counts.of(jr.Responses(R)))
    assert pref.wins.tolist() == [[0, 1, 2], [0, 0, 1], [0, 0, 0]]
    assert pref.ties.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    borda = np.asarray(compiled(make("borda"), Counts.of(jr.Responses(R))).scores)
    assert borda.tolist() == [4.5, 3.0, 1.5]
    assert borda.sum() == 3 * 3  # every question hands out L (L - 1) / 2 points


@pytest.mark.parametrize("method", ALL)
def test_a_model_without_votes_is_undefined(method):
    n = np.full((6, 9), 2)
    n[5] = 0
    fit = run(method, np.minimum(np.random.default_rng(2).integers(0, 3, (6, 9)), n), n)
    assert int(fit.status) == Status.UNDEFINED
    assert np.isnan(fit.scores).tolist() == [False] * 5 + [True]


def test_many_questions_are_read_in_chunks():
    rng = np.random.default_rng(7)
    k, q = rng.integers(0, 5, (4, 101)), rng.integers(0, 3, 101)
    pref = votes_between(counts(k, 4, q))
    above = k[:, None, :] > k[None, :, :]
    level = (k[:, None, :] == k[None, :, :]) & ~np.eye(4, dtype=bool)[:, :, None]
    assert np.array_equal(pref.wins, above @ q)
    assert np.array_equal(pref.ties, level @ q)


def test_widest_paths_in_blocks():
    """100 nodes go in blocks; the plain recursion on the host says the same."""
    rng = np.random.default_rng(8)
    strength = np.where(rng.random((100, 100)) < 0.05, rng.integers(1, 50, (100, 100)), 0).astype(np.float32)
    want = strength.copy()
    for k in range(100):
        want = np.maximum(want, np.minimum(want[:, k, None], want[k]))
    assert np.array_equal(jax.jit(widest_paths)(strength), want)


# --- single rules ----------------------------------------------------------------------------------------------------


def by_removal(grades):
    """Sequence of lower medians while one median after another is removed."""
    rest, out = sorted(grades), []
    while rest:
        out.append(rest.pop((len(rest) - 1) // 2))
    return out


@pytest.mark.parametrize("n_questions", [1, 2, 5, 6])
def test_majority_judgment_removes_medians(n_questions):
    rng = np.random.default_rng(n_questions)
    k = rng.integers(0, 3, (40, 8, n_questions))
    scores = np.asarray(mapped(make("majority_judgment"), counts(k, 2)).scores)
    for one, got in zip(k, scores, strict=True):
        value = [by_removal(row) for row in one.tolist()]
        assert got.tolist() == [-sum(other > own for other in value) for own in value]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_majority_judgment_sorts_many_grades(dtype):
    rng = np.random.default_rng(9)
    with jax.enable_x64(dtype == "float64"):
        grade = rng.integers(0, 6, (5, 300)) / 5
        weight = rng.integers(0, 3, (5, 300)) * (rng.random((5, 300)) < 0.9)
        weight = weight / weight.sum(axis=1, keepdims=True)
        both = (majority.by_counting, majority.by_sorting)
        found = [jax.jit(lambda g, w, f=f: majority._compare(*f(g, w)))(grade, weight) for f in both]
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])


def ranked_pairs_by_hand(margin):
    """Pairs locked by every way to break ties, one victory at a time."""
    n = len(margin)
    victories = [(i, j) for i in range(n) for j in range(n) if margin[i, j] > 0]
    strengths = sorted({margin[i, j] for i, j in victories}, reverse=True)
    by_strength = [[v for v in victories if margin[v] == s] for s in strengths]
    for choice in itertools.product(*(itertools.permutations(group) for group in by_strength)):
        reach = np.eye(n, dtype=bool)
        for i, j in itertools.chain(*choice):
            if not reach[j, i]:
                reach |= reach[:, [i]] & reach[[j], :]
        yield reach & ~np.eye(n, dtype=bool)


def test_ranked_pairs_against_all_ways_to_break_ties():
    rng = np.random.default_rng(10)
    unique = 0
    for _ in range(60):
        k = np.array([rng.permutation(4) for _ in range(5)]).T
        fit = jr.fit(jr.Responses.from_counts(k, 3), "ranked_pairs")
        pref = votes_between(Counts.of(jr.Responses.from_counts(k, 3)))
        locked = list(ranked_pairs_by_hand(np.asarray(pref.margins)))
        above = np.asarray(fit.params["above"])
        if all(np.array_equal(locked[0], other) for other in locked):
            assert np.array_equal(above, locked[0])
            unique += 1
    assert unique >= 10


def test_nanson_strict_keeps_those_at_the_mean():
    """Borda 3, 2, 1 with mean 2: at or below drops two, below drops one."""
    k = np.array([[2], [1], [0]])
    data = jr.Responses.from_counts(k, 2)
    assert jr.fit(data, "nanson").ranks.tolist() == [1, 2, 2]
    assert jr.fit(data, "nanson", strict=True).ranks.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("minimax", {"variant": "losses"}),
        ("minimax", {"tie_policy": "drop"}),
        ("schulze", {"tie_policy": "drop"}),
        ("ranked_pairs", {"strength": "votes"}),
        ("nanson", {"rank_ties": "min"}),
        ("baldwin", {"rank_ties": "min"}),
        ("kemeny_young", {"tie_policy": "drop"}),
    ],
)
def test_unknown_options_are_refused(method, options):
    with pytest.raises(OptionError, match="must be one of"):
        make(method, **options)


def test_condorcet_winner_is_first_where_the_rule_promises_it():
    """A winner of every duel is first under the Condorcet rules on real data."""
    R = jr.datasets.load("misguided_attention").outcomes[:8]
    margins = np.asarray(votes_between(Counts.of(jr.Responses(R))).margins)
    winner = int(np.argmax((margins > 0).sum(axis=1)))
    assert (np.delete(margins[winner], winner) > 0).all()
    for method in ("copeland", "minimax", "schulze", "ranked_pairs", "kemeny_young", "kemeny_young_small", "baldwin"):
        ranks = jr.fit(R, method).ranks
        assert ranks[winner] == 1, method
        assert (ranks == 1).sum() == 1, method
