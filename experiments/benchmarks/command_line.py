"""Seconds of the command line on a csv of 48,000 rows (20 models, 30 questions, 80 trials), whole processes.

Cold: an empty compilation cache for each command. Cached: the runs after it. Wall and CPU seconds, the least of several
runs (cold: of one); ``import jax`` stands beside them. With ``--other FOLDER``, another checkout, each command runs in
turns from here and from there. Written to ``results/command_line.json`` with the machine and the versions.
Run: python -m experiments.benchmarks.command_line [--runs 5] [--only NAME ...] [--other FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SHAPE = (20, 30, 80)
COMMANDS = {
    "--help": ["-m", "jaxrank", "--help"],
    "import jax": ["-c", "import jax"],
    "fit": ["-m", "jaxrank", "fit", "FILE"],
    "fit -m bayes": ["-m", "jaxrank", "fit", "FILE", "-m", "bayes"],
    "bootstrap": ["-m", "jaxrank", "bootstrap", "FILE"],
    "methods": ["-m", "jaxrank", "methods", "FILE"],
    "posterior": ["-m", "jaxrank", "posterior", "FILE"],
    "report": ["-m", "jaxrank", "report", "FILE", "-o", "OUT"],
}
ONCE = {"methods": "compare"}  # what an older checkout calls a command


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="cached runs of each command")
    parser.add_argument("--only", nargs="*", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--other", type=Path, help="another checkout, measured in turns")
    args = parser.parse_args()
    trees = {"here": HERE.parents[1]} | ({"other": args.other.resolve()} if args.other else {})
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        table = write_table(Path(folder) / "results.csv")
        for name in args.only:
            runs: dict[str, list[tuple[float, float]]] = {tree: [] for tree in trees}
            for _ in range(args.runs + 1):
                for tree, path in trees.items():
                    cache = Path(folder) / f"{tree} {name}"
                    own = {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(path)}
                    words = [
                        {"FILE": str(table), "OUT": str(Path(folder) / "page.html")}.get(w, w) for w in COMMANDS[name]
                    ]
                    if name in ONCE and not (path / "jaxrank" / "cli" / "commands" / f"{name}.py").exists():
                        words[words.index(name)] = ONCE[name]
                    cache.mkdir(exist_ok=True)
                    runs[tree].append(seconds(words, environment() | own, folder))
            found[name] = {tree: {"cold": told(times[:1]), "cached": told(times[1:])} for tree, times in runs.items()}
            print(name, json.dumps(found[name]), flush=True)
    record = {
        "shape": SHAPE,
        "seconds": found,
        "machine": {"cores": os.cpu_count(), "processor": platform.machine(), "system": platform.system()},
        "load_average": os.getloadavg()[0],
        "versions": {"python": platform.python_version(), **{p: version(p) for p in ("jax", "numpy", "equinox")}},
    }
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "command_line.json").write_text(json.dumps(record, indent=1) + "\n")


def environment() -> dict[str, str]:
    """That of this process, without what it says about compilation caches."""
    return {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}


def told(times: list[tuple[float, float]]) -> dict[str, float]:
    """The least wall and the least CPU seconds of several runs."""
    return {what: round(min(values), 2) for what, values in zip(("wall", "cpu"), zip(*times, strict=True), strict=True)}


def write_table(path: Path) -> Path:
    """Outcomes of a two-parameter logistic model, in long form."""
    rng = np.random.default_rng(0)
    ability, difficulty = np.linspace(-2.2, 1.6, SHAPE[0]), rng.normal(0, 1.2, SHAPE[1])
    chance = 1 / (1 + np.exp(-rng.lognormal(0, 0.3, SHAPE[1]) * (ability[:, None] - difficulty)))
    R = (rng.random(SHAPE) < chance[..., None]).astype(int)
    rows = [f"model-{i:02d},question-{m:02d},{n},{r}" for (i, m, n), r in np.ndenumerate(R)]
    path.write_text("\n".join(["model,question,trial,score", *rows]) + "\n")
    return path


def seconds(command: list[str], environment: dict[str, str], folder: str) -> tuple[float, float]:
    """Wall and CPU seconds of one process, begun in a folder."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command], env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    told = process.stderr.read() if process.stderr else b""
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    if status != 0:
        raise SystemExit(f"{command} failed: {told.decode()}")
    return wall, usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
