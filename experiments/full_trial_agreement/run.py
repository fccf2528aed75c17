"""How far all methods agree when every trial is read: the mimic of the published benchmarks, and real data.

    python -m experiments.full_trial_agreement.run [DATA ...]     # fits, one JSON a data set under results/
    python -m experiments.full_trial_agreement.run NAME=FILE      # the same of a file that jaxrank.read takes
    python -m experiments.full_trial_agreement.run --report       # table.md and figure.png from results/

A result that exists is kept; delete it to fit again. Deterministic: the mimic has seed 0, so have the methods that
draw random numbers.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
CONFIG = json.loads((HERE / "config.json").read_text())
RESULTS = HERE / "results"


def data_set(name: str, path: str) -> tuple[Any, Any]:
    """Responses and the prior outcomes R0 of the methods that read one; None where there are none."""
    import jaxrank as jr
    from experiments import mimic

    if path:
        return jr.read(path), None
    if name in mimic.ALL:
        bench = mimic.benchmark(name, seed=CONFIG["seed"], match=CONFIG["match"])
        return jr.Responses(bench.R, models=bench.models), bench.greedy[:, :, None]
    return jr.datasets.load(name), None


EXTEND = {"separation": "extend"}
"""What the published programs do in effect: they stop at large parameters, which order separated models."""


def has_option(entry: Any, option: str) -> bool:
    return option in {f.name for f in dataclasses.fields(entry.ranker())}


def fit(name: str, path: str) -> dict[str, Any]:
    import jaxrank as jr
    from jaxrank.methods.catalogue import entries

    data, prior = data_set(name, path)
    chosen = {m: e for m, e in entries().items() if e.published or m in CONFIG["additions"]}
    methods = {m: e.ranker(**EXTEND if has_option(e, "separation") else {}) for m, e in chosen.items()}
    began = time.perf_counter()
    table = jr.fit_all(data, methods, R0=prior, dtype=CONFIG["dtype"], seed=CONFIG["seed"])
    seconds = time.perf_counter() - began
    agreement = table.agreement()
    off = agreement.tau + np.where(np.eye(len(agreement.methods)) > 0, np.nan, 0)
    told = [i for i, m in enumerate(agreement.methods) if chosen[m].published]
    among = off[np.ix_(told, told)]
    return {
        "shape": data.shape,
        "seconds": round(seconds, 1),
        "tau_with_gold": agreement.tau_with_gold,
        "mean_tau_with_others": {
            m: float(row[np.isfinite(row)].mean()) if np.isfinite(row).any() else None
            for m, row in zip(agreement.methods, off, strict=True)
        },
        "mean_tau_with_published": {
            agreement.methods[i]: float(row[np.isfinite(row)].mean()) if np.isfinite(row).any() else None
            for i, row in zip(told, among, strict=True)
        },
        "identical": [group for group in agreement.groups if len(group) > 1],
        "not_ranked": {m: str(r.status) for m, r in table.results.items() if m not in agreement.methods},
        "not_run": table.skipped,
    }


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """The figures of published table 1: over the published methods other than avg, bayes itself included."""
    from jaxrank.methods.catalogue import entries

    published = {m for m, e in entries().items() if e.published} - {"avg"}
    tau = np.array([t for m, t in found["tau_with_gold"].items() if m in published and np.isfinite(t)])
    same = sorted(m for m, t in found["tau_with_gold"].items() if m in published and t == 1)
    tail = sorted(((t, m) for m, t in found["tau_with_gold"].items() if m in published and t < 0.85))
    return {
        "n": len(tau),
        "mean": tau.mean(),
        "median": np.median(tau),
        "min": tau.min(),
        "n_tau_1": len(same),
        "n_tau_095": int((tau >= 0.95).sum()),
        "same": same,
        "tail": tail,
    }


def report() -> None:
    published = CONFIG["published_table_1"]
    lines = [
        "| data | methods | mean | median | min | tau = 1 | tau >= 0.95 |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    detail: list[str] = []
    others = sorted(path.stem for path in RESULTS.glob("*.json") if path.stem not in CONFIG["data"])
    names = [name for name in (*CONFIG["data"], *others) if (RESULTS / f"{name}.json").exists()]
    found = {name: json.loads((RESULTS / f"{name}.json").read_text()) for name in names}
    for name in names:
        s = summary(found[name])
        row = [s["mean"], s["median"], s["min"]]
        lines.append(
            f"| {name} | {s['n']} | {' | '.join(f'{v:.3f}' for v in row)} | {s['n_tau_1']} | {s['n_tau_095']} |"
        )
        if name in published:
            p = published[name]
            lines.append(f"| published | 71 | {' | '.join(f'{v:.3f}' for v in p[:3])} | {p[3]} | {p[4]} |")
        detail += [
            f"\n## {name} {tuple(found[name]['shape'])}\n",
            f"Same order as bayes: {', '.join(s['same']) or 'none'}.\n",
        ]
        detail.append("Below 0.85: " + (", ".join(f"{m} {t:.3f}" for t, m in s["tail"]) or "none") + ".\n")
        if name in CONFIG["published_exact"]:
            want = set(CONFIG["published_exact"][name])
            missing, extra = sorted(want - set(s["same"])), sorted(set(s["same"]) - want)
            detail.append(
                f"Against published table 17: {len(want & set(s['same']))} of {len(want)} also here; "
                f"missing {', '.join(missing) or 'none'}; more {', '.join(extra) or 'none'}.\n"
            )
        if name in CONFIG["published_tail"]:
            detail.append(tail_line(name, found[name]))
        if name in CONFIG["published_consensus"]:
            detail.append(consensus_lines(name, found[name]))
        best = max(found[name]["mean_tau_with_others"].items(), key=lambda x: -1 if x[1] is None else x[1])
        own = found[name]["mean_tau_with_others"]["bayes"]
        detail.append(
            f"Consensus: bayes agrees with all others at {own:.4f} on average, the best ({best[0]}) at {best[1]:.4f}.\n"
        )
        if found[name]["not_ranked"]:
            detail.append(
                "No ranking: " + "; ".join(f"{m}: {why}" for m, why in found[name]["not_ranked"].items()) + ".\n"
            )
        if found[name]["not_run"]:
            detail.append("Not run: " + "; ".join(f"{m}: {why}" for m, why in found[name]["not_run"].items()) + ".\n")
    (HERE / "table.md").write_text("# Agreement with Bayes@N on all trials\n\n" + "\n".join(lines + detail) + "\n")
    figure(found)


def tail_line(name: str, one: dict[str, Any]) -> str:
    """The published methods below 0.85 (table 11) beside ours."""
    published = CONFIG["published_tail"][name]
    pairs = [f"{m} {one['tau_with_gold'][m]:.3f} ({tau:.3f})" for m, tau in published.items()]
    return f"Published tail, ours (published): {', '.join(pairs)}.\n"


def consensus_lines(name: str, one: dict[str, Any]) -> str:
    """The published consensus (tables 10 and 12 to 16): mean tau-b with the other published methods, ours beside it."""
    published = json.loads((HERE.parent / "published" / "consensus.json").read_text())[name]
    ours = one["mean_tau_with_published"]
    shared = [m for m in published if ours.get(m) is not None]
    x, y = np.array([[published[m][1], ours[m]] for m in shared]).T
    worst = sorted(shared, key=lambda m: -abs(ours[m] - published[m][1]))[:5]
    told = ", ".join(f"{m} {ours[m]:.3f} ({published[m][1]:.3f})" for m in worst)
    rank = 1 + sum(v > ours["bayes"] + 1e-9 for v in ours.values() if v is not None)
    want = CONFIG["published_consensus"][name]
    return (
        f"Consensus: {len(shared)} printed methods, correlation {np.corrcoef(x, y)[0, 1]:.2f}, rms difference "
        f"{np.sqrt(np.mean((x - y) ** 2)):.3f}; furthest, ours (published): {told}. "
        f"bayes: place {rank} at {ours['bayes']:.4f} (published {want[0]} at {want[1]:.4f}).\n"
    )


def figure(found: dict[str, Any]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(8, 3.6))
    for at, (name, one) in enumerate(found.items()):
        tau = np.array([t for t in one["tau_with_gold"].values() if np.isfinite(t)])
        jitter = np.random.default_rng(0).uniform(-0.25, 0.25, len(tau))
        ax.plot(at + jitter, tau, ".", alpha=0.5, color="C0")
        ax.plot([at - 0.3, at + 0.3], [tau.mean()] * 2, color="C1", label="mean here" if at == 0 else None)
        if name in CONFIG["published_table_1"]:
            mean = CONFIG["published_table_1"][name][0]
            ax.plot([at - 0.3, at + 0.3], [mean] * 2, "k--", label="published mean" if at == 0 else None)
    ax.set_xticks(range(len(found)), list(found), rotation=20, ha="right")
    ax.set_ylabel("tau-b with Bayes@N")
    ax.legend()
    fig.tight_layout()
    fig.savefig(HERE / "figure.png", dpi=150)


def main() -> None:
    if "--report" in sys.argv:
        return report()
    RESULTS.mkdir(exist_ok=True)
    for argument in sys.argv[1:] or CONFIG["data"]:
        name, _, path = argument.partition("=")
        target = RESULTS / f"{name}.json"
        if not target.exists():
            target.write_text(json.dumps(fit(name, path), indent=1))
            print(name, json.loads(target.read_text())["seconds"], "s", flush=True)
    return None


if __name__ == "__main__":
    main()
