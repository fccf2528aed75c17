"""Run in a process of its own by test_devices.py: one small study under forced devices, hosts, or until it is killed.

``python replicate_worker.py OUT N_REPLICATES CHUNK CHECKPOINT|- [COORDINATOR PROCESS_ID N_PROCESSES]``
"""

from __future__ import annotations

import sys

import jax
import numpy as np

STUDIES = (("avg", "bayesian"), ("bradley_terry", "trials"), ("bradley_terry_davidson", "trials_per_question"))


def data() -> np.ndarray:
    rng = np.random.default_rng(7)
    rates = np.linspace(0.25, 0.75, 6)[:, None, None]
    return (rng.random((6, 10, 8)) < rates).astype(int)


def main() -> None:
    out, n_replicates, chunk, checkpoint, *hosts = sys.argv[1:]
    if hosts:
        jax.distributed.initialize(hosts[0], num_processes=int(hosts[2]), process_id=int(hosts[1]))
    from jaxrank.studies.replicates import bootstrap

    arrays = {}
    for method, scheme in STUDIES:
        where = None if checkpoint == "-" else f"{checkpoint}/{method}"
        rep = bootstrap(
            data(),
            method,
            n_replicates=int(n_replicates),
            scheme=scheme,
            seed=3,
            chunk_size=int(chunk),
            checkpoint=where,
        )
        arrays[f"{method}_scores"] = rep.replicate_scores
        arrays[f"{method}_status"] = rep.status
        arrays[f"{method}_above"] = rep.tally.above
        light = bootstrap(
            data(), method, n_replicates=int(n_replicates), scheme=scheme, seed=3, chunk_size=int(chunk), keep="summary"
        )
        arrays[f"{method}_summary"] = light.tally.ranks
    if jax.process_index() == 0:
        np.savez(out, devices=jax.local_device_count(), processes=jax.process_count(), **arrays)


if __name__ == "__main__":
    main()
