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
    """Point estimates, posterior means and deviations of the metrics of k tries, one random table a draw."""
    if not installed():
        return
    import scorio.eval as theirs  # pyright: ignore[reportMissingImports]

    rng = np.random.default_rng(0)
    largest: dict[str, float] = {}
    x64: dict[str, Any] = {"dtype": "float64"}
    for _ in range(N_INPUTS // 10):
        R = rng.integers(0, 2, (5, 6))
        k = int(rng.integers(2, 6))
        w = rng.dirichlet(np.ones(k))
        graded, rewards = rng.integers(0, 3, (5, 6)), np.array([0.0, rng.random(), 1.0])
        pairs = {
            name: (getattr(ev, name)(R, k, method="normal", **x64), getattr(theirs, f"{name}_ci")(R, k))
            for name in ("pass_at_k", "pass_hat_k", "mg_pass_at_k", "maj_at_k", "auc_at_k", "geom_at_k", "geom_ds_at_k")
        }
        spectrum = ev.threshold_spectrum_at_k(R, w, method="normal", **x64)
        pairs["threshold_spectrum_at_k"] = spectrum, theirs.threshold_spectrum_at_k_ci(R, k, w)
        best = ev.max_at_k(graded, k, rewards, method="normal", **x64)
        pairs["max_at_k"] = best, theirs.max_at_k_ci(graded, k, rewards)
        profile = ev.tail_pass_profile(graded, k, rewards)
        other = theirs.tailpass(graded, k, rewards)
        tails = {
            "tail_pass mean": (profile.mean, other.mean),
            "tail_pass sd": (profile.sd, other.std),
            "tail_pass recorded": (profile.point, theirs.tailpass_empirical(graded, k, rewards)),
        }
        for name, (ours, found) in pairs.items():
            tails[name] = np.array([ours.mean, ours.sd]), np.array(found[:2])
        for name, (ours, found) in tails.items():
            largest[name] = max(largest.get(name, 0.0), float(np.max(np.abs(np.asarray(ours) - np.asarray(found)))))
    for name, gap in largest.items():
        print(f"{name}: largest difference {gap:.1e} of {N_INPUTS // 10} random tables")
        assert gap < 1e-9, name
