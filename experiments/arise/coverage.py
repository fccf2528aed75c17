"""How often intervals of ARISE hold ARISE of the success rates: trials 1 to 80, with and without scaling.

60 samples, three levels, tokens that grow by a factor from level to level. Rates of a cell that nothing changes are
Beta(.5, .5) or all .9; of the model that scales a part of the samples gains at every step and some lose. Each cell of
the grid is a batch of data sets: one pass of `evaluate_scaling` with a data set in place of a model, truth known by
sample. ``python -m experiments.arise.coverage`` writes coverage.json beside this file.
"""

from __future__ import annotations

import itertools
import json
import time
import warnings
from pathlib import Path

import numpy as np

from jaxrank.errors import JaxrankWarning
from jaxrank.evaluation.scaling import evaluate_scaling

PATH = Path(__file__).parent / "coverage.json"
TRIALS = {2.0: (1, 2, 3, 4, 8, 10, 16, 40, 80), 1.3: (2, 4, 16), 3.0: (2, 4, 16)}  # by growth of the tokens
N_SETS, N_SAMPLES, N_LEVELS = 200, 60, 3


def rates(kind: str, rng: np.random.Generator) -> np.ndarray:
    """Success rates (sets, samples, levels)."""
    shape = (N_SETS, N_SAMPLES)
    if kind == "nothing scales, rates .9":
        return np.full((*shape, N_LEVELS), 0.9)
    p = rng.beta(0.5, 0.5, (*shape, 1)).repeat(N_LEVELS, -1)
    if kind == "nothing scales, rates Beta(.5, .5)":
        return p
    for j in range(1, N_LEVELS):
        gains, loses = rng.random(shape) < 0.5, rng.random(shape) < 0.1
        before = p[..., j - 1]
        p[..., j] = np.where(gains, before + 0.35 * (1 - before), np.where(loses, 0.8 * before, before))
    return p


KINDS = ("nothing scales, rates Beta(.5, .5)", "nothing scales, rates .9", "scales")


def cell(kind: str, n_trials: int, growth: float, seed: int) -> dict:
    rng = np.random.default_rng([seed, n_trials, KINDS.index(kind)])
    p = rates(kind, rng)
    step = np.diff(p, axis=-1)
    by_sample = np.where(step > 0, step / growth, step * growth).sum(-1)
    truth = by_sample.mean()  # over samples of this kind; the data sets draw samples anew
    y = (rng.random((*p.shape, n_trials)) < p[..., None]).astype(float)
    t = np.broadcast_to(1000 * growth ** np.arange(N_LEVELS)[:, None], y.shape)
    found = evaluate_scaling(y, t, n_replicates=500, n_exchanges=39)
    row = {"truth": truth, "p-value of .05 or less": float((found.p_value <= 0.05).mean())}
    for of, point in (("arise", found.arise), ("cross_fit", found.cross_fit), ("rates", None)):
        low, high = found.interval(of=of)
        row[of] = {
            "holds the truth": float(((low <= truth) & (truth <= high)).mean()),
            **({"width": float(np.mean(high - low))} if np.isfinite(high - low).all() else {}),
            **({} if point is None or np.isnan(point).any() else {"mean": float(point.mean())}),
        }
    return row


def main() -> None:
    begin, out = time.monotonic(), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)
        for kind, growth in itertools.product(KINDS, TRIALS):
            rows = out.setdefault(f"{kind}, tokens x {growth:g}", {})
            for n in TRIALS[growth]:
                rows[str(n)] = cell(kind, n, growth, 0)
            print(kind, growth, round(time.monotonic() - begin), "s", flush=True)
    out["setting"] = {"data sets a cell": N_SETS, "samples": N_SAMPLES, "seconds": round(time.monotonic() - begin)}
    PATH.write_text(json.dumps(out, indent=1) + "\n")
    for name, rows in out.items():
        if name == "setting":
            continue
        print(f"\n{name} (truth {next(iter(rows.values()))['truth']:.3f})")
        for n, row in rows.items():
            parts = [f"{row[of]['mean']:.3f}" if "mean" in row[of] else "" for of in ("arise", "cross_fit")]
            parts += [f"{row[of]['holds the truth']:.3f}" for of in ("arise", "cross_fit", "rates")]
            print(f"| {n} | " + " | ".join([*parts, f"{row['p-value of .05 or less']:.3f}"]) + " |")


if __name__ == "__main__":
    main()
