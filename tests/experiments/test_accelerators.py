"""What can be said of programs for GPUs and TPUs without their compilers (`make test-accelerators` has these)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.accelerators import costs, replay
from experiments.accelerators.run import RESULTS, digest, is_stale, missing, work_of
from experiments.accelerators.targets import TARGETS, Text
from jaxrank.methods.catalogue import entries
from jaxrank.numerics.precision import precision

LARGE = {"kemeny_young_small", "mirt"}  # mirt: 81 nodes a model and question, in float64


def equations(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield equation
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns"):
                yield from equations(inner)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
@pytest.mark.rank_promotion("allow")
@pytest.mark.parametrize("name", sorted(entries()))
def test_no_replicate_loses_digits_or_calls_back(name: str) -> None:
    """Every product of real numbers in the program of a replicate says that it keeps them, and none calls the host."""
    work = work_of(name, TARGETS["h100"], "float32")
    if work is None:
        return
    with precision("float32"):
        first = jax.tree.map(lambda x: x[0], work.payload(np.zeros(1, int)))
        found = list(equations(jax.make_jaxpr(work.lane)(jnp.uint32(0), first).jaxpr))
    products = [e for e in found if e.primitive.name == "dot_general"]
    real = [e for e in products if all(jnp.issubdtype(v.aval.dtype, jnp.floating) for v in e.invars)]
    assert all("HIGHEST" in str(e.params["precision"]) for e in real), name
    assert not [e.primitive.name for e in found if "callback" in e.primitive.name]
    assert work.block & (work.block - 1) == 0


def test_blocks_for_a_device_follow_what_their_program_holds() -> None:
    """4,096 replicates of Kemeny's rule would hold 17 GB there."""
    of = lambda held: work_of("kemeny_young_small", TARGETS["h100"], "float32", held).block
    assert of(None) >= 4096
    assert of(lambda work: work.block * 4_500_000) == 1024


def test_texts_of_compilers_are_read() -> None:
    text = """
  %f.1 = f32[4]{0} fusion(%a), kind=kLoop
  %c.2 = (f32[4]{0}, s32[]) custom-call(%f.1), custom_call_target="cusolver_syevd"
  %w.3 = (s32[]) while(%c.2), condition=%x, body=%y
  %r.4 = f32[4]{0} all-reduce-start(%f.1), to_apply=%add
  %d.5 = f64[4]{0} add(%a, %b)
  %h.6 = f32[] custom-call(), custom_call_target="xla_python_gpu_callback"
"""
    found = Text.of(text)
    assert (found.kernels, found.loops, found.wide) == (3, 1, 1)
    assert found.collectives == ["all-reduce"] and found.callbacks == ["xla_python_gpu_callback"]


def test_the_table_keeps_its_promises() -> None:
    """Every method compiles for every target, without a fault; what holds 2 GB at 4,096 replicates is known."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))
    taken = [r for key, r in rows.items() if key.endswith(" | block")]
    for target, dtype in (("h100", "float32"), ("h100", "float64"), ("v5e", "float32")):
        for n in (1, 8):
            part = [r for r in taken if (r["target"], r["devices"], r["dtype"]) == (target, n, dtype)]
            assert len(part) > 120 and {r["method"] for r in part} <= set(entries())
            assert not [r["method"] for r in part if "seconds" not in r and not r.get("host")]
    assert not [(r["method"], r["target"], r["devices"]) for r in taken if r["faults"]]
    given = [r for key, r in rows.items() if key.endswith("| h100 x 1 | float32 | 4096")]
    assert {r["method"] for r in given if r.get("temporary", 0) > 2**31} == LARGE and len(given) > 100
    page = RESULTS.with_name("README.md").read_text(encoding="utf-8")
    assert all(f"`{m}`" in page for m in LARGE)


def test_a_row_whose_program_is_another_one_today_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def text(work: Any, target: Any, n: int, dtype: str) -> Any:
        return SimpleNamespace(as_text=lambda: f"{work.block} replicates on {n} {target.name} in {dtype}")

    monkeypatch.setattr("experiments.accelerators.run.lowered", text)
    row = {"method": "avg", "target": "h100", "devices": 8, "dtype": "float32", "block": 64}
    row["program"] = digest(text(SimpleNamespace(block=64), TARGETS["h100"], 8, "float32"))
    assert not is_stale(row) and not is_stale({"method": "avg", "host": True})
    assert is_stale(row | {"block": 32}) and is_stale(row | {"devices": 1}) and is_stale(row | {"dtype": "float64"})
    assert is_stale(row | {"method": "kemeny_young"}), "on the host today"
    assert is_stale({k: row[k] for k in ("method", "target", "devices", "dtype")}), "it did not compile"


def test_what_is_lacking_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.accelerators.run.found", lambda package: package != "libtpu")
    assert missing() == "libtpu not installed; `make test-accelerators` installs the compilers (no device needed)"
    monkeypatch.setattr("experiments.accelerators.run.found", lambda package: True)
    monkeypatch.setenv("XLA_FLAGS", "--xla_backend_optimization_level=0")
    assert "unset it" in missing()
    monkeypatch.delenv("XLA_FLAGS")
    assert missing() == ""


def test_turns_of_loops_are_counted_under_the_names_that_the_text_keeps() -> None:
    def inner(i: Any, x: Any) -> Any:
        return jax.lax.cond(i > 0, jnp.sin, jnp.cos, jax.lax.fori_loop(0, 3, lambda _, y: y + 1, x))

    def program(x: Any, n: Any) -> Any:
        lanes = jax.vmap(lambda y: jax.lax.while_loop(lambda z: z < 4, lambda z: z + 1, y))(x)
        return jax.lax.fori_loop(0, n, inner, lanes)

    args = jnp.array([3.0, 1.0]), jnp.int32(5)
    trace = jax.make_jaxpr(program)(*args)
    counts = replay.counted(trace, args)
    loops = sorted(n for name, n in counts.items() if ":" not in name)
    assert loops == [3, 5, 15]  # the slower lane, the outer loop, three turns in each
    assert sorted(n for name, n in counts.items() if ":" in name) == [1, 4]
    renamed = replay.named(trace)
    np.testing.assert_array_equal(renamed(*args)[0], program(*args))
    lowered = jax.jit(renamed).lower(*args).as_text(debug_info=True)
    assert all(f"_L{name}_/while" in lowered for name in counts if ":" not in name)


def test_kernels_bytes_and_operations_are_read_from_a_text() -> None:
    text = costs.Text("""HloModule m, is_scheduled=true

%taken (p0: f32[9,1024], p1: s32[]) -> f32[1,1024] {
  %p0 = f32[9,1024]{1,0} parameter(0)
  %p1 = s32[] parameter(1)
  %z = s32[] constant(0)
  ROOT %s = f32[1,1024]{1,0} dynamic-slice(%p0, %p1, %z), dynamic_slice_sizes={1,1024}
}

%body (b: (s32[], f32[9,1024])) -> (s32[], f32[9,1024]) {
  %b = (s32[], f32[9,1024]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%b), index=0
  %x = f32[9,1024]{1,0} get-tuple-element(%b), index=1
  %f = f32[1,1024]{1,0} fusion(%x, %i), kind=kLoop, calls=%taken
  %g = f32[9,9]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  %e = f32[9,1024]{1,0:T(8,128)} exponential(%x)
  ROOT %t = (s32[], f32[9,1024]{1,0}) tuple(%i, %x)
}

%going (c: (s32[], f32[9,1024])) -> pred[] {
  %c = (s32[], f32[9,1024]{1,0}) parameter(0)
  %n = s32[] get-tuple-element(%c), index=0
  ROOT %l = pred[] compare(%n, %n), direction=LT
}

ENTRY %main (a: (s32[], f32[9,1024])) -> (s32[], f32[9,1024]) {
  %a = (s32[], f32[9,1024]{1,0}) parameter(0)
  ROOT %w = (s32[], f32[9,1024]{1,0}) while(%a), condition=%going, body=%body, metadata={op_name="jit(f)/_L4_/while"}
}
""")
    row = 4 * 1024
    found = {k.name: k for k in costs.kernels(text, Counter({"4": 7}), "4")}
    assert set(found) == {"f", "g", "e"} and all(k.times == 1 for k in found.values())  # once round the outer loop
    assert found["f"].bytes == 2 * row + 4  # of the operand one row, and the number of the row
    assert found["g"].bytes == 18 * row + 4 * 81 and found["g"].products == 2 * 81 * 1024
    assert found["e"].bytes == 9 * row + 16 * row  # a TPU's tile has 8 rows
    assert found["e"].others == costs.OF_SLOW * 9 * 1024
