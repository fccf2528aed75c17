"""Who leads real data, and who cannot be told from the leader, by the defaults.

    python -m experiments.calibration.leaders [--data FOLDER] [--output NAME]

Writes results/NAME.json and, where `leaders_before.json` holds the same by earlier defaults, results/leaders.md, a line
a data set. FOLDER holds the sets that are not in the repository, as docs/trust.md names them.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import jaxrank as jr

RESULTS = Path(__file__).parent / "results"
REPLICATES = 2000
BUNDLED = ("inspect_popularity", "lrm_token_economy", "misguided_attention")


def _tensor(array: str, **kept: str) -> Callable[[Any], Any]:
    """Trials (L, M, N) under a name; without the models that have none, and those that ``kept`` marks as false."""

    def read(file: Any) -> Any:
        R = file[array].astype(int)
        rows = (R >= 0).any(axis=tuple(range(1, R.ndim)))
        for column in kept.values():
            rows &= file[column]
        models = file["models"] if "models" in file else np.array([f"model {i}" for i in range(len(R))])
        return jr.Responses(R[rows], models=models[rows].tolist())

    return read


def _arena(file: Any) -> Any:
    i, j = file["X"].T
    won, lost, *tied = file["Y"].T
    outcome = np.repeat([1.0, 0.0, 0.5], len(i))
    count = np.concatenate([won, lost, sum(tied)])
    seen = count > 0
    return jr.Comparisons(
        np.tile(i, 3)[seen], np.tile(j, 3)[seen], outcome[seen], count[seen], models=file["models"].tolist()
    )


def _votes(file: Any) -> Any:
    outcome = np.choose(file["winner"], [1.0, 0.0, 0.5])
    return jr.Comparisons(file["left"], file["right"], outcome, models=file["models"].tolist())


FILES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "ARC-AGI-1": ("arc_agi1_pubeval_2024", _tensor("R")),
    "LiveCodeBench generation": ("lcb_codegen_2024apr", _tensor("R")),
    "LiveCodeBench execution": ("lcb_execution_2024oct", _tensor("R_direct")),
    "the same, chain of thought": ("lcb_execution_2024oct", _tensor("R_cot")),
    "SWE-bench Verified": ("swebench_verified_bashonly_2026feb", _tensor("R", which="consistent_with_published")),
    "simulated 20 x 30 x 80": ("sim_20x30x80", _tensor("R")),
    "AlpacaEval 2 (grades 0, 1, 2)": ("alpaca_eval2_gpt4turbo", _tensor("outcome")),
    "LLMFAO votes": ("llmfao_battles", _votes),
    "Chatbot Arena, August 2024": ("chatbot_arena_20240814", _arena),
}


def sets(folder: Path | None) -> Iterator[tuple[str, Any]]:
    for name in BUNDLED:
        yield name, jr.datasets.load(name)
    if folder is not None:
        for name, (stem, read) in FILES.items():
            with np.load(folder / f"{stem}.npz") as file:
                yield name, read(file)


def said(data: Any) -> dict[str, Any]:
    """What the defaults say of one data set, or why they say nothing."""
    try:
        fit = jr.fit(data)
        tiers = np.asarray(getattr(jr.tiers(fit), "tiers", jr.tiers(fit)))
        rep = jr.bootstrap(data, n_replicates=REPLICATES)
    except jr.JaxrankError as error:
        return {"size": repr(data), "refused": str(error)}
    first = np.asarray(fit.ranks) == 1
    return {
        "size": repr(data),
        "method": fit.method,
        "leaders": [name for name, lead in zip(fit.models, first, strict=True) if lead],
        "score": float(np.max(fit.scores)),
        "tiers": int(tiers.max()),
        "first tier": [name for name, tier in zip(fit.models, tiers, strict=True) if tier == 1],
        "top set": list(rep.top_set(0.95)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the sets that are not bundled")
    parser.add_argument("--output", default="leaders", help="name of the result, leaders or leaders_before")
    args = parser.parse_args()
    warnings.simplefilter("ignore", jr.JaxrankWarning)
    found = {}
    for name, data in sets(args.data):
        found[name] = said(data)
        print(name, found[name], flush=True)
    (RESULTS / f"{args.output}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    before = RESULTS / "leaders_before.json"
    if args.output == "leaders" and before.exists():
        (RESULTS / "leaders.md").write_text(table(json.loads(before.read_text()), found))


def table(before: dict[str, Any], now: dict[str, Any]) -> str:
    head = ["data", "first: before", "now", "tiers", "models in the top set", "left the top set", "joined it"]
    lines = [head, ["---"] * len(head)]
    for name, new in now.items():
        old = before.get(name, {"refused": ""})
        top = set(new["top set"])
        if "refused" in old:
            lines.append([name, "refused", _first(new), f"- / {new['tiers']}", f"- / {len(top)}", "", ""])
            continue
        was = set(old["top set"])
        tiers, size = f"{old['tiers']} / {new['tiers']}", f"{len(was)} / {len(top)}"
        lines.append([name, _first(old), _first(new), tiers, size, _few(was - top), _few(top - was)])
    return "# Defaults before and now\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _first(found: dict[str, Any]) -> str:
    return f"{_few(found['leaders'])} {found['score']:.3f} ({found['method']})"


def _few(names: Any) -> str:
    names = sorted(names)
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} models"


if __name__ == "__main__":
    main()
