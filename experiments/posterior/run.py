"""R-hat, effective sample sizes and divergences of every posterior model on two real data sets, and the speed of the
sampler. See README.md.

Run: python experiments/posterior/run.py PART ... [--arena FILE.npz] [--tensor FILE.npz] [--scorio PYTHON]
Parts: models, cold, speed, arena, loo, each of which adds its figures to results.json, and table, which writes
table.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import jaxrank as jr
from jaxrank.errors import JaxrankWarning
from jaxrank.numerics.chains import ess_mean
from jaxrank.posteriors.specs import IDENTIFIERS

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
DATA = ("misguided_attention", "lrm_token_economy")
ORDERS = ("plackett_luce_rankings", "plackett_luce_rankings with ties")
# scorio returns means alone: the draws are caught where it averages them.
PEER = """
import json, sys, time
import numpy as np
import scorio.rank
R = np.load(sys.argv[1])
kept, mean = [], np.mean
def catching(x, *args, **options):
    if isinstance(x, list):
        kept.append(np.array(x))
    return mean(x, *args, **options)
np.mean = catching
begin = time.perf_counter()
order, scores = scorio.rank.bayesian_mcmc(R, return_scores=True, seed=int(sys.argv[3]))
seconds = time.perf_counter() - begin
np.save(sys.argv[2], kept[-1])
print(json.dumps({"seconds": seconds, "scores": np.asarray(scores).tolist()}))
"""


def figures(post: jr.Posterior) -> dict[str, Any]:
    """The worst values over every entry of every site."""
    every = [post.diagnose(site) for site in post.draws]
    worst = {name: [d[name] for d in every] for name in ("r_hat", "ess_bulk", "ess_tail")}
    return {
        "r_hat": float(max(np.max(x) for x in worst["r_hat"])),
        "ess_bulk": float(min(np.min(x) for x in worst["ess_bulk"])),
        "ess_tail": float(min(np.min(x) for x in worst["ess_tail"])),
        "divergences": post.divergences,
        "draws": int(np.prod(post.draws["theta"].shape[:2])),
        "seconds": round(post.seconds, 2),
        "statuses": list(post.statuses),
    }


def orders_of(data: jr.Responses) -> jr.Rankings:
    """Each question orders the models by their successes on it, equal ones tied; models not tried are left out."""
    right, tried = data.counts[..., 1], data.counts.sum(-1)
    out = []
    for q in range(right.shape[1]):
        seen = np.flatnonzero(tried[:, q] == tried[:, q].max())
        levels = np.unique(right[seen, q])[::-1]
        out.append([[int(i) for i in seen if right[i, q] == level] for level in levels])
    return jr.Rankings([[group if len(group) > 1 else group[0] for group in order] for order in out])


def strict_orders_of(data: jr.Responses, seed: int = 0) -> jr.Rankings:
    """The same orders with ties broken by chance."""
    rng = np.random.default_rng(seed)
    right = data.counts[..., 1]
    return jr.Rankings([np.lexsort((rng.random(len(right)), -right[:, q])).tolist() for q in range(right.shape[1])])


def subset(data: jr.Responses, n_models: int, n_questions: int) -> jr.Responses:
    """Every so many models in the order of their accuracy, and the first questions."""
    order = np.argsort(-(data.counts[..., 1].sum(1) / data.counts.sum((1, 2))), kind="stable")
    kept = np.sort(order[np.linspace(0, len(order) - 1, n_models).astype(int)])
    models = [data.models[i] for i in kept]
    return jr.Responses(data.outcomes[kept, :n_questions], models, list(data.questions[:n_questions]))


def models(options: argparse.Namespace) -> dict[str, Any]:
    out: dict[str, Any] = {}
    names = [*IDENTIFIERS, ORDERS[1], "hierarchical_bradley_terry", "hierarchical_rasch", "hierarchical_rasch_2pl"]
    wanted = options.only.split(",") if options.only else names
    for name in options.data.split(","):
        data = subset(jr.datasets.load(name), options.models, options.questions)
        for model in wanted:
            given: Any = data
            if model in ORDERS:
                given = strict_orders_of(data) if model == ORDERS[0] else orders_of(data)
            out[f"{name}/{model}"] = found = figures(quiet(given, model.split()[0], n_warmup=1000, n_samples=2500))
            store("models", out)
            print(f"{name:20s} {model:28s} {found}", flush=True)
    return out


def quiet(data: Any, model: str, **settings: Any) -> jr.Posterior:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)  # the figures say it
        return jr.posterior(data, model, **settings)


def cold(_: argparse.Namespace) -> dict[str, Any]:
    """Seconds of a new process with an empty compilation cache, from start to the first draw of a posterior."""
    code = """
import time
begin = time.perf_counter()
import numpy as np, jaxrank as jr
loaded = time.perf_counter()
first = []
R = np.random.default_rng(0).integers(0, 2, (20, 30, 80))
post = jr.posterior(R, MODEL, n_chains=1, n_warmup=1, n_samples=1, seed=0)
print(loaded - begin, time.perf_counter() - begin)
"""
    out = {}
    for model in ("bradley_terry", "bradley_terry_davidson", "rasch_2pl"):
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": cache, "PYTHONWARNINGS": "ignore"}
            for kind in ("cold", "cached"):
                text = code.replace("MODEL", repr(model))
                begin = time.perf_counter()
                ran = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True)
                whole = time.perf_counter() - begin
                if ran.returncode:
                    raise SystemExit(ran.stderr)
                imported, drawn = map(float, ran.stdout.split())
                row = {"process": whole, "import": imported, "first_draw": drawn}
                out[f"{model}/{kind}"] = {k: round(v, 2) for k, v in row.items()}
                print(model, kind, out[f"{model}/{kind}"], flush=True)
    return out


def speed(options: argparse.Namespace) -> dict[str, Any]:
    """Effective draws a second for Bradley-Terry at 20 x 30 x 80, beside scorio's bayesian_mcmc in the same run."""
    with np.load(options.tensor) as z:
        R = z["R"]
    first = quiet(R, "bradley_terry", seed=100)
    runs = [quiet(R, "bradley_terry", seed=s) for s in range(3)]
    rates = [float(p.diagnose()["ess_bulk"].min() / p.seconds) for p in runs]
    mean_rates = [float(p.diagnose()["ess_mean"].min() / p.seconds) for p in runs]
    out: dict[str, Any] = {
        "ours": {
            "seconds_first_call": round(first.seconds, 2),
            "seconds": [round(p.seconds, 3) for p in runs],
            "least_ess_bulk": [float(p.diagnose()["ess_bulk"].min()) for p in runs],
            "least_ess_tail": [float(p.diagnose()["ess_tail"].min()) for p in runs],
            "ess_bulk_per_second": float(np.median(rates)),
            "ess_mean_per_second": float(np.median(mean_rates)),
        }
    }
    print(out, flush=True)
    if options.scorio:
        out["scorio 0.2.3"] = peer(options.scorio, R, first)
        out["ratio"] = out["ours"]["ess_mean_per_second"] / out["scorio 0.2.3"]["ess_mean_per_second"]
    return out


def peer(python: str, R: np.ndarray, ours: jr.Posterior, n_runs: int = 3) -> dict[str, Any]:
    """scorio's sampler with its defaults: effective draws of its chain, strengths centred, and how far the means of
    several runs are from ours in posterior standard deviations."""
    truth, sd = ours.scores, ours.theta.std(axis=0)
    runs, ess = [], []
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/R.npy", R)
        for run in range(n_runs):
            command = [python, "-c", PEER, f"{folder}/R.npy", f"{folder}/draws.npy", str(run)]
            ran = subprocess.run(command, capture_output=True, text=True, check=True)
            runs.append(json.loads(ran.stdout))
            draws = np.load(f"{folder}/draws.npy")
            ess.append(ess_mean((draws - draws.mean(axis=1, keepdims=True))[None]).min())
    scores = np.array([run["scores"] for run in runs])
    error = np.abs(scores - scores.mean(axis=1, keepdims=True) - truth[None, :]) / sd[None, :]
    seconds = [run["seconds"] for run in runs]
    out = {
        "seconds": seconds,
        "draws": len(draws),
        "least_ess_mean": list(map(float, ess)),
        "ess_mean_per_second": float(np.median(np.array(ess) / seconds)),
        "largest_error_of_a_mean_in_sd": error.max(axis=1).tolist(),
    }
    print(out, flush=True)
    return out


def arena(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds, compilation included and not, until every ability has an effective sample size of 400."""
    data = read_arena(options.arena)
    out = {}
    for model in options.only.split(",") if options.only else ("bradley_terry", "bradley_terry_davidson", "rao_kupper"):
        for n_samples in (options.samples,) if options.samples else (300, 1500):
            for kind in ("first call", "again"):
                post = quiet(data, model, n_warmup=300, n_samples=n_samples, seed=len(kind))
                out[f"{model}/{n_samples}/{kind}"] = found = figures(post)
                print(model, n_samples, kind, found, flush=True)
    return out


def loo(options: argparse.Namespace) -> dict[str, Any]:
    """Three models of ties on the whole arena by leave-one-out prediction of pairs, and predictive checks of each."""
    data, names = read_arena(options.arena), ("bradley_terry_ties", "bradley_terry_davidson", "rao_kupper")
    drawn = {name: quiet(data, name, n_warmup=300, n_samples=500) for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)  # counted in the table
        frame = drawn[names[0]].compare({name: drawn[name] for name in names[1:]})
    columns = ["elpd", "elpd_diff", "dse", "weight", "max_pareto_k", "high_pareto_k"]
    out = {name: {c: float(frame.loc[name, c]) for c in columns} for name in names}
    for name in names:
        check = drawn[name].predict(200).to_frame()
        outside = (check["observed"] < check["lower"]) | (check["observed"] > check["upper"])
        out[name]["rates_outside"] = {q: int(outside[check["quantity"] == q].sum()) for q in check["quantity"].unique()}
        print(name, out[name], flush=True)
    return out


def read_arena(path: str) -> jr.Comparisons:
    """Counts (pairs, 4): wins of the first, of the second, ties and ties with both bad, which count as ties."""
    with np.load(path) as z:
        pairs, counts, names = z["X"], z["Y"].astype(float), [str(m) for m in z["models"]]
    wins, ties = np.zeros((2, len(names), len(names)))
    first, second = pairs.T
    np.add.at(wins, (first, second), counts[:, 0])
    np.add.at(wins, (second, first), counts[:, 1])
    np.add.at(ties, (first, second), counts[:, 2:].sum(1))
    return jr.Comparisons.from_matrix(wins, ties + ties.T, models=names)


def table(_: argparse.Namespace) -> dict[str, Any]:
    """table.md from results.json."""
    rows = json.loads(RESULTS.read_text())["models"]
    head = "| model | R-hat | bulk ESS | tail ESS | divergences | seconds |"
    lines = []
    for name in DATA:
        lines += ["", f"## {name}", "", head, "|---|---|---|---|---|---|"]
        for key, v in rows.items():
            if key.startswith(f"{name}/"):
                numbers = f"{v['r_hat']:.4f} | {v['ess_bulk']:,.0f} | {v['ess_tail']:,.0f} | {v['divergences']}"
                lines.append(f"| {key.partition('/')[2]} | {numbers} | {v['seconds']:.1f} |")
    (HERE / "table.md").write_text("# Diagnostics of every model\n" + "\n".join(lines) + "\n")
    return {}


def store(part: str, found: dict[str, Any]) -> None:
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    stored[part] = {**stored.get(part, {}), **found}
    stored["machine"] = {
        "cpus": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
    }
    RESULTS.write_text(json.dumps(stored, indent=1) + "\n")


def main() -> None:
    parts = {"models": models, "cold": cold, "speed": speed, "arena": arena, "loo": loo, "table": table}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=parts)
    parser.add_argument("--arena", help="chatbot_arena_20240814.npz")
    parser.add_argument("--tensor", help="npz file with R, 20 x 30 x 80")
    parser.add_argument("--scorio", help="Python of an environment with scorio 0.2.3")
    parser.add_argument("--only", help="models, comma-separated")
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--models", type=int, default=12)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--samples", type=int)
    options = parser.parse_args()
    for part in options.parts:
        found = parts[part](options)
        if found:
            store(part, found)


if __name__ == "__main__":
    main()
