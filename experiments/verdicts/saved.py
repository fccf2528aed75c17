"""Real results asked one question after the other, in random orders: after how many of them is it decided?

python -m experiments.verdicts.saved --data FOLDER      # -> results/saved.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.evaluation import sequential

RESULTS = Path(__file__).parent / "results"
FILES = {
    "ARC-AGI-1": ("arc_agi1_pubeval_2024.npz", "R"),
    "LiveCodeBench": ("lcb_codegen_2024apr.npz", "R"),
    "SWE-bench bash only": ("swebench_verified_bashonly_2026feb.npz", "R"),
    "AlpacaEval 2": ("alpaca_eval2_gpt4turbo.npz", "outcome"),
}
ALPHA, ORDERS = 0.05, 20


def stops(d: np.ndarray, orders: np.ndarray, population: bool) -> np.ndarray:
    """(orders,): after how many differences 0 is excluded; the number of questions where it never is."""
    x = d[orders]
    process = sequential.betting_process(x, 0.0, -1.0, 1.0, ALPHA, population=x.shape[1] if population else None)
    out = np.asarray(process >= np.log(1 / ALPHA))
    return np.where(out.any(axis=1), out.argmax(axis=1) + 1, x.shape[1])


def signs(d: np.ndarray, orders: np.ndarray) -> np.ndarray:
    out = np.asarray(sequential.sign_sequence(np.sign(d)[orders]) >= np.log(1 / ALPHA))
    return np.where(out.any(axis=1), out.argmax(axis=1) + 1, d.size)


def measure(R: np.ndarray) -> dict[str, Any]:
    """Over the pairs of models that all questions tell apart (t, 5 %): the median share of the questions asked."""
    rng = np.random.default_rng(0)
    R = R[:, :, 0] if R.ndim == 3 else R
    R = np.where(R < 0, np.nan, R / R.max())
    shares: dict[str, list[float]] = {"without replacement": [], "with replacement": [], "sign process": []}
    wrong, pairs = 0, 0
    for i in range(len(R)):
        for j in range(i):
            d = R[i] - R[j]
            d = d[~np.isnan(d)]
            m = len(d)
            if m < 30 or d.std() == 0 or abs(d.mean()) < 1.96 * d.std(ddof=1) / np.sqrt(m):
                continue
            pairs += 1
            orders = np.stack([rng.permutation(m) for _ in range(ORDERS)])
            found = {"without replacement": stops(d, orders, True), "with replacement": stops(d, orders, False)}
            found["sign process"] = signs(d, orders)
            for name, n in found.items():
                shares[name] += (n / m).tolist()
            early = found["without replacement"] < m
            at = np.array([d[o[:n]].mean() for o, n in zip(orders, found["without replacement"], strict=True)])
            wrong += int((early & (np.sign(at) != np.sign(d.mean()))).sum())
    medians = {name: round(float(np.median(s)), 3) for name, s in shares.items()}
    quarters = {f"{name}, quarter": round(float(np.quantile(s, 0.25)), 3) for name, s in shares.items()}
    return {
        "models": len(R),
        "questions": R.shape[1],
        "pairs": pairs,
        **medians,
        **quarters,
        "wrong": wrong / (pairs * ORDERS),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the npz files")
    args = parser.parse_args()
    found = {}
    for name, (file, array) in FILES.items():
        with np.load(args.data / file) as stored:
            found[name] = measure(stored[array].astype(float))
        print(name, found[name], flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "saved.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
