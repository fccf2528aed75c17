"""Judges: identifiability, coverage of rank intervals by simulation, SummEval and JudgeBench.

``python -m experiments.judges.run [--coverage]`` writes results.json beside this file. SummEval (9 LLM judges, 12
systems, 100 articles; the mean of 3 experts is the gold order) and JudgeBench are read from the shared data beside the
repository. The coverage study runs NUTS on many data sets and takes minutes.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

from jaxrank import JaxrankWarning, kendall_tau
from jaxrank import judges as judging
from jaxrank.ranking import rank_scores

HERE = Path(__file__).parent
DATA = HERE.parents[2] / "shared" / "data"


def opposite_orders() -> dict:
    judged = np.array([[0.30, 0.40, 0.30], [0.34, 0.30, 0.36]])
    found = judging.identifiability(judged)
    (i, j), *sets = found.example

    def describe(theta: np.ndarray, pi: np.ndarray) -> dict:
        return {"judge": theta[0].tolist(), "candidates": pi.tolist(), "scores": (pi @ [0, 1, 2]).tolist()}

    return {"judged": judged.tolist(), "pair": [i, j], "one": describe(*sets[0]), "other": describe(*sets[1])}


def summeval(n_samples: int) -> dict:
    data = np.load(DATA / "summeval_judges.npz")
    out = {}
    for d, dim in enumerate(data["dims"]):
        scores = np.where(data["llm"][..., d] < 0, -1, data["llm"][..., d].astype(int) - 1)
        expert = data["expert"][:, :, d].mean((1, 2))
        truth = np.asarray(rank_scores(expert))
        tau = lambda s, expert=expert: float(kendall_tau(np.asarray(s, float), expert.astype(float)))
        single = [tau(s) for s in judging.each_judge(scores)]
        rows = {
            "plain mean": tau(judging.plug_in_scores(scores)),
            "majority": tau(judging.majority_scores(scores)),
            "Dawid-Skene": tau(judging.dawid_skene(scores).scores),
            "one judge, worst median best": [min(single), float(np.median(single)), max(single)],
        }
        gold = np.rint(data["expert"][:, :, d].mean(2)).astype(int) - 1
        labelled = np.where(np.arange(100) < 20, gold, -1)
        rows["prediction-powered, 20 labels"] = tau(judging.prediction_powered(scores, labelled)[0])
        if n_samples:
            for prior in ("perfect", "moderate"):
                found = judging.infer(scores, prior=prior, n_samples=n_samples, n_warmup=n_samples, n_chains=2)
                low, high = found.rank_interval()
                inside = float(((low <= truth) & (truth <= high)).mean())
                rows[f"simplex, {prior}"] = {"tau": tau(found.mean), "expert rank inside": inside}
        out[str(dim)] = rows
    return out


def judgebench() -> dict:
    data = np.load(DATA / "judgebench_decisions.npz")
    D, gold = data["D"], data["gold"]
    both = (gold[None, :, None] == D).sum(2)
    against = ((D < 2) & (gold[None, :, None] != D)).sum(2)
    return {str(j): float((both[i] > against[i]).mean()) for i, j in enumerate(data["judges"])}


def coverage(n_sets: int, n_samples: int) -> dict:
    """Share of true ranks inside 95 % rank intervals: plain bootstrap, posteriors with perfect and uncertain judges."""
    out = {}
    for m, (name, sharp) in [(m, q) for m in (2, 3) for q in (("weak", 0.3), ("strong", 0.8))]:
        rng = np.random.default_rng([m, int(10 * sharp)])
        inside: dict[str, list[float]] = {"plain bootstrap": [], "perfect": [], "moderate": []}
        for s in range(n_sets):
            base = np.sort(rng.dirichlet(np.ones(m), (2, m)), axis=1)
            theta = sharp * np.eye(m) + (1 - sharp) * base / base.sum(-1, keepdims=True)
            pi = rng.dirichlet(np.full(m, 2.0), 5)
            draw = lambda p, rng=rng: (rng.random(p.shape[:-1])[..., None] > np.cumsum(p, -1)[..., :-1]).sum(-1)
            t = draw(np.broadcast_to(pi[:, None], (5, 100, m)))
            scores = np.stack([draw(x[t]) for x in theta])
            truth = 1 + ((pi @ np.arange(m))[None] > (pi @ np.arange(m))[:, None]).sum(1)
            again = scores.mean(0)[:, rng.integers(0, 100, (1000, 100))].mean(2).T
            ranks = 1 + (again[:, None] > again[:, :, None]).sum(-1)
            low, high = np.quantile(ranks, [0.025, 0.975], axis=0)
            inside["plain bootstrap"].append(float(((low <= truth) & (truth <= high)).mean()))
            for prior in ("perfect", "moderate"):
                found = judging.infer(scores, prior=prior, n_samples=n_samples, n_warmup=n_samples, n_chains=2, seed=s)
                low, high = found.rank_interval()
                inside[prior].append(float(((low <= truth) & (truth <= high)).mean()))
        out[f"M = {m}, {name} judges"] = {k: float(np.mean(v)) for k, v in inside.items()}
        print(out, flush=True)
    return {"data sets": n_sets, **out}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--coverage", type=int, default=0, help="data sets of the coverage study; 0 leaves it out")
    parser.add_argument("--samples", type=int, default=0, help="draws a chain for SummEval; 0 leaves the posterior out")
    args = parser.parse_args()
    path = HERE / "results.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)  # short chains; R-hat is printed by jaxrank judges
        result["opposite orders of equal likelihood"] = opposite_orders()
        result["JudgeBench, share of pairs right"] = judgebench()
        result["SummEval, tau-b with the experts"] = summeval(args.samples)
        if args.coverage:
            result["coverage of 95 % rank intervals"] = coverage(args.coverage, 300)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
