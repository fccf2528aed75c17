"""Largest difference of every method from the values of independent programs.

Usage: python -m experiments.golden.run [--out experiments/golden/table.md] [--only 11b_tensor_oracles]

The golden files are those of the tests, read by the readers of the tests.
All fits are in float64. Differences are absolute, on the scale of the scores unless the line says otherwise.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import jaxrank as jr
from jaxrank.methods.pass_family import GPassAtKTau
from jaxrank.numerics.solve.quadrature import AdaptiveGaussHermite, GaussHermite
from tests.methods import test_graph_methods as graphs
from tests.methods import test_irt_joint as joint
from tests.methods import test_kemeny as kemeny
from tests.methods import test_paired as paired
from tests.methods import test_pass_family as passes
from tests.methods import test_ratings as ratings
from tests.methods import test_voting as voting
from tests.methods.test_golden_catalogue import POINTWISE_AND_PAIRED, order
from tests.oracles import TENSORS, golden

Check = tuple[str, float | None, bool | None]  # method, largest difference, whether the order is the golden one
FINE = AdaptiveGaussHermite(31)
EQUILIBRIUM = "nash_equilibrium_max_entropy"

# golden method -> (entry, options, where the golden values are: scores, their logarithms, or a field of params)
TENSOR_METHODS: dict[str, tuple[str, dict[str, Any], str]] = {
    **POINTWISE_AND_PAIRED,
    **{key: (entry, options, "plain") for key, (entry, options) in (voting.TENSOR_KEYS | ratings.CASES).items()},
    **{name: (name, {}, "log") for name in ("bradley_terry_luce", "bradley_terry_luce_map")},
    **{name: (name, {}, "log") for name in ("davidson_luce", "davidson_luce_map")},
    "bayes": ("bayes", {}, "plain"),
    "bayes_q0.05": ("bayes_ci", {}, "plain"),
    **{name: (f"{name}_2", {}, "plain") for name in ("pass_at_k", "pass_hat_k", "mg_pass_at_k")},
    "g_pass_at_k_tau_0.7": ("g_pass_at_k_tau", {}, "plain"),
    "thompson_exact_expectation": ("thompson_exact", {}, "plain"),
    "pagerank": ("pagerank", {}, "plain"),
    "pagerank_selfloop_variant": ("pagerank_self_loops", {}, "plain"),
    "spectral": ("spectral", {}, "plain"),
    "spectral_keener_variant": ("spectral_keener", {}, "plain"),
    **{f"rank_centrality_{t}": (f"rank_centrality_tie_{t}", {}, "plain") for t in ("half", "ignore")},
    "alpharank": ("alpharank", {}, "mass"),
    EQUILIBRIUM: ("nash", {}, "equilibrium"),
    "nash": ("nash", {}, "plain"),
    "nash_advantage": ("nash_advantage_vs_equilibrium", {}, "plain"),
    **{f"serial_rank_{kind}": (f"serial_rank_{kind}", {}, "plain") for kind in ("prob_diff", "sign")},
    **{f"hodge_{s}_{w}": (f"hodge_rank_{s}_{w}", {}, "plain") for s, w in graphs.HODGE},
    "rasch": ("rasch", {}, "plain"),
    "rasch_map": ("rasch_map", {"centred": True}, "plain"),
    "rasch_map_items_free": ("rasch_map", {"centred": False}, "plain"),
    "rasch_mml": ("rasch_mml", {"quadrature": FINE}, "plain"),
    "rasch_mml_credible": ("rasch_mml_credible", {"quadrature": FINE}, "plain"),
    "rasch_mml_gh21_converged": ("rasch_mml", {"quadrature": GaussHermite(21)}, "plain"),
    **{
        f"dynamic_irt_growth_{s}": ("dynamic_irt_growth", {"score": s}, "plain")
        for s in ("initial", "final", "gain", "mean")
    },
    "bayesian_mcmc_exact_posterior_mean": ("bayesian_mcmc", {}, "plain"),
    "dynamic_irt_state_space_final": ("dynamic_irt_state_space", {"score": "final"}, "plain"),
}


def gap(got: Any, want: Any) -> float:
    return float(np.max(np.abs(np.asarray(got, float) - np.asarray(want, float)), initial=0))


def label(entry: str, options: dict[str, Any]) -> str:
    def show(value: Any) -> str:
        return type(value).__name__ + f"({value.n})" if hasattr(value, "nodes") and hasattr(value, "n") else str(value)

    return entry + (f"({', '.join(f'{k}={show(v)}' for k, v in options.items())})" if options else "")


def tensors() -> Iterator[Check]:
    for tensor in TENSORS:
        block = golden("11b_tensor_oracles")["tensors"][tensor]
        for key, (entry, options, where) in TENSOR_METHODS.items():
            want = block["methods"].get(key, {})
            if not want.keys() & {"scores", "ranking"} or want.get("orientation_ambiguous"):
                continue
            fit = jr.fit(np.array(block["R"]), entry, dtype="float64", on_failure="return", **options)
            same = np.array_equal(fit.ranks, order(want["ranking"], len(fit.ranks))) if "ranking" in want else None
            scores, difference = np.array(want.get("scores", []), float), None
            if where == "log" and len(scores):
                scores = np.array(want.get("log", np.log(scores)))
                difference = gap(fit.scores, scores - scores.mean())
            elif where == "share" and len(scores):
                difference = gap(np.exp(fit.scores) / np.exp(fit.scores).sum(), scores)
            elif len(scores):
                difference = gap(fit.scores if where == "plain" else fit.params[where], scores)
            other = where not in ("plain", "log", "share")  # a field of params, whose order is not that of the scores
            yield (
                label(entry, options) + f" ({where})" * other,
                difference,
                None if other and key == EQUILIBRIUM else same,
            )


def graph() -> Iterator[Check]:
    for name in golden("07_graph")["matrices"]:
        block, data = graphs.matrix(name)
        for key, entry in graphs.PLAIN.items():
            if "scores" in block[key]:
                yield entry, gap(jr.fit(data, entry, dtype="float64").scores, block[key]["scores"]), None
        for key, (a, m) in graphs.ALPHARANKS.items():
            fit = jr.fit(data, "alpharank", alpha=a, population=m, dtype="float64")
            yield "alpharank (mass)", gap(fit.params["mass"], block["alpharank"][key]), None
        want = block["nash_max_entropy"]
        mixture = [float(Fraction(x)) for x in want["exact"]] if "exact" in want else want["approx"]
        kind = "exact" if "exact" in want else "approximate"
        got = jr.fit(data, "nash", dtype="float64").params["equilibrium"]
        yield f"nash (equilibrium, oracle {kind})", gap(got, mixture), None
        for kind in ("prob_diff", "sign"):
            if name != "rps_weighted":  # no direction is better there: the golden sign is arbitrary
                fit = jr.fit(data, f"serial_rank_{kind}", dtype="float64")
                yield f"serial_rank_{kind}", gap(fit.scores, block[f"serial_rank_{kind}"]["fiedler"]), None


def bradley_terry(name: str) -> Iterator[Check]:
    d = golden(name)
    wins = paired.icehockey() if name == "01c_bt_icehockey" else np.array(d["input"]["wins"], float)
    data, want = jr.Comparisons.from_matrix(wins), d["values"]
    for method in ("bradley_terry", "plackett_luce"):
        fit = jr.fit(data, method, dtype="float64")
        yield method, gap(fit.scores, want["log_abilities_centered"]), None
        yield f"{method} (standard errors)", gap(fit.standard_errors, want["se_centered"]), None
    for variance, posterior in want.get("map_gaussian", {}).items():
        for method in ("bradley_terry_map", "plackett_luce_map"):
            fit = jr.fit(data, method, prior=float(variance), dtype="float64")
            yield method, gap(fit.scores, posterior["log_abilities"]), None


def ties(name: str) -> Iterator[Check]:
    d = golden(name)
    inputs = d.get("input", d)
    data = jr.Comparisons.from_matrix(inputs["wins"], inputs["ties"])
    fit, want = jr.fit(data, "bradley_terry_davidson", dtype="float64"), d["davidson"]["values"]
    yield "bradley_terry_davidson", gap(fit.scores, want["log_abilities_centered"]), None
    yield "bradley_terry_davidson (nu)", gap(fit.params["nu"], want["nu"]), None
    fit = jr.fit(data, "bradley_terry_davidson_map", dtype="float64")
    yield "bradley_terry_davidson_map", gap(fit.scores, d["davidson"]["map_N01"]["log_abilities"]), None
    variants: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("mle_kappa_estimated", "rao_kupper", {"tie_strength": None}),
        ("mle_kappa_fixed_1_1", "rao_kupper", {}),
        ("map_N01_kappa_fixed_1_1", "rao_kupper_map", {}),
    )
    for key, method, options in variants:
        fit = jr.fit(data, method, dtype="float64", **options)
        yield label(method, options), gap(fit.scores, d["rao_kupper"][key]["log_abilities_centered"]), None


def arena() -> Iterator[Check]:
    for d in golden("02c_ties_arena10")["sets"].values():
        data = jr.Comparisons.from_matrix(d["wins"], d["ties"])
        for method, block in (
            ("bradley_terry", d["bradley_terry_ties_dropped"]),
            ("bradley_terry_davidson", d["davidson"]),
        ):
            want = block.get("values", block)["log_abilities_centered"]
            yield method, gap(jr.fit(data, method, dtype="float64").scores, want), None


def rankings() -> Iterator[Check]:
    for name, d in golden("03_orders").items():
        options: dict[str, Any] = {} if name == "tied" else {"max_tied": 1}
        data = jr.Rankings(d["orders"], [f"m{i}" for i in range(len(d["values"]["log_worth"]))], d["counts"])
        fit = jr.fit(data, "plackett_luce_rankings", dtype="float64", **options)
        yield label("plackett_luce_rankings", options), gap(fit.scores, d["values"]["log_worth"]), None
        if "map" in d:
            fit = jr.fit(data, "plackett_luce_map", dtype="float64")
            yield "plackett_luce_map", gap(fit.scores, d["map"]["log_worth"]), None


def items() -> Iterator[Check]:
    rankers: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
        ("rasch_mml", "rasch_mml", "difficulty", {}),
        ("mml_2pl", "mml_2pl", "discrimination", {"slope_prior": None}),
        ("mml_3pl_guessing_0_2", "mml_3pl", "discrimination", {"slope_prior": None, "guessing": 0.2}),
    )
    for name in golden("04_items"):
        R, row, values = joint.items(name)
        fit = jr.fit(R, "rasch_cml", dtype="float64")
        yield "rasch_cml (difficulty)", gap(fit.params["difficulty"], values["rasch_cml"]["difficulty"]), None
        for key, entry, field, options in rankers:
            fit = jr.fit(R, entry, quadrature=FINE, dtype="float64", **options)
            yield f"{label(entry, options)} ({field})", gap(fit.params[field], values[key][field]), None
            yield label(entry, options), gap(fit.scores, np.array(values[key]["mean"])[row]), None


def counterexample() -> Iterator[Check]:
    want = golden("10_counterexample")["c2"]
    fit = jr.fit(jr.Comparisons.from_matrix(want["wins"]), "bradley_terry", dtype="float64")
    yield "bradley_terry", gap(fit.scores, want["log_strengths_centered"]), None


def joint_tables() -> Iterator[Check]:
    for name in ("binary_6x8", "binomial_5x6x5", "binomial_11x30x10"):
        table = golden("05_jml_tables")["tables"][name]
        data = joint.from_table(table)
        yield "rasch", gap(jr.fit(data, "rasch", dtype="float64").scores, table["jml"]["theta"]), None
        for centred, key in ((True, "map_N01_theta_items_centred"), (False, "map_N01_theta_items_free")):
            fit = jr.fit(data, "rasch_map", centred=centred, dtype="float64")
            yield f"rasch_map(centred={centred})", gap(fit.scores, table[key]["theta"]), None


def joint_2pl() -> Iterator[Check]:
    for block in golden("11_joint_2pl")["tensors"].values():
        for method, want in block["methods"].items():
            fit = jr.fit(np.array(block["R"]), method, dtype="float64")
            yield method, gap(fit.scores, want["theta"]), None
            above = max(0.0, float(fit.params["objective"]) - want["objective"])
            yield f"{method} (objective above the best of 60 starts)", above, None


def elections() -> Iterator[Check]:
    for name in voting.PROFILES:
        found = voting.profile(name)
        results = found[0]
        for method, (key, options) in voting.GOLDEN.items():
            scores, groups, _ = voting.fitted(found, method, **options)
            want = results[key].get("scores", results[key].get("scores_wins_minus_losses"))
            exact = None if want is None or method.startswith("majority") else gap(scores, voting.exact(want))
            yield label(method, options), exact, groups == results[key]["ranking"]
        for policy, want in voting.cases_of(results, "minimax"):
            entry = f"minimax_variant_winning_votes_tie_{policy}"
            scores, groups, _ = voting.fitted(found, entry)
            yield entry, gap(scores, voting.exact(want["scores"])), groups == want["ranking"]
        for policy, want in voting.cases_of(results, "schulze"):
            yield f"schulze_tie_{policy}", None, voting.fitted(found, f"schulze_tie_{policy}")[1] == want["ranking"]
        want = results["ranked_pairs_margin"]
        if want["unique"]:  # elsewhere the source's order depends on the labels
            groups = voting.fitted(found, "ranked_pairs")[1]
            yield "ranked_pairs", None, groups == want["ranking_index_tie_break"]
    for name in kemeny.SMALL:
        for policy in ("half", "ignore"):
            results = golden("06_voting")["profiles"][name]["results"]
            want = results.get(f"kemeny_{policy}", results.get("kemeny"))
            for entry, options in ((f"kemeny_young_tie_{policy}", {}), ("kemeny_young_small", {"tie_policy": policy})):
                _, groups, params = voting.fitted(voting.profile(name), entry, **options)
                difference = gap(params["agreement"], float(want["score"]))
                same = groups == want["ranking_forced_levels"]
                yield label(entry, options) + " (agreement)", difference, same


def streams() -> Iterator[Check]:
    cases = golden("08_sequential")["cases"]
    for k in (16, 32):
        case = cases[f"elo_stream_K{k}"]
        fit = jr.fit(ratings.battles(case["games_i_j_score"]), "elo", K=k, ties="draw", dtype="float64")
        yield "elo (stream of battles)", gap(fit.scores, case["final"]), None
    for stream in ("decisive_only_no_margin", "decisive_and_draws_dp0.1"):
        case = cases[f"trueskill_stream_{stream}"]
        margin = case["settings"]["draw_margin"]
        games = ratings.battles(case["games_i_j_score"])
        fit = jr.fit(games, "trueskill", dtype="float64", ties="draw", draw_margin=margin, tau=0.0)
        yield "trueskill (stream of battles)", gap(fit.scores, case["tau_zero"]["mu"]), None
        yield "trueskill (stream of battles, sigma)", gap(fit.params["sigma"], case["tau_zero"]["sigma"]), None


def success() -> Iterator[Check]:
    block = golden("09_bayes_pass")
    for example in block["bayes_examples"]:
        options: dict[str, Any] = {} if example["w"] is None else {"w": [float(Fraction(v)) for v in example["w"]]}
        R = np.stack([np.asarray(example["R"]), np.zeros_like(example["R"])])
        fit = jr.fit(R, "bayes", R0=example["R0"], dtype="float64", **options)
        yield "bayes", gap(fit.scores[0], float(Fraction(example["mu"]))), None
        yield "bayes (sd)", gap(fit.params["sd"][0], float(Fraction(example["sigma2"])) ** 0.5), None
    grid = block["grid"]
    cells = [(e["c"], e["n"], e["k"]) for e in grid]
    for key, metric in passes.METRICS.items():
        got = passes.chances(metric, cells, options=("k",))
        yield {"mg": "mg_pass_at_k"}.get(key, key), gap(got, [float(Fraction(e[key])) for e in grid]), None
    rows = [(e["c"], e["n"], e["k"], float(Fraction(t)), v) for e in grid for t, v in e["g_tau"].items()]
    got = passes.chances(GPassAtKTau, [row[:4] for row in rows], options=("k", "tau"))
    yield "g_pass_at_k_tau", gap(got, [float(Fraction(row[4])) for row in rows]), None


FILES: dict[str, tuple[str, Callable[[], Iterator[Check]]]] = {
    "11b_tensor_oracles": ("40-digit Newton, exact fractions; R glm, survival::clogit, lme4, trueskill", tensors),
    "01a_bt_baseball": ("40-digit Newton; BradleyTerry2, choix", lambda: bradley_terry("01a_bt_baseball")),
    "01b_bt_citations": ("40-digit Newton; BradleyTerry2, choix", lambda: bradley_terry("01b_bt_citations")),
    "01c_bt_icehockey": ("40-digit Newton; BradleyTerry2", lambda: bradley_terry("01c_bt_icehockey")),
    "02b_ties_springall": ("40-digit Newton; PlackettLuce, ordinal", lambda: ties("02b_ties_springall")),
    "02c_ties_arena10": ("40-digit Newton; PlackettLuce, ordinal, leaderbot", arena),
    "03_orders": ("40-digit Newton; choix", rankings),
    "04_items": ("Newton in long double on sums by the trapezoid rule", items),
    "05_jml_tables": ("40-digit Newton; R glm, TAM, lme4", joint_tables),
    "11_joint_2pl": ("the same objective from 60 starts, double precision", joint_2pl),
    "06_voting": ("exact; pref_voting, MILP", elections),
    "07_graph": ("networkx, choix, open_spiel, nashpy, numpy", graph),
    "08_sequential": ("40-digit arithmetic; trueskill", streams),
    "09_bayes_pass": ("exact fractions; scorio", success),
    "10_counterexample": ("50-digit arithmetic", counterexample),
}


def lines(only: list[str] | None) -> Iterator[str]:
    yield from (f"- `{name}`: {programs}" for name, (programs, _) in FILES.items() if not only or name in only)
    yield ""
    yield "| golden file | method | data sets | largest difference | same order |"
    yield "|---|---|--:|--:|--:|"
    for name, (_, checks) in FILES.items():
        if only and name not in only:
            continue
        found: dict[str, list[tuple[float | None, bool | None]]] = {}
        for method, difference, same in checks():
            found.setdefault(method, []).append((difference, same))
        for method, rows in found.items():
            gaps = [d for d, _ in rows if d is not None]
            orders = [s for _, s in rows if s is not None]
            worst = f"{np.max(gaps):.1e}" if gaps else "order only"
            yield (
                f"| {name} | {method} | {len(rows)} | {worst} | {f'{sum(orders)} of {len(orders)}' if orders else ''} |"
            )
        if name == "11b_tensor_oracles":
            stored = {k for t in golden(name)["tensors"].values() for k in t["methods"]} - TENSOR_METHODS.keys()
            yield f"| {name} | not compared: {', '.join(sorted(k for k in stored if k != '_counts'))} | | | |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*", choices=FILES)
    arguments = parser.parse_args()
    text = []
    for line in lines(arguments.only):
        print(line, flush=True)
        text.append(line)
    if arguments.out:
        arguments.out.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
