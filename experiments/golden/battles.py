"""Every golden value of battles with covariates, categories and times beside the library's: the largest difference.

python -m experiments.golden.battles   # -> battles.md, a line for each fit

Golden values: tests/golden/battles.json, of the programs that tests/golden/SOURCES.md names. Fits in float64.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

import jaxrank as jr
from jaxrank.data.covariates import Design
from tests.models.test_covariates import EXISTENCE, FITS, differences, fitted
from tests.oracles import golden
from tests.studies.test_battles import DYNAMIC, battles_of, example

STARTS = {"drift_0_05": (0.05, 1.0), "drift_0_3": (0.3, 1.0), "drift_1_start_4": (1.0, 4.0)}


def apart(found: object, value: object) -> float:
    return float(np.abs(np.asarray(found, float) - np.asarray(value, float)).max(initial=0))


def categories() -> dict[str, float]:
    given, value = example("by_category")["input"], example("by_category")["values"]
    found = jr.by(battles_of(given, category=given["category"]), "category", "bradley_terry", dtype="float64")
    order = sorted(found.names, key=float)
    assert found.test is not None
    theta = [found.results[name].scores for name in order]
    return {"theta": apart(theta, value["theta_by_category"]), "chi-square": apart(found.test.statistic, value["lr"])}


def over_time(name: str) -> dict[str, float]:
    given, value = DYNAMIC["input"], DYNAMIC["values"][name]
    battles = battles_of(given, time=np.array(given["period"], float))
    drift, start = STARTS[name]
    found = jr.ratings_over_time(battles, period=1, drift=drift, start_var=start)
    return {
        "theta": apart(found.scores, value["theta"]),
        "sd": apart(found.standard_errors, value["sd"]),
        "log_marginal": apart(found.log_marginal, value["log_marginal_laplace"]),
    }


def elo() -> dict[str, float]:
    first = golden("battles")[0]
    fit, _ = fitted(first, "with_side")
    plain, anchored = jr.ratings(fit), jr.ratings(fit, anchor=("m0", 1000))
    value = first["values"]
    return {
        "ratings": apart(plain.ratings, value["elo_with_side"]),
        "anchored": apart(anchored.ratings, value["elo_anchor_m0_1000"]),
        "se": apart(anchored.standard_errors, value["elo_se_with_side"]),
    }


def scaling() -> dict[str, float]:
    one = example("covariate_scaling")
    a, b = (one["input"][f"headers_{side}"] for side in "ab")
    battles = jr.Comparisons(["x"] * len(a), ["y"] * len(a), [1] * len(a), columns={"headers_a": a, "headers_b": b})
    x, scale = Design(("headers",)).values(battles)
    return {"ratio": apart(x[0], one["values"]["ratio"]), "unit": apart(scale[0], one["values"]["root_mean_square"])}


def propensity() -> dict[str, float]:
    one = example("inverse_propensity")
    a, b = one["input"]["a"], one["input"]["b"]
    battles = jr.Comparisons(a, b, np.arange(len(a)) % 2).balanced()
    return {"weight": apart(battles.weight, one["values"]["mean_one"])}


def main() -> None:
    warnings.simplefilter("ignore", jr.JaxrankWarning)
    rows = [(f"{e['id']}, {name}", differences(e, name)) for e, name in FITS]
    rows += [("by category", categories())]
    rows += [(f"over time, {name}", over_time(name)) for name in STARTS]
    rows += [("points of Elo", elo()), ("a covariate's unit", scaling()), ("inverse propensity", propensity())]
    worst = max(max(found.values()) for _, found in rows)
    lines = ["| golden value | largest difference | of |", "|---|--:|---|"]
    for name, found in rows:
        most = max(found, key=lambda k: found[k])
        lines.append(f"| {name} | {found[most]:.1e} | {most} |")
    lines += [
        "",
        f"{len(rows)} lines, the largest difference {worst:.1e}. Existence of an optimum, worked out by hand, is",
    ]
    lines += [f"held by a test in each of {len(EXISTENCE)} cases (tests/models/test_covariates.py)."]
    (Path(__file__).parent / "battles.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
