"""Measurements of one line each: run some of them, keep them all."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import jaxrank as jr

RESULTS = Path(__file__).parent / "results"


def percent(found: Any) -> str:
    """The share of truths, with its standard error where it is neither none nor all."""
    values = np.asarray(found, float)
    error = 100 * values.std() / np.sqrt(len(values))
    return f"{100 * values.mean():.1f}{f' ± {error:.1f}' if error else ''} %"


def write(name: str, title: str, lines: Mapping[str, Callable[[int], str]], about: str | None, sets: int) -> None:
    """The command line of a script of lines: results/NAME.json and NAME.md, every line with its seconds."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=sets, help="data sets a figure")
    parser.add_argument("--only", default="", help="lines that hold this text")
    args = parser.parse_args()
    warnings.simplefilter("ignore", jr.JaxrankWarning)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    done = json.loads(path.read_text()) if path.exists() else {}
    for said, measured in lines.items():
        if args.only in said:
            began = time.perf_counter()
            found = measured(args.sets)
            done[said] = {"found": found, "sets": args.sets, "seconds": round(time.perf_counter() - began, 1)}
            print(f"{said}: {found}", flush=True)
            path.write_text(json.dumps(done, indent=1) + "\n")
    path.with_suffix(".md").write_text("\n".join([f"# {title}", "", *_table(name, lines, done)]) + "\n")


def _table(name: str, lines: Iterable[str], done: dict[str, Any]) -> list[str]:
    """A line a measurement, beside what stands in NAME_before.json, measured with earlier defaults."""
    earlier = RESULTS / f"{name}_before.json"
    before = json.loads(earlier.read_text()) if earlier.exists() else {}
    head = ["statement", *(["before"] if before else []), "found", "data sets"]
    out = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    for said in lines:
        if said in done:
            was = [before.get(said, {}).get("found", "")] if before else []
            out.append("| " + " | ".join([said, *was, done[said]["found"], str(done[said]["sets"])]) + " |")
    return out
