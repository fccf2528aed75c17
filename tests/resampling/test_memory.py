"""Peak memory: what grows with models, questions or battles is bounded. Each case in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from jaxtyping import Array

import jaxrank as jr
from jaxrank.data.statistics import Counts, Events, Pairs
from jaxrank.data.weights import Weights
from jaxrank.methods.catalogue import make
from jaxrank.resampling import as_scheme, memory, replicate, sources
from jaxrank.resampling.tabulated import cell_row, cell_table
from jaxrank.resampling.traces import _live_bytes, traced
from jaxrank.resampling.work import Replication, block_size
from tests.problems import graded

START = """
import re, resource
from pathlib import Path
import numpy as np
import jaxrank as jr
rng = np.random.default_rng(0)
def tensor(L, M, N):
    return (rng.random((L, M, N)) < np.linspace(.2, .8, L)[:, None, None]).astype(int)
def study(R, method, n, **how):
    return jr.bootstrap(R, method, n_replicates=n, progress=False, **how)
jr.fit(tensor(3, 4, 2), "avg")
def peak():
    # of this process alone: what `resource` says begins at the peak of the process that started it
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = peak()
"""

# Megabytes above an idle process; what the same took before these bounds stands beside (numerics section 3).
CASES = {
    "tau of 2,048 replicates of 300 models": (
        'rep = study(tensor(300, 20, 4), "avg", 2048, scheme="questions"); rep.tau()',
        600,  # 3,144
    ),
    "superiority of 2,048 replicates of 400 models": (
        'rep = study(tensor(400, 20, 4), "avg", 2048, scheme="questions"); rep.superiority()',
        600,  # 1,328 at 4,096 of 500
    ),
    "Luce's model of 120,000 battles of 40 models": (
        "a = rng.integers(0, 40, 120_000); b = (a + rng.integers(1, 40, 120_000)) % 40\n"
        'jr.fit(jr.Comparisons(a, b, rng.integers(0, 2, 120_000)), "bradley_terry_luce")',
        350,  # 1,249
    ),
    "16 replicates of all pairs of 100 models on 500 questions": (
        'study(tensor(100, 500, 2), "bradley_terry_map", 16, scheme="questions", pairing="all")',
        450,  # 1,738
    ),
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no resource module")
@pytest.mark.parametrize("case", CASES)
def test_peak_memory(case: str) -> None:
    program, most = CASES[case]
    code = f"{START}\n{program}\nprint(peak() - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True)
    assert float(done.stdout.split()[-1]) < most


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no resource module")
def test_a_million_battles_are_read_in_bounded_memory(tmp_path: Path) -> None:
    """A process that reads ten columns of them: arrow once kept what it needed for blocks that were done with."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    a = rng.integers(0, 100, n)
    names = np.array([f"model-{i:03d}" for i in range(100)])
    columns = {"model_a": names[a], "model_b": names[(a + rng.integers(1, 100, n)) % 100]}
    columns["winner"] = np.array(["model_a", "model_b", "tie"])[rng.integers(0, 3, n)]
    columns |= {f"number {i}": rng.random(n) for i in range(5)} | {"day": rng.integers(0, 365, n), "judge": names[a]}
    file = tmp_path / "battles.parquet"
    parquet.write_table(pa.table(columns), file)
    code = f"{START}\nassert len(jr.read({str(file)!r}).a) == {n}\nprint(peak())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True)
    assert float(done.stdout.split()[-1]) < 620  # 560; with what arrow keeps of blocks some 120 more


def test_the_table_of_a_replicate_is_one_row() -> None:
    """200,000 trials of a question asked for 320 GB, a row for every number of trials."""
    with jax.enable_x64(True):
        row = np.asarray(cell_row(make("avg"), 200_000, (0.0, 2.0)))
        np.testing.assert_array_equal(cell_row(make("bayes"), 5), cell_table(make("bayes"), 5)[-1])
    np.testing.assert_allclose(row, 2 * np.arange(200_001) / 200_000, rtol=1e-15)


def test_equal_battles_are_one_event() -> None:
    """120,000 battles of 40 models are at most 2,340 events."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 5, 400)
    b = (a + rng.integers(1, 5, 400)) % 5
    battles = jr.Comparisons(a, b, rng.choice([0, 0.5, 1], 400), rng.integers(1, 4, 400))
    merged = battles.distinct()
    assert len(merged.a) <= 30
    np.testing.assert_array_equal(merged.wins, battles.wins)
    np.testing.assert_array_equal(merged.ties, battles.ties)
    events = Events.of(battles)
    assert events.outcomes.shape == (len(merged.a), 5)
    assert float(events.weights.sum()) == battles.count.sum()


@pytest.mark.parametrize("categories", [2, 3])
def test_all_pairs_model_by_model_are_those_at_once(categories: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = jr.Responses(graded() if categories == 2 else graded() + graded(4))
    with jax.enable_x64(True):
        rows, weights = Counts.rows(data, "question"), Weights(questions=jax.numpy.arange(6.0))
        at_once = Pairs.of(data, pairing="all"), Pairs.reduce(rows, weights)
        monkeypatch.setattr("jaxrank.data.pairing._ALL_PAIRS", 0)
        one_by_one = Pairs.of(data, pairing="all"), Pairs.reduce(rows, weights)
    for a, b in zip(at_once, one_by_one, strict=True):
        np.testing.assert_allclose(a.wins, b.wins, rtol=1e-14)
        np.testing.assert_allclose(a.ties, b.ties, rtol=1e-14)


@pytest.mark.parametrize("scheme", ["trials", "trials_per_question", "questions", "subsample(2)"])
def test_pairs_of_huge_data_are_gathered_and_the_same(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wins and ties of every trial of every question, (M N, L, L), are not made where they would not fit."""
    R = graded()
    how = {"n_replicates": 16, "scheme": scheme, "seed": 3, "dtype": "float64"}
    product = jr.bootstrap(R, "bradley_terry_map", **how)
    monkeypatch.setattr(sources, "_ROWS_BYTES", 0)
    source = sources.make_source(jr.Responses(R), make("bradley_terry_map"), as_scheme(scheme), "aligned", "x")
    assert source.rows is None
    gathered = jr.bootstrap(R, "bradley_terry_map", **how)
    np.testing.assert_allclose(gathered.replicate_scores, product.replicate_scores, atol=1e-9)


def test_a_block_is_sized_by_what_its_replicates_hold() -> None:
    """pairing="all" passes through pairs of every question, and gathering through every trial."""
    data = jr.Responses(np.zeros((60, 400, 8), int) + np.arange(8) % 2)
    pairs = sources.make_source(data, make("bradley_terry"), as_scheme("questions"), "all", "x")
    cells = sources.make_source(data, make("avg"), as_scheme("independent"), "aligned", "x")
    assert cells.lane_bytes >= data.outcomes.size
    assert pairs.lane_bytes < 60 * 60 * 400 * 4  # model by model
    assert block_size(2**30) == 1 and block_size(2**20) == 16 and block_size(2**10) == 256


def kemeny(block: int = 16) -> Replication:
    """Replicates of a method that holds 2^L L numbers, of statistics of L^2."""
    data, ranker = jr.Responses(graded(3, (8, 5, 4))), make("kemeny_young_small")
    source = sources.make_source(data, ranker, as_scheme("trials"), "aligned", "x")
    return Replication(ranker=ranker, source=source, key=jax.random.key(0), block=block)


def test_a_block_holds_no_more_than_the_device_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what the compiler says that the program holds, however small the statistics are."""
    with jax.enable_x64(True):
        whole = kemeny()
        assert memory.within_memory(whole).block == 16
        held = memory.compiled_bytes(whole)
        assert held > 16 * 2**8 * 8 * 8 > whole.source.lane_bytes
        monkeypatch.setattr(memory, "_CPU_BYTES", held // 3)
        small = memory.within_memory(whole)
        assert small.block == 4 and memory.compiled_bytes(small) <= held // 3
        monkeypatch.setattr(memory, "_CPU_BYTES", 1)
        assert memory.within_memory(whole).block == 1  # less than one replicate cannot be
        monkeypatch.setattr(memory, "_CPU_BYTES", held // 3)
        made = Replication.make(whole.ranker, whole.source, whole.key)
        assert made.block < whole.block
        pieces = [np.concatenate([c["scores"] for c in replicate(w, 40)]) for w in (whole, made)]
    np.testing.assert_array_equal(*pieces)


def test_nothing_is_compiled_where_a_trace_says_that_a_block_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "compiled_bytes", lambda work: pytest.fail("compiled"))
    jr.bootstrap(graded(), "bradley_terry_map", n_replicates=16)
    live = traced(kemeny()).live_bytes
    assert 2**8 * 8 * 4 < live < 100 * 2**8 * 8 * 4


def test_arrays_of_a_replicate_are_counted_as_long_as_they_live() -> None:
    def lane(x: Array) -> Array:
        shared = jnp.arange(1000.0) * 2  # one for all lanes
        first = shared + x
        second = jnp.sum(first)  # the last that reads it
        loop = jax.lax.fori_loop(0, 3, lambda i, s: s + jnp.sum(s * jnp.ones(500)), second)
        return loop + jnp.sum(x * jnp.ones(800))

    jaxpr = jax.make_jaxpr(lane)(jnp.float32(0)).jaxpr
    assert 4000 <= _live_bytes(jaxpr, set(jaxpr.invars)) < 4100
