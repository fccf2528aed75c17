"""Settings of the whole suite: compiled code is kept between runs, broadcasting over ranks is an error, no skip passes
unseen, and the marks of slow tests are compared with what the tests take."""

from __future__ import annotations

import gc
import os
import re
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

# Environment variables rather than jax.config, so that the command line's processes inherit them. The cache stands
# outside the clone, so that a fresh clone finds what another has compiled.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jaxrank" / f"jax-{version('jax')}"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
# Small programs too: workers and processes compile the same ones, and to load one takes half as long.
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "0")

import jax  # noqa: E402  (reads the environment)
import pytest  # noqa: E402
from jaxtyping import install_import_hook  # noqa: E402

import tests.shapes  # noqa: E402, F401  (named in the hook)

# JAXRANK_SHAPES=1: calls inside the rooms that hold arrays are checked against the shapes in their annotations.
if os.environ.get("JAXRANK_SHAPES") == "1":
    install_import_hook(["jaxrank.numerics", "jaxrank.data", "jaxrank.models", "jaxrank.methods"], "tests.shapes.check")

jax.config.update("jax_numpy_rank_promotion", "raise")

# The collector walks through all that JAX keeps of what it traced, 7 % of the suite's time at Python's thresholds.
gc.set_threshold(50_000, 20, 50)

MEMORY = 3e9  # bytes
UNMARKED, MARKED = 10.0, 1.0  # seconds of processor time: more needs the mark `slow`, less needs none
ALLOWED_SKIPS: tuple[str, ...] = ()  # patterns of reasons
MOST_SKIPS = 10


@pytest.fixture(autouse=True)
def _rank_promotion(request: pytest.FixtureRequest) -> Iterator[None]:
    """``@pytest.mark.rank_promotion("allow")`` for tests of third-party code that broadcasts over ranks."""
    marker = request.node.get_closest_marker("rank_promotion")
    with jax.numpy_rank_promotion(marker.args[0] if marker else "raise"):
        yield


@pytest.fixture(autouse=True, scope="module")
def _memory() -> Iterator[None]:
    """Compiled code is dropped after a file that leaves the worker above `MEMORY`: keeping all takes many gigabytes."""
    yield
    if _resident() > MEMORY:
        jax.clear_caches()


def _resident() -> float:
    """Bytes that the process holds in memory; infinite where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError):
        return float("inf")
    return pages * os.sysconf("SC_PAGE_SIZE")


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is imported stays, and is nothing to collect."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Records the processor time of the test and of the processes it waited for."""
    before = sum(os.times()[:4])
    try:
        return (yield)
    finally:
        item.user_properties.append(
            ("seconds", (item.get_closest_marker("slow") is not None, sum(os.times()[:4]) - before))
        )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """With CI=true a skip for a reason that is not among `ALLOWED_SKIPS`, or more than `MOST_SKIPS`, is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(session.config, "workerinput") or os.environ.get("CI") != "true":
        return
    reasons = [_reason(report) for report in reporter.getreports("skipped")]
    others = [r for r in reasons if not any(re.search(allowed, r) for allowed in ALLOWED_SKIPS)]
    if session.exitstatus == 0 and (others or len(reasons) > MOST_SKIPS):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _reason(report: pytest.TestReport) -> str:
    return str(report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many tests were skipped, and why; what became of the checks of the conformance suite."""
    skipped = terminalreporter.getreports("skipped")
    terminalreporter.write_line(
        f"{len(skipped)} tests skipped; with CI=true other reasons than those allowed are failures"
    )
    if not terminalreporter.config.option.markexpr:
        _marks(terminalreporter)
    _conformance(terminalreporter, _properties(terminalreporter, "conformance"))
    made: Counter[str] = Counter()
    for what, n in _properties(terminalreporter, "checks"):
        made[what] += n
    for what, n in made.items():
        terminalreporter.write_line(f"{what}: {n} checks")
    for name, caught in _properties(terminalreporter, "dead"):
        terminalreporter.write_line(f"{name}: fails {len(caught.split(', '))} checks: {caught}")


def _properties(terminalreporter: pytest.TerminalReporter, wanted: str) -> list[tuple]:
    """The values that tests recorded under a name."""
    return [
        tuple(value)
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        for name, value in report.user_properties
        if name == wanted
    ]


def _marks(terminalreporter: pytest.TerminalReporter) -> None:
    """Tests whose mark does not fit the processor time that they took; a warm cache makes tests seem quick."""
    lines = []
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for slow, seconds in (value for name, value in report.user_properties if name == "seconds"):
                if not slow and seconds > UNMARKED:
                    lines.append(f"{seconds:6.1f} s, not marked slow: {report.nodeid}")
                if slow and seconds < MARKED:
                    lines.append(f"{seconds:6.1f} s, but marked slow: {report.nodeid}")
    if lines:
        terminalreporter.section("marks of slow tests")
        terminalreporter.write_line("\n".join(sorted(lines, reverse=True)))


def _conformance(terminalreporter: pytest.TerminalReporter, found: list[tuple]) -> None:
    """Outcomes by check, the comparisons that they made, and reasons."""
    if not found:
        return
    terminalreporter.section("conformance")
    outcomes = ("run", "not applicable", "exempt", "failed", "vacuous")
    checks = list(dict.fromkeys(check for _, check, *_ in found))
    table = Counter((check, outcome) for _, check, outcome, *_ in found)
    made = Counter()
    for _, check, _, _, n in found:
        made[check] += n
    terminalreporter.write_line(f"{'check':18s}" + "".join(f"{o:>16s}" for o in (*outcomes, "comparisons")))
    for check in checks:
        numbers = [*(table[check, o] for o in outcomes), made[check]]
        terminalreporter.write_line(f"{check:18s}" + "".join(f"{n:16d}" for n in numbers))
    total = Counter(outcome for _, _, outcome, *_ in found)
    numbers = [*(total[o] for o in outcomes), sum(made.values())]
    label = f"{len({name for name, *_ in found})} identifiers"
    terminalreporter.write_line(f"{label:18s}" + "".join(f"{n:16d}" for n in numbers))
    reasons = Counter((o, check, why) for _, check, o, why, _ in found if o in ("not applicable", "exempt"))
    for (outcome, check, why), count in sorted(reasons.items()):
        terminalreporter.write_line(f"{outcome} {count:4d}  {check}: {why}")
