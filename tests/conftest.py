"""Settings of the whole suite: compiled code is kept between runs, and broadcasting over ranks is an error."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

# Environment variables rather than jax.config, so that the command line's processes inherit them.
ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "0")

import jax  # noqa: E402  (reads the environment)
import pytest  # noqa: E402

jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture(autouse=True)
def _rank_promotion(request: pytest.FixtureRequest) -> Iterator[None]:
    """``@pytest.mark.rank_promotion("allow")`` for tests of third-party code that broadcasts over ranks."""
    marker = request.node.get_closest_marker("rank_promotion")
    with jax.numpy_rank_promotion(marker.args[0] if marker else "raise"):
        yield


@pytest.fixture(autouse=True, scope="module")
def _memory() -> Iterator[None]:
    """Compiled code is dropped after each file: a worker that keeps all of it grows to many gigabytes."""
    yield
    jax.clear_caches()


# Each golden tensor has a shape, and so compilations, of its own: two of the five run always.
SLOW_TENSORS = ("T2_11x30x10", "T3_5x6x5", "T5_counterexample_3x8x1")
SLOW = set((Path(__file__).parent / "slow.txt").read_text().split())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of slow.txt, measured at over five seconds each, and those of the further golden tensors."""
    for item in items:
        if item.nodeid in SLOW or any(tensor in item.nodeid for tensor in SLOW_TENSORS):
            item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After the conformance suite: how many checks ran, how many were skipped or exempt, and why."""
    found = [
        value
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        for name, value in report.user_properties
        if name == "conformance"
    ]
    if not found:
        return
    terminalreporter.section("conformance")
    outcomes = ("run", "skipped", "exempt", "failed")
    checks = list(dict.fromkeys(check for _, check, _, _ in found))
    table = Counter((check, outcome) for _, check, outcome, _ in found)
    terminalreporter.write_line(f"{'check':18s}" + "".join(f"{o:>9s}" for o in outcomes))
    for check in checks:
        terminalreporter.write_line(f"{check:18s}" + "".join(f"{table[check, o]:9d}" for o in outcomes))
    total = Counter(outcome for _, _, outcome, _ in found)
    identifiers = len({name for name, *_ in found})
    terminalreporter.write_line(f"{f'{identifiers} identifiers':18s}" + "".join(f"{total[o]:9d}" for o in outcomes))
    reasons = Counter((outcome, check, why) for _, check, outcome, why in found if outcome in ("skipped", "exempt"))
    for (outcome, check, why), count in sorted(reasons.items()):
        terminalreporter.write_line(f"{outcome} {count:4d}  {check}: {why}")
