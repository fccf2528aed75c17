"""Counts fits of small random data that claim an optimum where a linear program finds none, or are refused where it
finds one, for every method whose status says whether a finite optimum exists.

    python experiments/existence/run.py [method ...]

Writes results.json beside this file after every batch, so that a run that is stopped keeps what it reached.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))

from jaxrank.numerics.status import Status  # noqa: E402
from tests.existence import METHODS, cases, statuses  # noqa: E402

REFUSED = (Status.NO_FINITE_OPTIMUM, Status.DISCONNECTED)


def count(method: str, config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The outcomes of one method in every precision so far, after each batch; all batches have one shape."""
    batch = config["batch"]
    out: dict[str, Any] = {"cases": 0, "with_optimum": 0, "indifferent": 0}
    out |= {dtype: {"falsely_converged": 0, "falsely_refused": 0, "max_steps": 0} for dtype in config["precisions"]}
    for first in range(0, config["cases"], batch):
        data, exists, idle = cases(method, batch, config["seed"] + first)
        exists, idle = np.array(exists), np.array(idle)
        out["cases"] += batch
        out["with_optimum"] += int(np.sum(exists & ~idle))
        out["indifferent"] += int(np.sum(idle))
        for dtype in config["precisions"]:
            with jax.enable_x64(dtype == "float64"):
                found = statuses(method, data)
            own = out[dtype]
            own["falsely_converged"] += int(np.sum((found == Status.CONVERGED) & ~exists & ~idle))
            own["falsely_refused"] += int(np.sum(np.isin(found, REFUSED) & exists & ~idle))
            own["max_steps"] += int(np.sum((found == Status.MAX_STEPS) & ~idle))
        yield out


def main(methods: list[str]) -> None:
    config = json.loads((HERE / "config.json").read_text())
    path = HERE / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for method in methods or list(METHODS):
        for so_far in count(method, config):
            results[method] = so_far
            path.write_text(json.dumps(results, indent=1) + "\n")
            print(method, so_far, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
