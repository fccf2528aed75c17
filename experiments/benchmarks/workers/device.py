"""Is the device right, and how fast is it? Run by ``device.sh``.

First every method is compared with float64 on the CPU of the same machine, in a process of its own: the fit of the
whole tensor, and some replicates with the same seed. Only then come replicates a second, in float32 and float64.
Results are written after every figure, so that a run that is cut short keeps what it has.

Replicates a second count the whole call (draws, statistics, fits, scores brought back to the host), the compilation
left out. ``bound`` is the rate at which the draws and the product that makes the statistics alone could run (see
`bound`), and ``share`` the part of it that was reached.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxrank as jr

METHODS = (
    "avg",
    "bayes",
    "pass_at_k",
    "bradley_terry",
    "bradley_terry_davidson",
    "rao_kupper",
    "bradley_terry_luce",
    "rasch",
    "rasch_mml",
    "borda",
    "schulze",
    "elo",
)
SHAPE = (20, 30, 80)
# What float32 may differ by, in units of the largest score; float64 differs by the order of sums only.
TOLERANCE = {"float32": 2e-3, "float64": 1e-8}
CHECKED = 64
MODEL = Path(__file__).parents[2] / "accelerators" / "roofline.json"
KINDS = {"h100": ("H100",), "v5e": ("v5 lite", "v5e")}
CHUNK = 2**14  # one size for all numbers of replicates, so that each method compiles once for a dtype


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", default="10000,100000,1000000", help="numbers of replicates, rising")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--dtypes", default="float32,float64")
    parser.add_argument("--limit", type=float, default=330.0, help="seconds after which nothing new is begun")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file; with --reference, a folder")
    parser.add_argument("--reference", action="store_true", help="only write what float64 on this platform gives")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.reference:
        reference(simulate(), args.methods.split(","), args.out)
        return
    began = time.perf_counter()
    left = lambda: args.limit - (time.perf_counter() - began)
    device = jax.devices()[0]
    record: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "device": {"kind": device.device_kind, "platform": device.platform, "count": jax.device_count()},
        "machine": {"cores": os.cpu_count(), "processor": platform.machine()},
        "versions": {"python": platform.python_version(), "jax": jax.__version__, "numpy": np.__version__},
        "shape": SHAPE,
        "correct": {},
        "throughput": {},
    }
    R, methods, dtypes = simulate(), args.methods.split(","), args.dtypes.split(",")
    record["bound"] = {dtype: bound(R, dtype) for dtype in dtypes}
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        # on the CPU, at the same time as the device compiles
        command = [sys.executable, __file__, "--reference", "--methods", args.methods, "--out", folder]
        process = subprocess.Popen(command, env={**os.environ, "JAX_PLATFORMS": "cpu"})
        for method in methods:
            if left() < args.limit / 2:
                record["correct"][method] = {"left_out": "half of the time was spent"}
                continue
            record["correct"][method] = found = correct(R, method, dtypes, Path(folder), process)
            wrong += [f"{method} in {dtype}" for dtype, f in found.items() if not f["ok"]]
            print(f"{method:24s}", json.dumps(found), flush=True)
            write(record, args.out)
        process.terminate()
        process.wait()
    for dtype in dtypes:
        for n in map(int, args.replicates.split(",")):
            for method in methods:
                seen = record["throughput"].setdefault(method, {}).setdefault(dtype, {})
                if expected(seen, n) > left():
                    seen[str(n)] = {"left_out": "would not end in the time that is left"}
                    continue
                seen[str(n)] = f = throughput(R, method, dtype, n, left)
                f["share"] = f["per_second"] / record["bound"][dtype]["replicates_per_second"]
                told = f"{method:24s} {dtype} {n:8d} {f['per_second']:14,.0f}/s {f['seconds']:8.3f} s"
                if foreseen := predicted(method, dtype, device.device_kind):
                    f["predicted_per_second"] = foreseen
                    told += f"  predicted {foreseen:14,.0f}/s"
                print(told, flush=True)
                write(record, args.out)
    record["seconds"] = round(time.perf_counter() - began, 1)
    write(record, args.out)
    if wrong:
        sys.exit(f"differs from float64 on the CPU: {', '.join(wrong)}")


def reference(R: np.ndarray, methods: list[str], folder: Path) -> None:
    """Scores of the whole tensor and of replicates in float64: a file for each method."""
    for method in methods:
        rep = replicates(R, method, "float64")
        unfinished = folder / f"{method}.part.npz"
        np.savez(unfinished, point=rep.scores, scores=rep.replicate_scores)
        unfinished.rename(folder / f"{method}.npz")


def replicates(R: np.ndarray, method: str, dtype: str) -> Any:
    return jr.bootstrap(
        R, method, n_replicates=CHECKED, scheme="trials", dtype=dtype, seed=1, chunk_size=CHUNK, progress=False
    )


def correct(
    R: np.ndarray, method: str, dtypes: list[str], folder: Path, process: subprocess.Popen
) -> dict[str, dict[str, Any]]:
    """Largest differences from float64 on the CPU, relative to the largest score: of the fit, and of replicates."""
    reps = {dtype: replicates(R, method, dtype) for dtype in dtypes}
    path = folder / f"{method}.npz"
    while not path.exists():
        if process.poll() not in (None, 0):
            raise SystemExit(f"the process on the CPU ended with {process.returncode} before {method}")
        time.sleep(0.05)
    right = np.load(path)
    scale = float(np.abs(right["point"]).max())
    finite = np.isfinite(right["scores"]).all(axis=1)
    found = {}
    for dtype, rep in reps.items():
        fit = float(np.abs(rep.scores - right["point"]).max()) / scale
        off = float(np.abs(rep.replicate_scores - right["scores"])[finite].max()) / scale
        failed = int((np.isfinite(rep.replicate_scores).all(axis=1) != finite).sum())
        ok = fit <= TOLERANCE[dtype] and off <= TOLERANCE[dtype] and failed == 0
        found[dtype] = {"fit": fit, "replicates": off, "other_status": failed, "ok": ok}
    return found


def throughput(R: np.ndarray, method: str, dtype: str, n: int, left: Any) -> dict[str, Any]:
    """Seconds of the second of two runs; of the first, where time is short."""
    run = lambda: jr.bootstrap(
        R, method, n_replicates=n, scheme="trials", dtype=dtype, seed=1, chunk_size=CHUNK, progress=False
    )
    first = seconds(run)
    took = seconds(run) if left() > 2 * first else first
    return {"seconds": took, "first": first, "per_second": n / took}


def predicted(method: str, dtype: str, kind: str) -> float | None:
    """Replicates a second by the model of experiments/accelerators, where it knows the device."""
    target = next((t for t, names in KINDS.items() if any(name in kind for name in names)), None)
    if dtype != "float32" or target is None or not MODEL.exists():
        return None
    row = json.loads(MODEL.read_text()).get(f"{method} | {target}")
    return row and row["predicted a second"]


def expected(seen: dict[str, Any], n: int) -> float:
    """Seconds that n replicates will take, from the last smaller number of them."""
    done = [(int(k), f["seconds"]) for k, f in seen.items() if "seconds" in f]
    return 3.0 if not done else 2 * done[-1][1] * n / done[-1][0]


def bound(R: np.ndarray, dtype: str) -> dict[str, float]:
    """How fast replicates could come if drawing trials and the product that makes pairwise counts were all.

    The product: 2 L (L - 1) N flops for each replicate, on matrices of 8,192 replicates, as this device runs it.
    """
    batch, n_models, n_trials = 8192, R.shape[0], R.shape[2]
    with jax.enable_x64(dtype == "float64"):
        weights = jnp.ones((batch, n_trials), dtype)
        rows = jnp.ones((n_trials, n_models * (n_models - 1)), dtype)

        @jax.jit
        def work(key: Any, weights: Any, rows: Any) -> Any:
            drawn = jax.random.randint(key, (batch, n_trials), 0, n_trials)
            return jnp.matmul(weights + drawn, rows, precision=jax.lax.Precision.HIGHEST)

        run = lambda: work(jax.random.key(0), weights, rows).block_until_ready()
        run()
        took = float(np.median([seconds(run) for _ in range(5)]))
    flops = 2 * batch * rows.size
    return {"replicates_per_second": batch / took, "flops_per_second": flops / took}


def write(record: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")


def seconds(call: Any) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def simulate() -> np.ndarray:
    """Outcomes of a two-parameter logistic model, int (models, questions, trials)."""
    rng = np.random.default_rng(0)
    ability, difficulty = np.linspace(-2.2, 1.6, SHAPE[0]), rng.normal(0, 1.2, SHAPE[1])
    chance = 1 / (1 + np.exp(-rng.lognormal(0, 0.3, SHAPE[1]) * (ability[:, None] - difficulty)))
    return (rng.random(SHAPE) < chance[..., None]).astype(int)


if __name__ == "__main__":
    main()
