"""Figures 4 and 5 of the ARISE paper, simulated: six ways to spend trials, the threshold tau, and the most attempts.

60 samples, three levels, tokens that double with a spread of 30 % between trials of a cell, two designs of success
rates. Every run draws new trials of the same samples, so the variance over runs is that of the sampling alone; bias is
against ARISE of the success rates. ``python -m experiments.arise.sampling`` writes sampling.json beside this file.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from jaxrank.evaluation.scaling import allocate, arise, replay, scaling_metric

PATH = Path(__file__).parent / "sampling.json"
N_RUNS, N_SAMPLES, N_LEVELS, MOST = 400, 60, 3, 20
PUBLISHED = {"5 uniform": 0.314, "budget of 5 a cell": 0.575, "adaptive, 3 to 10": 0.761}


def designs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Success rates (samples, levels)."""
    logit = rng.normal(0, 2.5, (N_SAMPLES, 1)) + np.array([-0.8, 0.0, 0.8])
    start = rng.beta(0.5, 0.5, (N_SAMPLES, 1))
    return {
        "logits of sd 2.5, rising": 1 / (1 + np.exp(-logit)),
        "Beta(.5, .5), a third of what is missing gained at each step": 1
        - (1 - start) * (2 / 3) ** np.arange(N_LEVELS),
    }


def means(y: np.ndarray, t: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cell means over the first ``used`` trials; y, t (runs, samples, levels, trials)."""
    first = np.arange(y.shape[-1]) < used[..., None]
    return (y * first).sum(-1) / used, (t * first).sum(-1) / used


def noise_of(y: np.ndarray, t: np.ndarray, n: int) -> np.ndarray:
    a, tok = y[..., :n], t[..., :n]
    return a.std(-1) / (a.mean(-1) + 1e-8) + tok.std(-1) / (tok.mean(-1) + 1e-8)


def adaptive(y: np.ndarray, t: np.ndarray, tau: float, m_max: int) -> np.ndarray:
    flat = lambda x: x.reshape(-1, *x.shape[2:])  # runs beside samples: the rule looks at one cell at a time
    return replay(flat(y), flat(t), tau=tau, m_min=3, m_max=m_max).reshape(y.shape[:3])


def study(rates: np.ndarray, rng: np.random.Generator) -> dict:
    shape = (N_RUNS, *rates.shape, MOST)
    y = (rng.random(shape) < rates[..., None]).astype(float)
    t = 1000 * 2.0 ** np.arange(N_LEVELS)[:, None] * np.maximum(1 + 0.3 * rng.standard_normal(shape), 0.1)
    expected = np.broadcast_to(1000 * 2.0 ** np.arange(N_LEVELS), rates.shape)
    truth = float(arise(rates, expected))
    plan = np.stack([allocate(cv, 5 * cv.size) for cv in noise_of(y, t, 3)])
    ways = {
        "1 trial": np.full(plan.shape, 1),
        "3 uniform": np.full(plan.shape, 3),
        "5 uniform": np.full(plan.shape, 5),
        "budget of 5 a cell": np.minimum(plan, MOST),
        "adaptive, 3 to 10": adaptive(y, t, 0.5, 10),
        "adaptive, 3 to 20": adaptive(y, t, 0.5, 20),
    }

    def row(used: np.ndarray, base: dict | None = None) -> dict:
        a, tok = means(y, t, used)
        score, slope = np.asarray(arise(a, tok)), np.asarray(scaling_metric(a, tok))
        out = {
            "trials a cell": float(used.mean()),
            "variance": float(score.var(ddof=1)),
            "variance of the scaling metric": float(slope.var(ddof=1)),
            "bias": float(score.mean() - truth),
        }
        if base:
            out["variance cut"] = 1 - out["variance"] / base["variance"]
            key = "variance of the scaling metric"
            out["variance cut of the scaling metric"] = 1 - out[key] / base[key]
        return out

    base = row(ways["1 trial"])
    found: dict = {"truth": truth, "strategies": {name: row(used, base) for name, used in ways.items()}}
    for name, pairs in (
        ("tau", [(tau, 10) for tau in (0.2, 0.3, 0.4, 0.5, 0.7, 1.0)]),
        ("most attempts", [(0.5, m) for m in (4, 6, 8, 10, 15, 20)]),
    ):
        rows = found.setdefault(name, {})
        for tau, m_max in pairs:
            used = adaptive(y, t, tau, m_max)
            cv = np.take_along_axis(
                np.stack([noise_of(y, t, n) for n in range(3, m_max + 1)], -1), used[..., None] - 3, -1
            )[..., 0]
            rows[str(tau if name == "tau" else m_max)] = row(used, base) | {"unsettled": float((cv >= tau).mean())}
    return found


def main() -> None:
    begin, rng = time.monotonic(), np.random.default_rng(0)
    out: dict = {name: study(rates, rng) for name, rates in designs(rng).items()}
    out["published variance cuts"] = PUBLISHED
    out["seconds"] = round(time.monotonic() - begin)
    PATH.write_text(json.dumps(out, indent=1) + "\n")
    for name, found in out.items():
        if not isinstance(found, dict) or "truth" not in found:
            continue
        print(f"\n{name}, truth {found['truth']:.3f}")
        for part in ("strategies", "tau", "most attempts"):
            for how, r in found[part].items():
                cut, slope = r.get("variance cut", 0), r.get("variance cut of the scaling metric", 0)
                told = f"{r['trials a cell']:.2f} trials, -{cut:.1%}, SM -{slope:.1%}, bias {r['bias']:.3f}"
                print(part, how, told, f"unsettled {r['unsettled']:.0%}" if "unsettled" in r else "")


if __name__ == "__main__":
    main()
