"""A calibrated mimic of the four benchmarks of arXiv 2603.10960, whose response tensors are not public.

The success probability of model l on question m is

    p[l, m] = sigmoid(theta[l] - s * b[m] - e[l, m])

with b the normal quantiles of the questions, e[l, m] ~ Normal(0, deviation) a model-by-question deviation, theta[l]
solved so that the mean of p[l] is the published mean accuracy of model l, and s (one number a benchmark) solved so
that the mean of p (1 - p) over models and questions equals 30 times the published variance over trials, averaged over
models. Trials are independent draws. Nothing else is fitted. One published variance exceeds that of any independent
trials (gpt-oss-low on AIME24: 30 x 0.130^2 = 0.51 against at most 0.22), so single models are not matched, only the
benchmark's mean.

Everything is deterministic in ``seed``: e, the trials, the greedy answers and each benchmark have their own streams, so
the first n trials do not depend on how many are drawn. Use as a module::

    from experiments import mimic
    bench = mimic.benchmark("AIME24")         # or "AIME25", "HMMT25", "BrUMO25", "Combined"
    bench.R          # int8 (20, 30, 80); Combined: (20, 120, 80)
    bench.greedy     # int8 (20, 30): one outcome a question, with the published greedy accuracy
    bench.models, bench.p, bench.spread

or as a script, which prints how closely the calibration holds: ``python -m experiments.mimic``.
"""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtri

BENCHMARKS = ("AIME24", "AIME25", "HMMT25", "BrUMO25")
COMBINED = "Combined"
ALL = (*BENCHMARKS, COMBINED)
N_QUESTIONS = 30
N_TRIALS = 80
PUBLISHED = Path(__file__).parent / "published" / "accuracy.csv"


@dataclass(frozen=True)
class Benchmark:
    """One simulated benchmark.

    **R**: int8 (L, M, N), outcomes of the sampled trials. **greedy**: int8 (L, M), outcomes of greedy decoding.
    **p**: float (L, M), the true success probabilities. **models**: L names. **spread**: the solved s (NaN for
    Combined).
    """

    name: str
    R: np.ndarray
    greedy: np.ndarray
    p: np.ndarray
    models: tuple[str, ...]
    spread: float


def benchmark(
    name: str, n_trials: int = N_TRIALS, seed: int = 0, deviation: float = 1.0, match: str = "rates"
) -> Benchmark:
    """The mimic of one benchmark, or of the four joined along the questions (``"Combined"``).

    **deviation**: standard deviation of e on the logit scale, 0 or more; not published, 1 by default.
    **match**: what equals the published mean accuracy: "rates", the mean of p, so that the trials scatter around it; or
    "totals", the mean of the trials themselves, to the nearest success. The latter keeps the published gaps between
    close models, which are smaller than the scatter of 80 trials (0.006), and with them the published order.
    Raises `ValueError` for an unknown name or match.
    """
    if match not in ("rates", "totals"):
        raise ValueError(f'unknown match {match!r}; it must be "rates" or "totals"')
    if name == COMBINED:
        parts = [benchmark(b, n_trials, seed, deviation, match) for b in BENCHMARKS]
        joined = [np.concatenate([getattr(part, x) for part in parts], axis=1) for x in ("R", "greedy", "p")]
        return Benchmark(name, *joined, parts[0].models, float("nan"))
    if name not in BENCHMARKS:
        raise ValueError(f"unknown benchmark {name!r}; choose one of {', '.join(ALL)}")
    rows = published(name)
    streams = np.random.SeedSequence([seed, BENCHMARKS.index(name)]).spawn(3)
    e, trials, greedy = (np.random.default_rng(s) for s in streams)
    p, spread = calibrate(rows, deviation * e.standard_normal((len(rows["models"]), N_QUESTIONS)))
    drawn = trials.random((n_trials, *p.shape))
    right = drawn < p if match == "rates" else _with_totals(drawn, p, rows["mean"])
    R = right.astype(np.int8).transpose(1, 2, 0)
    return Benchmark(name, np.ascontiguousarray(R), _greedy(p, rows["greedy"], greedy), p, rows["models"], spread)


@functools.cache
def published(name: str) -> dict[str, object]:
    """Published figures of one benchmark: ``models`` (names) and float arrays (L,) ``greedy``, ``mean``, ``std``."""
    with PUBLISHED.open(newline="") as file:
        rows = sorted((r for r in csv.DictReader(file) if r["benchmark"] == name), key=lambda r: int(r["model_id"]))
    columns = {key: np.array([float(r[key]) for r in rows]) for key in ("greedy", "mean", "std")}
    return {"models": tuple(r["model"] for r in rows), **columns}


def calibrate(rows: dict, e: np.ndarray) -> tuple[np.ndarray, float]:
    """p (L, M) and the spread s for given deviations ``e`` (L, M)."""
    b = ndtri((np.arange(e.shape[1]) + 0.5) / e.shape[1])
    mean = rows["mean"]
    target = N_QUESTIONS * (rows["std"] ** 2).mean()

    def probabilities(s: float) -> np.ndarray:
        offset = s * b + e
        theta = np.zeros(len(mean))
        low, high = np.full(len(mean), -1e3), np.full(len(mean), 1e3)
        for _ in range(200):  # bisection on all models at once
            theta = (low + high) / 2
            above = expit(theta[:, None] - offset).mean(axis=1) > mean
            low, high = np.where(above, low, theta), np.where(above, theta, high)
        return expit(theta[:, None] - offset)

    def excess(s: float) -> float:
        p = probabilities(s)
        return float((p * (1 - p)).mean() - target)

    spread = brentq(excess, 0.0, 100.0, xtol=1e-10)
    return probabilities(spread), float(spread)


def _with_totals(drawn: np.ndarray, p: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Outcomes (N, L, M) with the given total of each model: its log-odds are moved, all alike, until it comes out."""
    least = np.log(drawn) - np.log1p(-drawn) - (np.log(p) - np.log1p(-p))  # the move that makes this trial a success
    wanted = np.rint(mean * drawn.shape[0] * p.shape[1]).astype(int)
    flat = np.sort(least.transpose(1, 0, 2).reshape(len(p), -1), axis=1)
    return least <= flat[np.arange(len(p)), wanted - 1][:, None]


def _greedy(p: np.ndarray, accuracy: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Outcomes (L, M) with the published number of successes, on questions drawn by their log-odds (Gumbel top-k)."""
    noisy = np.log(p) - np.log1p(-p) + rng.logistic(size=p.shape)
    place = np.argsort(np.argsort(-noisy, axis=1), axis=1)
    return (place < np.rint(accuracy * p.shape[1])[:, None]).astype(np.int8)


def main() -> None:
    import jax.numpy as jnp

    from jaxrank import kendall_tau

    print(
        f"{'benchmark':10s} {'spread':>7s} {'accuracy':>9s} {'M var':>7s} {'published':>9s} {'tau_b(1 trial, 80)':>19s}"
    )
    for name in ALL:
        bench = benchmark(name)
        gold = bench.R.mean(axis=(1, 2))
        single = bench.R.mean(axis=1).T  # (N, L)
        tau = np.asarray(kendall_tau(jnp.asarray(single), jnp.asarray(gold[None]))).mean()
        m = bench.R.shape[1]
        variance = m * bench.R.mean(axis=1).var(axis=1, ddof=1).mean()
        rows = published(name) if name != COMBINED else None
        error = np.abs(bench.p.mean(axis=1) - rows["mean"]).max() if rows else float("nan")
        target = 30 * (rows["std"] ** 2).mean() if rows else float("nan")
        print(f"{name:10s} {bench.spread:7.3f} {error:9.1e} {variance:7.4f} {target:9.4f} {tau:19.3f}")


if __name__ == "__main__":
    main()
