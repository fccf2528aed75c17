"""The same study gives the same bits on one device, eight devices, two hosts, for any chunk size, and after kills."""

from __future__ import annotations

import functools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

WORKER = Path(__file__).with_name("replicate_worker.py")
ROOT = WORKER.parents[2]
N_REPLICATES = 3000
WHOLE = 10**6  # a chunk size above the number of replicates
# One method always; the others, each with a program for every chunk size and number of devices, are slow.
METHODS = [
    "bradley_terry",
    *(pytest.param(method, marks=pytest.mark.slow) for method in ("avg", "bradley_terry_davidson")),
]


def environment(devices: int) -> dict[str, str]:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    return {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "PYTHONPATH": str(ROOT)}


def start(
    folder: Path, method: str, chunks: tuple[int, ...], *extra: str, devices: int = 1, n: int = N_REPLICATES
) -> subprocess.Popen:
    folder.mkdir(exist_ok=True)
    sizes = ",".join(map(str, chunks))
    command = [sys.executable, str(WORKER), str(folder), str(n), sizes, method, *(extra or ("-",))]
    return subprocess.Popen(
        command, env=environment(devices), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finish(*processes: subprocess.Popen) -> None:
    for process in processes:
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output[-3000:]


def load(folder: Path, method: str, chunk: int, *, devices: int = 1, processes: int = 1) -> dict[str, np.ndarray]:
    with np.load(folder / f"{method}-{chunk}.npz") as stored:
        found = {name: stored[name] for name in stored.files}
    assert (found.pop("devices"), found.pop("processes")) == (devices, processes)
    return found


@functools.cache
def reference(method: str) -> dict[str, np.ndarray]:
    """One device, one process, all replicates in one chunk; two other chunk sizes are compared here."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        finish(start(folder, method, (WHOLE, 64, 1000)))
        whole = load(folder, method, WHOLE)
        for chunk in (64, 1000):
            assert_same(load(folder, method, chunk), whole)
    return whole


def assert_same(got: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert got.keys() == wanted.keys()
    for name in wanted:
        assert got[name].dtype == wanted[name].dtype, name
        np.testing.assert_array_equal(got[name], wanted[name], err_msg=name)


@pytest.mark.parametrize("method", METHODS)
def test_any_chunk_size_gives_the_same_bits(method: str) -> None:
    assert reference(method)["replicates"].shape == (N_REPLICATES, 6)


@pytest.mark.parametrize("method", METHODS)
def test_eight_devices_give_the_same_bits(method: str, tmp_path: Path) -> None:
    finish(start(tmp_path, method, (1000, WHOLE), devices=8))
    for chunk in (1000, WHOLE):
        assert_same(load(tmp_path, method, chunk, devices=8), reference(method))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("devices", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_two_hosts_give_the_same_bits(devices: int, method: str, tmp_path: Path) -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{s.getsockname()[1]}"
    finish(*(start(tmp_path, method, (500,), "-", address, str(p), "2", devices=devices) for p in range(2)))
    assert_same(load(tmp_path, method, 500, devices=devices, processes=2), reference(method))


@pytest.mark.slow
def test_killed_three_times_and_resumed_gives_the_same_bits(tmp_path: Path) -> None:
    method, disk, n = "bradley_terry_davidson", tmp_path / "disk", 10 * N_REPLICATES
    kills = 0
    for _ in range(3):
        before = len(finished(disk))
        process = start(tmp_path, method, (128,), str(disk), n=n)
        deadline = time.monotonic() + 120
        while len(finished(disk)) < before + 4 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.communicate()
    assert kills == 3, "the study ended before it could be killed"
    before = {path: path.stat().st_mtime_ns for path in finished(disk)}
    assert len(before) >= 12
    finish(start(tmp_path, method, (128,), str(disk), n=n))
    finish(start(tmp_path, method, (WHOLE,), n=n))
    assert_same(load(tmp_path, method, 128), load(tmp_path, method, WHOLE))
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in before.items()), "finished chunks were run again"


def finished(disk: Path) -> list[Path]:
    return sorted(disk.glob("*/*-*.npz"))


@pytest.mark.parametrize("devices", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_large_systems_do_not_lock_up(devices: int) -> None:
    """More models than the library's own elimination takes, so that LAPACK is called in every chunk."""
    code = """
import numpy as np
from jaxrank.data.comparisons import Comparisons
from jaxrank.studies.replicates import bootstrap
rng = np.random.default_rng(0)
W = rng.poisson(3, (80, 80)) + 1.0
np.fill_diagonal(W, 0)
rep = bootstrap(Comparisons.from_matrix(W), "bradley_terry", n_replicates=64, chunk_size=16)
assert (rep.status == 0).all()
"""
    subprocess.run([sys.executable, "-c", code], env=environment(devices), check=True, timeout=240)


SPREAD = """
import jax, numpy as np
import jaxrank as jr
from jaxrank.studies.fit import run
from jaxrank.methods.catalogue import make
from jaxrank.data.placement import spread

R = (np.random.default_rng(0).random((6, 20, 8)) < np.linspace(0.3, 0.7, 6)[:, None, None]).astype(int)
devices = jax.local_devices()
for method in ("avg", "borda", "rasch", "bradley_terry_luce"):
    ranker = make(method)
    stat = ranker.statistic.of(jr.Responses(R))
    assert spread(stat, devices) is stat, "small"
    placed = spread(stat, devices, big=1)
    used = {len(x.devices()) for x in jax.tree.leaves(placed)}
    one, many = run(ranker, stat), run(ranker, placed)
    assert int(one.status) == int(many.status) == 0
    print(method, max(used), float(abs(one.scores - many.scores).max() / abs(one.scores).max()))
"""


def test_a_big_statistic_is_spread_over_devices() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SPREAD], env=environment(8), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = {name: (int(n), float(gap)) for name, n, gap in map(str.split, done.stdout.splitlines())}
    assert set(lines) == {"avg", "borda", "rasch", "bradley_terry_luce"}
    assert lines["borda"] == (5, 0.0)  # 20 questions on 8 devices: the most that divide them; whole numbers add exactly
    assert lines["bradley_terry_luce"][0] > 1
    assert all(gap < 1e-5 for _, gap in lines.values()), lines
