"""The same study gives the same bits on one device, eight devices, two hosts, for any chunk size, and after kills."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

WORKER = Path(__file__).with_name("replicate_worker.py")
N_REPLICATES = 3000


def start(out: Path, chunk: int, *extra: str, devices: int = 1, n: int = N_REPLICATES) -> subprocess.Popen:
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
    env["PYTHONPATH"] = str(WORKER.parent.parent)
    extra = extra or ("-",)
    command = [sys.executable, str(WORKER), str(out), str(n), str(chunk), *extra]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(*processes: subprocess.Popen) -> None:
    for process in processes:
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output[-3000:]


def load(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files if name not in ("devices", "processes")}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """One device, one process, all replicates in one chunk."""
    out = tmp_path_factory.mktemp("reference") / "one.npz"
    finish(start(out, 10**6))
    return load(out)


def assert_same(got: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert got.keys() == wanted.keys()
    for name in wanted:
        assert got[name].dtype == wanted[name].dtype, name
        np.testing.assert_array_equal(got[name], wanted[name], err_msg=name)


@pytest.mark.parametrize("chunk", [64, 1000])
def test_any_chunk_size_gives_the_same_bits(chunk: int, reference: dict, tmp_path: Path) -> None:
    finish(start(tmp_path / "out.npz", chunk))
    assert_same(load(tmp_path / "out.npz"), reference)


@pytest.mark.parametrize("chunk", [1000, 10**6])
def test_eight_devices_give_the_same_bits(chunk: int, reference: dict, tmp_path: Path) -> None:
    finish(start(tmp_path / "out.npz", chunk, devices=8))
    with np.load(tmp_path / "out.npz") as stored:
        assert stored["devices"] == 8
    assert_same(load(tmp_path / "out.npz"), reference)


@pytest.mark.parametrize("devices", [1, 2])
def test_two_hosts_give_the_same_bits(devices: int, reference: dict, tmp_path: Path) -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{s.getsockname()[1]}"
    out = tmp_path / "out.npz"
    finish(*(start(out, 500, "-", address, str(p), "2", devices=devices) for p in range(2)))
    with np.load(out) as stored:
        assert stored["processes"] == 2
    assert_same(load(out), reference)


def test_killed_three_times_and_resumed_gives_the_same_bits(reference: dict, tmp_path: Path) -> None:
    out, disk = tmp_path / "out.npz", tmp_path / "disk"
    kills = 0
    for _ in range(3):
        before = len(finished(disk))
        process = start(out, 128, str(disk))
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
    finish(start(out, 128, str(disk)))
    assert_same(load(out), reference)
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in before.items()), "finished chunks were run again"


def finished(disk: Path) -> list[Path]:
    return sorted(disk.glob("*/*-*.npz"))


@pytest.mark.parametrize("devices", [1, 2])
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
    flags = f"--xla_force_host_platform_device_count={devices}"
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "PYTHONPATH": str(WORKER.parent.parent)}
    subprocess.run([sys.executable, "-c", code], env=env, check=True, timeout=240)


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
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    env["PYTHONPATH"] = str(WORKER.parent.parent)
    done = subprocess.run([sys.executable, "-c", SPREAD], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = {name: (int(n), float(gap)) for name, n, gap in map(str.split, done.stdout.splitlines())}
    assert set(lines) == {"avg", "borda", "rasch", "bradley_terry_luce"}
    assert lines["borda"] == (5, 0.0)  # 20 questions on 8 devices: the most that divide them; whole numbers add exactly
    assert lines["bradley_terry_luce"][0] > 1
    assert all(gap < 1e-5 for _, gap in lines.values()), lines
