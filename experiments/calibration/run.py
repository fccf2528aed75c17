"""How often is what the library says false? Every default statement on simulated data whose truth is known.

    python -m experiments.calibration.run [--quick] [--sets N] [--minutes T] [--only TEXT] [--again]

Writes results/table.json, a cell at a time (a run that was stopped goes on where it stood, and cells with fewer sets
are measured again), then results/table.md, and prints what fails: statements false in more than 6.5 % of the sets (8 %
below 20 questions) where they claim 5 %, by more than two standard errors of the simulation.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import jaxrank as jr
from experiments.calibration import tables, truths
from experiments.calibration.statements import LEVEL, STATEMENTS, Study, Verdict, gaps_of, scores_of, studies

HERE = Path(__file__).parent
RESULTS = HERE / "results"
UNFINISHED = HERE.parents[1] / "build" / "calibration"
SETS, QUICK_SETS, REPLICATES = 2000, 200, 1000
TRIALS, QUESTIONS = (1, 2, 3, 5, 16, 80), (10, 20, 50, 150, 500)
CENTRE = (5, 50, 3)
"""Models, questions, trials of the statements about all models, on every truth; for `VARIED` one varies at a time."""
AROUND = (
    *((5, 50, n) for n in TRIALS),
    *((5, m, 3) for m in QUESTIONS),
    (2, 50, 3),
    (20, 50, 3),
    (2, 150, 2),
    (20, 30, 8),
    (20, 20, 1),
)
VARIED = (truths.SKEWED, truths.ORDERED)
BATTLE_SIZES = ((2, 100), (5, 200), (5, 1000), (20, 2000))
SILENT = Verdict(np.nan, np.nan)
QUICK_BATTLES = ((5, 200),)


@dataclass(frozen=True)
class Cell:
    """One truth at one size. **kind**: "score" or "gap" (many sets in a call), "all" (a call a set), "battles"."""

    kind: str
    truth: truths.Truth | truths.Battles
    models: int
    size: tuple[int, ...]  # questions and trials, or battles

    @property
    def key(self) -> str:
        return f"{self.kind} | {self.truth.name} | {self.models} x {' x '.join(map(str, self.size))}"

    @property
    def seed(self) -> int:
        return zlib.crc32(self.key.encode())

    def labels(self) -> dict[str, Any]:
        names = ("questions", "trials") if len(self.size) == 2 else ("battles",)
        own = {"kind": self.kind, "truth": self.truth.name, "untold": self.truth.untold, "models": self.models}
        return own | dict(zip(names, self.size, strict=True))


def cells(quick: bool) -> Iterator[Cell]:
    trials, questions = ((1, 3, 16), (20, 150)) if quick else (TRIALS, QUESTIONS)
    for kind, models in (("score", 1), ("gap", 2)):
        for truth in truths.TRUTHS:
            yield from (Cell(kind, truth, models, (m, n)) for m in questions for n in trials)
    yield from (Cell("all", truth, CENTRE[0], CENTRE[1:]) for truth in truths.TRUTHS)
    for truth in () if quick else VARIED:
        yield from (Cell("all", truth, size[0], size[1:]) for size in dict.fromkeys(AROUND) if size != CENTRE)
    for models, battles in QUICK_BATTLES if quick else BATTLE_SIZES:
        yield from (Cell("battles", truth, models, (battles,)) for truth in truths.BATTLES)


def measure(cell: Cell, sets: int, replicates: int, end: float) -> list[dict[str, Any]] | None:
    """A row for every statement that can be made about the truth of a cell; None where the time is over."""
    began = time.perf_counter()
    rng = np.random.default_rng(cell.seed)
    if cell.kind in ("score", "gap"):
        found = _in_one_call(cell, rng, sets)
    else:
        found = _one_by_one(cell, rng, sets, replicates, end)
    if found is None:
        return None
    rows = []
    for name, (verdicts, seconds) in found.items():
        false = np.array([v.false for v in verdicts])
        said = np.isfinite(false)
        row = cell.labels() | {"statement": name, "sets": len(false), "silent": int((~said).sum())}
        row |= dict.fromkeys(("error", "mc", "width", "reached"))
        if n := int(said.sum()):
            reached = np.concatenate([v.reached for v in verdicts])
            row["error"] = round(float(false[said].mean()), 5)
            row["mc"] = round(float(max(false[said].std(), 1 / n) / np.sqrt(n)), 5)
            row["width"] = round(float(np.mean([v.width for v in verdicts if np.isfinite(v.false)])), 4)
            row["reached"] = round(float(np.nanquantile(reached, LEVEL)), 3) if len(reached) else None
        rows.append(row | {"seconds": round(seconds, 3)})
    print(f"{cell.key}: {time.perf_counter() - began:.1f} s", flush=True)
    return rows


Found = dict[str, tuple[list[Verdict], float]]
"""The verdicts on all sets and the seconds they took, by statement."""


def _in_one_call(cell: Cell, rng: np.random.Generator, sets: int) -> Found:
    name, judge = {"score": ("scores", scores_of), "gap": ("differences", gaps_of)}[cell.kind]
    scores = cell.truth.scores(cell.models)
    truth = float(scores[0] - scores[1:].sum())
    verdicts: list[Verdict] = []
    seconds = 0.0
    for outcomes in cell.truth.draw(rng, sets, cell.models, *cell.size):
        began = time.perf_counter()
        found = judge(outcomes, truth)
        seconds += time.perf_counter() - began
        for false, width, way in zip(*found, strict=True):
            silent = np.isnan(width)
            verdicts.append(SILENT if silent else Verdict(float(false), float(width), np.array([way])))
    return {name: (verdicts, seconds)}


def _one_by_one(cell: Cell, rng: np.random.Generator, sets: int, replicates: int, end: float) -> Found | None:
    truth = cell.truth.scores(cell.models)
    said = [s for s in STATEMENTS if s.fits("battles" if cell.kind == "battles" else "trials")]
    file = UNFINISHED / f"{cell.seed}_{replicates}.pickle"
    verdicts: dict[str, list[Verdict]] = {s.name: [] for s in said}
    seconds = dict.fromkeys(verdicts, 0.0)
    if file.exists():
        verdicts, seconds = pickle.loads(file.read_bytes())
    n_known = len(verdicts[said[0].name])
    for number, study in enumerate(_studies(cell, truth, rng, sets, replicates)):
        if number < n_known:
            continue
        if time.perf_counter() > end and cell.kind == "battles":
            UNFINISHED.mkdir(parents=True, exist_ok=True)
            file.write_bytes(pickle.dumps((verdicts, seconds)))
            print(f"{cell.key}: {number} of {sets} sets", flush=True)
            return None
        for statement in said:
            began = time.perf_counter()
            try:
                verdicts[statement.name].append(statement.judge(study))
            except jr.JaxrankError:
                verdicts[statement.name].append(SILENT)
            seconds[statement.name] += time.perf_counter() - began
    file.unlink(missing_ok=True)
    return {name: (verdicts[name], seconds[name]) for name in verdicts}


def _studies(cell: Cell, truth: np.ndarray, rng: np.random.Generator, sets: int, replicates: int) -> Iterator[Study]:
    if isinstance(cell.truth, truths.Battles):
        names = [f"model {i}" for i in range(cell.models)]
        for number in range(sets):
            drawn = cell.truth.draw(rng, cell.models, *cell.size)
            study = Study(jr.Comparisons(*cell.truth.tallied(*drawn, cell.models), models=names), truth, replicates)
            if number == 0:  # counts say the same as the battles one by one
                plain = jr.bootstrap(jr.Comparisons(*drawn, models=names), n_replicates=replicates)
                np.testing.assert_allclose(study.replicates.replicate_scores, plain.replicate_scores, atol=1e-4)
            yield study
    else:
        for outcomes in cell.truth.draw(rng, sets, cell.models, *cell.size):
            yield from studies(outcomes, truth, replicates)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a slice of the grid, to results/quick.json")
    parser.add_argument("--sets", type=int, help=f"data sets a cell; default {SETS}, or {QUICK_SETS} with --quick")
    parser.add_argument("--replicates", type=int, default=REPLICATES)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after this time, or at the end of a cell")
    parser.add_argument("--only", default="", help="cells whose name holds this text")
    parser.add_argument("--again", action="store_true", help="measure cells again that have enough sets")
    args = parser.parse_args()
    warnings.simplefilter("ignore", jr.JaxrankWarning)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / ("quick.json" if args.quick else "table.json")
    done: dict[str, list[dict[str, Any]]] = json.loads(path.read_text()) if path.exists() else {}
    end = time.perf_counter() + 60 * args.minutes
    sets = args.sets or (QUICK_SETS if args.quick else SETS)
    for cell in cells(args.quick):
        known = cell.key in done and done[cell.key][0]["sets"] >= sets
        if args.only in cell.key and (args.again or not known) and time.perf_counter() < end:
            if (rows := measure(cell, sets, args.replicates, end)) is None:
                break
            done[cell.key] = rows
            path.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in done.items()) + "\n}\n")
    rows = [row for cell in cells(args.quick) for row in done.get(cell.key, [])]
    path.with_suffix(".md").write_text(tables.markdown(rows))
    failed = [row for row in rows if tables.fails(row)]
    for row in failed:
        print("fails:", tables.sentence(row))
    print(f"{len(failed)} of {len(rows)} statements fail; {sum(r['seconds'] for r in rows) / 60:.1f} minutes of calls")


if __name__ == "__main__":
    main()
