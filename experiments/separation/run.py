"""Which of the 72 published identifiers refuse real data, and what separation="extend" makes of them.

``python -m experiments.separation.run [--data FOLDER]`` writes results.json and table.md beside this file: the bundled
data sets, and those of FOLDER (npz files whose R is (models, questions, trials), -1 where missing).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

import jaxrank as jr
from jaxrank.errors import JaxrankError, JaxrankWarning
from jaxrank.methods.catalogue import make

HERE = Path(__file__).parent
BUNDLED = ("misguided_attention", "lrm_token_economy", "inspect_popularity")
NOT_RUN = {"bayesian_mcmc": "Markov chains", "bayes_greedy": "needs greedy outcomes"}
MOST_FOR_KEMENY = 12
SHORT = {
    "converged": "",
    "no finite optimum: some models or questions are separated from the rest": " (in parts)",
    "stopped at the step limit before the criterion was met": " (at the step limit)",
}


def one(data: jr.Responses, method: str, **options: str) -> dict:
    """Status, how many models have a score, and tau-b with the means; None where all scores are one."""
    start = time.perf_counter()
    try:
        fit = jr.fit(data, method, on_failure="return", dtype="float64", **options)
    except JaxrankError as error:
        return {"refused": str(error)}
    scores = np.asarray(fit.scores, float)
    row = {"status": str(fit.status), "models with a score": int(np.isfinite(scores).sum())}
    if np.isfinite(scores).all():
        tau = float(jr.kendall_tau(fit.scores, jr.fit(data, "avg", dtype="float64").scores))
        row["tau-b with avg"] = round(tau, 4) if np.isfinite(tau) else None
    return row | {"seconds": round(time.perf_counter() - start, 2)}


def study(data: jr.Responses) -> dict:
    n, found = len(data.models), {}
    for method, entry in jr.entries().items():
        if not entry.published or method in NOT_RUN or ("kemeny" in method and n > MOST_FOR_KEMENY):
            continue
        row = one(data, method)
        if row.get("models with a score") == n:
            found[method] = row
            continue
        found[method] = {"as it stands": row}
        if hasattr(make(method), "separation"):
            found[method]["extend"] = one(data, method, separation="extend")
        print(method, found[method], flush=True)
    return found


def table(results: dict) -> str:
    lines = [
        '| data | rank all models | refuse, no such option | refuse; with `separation="extend"` tau-b with avg |',
        "|---|---|---|---|",
    ]
    for name, found in results.items():
        if "methods" not in found:
            continue
        rows = found["methods"]
        no = {m: row for m, row in rows.items() if "as it stands" in row}
        n = found["shape"][0]
        told, none = [], []
        for m, row in no.items():
            more = row.get("extend")
            if more is None:
                none.append(m)
            elif more.get("models with a score") == n:
                tau = more["tau-b with avg"]
                shown = "none, all scores are one" if tau is None else f"{tau:.3f}"
                told.append(f"{m} {shown}{SHORT.get(more['status'], ' (' + more['status'] + ')')}")
            else:
                told.append(f"{m}: {more.get('status', more.get('refused'))}")
        size = " x ".join(map(str, found["shape"]))
        lines.append(
            f"| {name}, {size} | {len(rows) - len(no)} of {len(rows)} | {', '.join(none) or '-'} | {'; '.join(told)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", nargs="*")
    args = parser.parse_args()
    path = HERE / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    sources = {name: lambda name=name: jr.datasets.load(name) for name in BUNDLED}
    for file in sorted(args.data.glob("*.npz")) if args.data else ():
        with np.load(file) as arrays:
            if "R" in arrays.files and arrays["R"].ndim == 3 and len(arrays["R"]) > 1:
                sources[file.stem] = lambda R=arrays["R"]: jr.Responses(R)
    for name in args.only or sources:
        start, data = time.perf_counter(), sources[name]()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JaxrankWarning)
            found = study(data)
        results[name] = {"shape": list(data.shape), "methods": found, "seconds": round(time.perf_counter() - start)}
        path.write_text(json.dumps(results, indent=1) + "\n")
        (HERE / "table.md").write_text(table(results))
        print(name, results[name]["seconds"], "s", flush=True)
    print(table(results))


if __name__ == "__main__":
    main()
