"""Judges: identifiability, SummEval and JudgeBench.

``python -m experiments.judges.run [--data FOLDER] [--samples S]`` adds to results.json beside this file.
FOLDER holds SummEval (summeval_judges.npz: 9 LLM judges, 12 systems, 100 articles; the mean of 3 experts is the gold
order) and JudgeBench (judgebench_decisions.npz); the README says what is in them. Without it only the identifiability
is run.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from jaxrank import JaxrankWarning, kendall_tau
from jaxrank.evaluation import judges as judging
from jaxrank.numerics.ranks import rank_scores

HERE = Path(__file__).parent
PATH = HERE / "results.json"
SUMMEVAL_PRIORS = ("perfect", "weak", "moderate", "strong")


def opposite_orders() -> dict:
    judged = np.array([[0.30, 0.40, 0.30], [0.34, 0.30, 0.36]])
    found = judging.identifiability(judged)
    (i, j), *sets = found.example

    def describe(theta: np.ndarray, pi: np.ndarray) -> dict:
        return {"judge": theta[0].tolist(), "candidates": pi.tolist(), "scores": (pi @ [0, 1, 2]).tolist()}

    return {"judged": judged.tolist(), "pair": [i, j], "one": describe(*sets[0]), "other": describe(*sets[1])}


def summeval(folder: Path) -> dict:
    """Rank agreement with the experts of the methods without a posterior."""
    out = {}
    for dim, scores, expert, gold in summeval_data(folder):
        tau = lambda s, expert=expert: float(kendall_tau(np.asarray(s, float), expert))
        single = [tau(s) for s in judging.each_judge(scores)]
        labelled = judging.label_share(gold, 0.2)
        out[dim] = {
            "plain mean": tau(judging.plug_in_scores(scores)),
            "majority": tau(judging.majority_scores(scores)),
            "Dawid-Skene": tau(judging.dawid_skene(scores).scores),
            "one judge, worst median best": [min(single), float(np.median(single)), max(single)],
            "prediction-powered, 20 labels": tau(judging.prediction_powered(scores, labelled)[0]),
        }
    return out


def summeval_posterior(folder: Path, n_samples: int, known: dict) -> dict:
    """The simplex model under four priors: rank agreement, and how many expert ranks its 95 % intervals hold."""
    out = dict(known)
    for dim, scores, expert, gold in summeval_data(folder):
        truth = np.asarray(rank_scores(expert))
        labelled = judging.label_share(gold, 0.2)
        rows = dict(out.get(dim, {}))
        for name, prior, labels in (
            *((p, p, None) for p in SUMMEVAL_PRIORS),
            ("moderate, 20 labels", "moderate", labelled),
        ):
            if name in rows:
                continue
            start = time.monotonic()
            found = judging.infer(
                scores, gold=labels, prior=prior, n_levels=5, n_samples=n_samples, n_warmup=n_samples, n_chains=4
            )
            low, high = found.rank_intervals()
            rows[name] = {
                "tau": float(kendall_tau(found.scores, expert)),
                "expert rank inside": float(((low <= truth) & (truth <= high)).mean()),
                "ranks in an interval": float((high - low + 1).mean()),
                **chains(found),
                "seconds": round(time.monotonic() - start, 1),
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


def chains(found: judging.JudgePosterior) -> dict[str, float]:
    """How the chains went; nothing for independent draws."""
    if np.isnan(found.r_hat).all():
        return {}
    least = float(np.nanmin(found.ess))
    return {"largest r_hat": float(np.nanmax(found.r_hat)), "least effective sample size": least}


def summeval_data(folder: Path) -> list:
    data = np.load(folder / "summeval_judges.npz")
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


def judgebench(folder: Path) -> dict:
    data = np.load(folder / "judgebench_decisions.npz")
    D, gold = data["D"], data["gold"]
    both = (gold[None, :, None] == D).sum(2)
    against = ((D < 2) & (gold[None, :, None] != D)).sum(2)
    return {str(j): float((both[i] > against[i]).mean()) for i, j in enumerate(data["judges"])}


def load() -> dict:
    return json.loads(PATH.read_text()) if PATH.exists() else {}


def save(key: str, value: dict) -> None:
    PATH.write_text(json.dumps(load() | {key: value}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=0, help="draws a chain for SummEval; 0 leaves the posterior out")
    parser.add_argument("--data", type=Path, help="folder of summeval_judges.npz and judgebench_decisions.npz")
    args = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)  # R-hat stands in the results
        save("opposite orders of equal likelihood", opposite_orders())
        if args.data is None:
            return
        save("JudgeBench, share of pairs right", judgebench(args.data))
        save("SummEval, tau-b with the experts", summeval(args.data))
        if args.samples:
            summeval_posterior(args.data, args.samples, load().get("SummEval, posterior ranks", {}))


if __name__ == "__main__":
    main()
