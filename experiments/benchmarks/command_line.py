"""Seconds of ``jaxrank fit`` on a csv of 48,000 rows (20 models, 30 questions, 80 trials), whole process.

Cold: an empty compilation cache. Warm: the second and later runs. Also ``import jaxrank`` beside ``import jax``, and
``jaxrank --help``. Wall and CPU seconds, the least of several runs (the first, for cold); written to
``results/command_line.json`` with the machine and the versions. Run: python experiments/benchmarks/command_line.py
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="warm runs of each command")
    parser.add_argument("--method", default="bayes")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = write_table(Path(folder) / "results.csv")
        fit = ["-m", "jaxrank", "fit", str(table), "--method", args.method]
        environment = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
        environment["XDG_CACHE_HOME"] = folder
        cold = seconds(fit, environment)
        measured = {
            "fit, cold": cold,
            "fit, warm": least(fit, environment, args.runs),
            "import jax": least(["-c", "import jax"], environment, args.runs),
            "import jaxrank": least(["-c", "import jaxrank"], environment, args.runs),
            "--help": least(["-m", "jaxrank", "--help"], environment, args.runs),
        }
    for name, (wall, cpu) in measured.items():
        print(f"{name:16s} {wall:6.2f} s wall {cpu:6.2f} s CPU")
    record = {
        "shape": SHAPE,
        "method": args.method,
        "seconds": {name: {"wall": round(wall, 3), "cpu": round(cpu, 3)} for name, (wall, cpu) in measured.items()},
        "machine": {"cores": os.cpu_count(), "processor": platform.machine(), "system": platform.system()},
        "load_average": os.getloadavg()[0],
        "versions": {"python": platform.python_version(), **{p: version(p) for p in ("jax", "numpy", "equinox")}},
    }
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "command_line.json").write_text(json.dumps(record, indent=1) + "\n")


def write_table(path: Path) -> Path:
    """Outcomes of a two-parameter logistic model, in long form."""
    rng = np.random.default_rng(0)
    ability, difficulty = np.linspace(-2.2, 1.6, SHAPE[0]), rng.normal(0, 1.2, SHAPE[1])
    chance = 1 / (1 + np.exp(-rng.lognormal(0, 0.3, SHAPE[1]) * (ability[:, None] - difficulty)))
    R = (rng.random(SHAPE) < chance[..., None]).astype(int)
    rows = [f"model-{i:02d},question-{m:02d},{n},{r}" for (i, m, n), r in np.ndenumerate(R)]
    path.write_text("\n".join(["model,question,trial,score", *rows]) + "\n")
    return path


def seconds(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Wall and CPU seconds of one process."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    if status != 0:
        raise SystemExit(f"{command} failed: {process.stderr.read().decode() if process.stderr else ''}")
    return wall, usage.ru_utime + usage.ru_stime


def least(command: list[str], environment: dict[str, str], runs: int) -> tuple[float, float]:
    """The least wall and the least CPU seconds of several runs."""
    times = [seconds(command, environment) for _ in range(runs)]
    return min(wall for wall, _ in times), min(cpu for _, cpu in times)


if __name__ == "__main__":
    main()
