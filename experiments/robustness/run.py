"""Studies that start together in one folder, saves that are killed, files that are damaged.

    python experiments/robustness/run.py

Counts what went wrong, writes results.json beside this file, and ends with code 1 unless every count is 0.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = str(ROOT)  # for the processes that race

from tests.data.readers import fuzz  # noqa: E402
from tests.data.test_files import kill_saves  # noqa: E402
from tests.resampling.test_checkpoint import race  # noqa: E402


def main() -> None:
    config = json.loads((HERE / "config.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, float]] = {}

    def measure(name: str, count: int, faults: int, began: float) -> None:
        found[name] = {"runs": count, "faults": faults, "seconds": round(time.perf_counter() - began, 1)}
        print(f"{name}: {count:,} runs, {faults} faults, {found[name]['seconds']} s", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        faults = race(Path(folder), config["races"])
        print(*faults, sep="\n", end="\n" * bool(faults))
        measure("two studies in one folder", config["races"], len(faults), began)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        measure("killed saves", config["saves"], kill_saves(Path(folder), config["saves"], config["seed"]), began)
    began = time.perf_counter()
    measure("damaged files", config["files"], fuzz.main(config["files"], config["seed"])["traceback"], began)
    (HERE / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    sys.exit(any(row["faults"] for row in found.values()))


if __name__ == "__main__":
    main()
