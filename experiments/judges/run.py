"""Judges: identifiability, coverage of rank intervals by simulation, SummEval and JudgeBench.

``python -m experiments.judges.run [--samples S] [--coverage SETS] [--seconds T]`` adds to results.json
beside this file.
SummEval (9 LLM judges, 12 systems, 100 articles; the mean of 3 experts is the gold order) and JudgeBench are read from
the shared data beside the repository. The coverage study runs NUTS on many data sets; it stops after ``--seconds`` and
goes on from there when called again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from pathlib import Path

import numpy as np

from jaxrank import JaxrankWarning, kendall_tau
from jaxrank.evaluation import judges as judging
from jaxrank.numerics.ranks import rank_scores

HERE = Path(__file__).parent
DATA = HERE.parents[2] / "shared" / "data"
PATH = HERE / "results.json"
COVERAGE = "coverage of 95 % rank intervals"
COVERAGE_PRIORS = ("perfect", "weak", "moderate", "strong")
SUMMEVAL_PRIORS = ("perfect", "weak", "moderate", "strong")


def opposite_orders() -> dict:
    judged = np.array([[0.30, 0.40, 0.30], [0.34, 0.30, 0.36]])
    found = judging.identifiability(judged)
    (i, j), *sets = found.example

    def describe(theta: np.ndarray, pi: np.ndarray) -> dict:
        return {"judge": theta[0].tolist(), "candidates": pi.tolist(), "scores": (pi @ [0, 1, 2]).tolist()}

    return {"judged": judged.tolist(), "pair": [i, j], "one": describe(*sets[0]), "other": describe(*sets[1])}


def summeval() -> dict:
    """Rank agreement with the experts of the methods without a posterior."""
    out = {}
    for dim, scores, expert, gold in summeval_data():
        tau = lambda s, expert=expert: float(kendall_tau(np.asarray(s, float), expert))
        single = [tau(s) for s in judging.each_judge(scores)]
        labelled = np.where(np.arange(100) < 20, gold, -1)
        out[dim] = {
            "plain mean": tau(judging.plug_in_scores(scores)),
            "majority": tau(judging.majority_scores(scores)),
            "Dawid-Skene": tau(judging.dawid_skene(scores).scores),
            "one judge, worst median best": [min(single), float(np.median(single)), max(single)],
            "prediction-powered, 20 labels": tau(judging.prediction_powered(scores, labelled)[0]),
        }
    return out


def summeval_posterior(n_samples: int, known: dict) -> dict:
    """The simplex model under three priors: rank agreement, and how many expert ranks its 95 % intervals hold."""
    out = dict(known)
    for dim, scores, expert, gold in summeval_data():
        truth = np.asarray(rank_scores(expert))
        labelled = np.where(np.arange(100) < 20, gold, -1)
        rows = dict(out.get(dim, {}))
        for name, prior, labels in (
            *((p, p, None) for p in SUMMEVAL_PRIORS),
            ("moderate, 20 labels", "moderate", labelled),
        ):
            if name in rows:
                continue
            found = judging.infer(
                scores, gold=labels, prior=prior, n_levels=5, n_samples=n_samples, n_warmup=n_samples, n_chains=4
            )
            low, high = found.rank_intervals()
            rows[name] = {
                "tau": float(kendall_tau(found.scores, expert)),
                "expert rank inside": float(((low <= truth) & (truth <= high)).mean()),
                "ranks in an interval": float((high - low + 1).mean()),
                "largest r_hat": float(np.nanmax(found.r_hat)),
                "least effective sample size": float(np.nanmin(found.ess)),
            }
            save("SummEval, posterior ranks", out | {dim: rows})
            print(dim, name, rows[name], flush=True)
        boot = bootstrap_ranks(scores, np.random.default_rng(0))
        rows["plain mean, bootstrap"] = {
            "expert rank inside": share_inside(boot, truth),
            "ranks in an interval": width(boot),
        }
        out[dim] = rows
        save("SummEval, posterior ranks", out)
    return out


def summeval_data() -> list:
    data = np.load(DATA / "summeval_judges.npz")
    found = []
    for d, dim in enumerate(data["dims"]):
        scores = np.where(data["llm"][..., d] < 0, -1, data["llm"][..., d].astype(int) - 1)
        expert = data["expert"][:, :, d].mean((1, 2)).astype(float)
        found.append((str(dim), scores, expert, np.rint(data["expert"][:, :, d].mean(2)).astype(int) - 1))
    return found


def bootstrap_ranks(scores: np.ndarray, rng: np.random.Generator, n: int = 1000) -> np.ndarray:
    """95 % rank intervals (2, K) of the mean over judges, questions drawn again; judges taken at their word."""
    mean = np.where(scores < 0, np.nan, scores)
    mean = np.nanmean(mean, axis=0)
    q = mean.shape[1]
    again = np.nanmean(mean[:, rng.integers(0, q, (n, q))], axis=2).T
    ranks = 1 + (again[:, None] > again[:, :, None]).sum(-1)
    return np.quantile(ranks, [0.025, 0.975], axis=0)


def share_inside(interval: np.ndarray, truth: np.ndarray) -> float:
    return float(((interval[0] <= truth) & (truth <= interval[1])).mean())


def width(interval: np.ndarray) -> float:
    return float((interval[1] - interval[0] + 1).mean())


def judgebench() -> dict:
    data = np.load(DATA / "judgebench_decisions.npz")
    D, gold = data["D"], data["gold"]
    both = (gold[None, :, None] == D).sum(2)
    against = ((D < 2) & (gold[None, :, None] != D)).sum(2)
    return {str(j): float((both[i] > against[i]).mean()) for i, j in enumerate(data["judges"])}


def coverage(n_sets: int, n_samples: int, until: float) -> dict:
    """Share of true ranks inside 95 % rank intervals, and how many ranks an interval holds.

    Two judges, five candidates, 100 questions; judges are ``sharp`` times the identity and the rest a random monotone
    matrix, candidates are Dirichlet(2, ..., 2). "plain bootstrap" and "perfect" are free of judge uncertainty.
    """
    out = load().get(COVERAGE, {})
    cases = [(m, q) for m in (2, 3) for q in (("weak", 0.3), ("strong", 0.8))]
    for s, (m, (name, sharp)) in itertools.product(range(n_sets), cases):
        rows = out.setdefault(f"M = {m}, {name} judges", {"data sets": 0, "inside": {}, "ranks in an interval": {}})
        if s < rows["data sets"] or time.monotonic() > until:
            continue
        rng = np.random.default_rng([m, int(10 * sharp), s])
        base = np.sort(rng.dirichlet(np.ones(m), (2, m)), axis=1)
        theta = sharp * np.eye(m) + (1 - sharp) * base / base.sum(-1, keepdims=True)
        pi = rng.dirichlet(np.full(m, 2.0), 5)
        draw = lambda p, rng=rng: (rng.random(p.shape[:-1])[..., None] > np.cumsum(p, -1)[..., :-1]).sum(-1)
        t = draw(np.broadcast_to(pi[:, None], (5, 100, m)))
        scores = np.stack([draw(x[t]) for x in theta])
        value = pi @ np.arange(m)
        truth = 1 + (value[None] > value[:, None]).sum(1)
        intervals = {"plain bootstrap": bootstrap_ranks(scores, rng)}
        for prior in COVERAGE_PRIORS:
            found = judging.infer(
                scores, prior=prior, n_levels=m, n_samples=n_samples, n_warmup=n_samples, n_chains=2, seed=s
            )
            intervals[prior] = np.asarray(found.rank_intervals())
        for how, interval in intervals.items():
            for key, new in (("inside", share_inside(interval, truth)), ("ranks in an interval", width(interval))):
                rows[key][how] = (rows[key].get(how, 0.0) * s + new) / (s + 1)
        rows["data sets"] = s + 1
        save(COVERAGE, out)
    print(json.dumps(out), flush=True)
    return out


def load() -> dict:
    return json.loads(PATH.read_text()) if PATH.exists() else {}


def save(key: str, value: dict) -> None:
    PATH.write_text(json.dumps(load() | {key: value}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--coverage", type=int, default=0, help="data sets of the coverage study; 0 leaves it out")
    parser.add_argument("--samples", type=int, default=0, help="draws a chain for SummEval; 0 leaves the posterior out")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop the coverage study after this time")
    args = parser.parse_args()
    until = time.monotonic() + args.seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)  # R-hat stands in the results
        save("opposite orders of equal likelihood", opposite_orders())
        save("JudgeBench, share of pairs right", judgebench())
        save("SummEval, tau-b with the experts", summeval())
        if args.samples:
            summeval_posterior(args.samples, load().get("SummEval, posterior ranks", {}))
        if args.coverage:
            coverage(args.coverage, 500, until)


if __name__ == "__main__":
    main()
