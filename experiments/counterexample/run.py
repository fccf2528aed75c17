"""Bradley-Terry against the average: the smallest data on which they disagree, and a proof by enumeration below it.

Usage: python experiments/counterexample/run.py [--out results.json]
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from math import comb
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxrank as jr
from jaxrank.data.statistics import Pairs

WINS = np.array([[0, 3, 6], [2, 0, 3], [2, 0, 0]])
PATTERNS = np.array(list(itertools.product((0, 1), repeat=3)))  # outcomes of three models on one question


def counterexample() -> dict:
    """The published example: three patterns on eight questions, Bradley-Terry's order is not that of the averages."""
    R = np.repeat([[0, 1, 1], [1, 0, 0], [1, 1, 0]], (2, 3, 3), axis=0).T
    bt, avg = (jr.fit(R, m, dtype="float64") for m in ("bradley_terry", "avg"))
    b = float(np.exp(bt.scores[1] - bt.scores[2]))
    roots = np.roots([2, -5, -16, -15])
    root = float(roots[np.isreal(roots)].real.max())
    return {
        "wins": np.asarray(bt.stat.wins, int).tolist(),
        "order_bradley_terry": bt.order.tolist(),
        "order_average": avg.order.tolist(),
        "b": b,
        "root_of_2b3_5b2_16b_15": root,
        "difference_from_root": abs(b - root),
    }


def data_sets(n_questions: int) -> np.ndarray:
    """All multisets of ``n_questions`` patterns as counts, (number, 8)."""
    picks = np.array(list(itertools.combinations_with_replacement(range(8), n_questions)))
    counts = np.zeros((len(picks), 8), int)
    np.add.at(counts, (np.arange(len(picks))[:, None], picks), 1)
    return counts


def enumerate_all(largest: int) -> dict:
    """Fit every data set of up to ``largest`` questions in one mapped call."""
    counts = np.concatenate([data_sets(m) for m in range(1, largest + 1)])
    assert len(counts) == comb(largest + 8, 8) - 1
    size = counts.sum(axis=1)
    better = (PATTERNS[:, :, None] > PATTERNS[:, None, :]).reshape(8, 9)
    totals = counts @ PATTERNS
    with jax.enable_x64(True):
        wins = jnp.asarray((counts @ better).reshape(-1, 3, 3), float)
        ranker = jr.methods.BradleyTerry()
        fit_all = jax.jit(jax.vmap(lambda w: ranker(Pairs(w, jnp.zeros_like(w)))))
        began = time.perf_counter()
        fits = jax.block_until_ready(fit_all(wins))
        cold = time.perf_counter() - began
        began = time.perf_counter()
        jax.block_until_ready(fit_all(wins))
        warm = time.perf_counter() - began
        ranks = np.asarray(jr.rank_scores(fits.scores, resolution=fits.resolution))
    ordered = np.array([len(set(t)) == 3 for t in totals.tolist()])
    # Data without a single win have the symmetric optimum, but are not strongly connected.
    exists = (np.asarray(fits.status) == jr.Status.CONVERGED) & (np.asarray(wins).sum(axis=(1, 2)) > 0)
    qualifying = ordered & exists
    differs = qualifying & np.any(ranks != np.asarray(jr.rank_scores(totals.astype(float))), axis=1)
    by_size = {
        int(m): [int((size == m).sum()), int((qualifying & (size == m)).sum()), int((differs & (size == m)).sum())]
        for m in range(1, largest + 1)
    }
    return {
        "largest_number_of_questions": largest,
        "data_sets": len(counts),
        "qualifying": int(qualifying.sum()),
        "disagreements": int(differs.sum()),
        "by_questions_total_qualifying_disagreeing": by_size,
        "seconds_cold": round(cold, 3),
        "seconds_warm": round(warm, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results.json"))
    out = parser.parse_args().out
    results = {"counterexample": counterexample(), "up_to_7": enumerate_all(7), "up_to_8": enumerate_all(8)}
    out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
