"""Fits a second of other programs beside our single fit and our replicates a second, on one tensor of 20 models, 30
questions and 80 trials. Every timing is a process of its own, one after the other, medians of repeated calls; each
other program lives in a virtual environment that is made under .cache/peers. See README.md.

Run: python experiments/benchmarks/peers.py [--methods NAMES] [--cap SECONDS] [--data FILE.npz]
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SHAPE = (20, 30, 80)
REQUIREMENTS = {
    "scorio": "scorio==0.2.3",
    "choix": "choix==0.4.1",
    "evalica": "evalica==0.4.2",
    "arena-rank": "arena-rank==0.1.1",
    "theta-irt": "theta-irt==0.1.1",
}


@dataclass(frozen=True)
class Row:
    """One line of the table. **entry**, **options**: ours. **peers**: program -> (call, options). **trials**: how many
    of the 80 are used."""

    entry: str
    peers: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    trials: int | None = None


def scorio(entry: str, ours: dict[str, Any] | None = None, **options: Any) -> Row:
    return Row(entry, {"scorio": (entry, options)}, ours or {})


ROWS = {
    row.entry: row
    for row in (
        *map(scorio, ("avg", "bayes", "inverse_difficulty")),
        *(scorio(name, {"k": 4}, k=4) for name in ("pass_at_k", "pass_hat_k", "mg_pass_at_k")),
        scorio("g_pass_at_k_tau", {"k": 4, "tau": 0.5}, k=4, tau=0.5),
        Row(
            "bradley_terry",
            {
                "numpy": ("bradley_terry", {}),
                "scorio": ("bradley_terry", {}),
                "choix": ("ilsr_pairwise_dense", {}),
                "evalica": ("bradley_terry", {}),
                "arena-rank": ("bradley_terry", {}),
            },
        ),
        Row("bradley_terry_map", {"scorio": ("bradley_terry_map", {})}),
        *map(scorio, ("bradley_terry_davidson", "bradley_terry_davidson_map", "rao_kupper", "rao_kupper_map")),
        Row("bradley_terry_luce", {"scorio": ("bradley_terry_luce", {}), "choix": ("ilsr_top1", {})}),
        *map(scorio, ("bradley_terry_luce_map", "davidson_luce", "davidson_luce_map")),
        *map(scorio, ("plackett_luce", "plackett_luce_map", "rasch", "rasch_map", "rasch_mml", "rasch_mml_credible")),
        *map(scorio, ("rasch_2pl", "rasch_2pl_map", "rasch_3pl", "rasch_3pl_map", "mirt")),
        *(
            Row(f"dynamic_irt_{variant}", {"scorio": ("dynamic_irt", {"variant": variant, "assume_time_axis": True})})
            for variant in ("linear", "growth", "state_space")
        ),
        Row("mml_2pl", {"theta-irt": ("fit", {"model": "2PL"})}, trials=1),
        *map(scorio, ("borda", "copeland", "win_rate", "minimax", "schulze", "ranked_pairs", "nanson", "baldwin")),
        *map(scorio, ("majority_judgment", "kemeny_young")),
        Row("elo", {"scorio": ("elo", {"tie_handling": "skip"}), "evalica": ("elo", {})}),
        scorio("glicko", tie_handling="draw"),
        scorio("trueskill", tau=1 / 300),
        Row("pagerank", {"scorio": ("pagerank", {}), "evalica": ("pagerank", {})}),
        *map(scorio, ("spectral", "alpharank", "nash", "serial_rank", "hodge_rank", "thompson", "bayesian_mcmc")),
        Row("rank_centrality", {"scorio": ("rank_centrality", {}), "choix": ("rank_centrality", {})}),
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", help=f"these rows, the others stay; from: {', '.join(ROWS)}")
    parser.add_argument("--cap", type=float, default=20.0, help="seconds of a program's process; slower is '> cap'")
    parser.add_argument("--own-cap", type=float, default=120.0, help="the same for ours, which compiles in it")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of repeated calls in one measurement")
    parser.add_argument("--data", type=Path, help="an .npz file whose array R is used instead of the simulated one")
    parser.add_argument("--programs", default=",".join(("numpy", *REQUIREMENTS)), help="the other programs")
    parser.add_argument("--no-fit-all", action="store_true", help="leave out the time of all methods together")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "peers.json")
    args = parser.parse_args()
    names = args.methods.split(",") if args.methods else list(ROWS)
    if unknown := [name for name in names if name not in ROWS]:
        parser.error(f"no row for {', '.join(unknown)}; there are: {', '.join(ROWS)}")
    pythons = {program: environment(program) for program in args.programs.split(",")}
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    record: dict[str, Any] = {
        "date": date,
        "machine": {"processor": processor(), "cores": os.cpu_count(), "system": platform.system()},
        "versions": versions(pythons),
        "tensor": str(args.data.name) if args.data else f"simulated {SHAPE}",
        "cap": args.cap,
        "load_average": [round(os.getloadavg()[0], 2)],
        "methods": {},
    }
    if args.methods and args.out.exists():
        record = json.loads(args.out.read_text(encoding="utf-8"))
    R = np.load(args.data)["R"] if args.data else simulate()
    with tempfile.TemporaryDirectory() as folder:
        tensor = Path(folder) / "R.npy"
        for name in names:
            row = ROWS[name]
            np.save(tensor, R[..., : row.trials])
            measured = {
                "date": date,
                "ours": own(row.entry, row.options, tensor, args.budget, args.own_cap),
                "peers": {},
            }
            for program, (call, options) in row.peers.items():
                if program in pythons:
                    arguments = [program, call, json.dumps(options), str(tensor), str(args.budget)]
                    command = [pythons[program], str(HERE / "workers" / "peer.py"), *arguments]
                    measured["peers"][program] = timed(command, args.cap)
            record["methods"][name] = measured
            print(line(name, measured, args.cap), flush=True)
            write(record, args.out)
        if not args.no_fit_all:
            np.save(tensor, R)
            record["fit_all"] = own("fit_all", {}, tensor, args.budget, 10 * args.own_cap)
            short = {k: v for k, v in record["fit_all"].items() if k != "cold_seconds"}
            print(f"fit_all {short}", flush=True)
    write(record, args.out)


def write(record: dict[str, Any], path: Path) -> None:
    """The record so far: an interrupted run keeps what it measured."""
    record["load_average"][1:] = [round(os.getloadavg()[0], 2)]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")


def own(entry: str, options: dict[str, Any], tensor: Path, budget: float, cap: float) -> dict[str, Any]:
    """Our figures, without a compilation cache, so that cold is cold."""
    command = [sys.executable, str(HERE / "workers" / "own.py"), entry, json.dumps(options), str(tensor), str(budget)]
    return timed(command, cap)


def timed(command: list[str], cap: float) -> dict[str, Any]:
    """What a process printed, or why it printed nothing."""
    clean = {k: v for k, v in os.environ.items() if k not in ("JAX_COMPILATION_CACHE_DIR", "PYTHONPATH")}
    clean["PYTHONPATH"] = str(ROOT) if command[0] == sys.executable else ""
    if "numpy" in command:  # one core: threads of a small product only wait for each other
        clean |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    process = subprocess.Popen(
        command,
        env=clean,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=tempfile.gettempdir(),
    )
    try:
        out, errors = process.communicate(timeout=cap)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return {"over_cap": cap}
    if process.returncode != 0:
        return {"error": errors.strip().splitlines()[-1][:300] if errors.strip() else f"exit {process.returncode}"}
    return json.loads(out.strip().splitlines()[-1])


def line(name: str, measured: dict[str, Any], cap: float) -> str:
    """A row of the printed table: our fit and replicates, then each program with the ratio of rates."""
    ours = measured["ours"]
    rate = ours.get("replicates_per_second")
    text = f"{name:28s}"
    text += f" fit {ours['fit_warm'] * 1e3:9.3f} ms  {rate:12,.0f}/s" if rate else f" {why_not(ours):>30s}"
    for program, found in measured["peers"].items():
        if "seconds" in found:
            fits = 1 / found["seconds"]
            text += f"   {program} {fits:,.2f}/s" + (f" x{rate / fits:,.3g}" if rate else "")
        elif "over_cap" in found:
            text += f"   {program} > {cap:g} s" + (f" x>{rate * cap:,.3g}" if rate else "")
        else:
            text += f"   {program} {why_not(found)}"
    return text


def why_not(found: dict[str, Any]) -> str:
    return f"> {found['over_cap']:g} s" if "over_cap" in found else f"({found.get('error', '')[:60]})"


def environment(program: str) -> str:
    """The Python of a program's own virtual environment, made where it is missing; a loop in NumPy needs none."""
    if program not in REQUIREMENTS:
        return sys.executable
    folder = ROOT / ".cache" / "peers" / program
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        began = time.perf_counter()
        venv.create(folder, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", REQUIREMENTS[program]]
        subprocess.run(pip, check=True)
        (folder / "ready").touch()
        print(f"installed {REQUIREMENTS[program]} in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return str(python)


def versions(pythons: dict[str, str]) -> dict[str, Any]:
    """Versions of ours and of what each program brings."""
    ask = "import importlib.metadata as m,json,sys;print(json.dumps({p:m.version(p) for p in sys.argv[1:] if p in {d.metadata['Name'] for d in m.distributions()}}))"  # noqa: E501
    found: dict[str, Any] = {"python": platform.python_version()}
    found |= {p: version(p) for p in ("jax", "numpy", "equinox")}
    for program, python in pythons.items():
        out = subprocess.run([python, "-c", ask, program, "numpy", "jax"], capture_output=True, text=True, check=True)
        found[program] = json.loads(out.stdout)
    return found


def processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for text in info.read_text().splitlines():
            if text.startswith("model name"):
                return text.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def simulate() -> np.ndarray:
    """Outcomes of a two-parameter logistic model, int (models, questions, trials)."""
    rng = np.random.default_rng(0)
    ability, difficulty = np.linspace(-2.2, 1.6, SHAPE[0]), rng.normal(0, 1.2, SHAPE[1])
    slope = rng.lognormal(0, 0.3, SHAPE[1])
    chance = 1 / (1 + np.exp(-slope * (ability[:, None] - difficulty)))
    return (rng.random(SHAPE) < chance[..., None]).astype(int)


if __name__ == "__main__":
    main()
