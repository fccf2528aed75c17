"""Seconds and memory of the calls of a leaderboard, at the size of the Chatbot Arena of August 2024.

python -m experiments.arena.speed [--votes 1670000] [--peer PYTHON]   # -> results/speed.json

PYTHON: an interpreter that has arena-rank, whose style-controlled fit of the same votes is timed in the same run.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
NAMES = ("length", "headers", "lists", "bold")
OPTIONS: dict[str, Any] = {"covariates": list(NAMES), "ties": "half", "dtype": "float64"}
PEER = """
import json, sys, time
import numpy as np, pandas as pd
from arena_rank.models.contextual_bradley_terry import ContextualBradleyTerry
from arena_rank.utils.data_utils import ContextualPairDataset
names, file = json.loads(sys.argv[1]), np.load(sys.argv[2])
frame = pd.DataFrame({k: file[k] for k in file})
said = {}
for run in ("first", "again"):
    began = time.perf_counter()
    data = ContextualPairDataset.from_pandas(
        frame, feature_cols=names, outcome_map=float, reweighted=False, normalize_features=False
    )
    read = time.perf_counter()
    model = ContextualBradleyTerry(n_competitors=len(data.competitors), n_features=len(names), reg=0.0)
    model.fit(data)
    theta = np.asarray(model.params["ratings"])
    said[run] = [read - began, time.perf_counter() - read]
order = np.argsort([int(c) for c in data.competitors])
beta = np.asarray(model.params["coeffs"]).tolist()
print(json.dumps({"read, fit (s)": said, "theta": theta[order].tolist(), "beta": beta}))
"""


def table(n: int, n_models: int, n_voters: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Votes by models of unequal fame, by voters of whom few give many votes, a quarter of them ties."""
    rng = np.random.default_rng(seed)
    fame = np.random.default_rng(7).dirichlet(np.full(n_models, 1.5))
    theta = np.linspace(1.2, -1.2, n_models)
    a = rng.choice(n_models, n, p=fame)
    b = (a + rng.integers(1, n_models, n)) % n_models
    voter = (n_voters * rng.random(n) ** 2).astype(np.int32)
    out = {"a": a, "b": b, "voter": voter}
    eta = theta[a] - theta[b]
    for name, mean, beta in zip(NAMES, (250, 1.5, 4, 5), (0.5, 0.1, 0.05, 0.15), strict=True):
        sides = rng.negative_binomial(2, 2 / (2 + mean), (2, n))
        out[f"{name}_a"], out[f"{name}_b"] = sides
        total = sides.sum(axis=0)
        eta = eta + beta * np.where(total > 0, (sides[0] - sides[1]) / np.where(total > 0, total, 1), 0)
    won = rng.random(n) < 1 / (1 + np.exp(-eta))
    out["outcome"] = np.where(rng.random(n) < 0.25, 0.5, won * 1.0)
    return out


def seconds(call: Callable[[], Any]) -> tuple[list[float], Any]:
    """What a call took, on the clock and of the processor (all cores; on a busy machine the clock says little), and
    what it gave."""
    began = time.perf_counter(), time.process_time()
    found = call()
    ended = time.perf_counter(), time.process_time()
    return [round(b - a, 3) for a, b in zip(began, ended, strict=True)], found


def megabytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def peer(python: str, votes: Any, x: np.ndarray) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "votes.npz"
        winner = np.array([1.0, 0.0, 0.5])[votes.outcome]
        np.savez(file, model_a=votes.a, model_b=votes.b, winner=winner, **dict(zip(NAMES, x, strict=True)))
        words = [python, "-c", PEER, json.dumps(NAMES), str(file)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=1_670_000)
    parser.add_argument("--models", type=int, default=129)
    parser.add_argument("--voters", type=int, default=60_000)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--peer", default=None, help="an interpreter with arena-rank")
    parser.add_argument("--output", type=Path, default=HERE / "results" / "speed.json")
    given = parser.parse_args()
    import jaxrank as jr
    from jaxrank.data.covariates import Design

    warnings.simplefilter("ignore", jr.JaxrankWarning)

    def battles(n: int, seed: int) -> Any:
        columns = table(n, given.models, given.voters, seed)
        a, b, outcome = (columns.pop(k) for k in ("a", "b", "outcome"))
        columns["voter"] = columns["voter"].astype(str).astype(object)
        return jr.Comparisons(a, b, outcome, models=[str(i) for i in range(given.models)], columns=columns)

    votes, new = battles(given.votes, 0), battles(1000, 1)
    out: dict[str, Any] = {"votes": given.votes, "models": given.models, "voters": given.voters}
    out |= {"memory of the votes (MB)": megabytes()}
    fit = lambda data: jr.fit(data, "bradley_terry", **OPTIONS)
    out["first fit (s, s of the processor)"], result = seconds(lambda: fit(votes))
    out["fit (s, s of the processor)"] = [seconds(lambda: fit(votes))[0] for _ in range(3)]
    out["memory after fits (MB)"] = megabytes()
    jr.update(result, new)
    out["1,000 more votes (s, s of the processor)"], updated = seconds(lambda: jr.update(result, new))
    whole = fit(updated.data)
    out["largest difference to the fit of all"] = float(np.abs(updated.scores - whole.scores).max())
    clustered = lambda: jr.coefficients(result.clustered("voter")).standard_errors
    out["sandwich by voter (s, s of the processor)"] = [seconds(clustered)[0] for _ in range(2)]
    print(json.dumps(out), flush=True)
    draw = lambda n: jr.bootstrap(
        votes, "bradley_terry", scheme=jr.clusters("voter"), n_replicates=n, seed=0, progress=False, **OPTIONS
    )
    out["replicates"] = given.replicates
    out["replicates by voter (s, s of the processor)"], rep = seconds(lambda: draw(given.replicates))
    out["replicates that converged"] = int(rep.tally.finite)
    out["memory at the end (MB)"] = megabytes()
    ratio = rep.replicate_scores.std(axis=0) / result.clustered("voter").standard_errors
    out["errors: replicates over sandwich"] = np.quantile(ratio, [0, 0.5, 1]).round(3).tolist()
    if given.peer:
        x, scale = Design(NAMES).values(votes)
        found = peer(given.peer, votes, x / scale[:, None])
        theta = np.array(found.pop("theta"))
        found["largest difference of strengths"] = float(np.abs(theta - theta.mean() - result.scores).max())
        found["largest difference of coefficients"] = float(np.abs(found.pop("beta") - result.params["beta"]).max())
        out["arena-rank"] = found
    out |= {"machine": f"{platform.processor() or platform.machine()}, 2 cores", "jaxrank": jr.__version__}
    given.output.parent.mkdir(exist_ok=True)
    given.output.write_text(json.dumps(out, indent=1) + "\n")
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
