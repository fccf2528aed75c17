"""Metrics of k tries against exact fractions: recorded and posterior forms, as functions and as rankers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jaxrank as jr
from jaxrank import evaluation as ev
from jaxrank.numerics.credits import AllSuccesses, AreaUnderPass, Thresholds, majority
from tests.oracles import golden

EXAMPLES = {e["id"]: e for e in golden("answers")["examples"]}
FAMILY = {"auc_at_k": AreaUnderPass, "maj_at_k": majority, "unanimous_at_k": AllSuccesses}
X64: dict[str, Any] = {"dtype": "float64"}


def ranked(R: Any, method: str, **options: Any) -> float:
    """The score of one model by a ranker: the data twice, as two models."""
    return float(jr.fit(np.asarray([R, R]), method, **X64, **options).scores[0])


def of_family(e: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    R, kind = e["input"]["R"], e["kind"]
    for v in e["values"]:
        k = v["k"]
        if kind == "threshold_spectrum_at_k":
            credits: Any = Thresholds(np.array(v["weights"]))
            make = lambda **o: ev.threshold_spectrum_at_k(R, v["weights"], **X64, **o)  # noqa: B023
            options: dict[str, Any] = {"w": v["weights"]}
        else:
            credits = FAMILY[kind](k)
            make = lambda **o: getattr(ev, kind)(R, k, **X64, **o)  # noqa: B023
            options = {"k": k}
        yield "credits", credits.vector(), v["credits"]
        found = make(method="normal", extrapolate="value" not in v)
        yield "posterior mean", found.mean, v["posterior_mean"]
        yield "posterior sd", found.sd, v["posterior_sd"]
        if "value" in v:
            yield "value", found.point, v["value"]
            yield "ranker", ranked(R, kind, **options), v["value"]
            reach = 1.96 * v["posterior_sd"]
            ends = [v["posterior_mean"] - reach, v["posterior_mean"] + reach]
            assert v["scorio_interval_95"] == pytest.approx(np.clip(ends, 0, 1), abs=1e-4)
            yield "interval holds the point", bool(make().lower <= v["value"] <= make().upper), True
        else:
            with pytest.raises(jr.JaxrankError, match=f"k={k}"):
                make()


def of_geometric(e: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    R = e["input"]["R"]
    for v in e["values"]:
        k = v["k"]
        for powers, wanted in ((key, v[key]) for key in v if key.startswith("powers_")):
            a, b = map(float, powers.split("_")[1:])
            for name, key in (("geom_at_k", "geom_posterior"), ("geom_ds_at_k", "geom_ds_posterior")):
                found = getattr(ev, name)(R, k, a, b, method="normal", **X64)
                yield name, found.point, wanted[name]
                yield f"{name} posterior", [found.mean, found.sd], wanted[key]
                yield f"{name} ranker", ranked(R, name, k=k, pass_power=a, unanimous_power=b), wanted[name]
        found = ev.geo_spectrum_at_k(R, k, method="normal", **X64)
        yield "geo_spectrum_at_k", found.point, v["geo_spectrum_of_means"]
        yield "geo_spectrum_at_k posterior", [found.mean, found.sd], v["geo_spectrum_scorio_ci"][:2]
        yield "geo_spectrum_star_at_k", ev.geo_spectrum_star_at_k(R, k, **X64).point, v["geo_spectrum_star_scorio"]
        yield "geo_spectrum_at_k ranker", ranked(R, "geo_spectrum_at_k", k=k), v["geo_spectrum_of_means"]


def of_best(e: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    R = e["input"]["R"]
    for v in e["values"]:
        found = ev.max_at_k(R, v["k"], v["w"], method="normal", **X64)
        yield "max_at_k", found.point, v["value"]
        yield "max_at_k posterior", [found.mean, found.sd], [v["posterior_mean"], v["posterior_sd"]]
        yield "max_at_k interval", [found.lower, found.upper], v["scorio_interval_95"]
        yield "max_at_k ranker", ranked(R, "max_at_k", k=v["k"], w=v["w"]), v["value"]


READ = {"geom": of_geometric, "max_at_k": of_best, **dict.fromkeys((*FAMILY, "threshold_spectrum_at_k"), of_family)}
TOLERANCE = {"max_at_k interval": 1e-4}  # theirs is at 1.96 deviations


@pytest.mark.parametrize("kind", READ)
def test_golden_values(kind: str) -> None:
    largest: dict[str, float] = {}
    for e in EXAMPLES.values():
        if e["kind"] == kind:
            for name, got, want in READ[kind](e):
                gap = np.max(np.abs(np.asarray(got, float) - np.asarray(want, float)))
                largest[name] = max(largest.get(name, 0.0), float(gap))
    for name, gap in largest.items():
        print(f"answers.json {kind}: {name}: largest difference {gap:.1e}")
        assert gap <= TOLERANCE.get(name, 1e-9), name
    assert largest
