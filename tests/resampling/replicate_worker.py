"""Run in a process of its own by test_devices.py: one small study under forced devices, hosts, or until it is killed.

``python replicate_worker.py FOLDER N_REPLICATES CHUNK,... METHOD,... CHECKPOINT|- [ADDRESS PROCESS_ID N_PROCESSES]``
writes one file a chunk size and method into the folder, so that one process compiles once for all sizes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np

SCHEMES = {"avg": "bayesian", "bradley_terry": "trials", "bradley_terry_davidson": "trials_per_question"}


def data() -> np.ndarray:
    rng = np.random.default_rng(7)
    rates = np.linspace(0.25, 0.75, 6)[:, None, None]
    return (rng.random((6, 10, 8)) < rates).astype(int)


def main() -> None:
    folder, n_replicates, chunks, methods, checkpoint, *hosts = sys.argv[1:]
    if hosts:
        jax.distributed.initialize(hosts[0], num_processes=int(hosts[2]), process_id=int(hosts[1]))
    from jaxrank.studies.replicates import bootstrap

    options = {"n_replicates": int(n_replicates), "seed": 3}
    for method in methods.split(","):
        for chunk in chunks.split(","):
            where = None if checkpoint == "-" else f"{checkpoint}/{method}"
            study = {**options, "scheme": SCHEMES[method], "chunk_size": int(chunk)}
            rep = bootstrap(data(), method, checkpoint=where, **study)
            light = bootstrap(data(), method, keep="summary", **study)
            if jax.process_index() == 0:
                np.savez(
                    Path(folder) / f"{method}-{chunk}.npz",
                    replicates=rep.replicate_scores,
                    status=rep.status,
                    above=rep.tally.above,
                    summary=light.tally.ranks,
                    devices=jax.local_device_count(),
                    processes=jax.process_count(),
                )


if __name__ == "__main__":
    main()
