"""What the printed tables of the ARISE paper say of its own statements: ``python -m experiments.arise.published``.

`experiments/published/arise_tables.csv` holds tables 1, 4, 5 and 6. The checks below recompute every statement of the
text that these tables can settle; published.json beside this file has what came out.
"""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path

import numpy as np

from jaxrank import kendall_tau

HERE = Path(__file__).parent
TABLES = HERE.parent / "published" / "arise_tables.csv"
SIZES = ("Qwen-3-0.6B", "Qwen-3-1.7B", "Qwen-3-4B", "Qwen-3-8B", "Qwen-3-14B", "Qwen-3-32B")
MORE = (*SIZES[:5], "Qwen3-30B-A3B", SIZES[5], "Qwen3-235B-A22B")  # by parameters


def table(number: int, metric: str) -> tuple[list[str], list[str], np.ndarray]:
    """Models, columns and values (models, columns) of a printed table."""
    with TABLES.open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["table"] == str(number) and r["metric"] == metric]
    models, columns = (list(dict.fromkeys(r[key] for r in rows)) for key in ("model", "column"))
    values = np.array([float(r["value"]) for r in rows]).reshape(len(models), len(columns))
    return models, columns, values


def cv(values: np.ndarray) -> np.ndarray:
    """Coefficient of variation over the columns, by the sample standard deviation."""
    return values.std(1, ddof=1) / np.abs(values.mean(1))


def main() -> dict:
    models, _, arise = table(4, "ARISE")
    _, _, slope = table(4, "SM")
    _, _, rounded = table(1, "SM x 1000")
    _, sets, code = table(6, "ARISE")
    code_models, _, code_slope = table(6, "SM")
    mean = dict(zip(models, arise.mean(1), strict=True))
    opus = arise[models.index("Claude Opus 4.1")]
    domains, _, mmmu = table(5, "ARISE")
    place = [code_models.index(name) for name in MORE]
    half = len(sets) // 2
    below = [
        f"{code_models[i]}: {sets[a]} {code[i, a]:.3f} < {sets[b]} {code[i, b]:.3f}"
        for i, a, b in itertools.product(place, range(half), range(half, len(sets)))
        if code[i, a] < code[i, b]
    ]
    out = {
        "CV over four data sets, mean over models, ARISE": [float(cv(arise).mean()), 0.194],
        "CV over four data sets, mean over models, scaling metric": [float(cv(slope).mean()), 0.249],
        "the same from table 1, which has more digits of the scaling metric": [float(cv(rounded).mean()), 0.249],
        "CV over all eight data sets, ARISE": [float(cv(np.c_[arise, code]).mean()), None],
        "CV over all eight data sets, scaling metric": [float(cv(np.c_[slope, code_slope]).mean()), None],
        "largest difference of tables 1 and 4, ARISE": [float(np.abs(table(1, "ARISE")[2] - arise).max()), None],
        "o3 over o1, gain of the mean": [mean["o3"] / mean["o1"] - 1, 0.78],
        "Opus 4.1 over Sonnet 4, times": [mean["Claude Opus 4.1"] / mean["Claude Sonnet 4"], 6],
        "Opus 4.1, mean deviation (below 0.015)": [float(np.abs(opus - opus.mean()).mean()), 0.015],
        "MMMU, largest CV over disciplines (below 0.15)": [float(cv(mmmu[:, :6]).max()), 0.15],
        "MMMU, largest error of the printed averages": [float(np.abs(mmmu[:, :6].mean(1) - mmmu[:, 6]).max()), 0.0005],
        "MMMU, Opus 4.1 over Opus 4, gain": [
            float(mmmu[domains.index("Opus 4.1"), 6] / mmmu[domains.index("Opus 4"), 6] - 1),
            0.2,
        ],
        "code above agents for every Qwen3 model, tasks where not": [below, []],
        "code above agents by mean of the two, models where not": [
            [code_models[i] for i in place if code[i, :half].mean() <= code[i, half:].mean()],
            [],
        ],
        "tau-b of size and ARISE, each set": [
            [float(kendall_tau(code[place, c], np.arange(8.0))) for c in range(4)],
            None,
        ],
        "tau-b of size and scaling metric, each set": [
            [float(kendall_tau(code_slope[place, c], np.arange(8.0))) for c in range(4)],
            None,
        ],
    }
    (HERE / "published.json").write_text(json.dumps(out, indent=1) + "\n")
    return out


if __name__ == "__main__":
    for name, (found, printed) in main().items():
        print(f"{name}: {found} (printed {printed})")
