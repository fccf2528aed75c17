"""Every method once on big tensors: 2,000 models x 500 questions and 300 x 5,000, one trial. Seconds, memory, status.

Run: python experiments/benchmarks/sizes.py [--methods a,b,c] [--seconds T]

Every fit is a process of its own. The file is written after each and the script goes on where it stood; see README.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
SIZES = {"2000x500": (2_000, 500), "300x5000": (300, 5_000)}
WARM_IF_UNDER_S = 15.0
# These read lists, or two trials of a question.
LEFT_OUT = {"plackett_luce_rankings", "plackett_luce_rankings_map", "pass_at_k_2", "pass_hat_k_2", "mg_pass_at_k_2"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", help="comma-separated; default all that read tensors")
    parser.add_argument("--cap", type=float, default=180.0, help="seconds a process may take")
    parser.add_argument("--memory", type=float, default=14.0, help="GiB a process may take")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing new after this time")
    parser.add_argument("--again", action="store_true", help="time methods that are in the file already again")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "sizes.json")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(*args.one)))
        return
    until = time.monotonic() + args.seconds
    record = json.loads(args.out.read_text()) if args.out.exists() else {}
    record |= {"cores": os.cpu_count(), "cap_s": args.cap, "cap_gib": args.memory}
    for size in SIZES:
        done = record.setdefault(size, {})
        for method in args.methods.split(",") if args.methods else methods():
            if (method in done and not args.again) or time.monotonic() > until:
                continue
            load = round(os.getloadavg()[0], 2)
            done[method] = run(method, size, args.cap, args.memory) | {"load": load}
            record["date"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            args.out.parent.mkdir(exist_ok=True)
            args.out.write_text(json.dumps(record, indent=1) + "\n")
            print(size, method, done[method], flush=True)


def methods() -> list[str]:
    import jaxrank as jr

    return [m for m in jr.entries() if m not in LEFT_OUT]


def run(method: str, size: str, cap: float, memory: float) -> dict[str, Any]:
    """The measurement in a process of its own, stopped when it takes longer or more memory than it may."""
    command = [sys.executable, __file__, "--one", method, size]
    begin, peak = time.monotonic(), 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, resident_gib(process.pid))
            if time.monotonic() - begin > cap or peak > memory:
                process.kill()
                why = f"over {memory} GiB" if peak > memory else f"over {cap:.0f} s"
                return {"stopped": why, "after_s": round(time.monotonic() - begin, 1), "peak_mib": round(peak * 1024)}
            time.sleep(0.1)
        out, error = process.communicate()
    if process.returncode:
        raised = [line for line in error.splitlines() if "Error: " in line]
        return {"failed": raised[-1] if raised else f"exit status {process.returncode}"}
    return json.loads(out.splitlines()[-1])


def resident_gib(pid: int) -> float:
    """Memory in use; 0 where the system has no /proc or the process is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * resource.getpagesize() / 2**30


def measure(method: str, size: str) -> dict[str, Any]:
    import jaxrank as jr

    R, greedy = tensor(*SIZES[size])
    prior = {"R0": greedy} if method.endswith("greedy") else {}
    options: dict[str, Any] = {}
    if method.startswith("kemeny") and method != "kemeny_young_small":
        options = {"time_limit": 60.0}
    elif "pass_" in method and not method.endswith("_2"):
        options = {"k": 1}  # there is one trial
    seconds: list[float] = []
    while not seconds or (len(seconds) == 1 and seconds[0] < WARM_IF_UNDER_S):
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jr.JaxrankWarning)
            result = jr.fit(R, method, on_failure="return", **prior, **options)
        seconds.append(round(time.perf_counter() - begin, 2))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    warm = {"warm_s": seconds[1]} if len(seconds) == 2 else {}
    return {"cold_s": seconds[0], **warm, "peak_mib": round(memory), "status": str(result.status)}


def tensor(n_models: int, n_questions: int) -> tuple[np.ndarray, np.ndarray]:
    """R (n_models, n_questions, 1) of a two-parameter logistic model, and one more trial as the greedy one."""
    rng = np.random.default_rng(0)
    ability, difficulty = rng.normal(size=n_models), rng.normal(size=n_questions)
    slope = rng.lognormal(0, 0.3, n_questions)
    rate = 1 / (1 + np.exp(slope * (difficulty[None, :] - ability[:, None])))
    R, greedy = (rng.random((2, n_models, n_questions, 1)) < rate[:, :, None]).astype(int)
    return R, greedy


if __name__ == "__main__":
    main()
