"""Seconds of `jaxrank fit old.parquet new.parquet --since` for a million votes, 1,000 of them new, beside a small fit.

python -m experiments.arena.since [--votes 1000000] [--new 1000] [--runs 5]   # -> results/since.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.arena.speed import table

HERE = Path(__file__).parent


def votes(n: int) -> pd.DataFrame:
    """Votes among 129 models by 60,000 voters as arenas publish them: names, who won, the voter."""
    given = table(n, 129, 60_000)
    names = np.array([f"m{i}" for i in range(129)], object)
    won = np.select([given["outcome"] == 1, given["outcome"] == 0], ["model_a", "model_b"], "tie")
    columns = {"model_a": names[given["a"]], "model_b": names[given["b"]], "winner": won, "voter": given["voter"]}
    return pd.DataFrame(columns)


def timed(*words: str) -> dict[str, float]:
    """Seconds of processor and system, and on the clock, of one command as a process of its own."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "jaxrank", *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = {"user": after.ru_utime - before.ru_utime, "system": after.ru_stime - before.ru_stime}
    return {k: round(v, 2) for k, v in {**seconds, "clock": time.perf_counter() - began}.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=1_000_000)
    parser.add_argument("--new", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        old, new = (str(Path(folder) / f"{name}.parquet") for name in ("old", "new"))
        frame = votes(given.votes)
        frame.iloc[: -given.new].to_parquet(old, index=False)
        frame.iloc[-given.new :].to_parquet(new, index=False)
        commands = {
            "since": ("fit", old, new, "--since"),
            "the same votes without --since": ("fit", old, new),
            "a bundled set": ("fit", "inspect_popularity"),
        }
        for words in commands.values():
            timed(*words)  # fills the cache of compiled code
        found = {name: [] for name in commands}
        for _ in range(given.runs):
            for name, words in commands.items():
                found[name].append(timed(*words))
    best = {name: min(runs, key=lambda run: run["user"] + run["system"]) for name, runs in found.items()}
    said = {
        "votes": given.votes,
        "new": given.new,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "least of all runs": best,
        "runs": found,
    }
    (HERE / "results" / "since.json").write_text(json.dumps(said, indent=1) + "\n")
    print(json.dumps({k: v for k, v in said.items() if k != "runs"}, indent=1))


if __name__ == "__main__":
    main()
