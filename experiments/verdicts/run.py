"""How often is a verdict of `jaxrank.compare` false, and what does it find? Studies of two models whose truth is known.

python -m experiments.verdicts.run                 # all cells, 10^5 studies each -> results/verdicts.json, .md
python -m experiments.verdicts.run --only "rate .5 | 20"
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import bdtr
from scipy.stats import norm, rankdata

from experiments.verdicts.truths import CLUSTER, TRUTHS, Truth, outcomes
from jaxrank.evaluation.paired_tests import EXACT_FLIPS, sign_flip
from jaxrank.numerics.paired import Paired
from jaxrank.results.comparison import FEW, FEWEST, evidence_of

RESULTS = Path(__file__).parent / "results"
STUDIES, BLOCK_CELLS = 100_000, 2_000_000
GAPS, QUESTIONS, TRIALS = (0.0, 0.02, 0.05), (20, 50, 150, 500), (1, 3, 10)
ALPHA, POWER = 0.05, 0.8
NAMES = ("better", "worse", "equivalent", "not worse")


def key_of(truth: Truth, questions: int, trials: int, gap: float, unit: str) -> str:
    return f"{truth.name} | {questions} x {trials} | {gap:g} | {unit}"


def cells() -> list[tuple[Truth, int, int, float, str]]:
    grid = list(itertools.product(TRUTHS, QUESTIONS, TRIALS, GAPS, ("questions", "trials")))
    return [
        c for c in grid if c[4] == "questions" or (c[2] > 1 and c[0].name in ("rate .95", "Beta(1.2, .3)", "rate .5"))
    ]


def measure(truth: Truth, questions: int, trials: int, gap: float, unit: str, studies: int) -> dict[str, Any]:
    """Shares of the studies: of each statement, of rejections by the classical tests, and what planning said."""
    rng = np.random.default_rng([hash_of(key_of(truth, questions, trials, gap, unit))])
    began = time.perf_counter()
    sums: dict[str, float] = {}
    planned: list[np.ndarray] = []
    moments = np.zeros(3)
    left, step = studies, max(BLOCK_CELLS // questions, 1)
    while left > 0:
        n = min(left, step)
        rates = truth.rates(rng, n, questions, gap)
        right = outcomes(rng, rates, trials)
        p = right / trials
        spread = p * (1 - p) * trials / (trials - 1) if trials > 1 else np.full(p.shape, np.nan)
        clusters = np.arange(questions) // (CLUSTER if truth.clustered else 1)
        own = np.moveaxis(spread, 0, 1)
        shape = np.full((2, questions), trials)
        paired = Paired(p[0] - p[1], np.ones(questions), clusters, own, shape, 1 / trials)
        true = np.full(n, gap) if unit == "questions" else (rates[0] - rates[1]).mean(axis=1)
        for name, value in judged(paired, unit, np.abs(true) if gap else np.full(n, 0.05)).items():
            sums[name] = sums.get(name, 0.0) + float(value.sum())
        if unit == "questions":
            for name, value in classical(paired, right, trials).items():
                sums[name] = sums.get(name, 0.0) + float(value.sum())
        planned.append(plans(paired, unit))
        d = np.asarray(paired.mean) - true
        moments += n, d.sum(), (d**2).sum()
        left -= n
    found = {name: value / studies for name, value in sums.items()}
    plan = np.concatenate(planned)
    with np.errstate(all="ignore"):
        plan = np.nanmedian(plan, axis=0)
    sd = float(np.sqrt(moments[2] / moments[0] - (moments[1] / moments[0]) ** 2))
    return found | {
        "studies": studies,
        "sd": sd,
        "detectable": float(plan[0]),
        "questions_needed": float(plan[1]),
        "trials_needed": float(plan[2]) if np.isfinite(plan[2]) else None,
        "seconds": round(time.perf_counter() - began, 1),
    }


def judged(paired: Paired, unit: str, margin: np.ndarray) -> dict[str, np.ndarray]:
    """Which statements `jaxrank.compare` makes of each study, by the same functions."""
    plain = np.asarray(paired.student(unit).p)
    p = plain.copy()
    if unit == "questions" and paired.n_clusters >= FEWEST:  # the exact test matters where t alone would decide
        few = (np.asarray(paired.n_differing) <= EXACT_FLIPS) | np.asarray(paired.one_size)
        asked = few & (np.asarray(paired.constant) | (plain <= ALPHA))
        known: dict[bytes, float] = {}
        for b in np.flatnonzero(asked):
            totals = np.sort(paired.totals[b])
            at = totals.tobytes()
            if at not in known:
                known[at] = sign_flip(totals, mid=True)
            p[b] = known[at]
    with np.errstate(invalid="ignore"):
        statements = evidence_of(paired, unit, margin, p).statements(ALPHA)
    verdict = np.full(len(p), "undecided", object)
    for name in reversed(NAMES):
        verdict[np.asarray(statements[name])] = name
    out = {f"verdict {name}": verdict == name for name in (*NAMES, "undecided")}
    student = paired.student(unit)
    small = np.maximum(student.above(-margin), student.below(margin)) <= ALPHA
    silent = np.isnan(np.asarray(student.se))  # without an error the interval has no width, and lies within any margin
    return out | {
        "equivalent": statements["equivalent"],
        "t equivalent": small | (silent & (np.abs(np.asarray(paired.mean)) < margin)),
        "t": plain <= ALPHA,
        "t better": (plain <= ALPHA) & (np.asarray(paired.mean) > 0),
    }


def classical(paired: Paired, right: np.ndarray, trials: int) -> dict[str, np.ndarray]:
    """Rejections of equality (in favour of the new model: better) by Wilcoxon's normal test, by McNemar's exact and
    mid-p, and by the sign test of the clusters' totals."""
    totals = paired.totals
    ranks = rankdata(np.where(totals == 0, np.nan, np.abs(totals)), axis=1, nan_policy="omit")
    ranks = np.nan_to_num(ranks)
    plus, whole, square = (ranks * (totals > 0)).sum(1), ranks.sum(1), (ranks**2).sum(1)
    with np.errstate(all="ignore"):
        z = np.where(square > 0, (plus - whole / 2) / np.sqrt(square / 4), 0)
    reject = 2 * norm.sf(np.abs(z)) <= ALPHA
    out = {"wilcoxon": reject, "wilcoxon better": reject & (z > 0)}
    if trials == 1 and paired.n_clusters == totals.shape[1]:
        won, lost = (totals > 0).sum(1), (totals < 0).sum(1)
        n, least = won + lost, np.minimum(won, lost)
        tail = bdtr(least, np.maximum(n, 1), 0.5)
        point = tail - np.where(least > 0, bdtr(np.maximum(least - 1, 0), np.maximum(n, 1), 0.5), 0)
        for name, p in (("mcnemar", 2 * tail), ("mcnemar mid-p", 2 * tail - point)):
            reject = (p <= ALPHA) & (n > 0) & (won != lost)
            out |= {name: reject, f"{name} better": reject & (won > lost)}
    return out


def plans(paired: Paired, unit: str) -> np.ndarray:
    """(studies, 3): the smallest difference found, and the questions and trials that a difference of .05 needs."""
    from scipy.special import stdtrit

    student = paired.student(unit)
    detectable = (stdtrit(student.df, 1 - ALPHA / 2) + stdtrit(student.df, POWER)) * student.se
    tolerated = (0.05 / (norm.ppf(1 - ALPHA / 2) + norm.ppf(POWER))) ** 2
    m = paired.differences.shape[1]
    needed = paired.variance_between / tolerated
    between = 0.0 if unit == "trials" else np.maximum(paired.variance_between - paired.variance_of_trials, 0)
    room = tolerated * m - between
    with np.errstate(divide="ignore", invalid="ignore"):
        trials = np.where(room > 0, paired.variance_of_one_trial / room, np.inf)
    return np.stack([np.asarray(detectable), np.asarray(needed), trials], axis=1)


def hash_of(key: str) -> int:
    import zlib

    return zlib.crc32(key.encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=STUDIES)
    parser.add_argument("--only", default="", help="cells whose name holds this text")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no new cell after this time")
    parser.add_argument("--again", action="store_true", help="measure cells that are in the file again")
    args = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "verdicts.json"
    done: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    end = time.perf_counter() + 60 * args.minutes
    for cell in cells():
        key = key_of(*cell)
        if args.only not in key or time.perf_counter() > end:
            continue
        if args.again or done.get(key, {}).get("studies", 0) < args.studies:
            done[key] = measure(*cell, args.studies)
            print(f"{key}: {done[key]['seconds']} s", flush=True)
            path.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in done.items()) + "\n}\n")
    path.with_suffix(".md").write_text(markdown(done))
    for line in failures(done):
        print("fails:", line)
    print(f"{len(done)} of {len(cells())} cells, {sum(v['seconds'] for v in done.values()) / 60:.1f} minutes")


def false_share(key: str, found: dict[str, Any]) -> dict[str, float]:
    """Shares of false statements in a cell: a difference where there is none, or the other way; "equivalent" within a
    margin that the true difference has just reached."""
    gap = float(key.split(" | ")[2])
    if gap == 0:
        return {"better or worse": found["verdict better"] + found["verdict worse"]}
    return {"worse": found["verdict worse"], "equivalent": found["equivalent"]}


def failures(done: dict[str, Any]) -> list[str]:
    """Shares above 5 % by more than three standard errors; but where there are fewer than ten clusters, of which
    `jaxrank.compare` says itself that the interval is a rough one."""
    lines = []
    clustered = {truth.name for truth in TRUTHS if truth.clustered}
    for key, found in done.items():
        truth, size = key.split(" | ")[:2]
        if truth in clustered and int(size.split(" x ")[0]) / CLUSTER < FEW:
            continue
        for name, share in false_share(key, found).items():
            if share > ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / found["studies"]):
                lines.append(f"{key}: {name} false in {100 * share:.2f} %")
    return lines


def markdown(done: dict[str, Any]) -> str:
    head = (
        'Shares in % of the studies. *false*: "better" or "worse" of equal models (gap 0), else "equivalent" within a '
        'margin equal to the true difference; *by t*: what Student\'s t alone would say. *found*: "better" where it is '
        "true, beside t, Wilcoxon's and McNemar's (mid-p) tests. *detectable*: median of what a study says it finds "
        "with 80 %, over what the true spread gives.\n\n"
    )
    columns = ("truth", "size", "gap", "unit", "false", "by t", "found", "t", "wilcoxon", "mcnemar mid-p", "detectable")
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for key, v in done.items():
        truth, size, gap, unit = key.split(" | ")
        equal = float(gap) == 0
        false = false_share(key, v)["better or worse" if equal else "equivalent"]
        plain = v["t"] if equal else v["t equivalent"]
        found = [v["verdict better"], v["t better"], v.get("wilcoxon better"), v.get("mcnemar mid-p better")]
        power = ["" if equal or f is None else f"{100 * f:.1f}" for f in found]
        true = 2.802 * v["sd"]
        cell = [
            truth,
            size,
            gap,
            unit,
            f"{100 * false:.2f}",
            f"{100 * plain:.2f}",
            *power,
            f"{v['detectable'] / true:.2f}",
        ]
        lines.append(f"| {' | '.join(cell)} |")
    return head + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
