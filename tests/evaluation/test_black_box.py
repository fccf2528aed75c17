"""scorio 0.2.3 as a black box, where it is installed: random inputs, the same answers and the same metrics."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import numpy as np
import pytest

from experiments.answers.run import black_box
from jaxrank import evaluation as ev

N_INPUTS = 1000


def installed() -> bool:
    try:
        return importlib.metadata.version("scorio") == "0.2.3"
    except importlib.metadata.PackageNotFoundError:
        return False


@pytest.mark.slow
def test_every_rule_selects_what_scorio_selects() -> None:
    if not installed():
        return
    for name, counts in black_box(N_INPUTS).items():
        print(f"{name}: the same answer on {counts['same']} of {N_INPUTS}, {counts['tied here']} ties")
        assert counts["same"] + counts["tied here"] == N_INPUTS, name


@pytest.mark.slow
def test_every_metric_has_its_value_mean_and_deviation() -> None:
    """Point estimates, posterior means and deviations of all metrics, on random tables of ten shapes, right and wrong
    or of three categories with random rewards."""
    if not installed():
        return
    import scorio.eval as theirs  # pyright: ignore[reportMissingImports]

    rng = np.random.default_rng(0)
    largest: dict[str, float] = {}
    x64: dict[str, Any] = {"method": "normal", "dtype": "float64"}
    shapes = [(int(rng.integers(1, 9)), int(rng.integers(2, 9))) for _ in range(10)]
    for draw in range(N_INPUTS):
        shape = shapes[draw % len(shapes)]
        R = rng.integers(0, 2, shape)
        k = 1 + draw // len(shapes) % shape[1]
        w, tau, lam = rng.dirichlet(np.ones(k)), float(rng.uniform(0.05, 1)), float(rng.uniform())
        graded, rewards = rng.integers(0, 3, shape), np.array([0.0, rng.random(), 1.0])
        first = rng.integers(0, 3, (shape[0], 2))
        same = ("pass_at_k", "pass_hat_k", "unanimous_at_k", "mg_pass_at_k", "maj_at_k", "auc_at_k", "geom_at_k")
        calls: dict[str, tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]] = {
            name: ((R, k), (R, k), {}) for name in (*same, "geom_ds_at_k", "geo_spectrum_star_at_k")
        }
        calls["g_pass_at_k_tau"] = (R, k, tau), (R, k, tau), {}
        calls["threshold_spectrum_at_k"] = (R, w), (R, k, w), {}
        calls["geo_spectrum_at_k"] = (R, k, lam, w), (R, k, lam, w), {}
        calls["max_at_k"] = (graded, k, rewards), (graded, k, rewards), {}
        calls["bayes"] = (graded,), (graded, rewards, first), {"w": rewards, "R0": first}
        calls["avg"] = (graded,), (graded, rewards), {"w": rewards}
        pairs: dict[str, tuple[Any, Any]] = {}
        for name, (ours, other, options) in calls.items():
            found = getattr(ev, name)(*ours, **options, **x64)
            point = getattr(theirs, name)(*other)
            pairs[f"{name} point"] = found.point, point[0] if isinstance(point, tuple) else point
            pairs[f"{name} mean and sd"] = (found.mean, found.sd), getattr(theirs, f"{name}_ci")(*other)[:2]
        profile, other = ev.tail_pass_profile(graded, k, rewards), theirs.tailpass(graded, k, rewards)
        pairs["tail_pass mean and sd"] = (profile.mean, profile.sd), (other.mean, other.std)
        pairs["tail_pass point"] = profile.point, theirs.tailpass_empirical(graded, k, rewards)
        for name, (ours, found) in pairs.items():
            gap = np.max(np.abs(np.asarray(ours, float) - np.asarray(found, float)))
            largest[name] = max(largest.get(name, 0.0), float(gap))
    for name, gap in largest.items():
        print(f"{name}: largest difference {gap:.1e} of {N_INPUTS} random tables")
        assert gap < 1e-9, name
