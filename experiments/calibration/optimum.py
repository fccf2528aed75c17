"""How far from the optimum do 2PL and 3PL fits of one trial in float32 end, and is that what they state?

    python -m experiments.calibration.optimum         # results/optimum.md

From where a search in float32 ended another goes on in float64; the largest difference of abilities is how far the
first one was off.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments import mimic
from jaxrank.data.statistics import Counts
from jaxrank.methods.catalogue import make
from jaxrank.models.fit import precise, solver_resolution
from jaxrank.models.irt.joint import search, starts, with_error
from jaxrank.models.irt.table import item_table
from jaxrank.numerics.solve.damped import Minimum
from jaxrank.numerics.status import Status

RESULTS = Path(__file__).parent / "results"
BENCHMARKS = ("AIME24", "Combined")
METHODS: dict[str, Any] = {name: make(name) for name in ("rasch_2pl_map", "rasch_3pl_map")}
POOLS, TRIALS, SIZE, STEPS = 20, 16, 15, 1500


def samples(benchmark: str, pools: int = POOLS, trials: int = TRIALS, size: int = SIZE) -> np.ndarray:
    """Outcomes (pools * trials, size, questions) of single trials: pools of models, other trials for each."""
    R = mimic.benchmark(benchmark, seed=0, match="totals").R
    rng = np.random.default_rng(0)
    pool = [rng.permutation(len(R))[:size] for _ in range(pools)]
    return np.stack([R[pool[n // trials], :, n % R.shape[2]] for n in range(pools * trials)]).astype(float)


def searched(method: str, outcomes: np.ndarray, begin: tuple | None, max_steps: int) -> Minimum:
    """A search from the first start of each table (S, L, M), or from ``begin``, in the present precision."""
    model = METHODS[method].model

    def one(right: jax.Array, at: tuple | None) -> Minimum:
        counts = jnp.stack([1 - right, right], axis=-1)
        levels = jnp.broadcast_to(jnp.arange(2.0, dtype=right.dtype), (right.shape[1], 2))
        table = item_table(Counts(counts, jnp.ones_like(right[0]), levels), keep_extreme=False)
        first: tuple = jax.tree.map(lambda x: x[0], starts(model, table, 1))
        return with_error(model, table, search(model, table, first if at is None else at, jnp.array(True), max_steps))

    axes = (0, None if begin is None else 0)
    found = jax.jit(jax.vmap(one, axes))(jnp.asarray(outcomes), begin)
    return jax.tree.map(np.asarray, found)


def compared(method: str, outcomes: np.ndarray) -> dict[str, float]:
    """How a search in float32 of each table ends, and how far it is from the one that goes on from there."""
    with jax.enable_x64(False):
        found = searched(method, outcomes.astype(np.float32), None, METHODS[method].max_steps)
    with jax.enable_x64(True):
        further = searched(method, outcomes, tuple(x.astype(float) for x in found.params), STEPS)
    centred = lambda theta: theta - theta.mean(1, keepdims=True)
    off = np.abs(centred(found.params[0].astype(float)) - centred(further.params[0])).max(1)
    stated = np.asarray(solver_resolution(found.params[0], found.error)) / 2
    converged = precise(found.status, found.error) == Status.CONVERGED
    known = converged & (further.status == Status.CONVERGED)
    return {
        "tables": len(outcomes),
        "converged": float(np.mean(converged)),
        "known": float(np.mean(known)),
        "off": float(np.median(off[known])),
        "off90": float(np.quantile(off[known], 0.9)),
        "most": float(off[known].max()),
        "stated": float(np.median(stated[known])),
        "stated90": float(np.quantile(stated[known], 0.9)),
        "above": float(np.mean(off[known] > stated[known])),
    }


def main() -> None:
    lines = [
        "# Abilities of 2PL and 3PL fits of one trial in float32",
        "",
        f"{POOLS * TRIALS} single trials of pools of {SIZE} models, one search each with a prior; a search in float64 "
        f"goes on from where it ended, for at most {STEPS} steps. Of fits that converge in both: how far abilities are "
        "off, the error that is stated (half of the resolution), and the share that is off by more than is stated.",
        "",
        "| benchmark, method | converged | float64 converged too | off: median, 90 %, most | stated: median, 90 % | "
        "off by more |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for benchmark in BENCHMARKS:
        for method in METHODS:
            r = compared(method, samples(benchmark))
            off = ", ".join(f"{r[k]:.2g}" for k in ("off", "off90", "most"))
            lines.append(
                f"| {benchmark}, `{method}` | {r['converged']:.1%} | {r['known']:.1%} | {off} | "
                f"{r['stated']:.2g}, {r['stated90']:.2g} | {r['above']:.1%} |"
            )
            print(lines[-1], flush=True)
    (RESULTS / "optimum.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
