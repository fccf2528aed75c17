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


def of_tails(e: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for v in e["values"]:
        k, w = v["k"], v["w"]
        R = np.array(e["input"]["R"])[:, : 6 if k == 3 else 4]
        profile = ev.tail_pass_profile(R, k, w, thresholds=v["thresholds"])
        for name in ("mean", "covariance", "question_mean", "sd"):
            yield f"profile {name}", getattr(profile, name), v[name]
        yield "profile of the recorded trials", profile.point, v["empirical_scorio"]
        equal = ev.tail_weights("uniform", k)
        utilities = {
            "linear_uniform": profile.linear(equal),
            "moment_1": profile.moment(1),
            "moment_2": profile.moment(2),
            "moment_half_scorio": profile.moment(0.5),
            "discovery": profile.discovery(),
            "stability": profile.stability(),
        }
        for name, found in utilities.items():
            yield name, [found.mean, found.sd], v[name]
        found = ev.tail_pass(R, equal, w, method="normal", **X64)
        yield "tail_pass posterior", [found.mean, found.sd], v["linear_uniform"]
        yield "tail_pass", found.point, np.mean(v["empirical_scorio"])
        yield "tail_pass ranker", ranked(R, "tail_pass", v=equal, w=w), np.mean(v["empirical_scorio"])
        own = ev.tail_pass(R, equal, w)
        yield "interval holds the point", bool(own.lower <= own.point <= own.upper), True


def of_weights(e: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    given, k = e["input"], e["input"]["k"]
    options = {
        "uniform": {},
        "threshold": {"tau": given["threshold"] / k},
        "moment": {"lam": given["lam"]},
        "beta": {"theta": given["theta"], "kappa": given["kappa"]},
        "maxent": {"mean": given["mean"]},
        "payoff": {"u": given["payoff"]},
    }
    for kind, more in options.items():
        yield kind, ev.tail_weights(kind, k, **more), e["values"][kind]
    yield "discovery", ev.tail_weights("threshold", k, tau=0.0), e["values"]["discovery"]
    yield "stability", ev.tail_weights("threshold", k, tau=1.0), e["values"]["stability"]


READ = {
    "tail_pass": of_tails,
    "tail_pass_weights": of_weights,
    "geom": of_geometric,
    "max_at_k": of_best,
    **dict.fromkeys((*FAMILY, "threshold_spectrum_at_k"), of_family),
}
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


def test_of_two_outcomes_the_tails_are_the_threshold_spectrum() -> None:
    R = np.random.default_rng(0).integers(0, 2, (3, 12, 6))
    v = [0.1, 0.2, 0.3]
    ours, other = ev.tail_pass(R, v, **X64), ev.threshold_spectrum_at_k(R, v, **X64)
    for name in ("point", "mean", "sd", "lower", "upper"):
        assert getattr(ours, name) == pytest.approx(getattr(other, name), abs=1e-12), name
    assert jr.fit(R, "tail_pass", v=v).scores == pytest.approx(jr.fit(R, "threshold_spectrum_at_k", w=v).scores)


def test_utilities_of_draws_agree_with_the_exact_ones_and_with_each_other() -> None:
    R = np.random.default_rng(1).integers(0, 3, (2, 5, 4))
    profile = ev.tail_pass_profile(R, 3, [0, 0.5, 1])
    draws = profile.sample(4000, seed=2)
    equal = ev.tail_weights("uniform", 3)
    pairs = {
        "linear": (draws.linear(equal), profile.linear(equal)),
        "moment": (draws.moment(2), profile.moment(2)),
        "discovery": (draws.discovery(), profile.discovery()),
        "stability": (draws.stability(), profile.stability()),
    }
    for name, (drawn, exact) in pairs.items():
        assert drawn.shape == (4000, 2)
        assert np.abs(drawn.mean(axis=0) - exact.mean).max() < 5 * exact.sd.max() / np.sqrt(4000), name
        assert drawn.std(axis=0) == pytest.approx(exact.sd, rel=0.08), name
    assert draws.power_mean(1) == pytest.approx(draws.linear(equal))
    assert np.all(draws.qrs() >= draws.power_mean(1) - 1e-12)
    assert np.all(draws.qrs(of="profile") >= draws.linear(equal) - 1e-12)
    assert np.all(draws.rollout(2) <= draws.linear(equal) + 1e-12)
    harmonic = draws.harmonic(0.5)
    assert np.all((draws.stability() <= harmonic + 1e-12) & (harmonic <= draws.discovery() + 1e-12))
    assert np.all(draws.shortfall([0, 0, 0]) == 0)
    # The profile falls, so that most is lacking at the highest threshold, and it is the chance of full reward there.
    assert draws.shortfall([1, 1, 1], eps=1e-9) == pytest.approx(1 - draws.stability(), abs=1e-6)
    again = profile.at_k(5)
    assert again.mean.shape == (2, 5) and np.all(np.diff(again.mean, axis=-1) <= 1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda R: ev.tail_pass(R, [0.2] * 5), "k=5"),
        (lambda R: ev.tail_pass(R, [0.9, 0.9]), "at most 1"),
        (lambda R: ev.tail_pass(R, [0.5], [0, 2, 1]), "w"),
        (lambda R: ev.tail_pass_profile(R, 300, [0, 0.5, 1]), "at most 20000"),
        (lambda R: ev.tail_pass_profile(R, 2, [0, 0.5, 1], thresholds=[0.5, 0.2]), "rise"),
        (lambda R: ev.tail_pass_profile(R, 2, [0, 0.5, 1]).linear([1.0]), "2 weights"),
        (lambda R: ev.tail_weights("beta", 3), "theta and kappa"),
        (lambda R: ev.tail_weights("payoff", 2, u=[0, 2, 1]), "u"),
    ],
)
def test_what_tails_refuse(call: Any, words: str) -> None:
    with pytest.raises(jr.JaxrankError, match=words):
        call(np.random.default_rng(0).integers(0, 3, (2, 4, 4)))
