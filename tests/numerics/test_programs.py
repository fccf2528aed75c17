"""A process that compiles many programs drops them before it runs out of memory maps."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.numerics import programs

R = np.random.default_rng(5).integers(0, 2, (4, 9, 3))


def calls(call: str) -> list[np.ndarray]:
    if call == "fit":
        return [jr.fit(R, "avg").scores for _ in range(8)]
    if call == "bootstrap":
        return [jr.bootstrap(R, "avg", n_replicates=20, progress=False).scores]
    return [np.asarray(jr.agreement(R, ["avg", "borda"]).tau)]


@pytest.mark.parametrize("call", ["fit", "bootstrap", "methods"])
def test_programs_are_dropped_where_maps_run_out_and_results_stay(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = calls(call)
    dropped = []
    monkeypatch.setattr(jax, "clear_caches", lambda: dropped.append(programs.maps()))
    calls(call)
    assert not dropped
    monkeypatch.setattr(programs, "most_maps", lambda: 1)
    after = calls(call)
    assert len(dropped) >= 1
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not count memory maps")
def test_dropped_programs_give_their_maps_back(monkeypatch: pytest.MonkeyPatch) -> None:
    calls("bootstrap")
    before = programs.maps()
    assert before < programs._FULL * programs.most_maps()
    monkeypatch.setattr(programs, "most_maps", lambda: 1)
    programs.make_room()
    assert 0 < programs.maps() < before


def test_a_system_that_does_not_say_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: Path) -> bytes:
        raise OSError

    monkeypatch.setattr(Path, "read_bytes", read)
    assert programs.maps() == 0
    assert programs.most_maps() == float("inf")
