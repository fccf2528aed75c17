"""How often does a sequence that is looked at after every value ever exclude the truth? And Student's t, looked at so?

python -m experiments.verdicts.sequences --streams 100000 --looks 10000    # -> results/sequences.json
python -m experiments.verdicts.sequences --races 1000
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import stdtrit

from jaxrank.evaluation import sequential

RESULTS = Path(__file__).parent / "results"
ALPHA = 0.05
BLOCK = 20_000_000
RATES = {"rate .5": (0.5, 0.5), "rate .9": (0.9, 0.9)}
TRUTHS = ("rate .5", "rate .95", "differences", "uniform")


def values(key: jax.Array, truth: str, shape: tuple[int, int]) -> tuple[jax.Array, float, float]:
    """Values, their mean and the low end of the scale (the high end is 1)."""
    if truth == "differences":  # of two models of equal rates .8 on the same questions
        two = jax.random.uniform(key, (2, *shape)) < 0.8
        return two[0].astype(jnp.float32) - two[1], 0.0, -1.0
    u = jax.random.uniform(key, shape)
    if truth == "uniform":
        return u, 0.5, 0.0
    rate = float(truth.split()[1])
    return (u < rate).astype(jnp.float32), rate, 0.0


def excluded(name: str, x: jax.Array, mean: float, low: float, quantiles: jax.Array) -> jax.Array:
    """bool (streams,): whether the truth was ever excluded."""
    goal = np.log(1 / ALPHA)
    if name == "sign process":
        return (sequential.sign_sequence(x) >= goal).any(axis=1)
    if name == "betting":
        return (sequential.betting_process(x, mean, low, 1.0, ALPHA) >= goal).any(axis=1)
    if name == "betting without replacement":
        looks = x.shape[1]
        own = x.mean(axis=1)  # the streams are whole populations in random order
        process = sequential.betting_process(x, own, low, 1.0, ALPHA, population=looks)
        return (process[:, :-1] >= goal).any(axis=1)
    n = jnp.arange(1, x.shape[1] + 1)
    total, square = jnp.cumsum(x - mean, axis=1), jnp.cumsum((x - mean) ** 2, axis=1)
    variance = (square - total**2 / n) / jnp.maximum(n - 1, 1)
    t = jnp.abs(total / n) / jnp.sqrt(jnp.maximum(variance, 1e-12) / n)
    first = {"t at every look": 2, "t at every look from 30": 30}[name]
    return ((t > quantiles) & (n >= first) & (variance > 1e-9)).any(axis=1)


KINDS = {
    "sign process": ("differences",),
    "betting": TRUTHS,
    "betting without replacement": TRUTHS,
    "t at every look": TRUTHS,
    "t at every look from 30": TRUTHS,
}


def measure(name: str, truth: str, streams: int, looks: int) -> dict[str, Any]:
    began = time.perf_counter()
    n = np.maximum(np.arange(looks), 1)
    quantiles = jnp.asarray(stdtrit(n, 1 - ALPHA / 2), jnp.float32)
    step, hits = max(BLOCK // looks, 1), 0

    @jax.jit
    def block(key: jax.Array) -> jax.Array:
        x, mean, low = values(key, truth, (step, looks))
        return excluded(name, x, mean, low, quantiles)

    n_blocks = -(-streams // step)
    for b in range(n_blocks):
        found = np.asarray(block(jax.random.fold_in(jax.random.key(0), b)))
        hits += int(found[: streams - b * step].sum())
    share = hits / streams
    return {"excluded": share, "streams": streams, "looks": looks, "seconds": round(time.perf_counter() - began, 1)}


RACES = {"best by .1": (0.6, 0.5, 0.5, 0.4), "best by .2": (0.7, 0.5, 0.5, 0.5), "all equal": (0.5,) * 4}
N_QUESTIONS = 300


def races(done: dict[str, Any], n: int, end: float, write: Callable[[], None]) -> None:
    """Races of four models on 300 questions, ``n`` of each kind, going on from those that were run: how often the
    winner that is called is not the best of the table, and how many of the 1,200 questions were asked."""
    for name, rates in RACES.items():
        key = f"race | {name}"
        found = done.get(key, {"wrong": 0, "decided": 0, "asked": [], "races": 0, "seconds": 0.0})
        while found["races"] < n and time.perf_counter() < end:
            began = time.perf_counter()
            for seed in range(found["races"], min(found["races"] + 20, n)):
                wrong, decided, asked = one_race(np.array(rates), seed)
                found["wrong"] += int(wrong)
                found["decided"] += int(decided)
                found["asked"].append(asked)
                found["races"] += 1
            found["seconds"] = round(found["seconds"] + time.perf_counter() - began, 1)
            done[key] = found
            write()
        if found["races"]:
            asked = np.median(found["asked"])
            print(key, found["races"], "wrong", found["wrong"], "decided", found["decided"], "asked", asked, flush=True)


def one_race(rates: np.ndarray, seed: int) -> tuple[bool, bool, int]:
    """Whether a model was called the best that is not, whether one was called, and how many questions were asked."""
    table = (np.random.default_rng(seed).random((len(rates), N_QUESTIONS)) < rates[:, None]).astype(float)
    names, questions = [f"{i}" for i in range(len(rates))], [f"{m}" for m in range(N_QUESTIONS)]
    found = sequential.race(lambda i, m: table[int(i), int(m)], names, questions, seed=seed)
    means = table.mean(axis=1)
    wrong = found.separated and means[int(found.top[0])] < means.max()
    return wrong, found.separated, int(found.asked.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=100_000)
    parser.add_argument("--looks", type=int, default=10_000)
    parser.add_argument("--races", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--minutes", type=float, default=1e9)
    args = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "sequences.json"
    done: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    end = time.perf_counter() + 60 * args.minutes
    if args.races:
        races(done, args.races, end, lambda: write(path, done))
    else:
        for name, truths in KINDS.items():
            for truth in truths:
                key = f"{name} | {truth}"
                if (
                    args.only in key
                    and time.perf_counter() < end
                    and done.get(key, {}).get("streams", 0) < args.streams
                ):
                    done[key] = measure(name, truth, args.streams, args.looks)
                    print(key, done[key], flush=True)
                    write(path, done)
    write(path, done)


def write(path: Path, done: dict[str, Any]) -> None:
    path.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in done.items()) + "\n}\n")


if __name__ == "__main__":
    main()
