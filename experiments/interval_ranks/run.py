"""Ranks with intervals: tables 1 and 2 of "Don't Pass@k" (arXiv 2510.04265), by both rules and both numberings.

Table 2 from the published accuracies alone: for binary outcomes Bayes@80 is (80 m + 1) / 82, and its deviation that of
the mean of 80 trials, shrunk by the same factor. Then the same from the tensors of the mimic. Table 1: draws of the
biased coins.
``python -m experiments.interval_ranks.run`` writes results.json beside this file and prints it.
"""

from __future__ import annotations

import csv
import itertools
import json
import time
from pathlib import Path

import numpy as np

from experiments import mimic
from experiments.biased_coins.run import coins
from jaxrank import evaluation as ev
from jaxrank import rank_scores

HERE = Path(__file__).parent
PUBLISHED = HERE.parent / "published" / "interval_ranks.csv"
COINS = json.loads((HERE.parent / "biased_coins" / "config.json").read_text())
TABLE_1 = {  # LLM 1 .. 11
    "gold": [10, 9, 8, 7, 7, 6, 4, 5, 3, 2, 1],
    "without": [11, 10, 9, 8, 7, 6, 4, 5, 2, 3, 1],
    "with": [7, 6, 5, 5, 5, 4, 3, 3, 2, 2, 1],
}
RULES = list(itertools.product(("leader", "adjacent"), ("dense", "competition")))
N_TRIALS, N_DRAWS, SEED = 80, 2000, 0


def table_2() -> dict[str, dict[str, dict[str, int]]]:
    """Models of 20 whose rank is the published one, by source of mean and deviation, benchmark and rule."""
    with PUBLISHED.open(newline="") as file:
        rows = {row["model"]: row for row in csv.DictReader(file)}
    found: dict[str, dict[str, dict[str, int]]] = {"published accuracies": {}, "mimic": {}}
    for b in mimic.BENCHMARKS:
        told = mimic.published(b)
        with_, without = ([int(rows[m][f"{b}{end}"]) for m in told["models"]] for end in ("_ci", ""))
        shrink = N_TRIALS / (N_TRIALS + 2)
        mean = (N_TRIALS * told["mean"] + 1) / (N_TRIALS + 2)
        bayes = ev.bayes(mimic.benchmark(b, match="totals").R)
        for source, mu, sigma in (
            ("published accuracies", mean, told["std"] / np.sqrt(N_TRIALS) * shrink),
            ("mimic", bayes.mean, bayes.sd),
        ):
            row = {"without intervals": _equal(rank_scores(mu), without)}
            for ties, method in RULES:
                ranks = ev.rank_with_intervals(mu, sigma, ties=ties, method=method)
                row[f"{ties}, {method}"] = _equal(ranks, with_)
            found[source][b] = row
    return found


def table_1() -> dict[str, float]:
    """Share of draws of the biased coins whose ranks are the published ones."""
    p = coins(COINS)
    k = np.random.default_rng(SEED).binomial(N_TRIALS, p, (N_DRAWS, *p.shape))
    share = (k + 1) / (N_TRIALS + 2)
    mu, sigma = share.mean(-1), np.sqrt((share * (1 - share) / (N_TRIALS + 3)).sum(-1)) / p.shape[1]
    found = {"without intervals": _all_equal(rank_scores(mu), TABLE_1["without"])}
    for ties in ("leader", "adjacent"):
        ranks = np.asarray(ev.rank_with_intervals(mu, sigma, ties=ties, method="dense"))
        found[f"with, {ties}, dense"] = _all_equal(ranks, TABLE_1["with"])
        patterns, counts = np.unique(ranks, axis=0, return_counts=True)
        found[f"with, {ties}, dense: the commonest"] = float(counts.max() / N_DRAWS)
        found[f"with, {ties}, dense: it is the published"] = bool((patterns[counts.argmax()] == TABLE_1["with"]).all())
    return found


def _equal(ranks: object, published: list[int]) -> int:
    return int((np.asarray(ranks) == published).sum())


def _all_equal(ranks: object, published: list[int]) -> float:
    return float((np.asarray(ranks) == published).all(axis=-1).mean())


def main() -> None:
    start = time.perf_counter()
    results = {"table 2": table_2(), "table 1": table_1()}
    results["seconds"] = round(time.perf_counter() - start, 1)
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
