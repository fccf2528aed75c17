"""What a compiled program costs by its own text: launches, bytes between memory and kernels, operations.

An instruction of a scheduled text that is not bookkeeping is a kernel (CUDA) or a step (TPU). It reads its operands and
writes its result once; a fusion reads of an operand only the slices that it takes, and writes only the slice that it
sets in place. Arrays that a TPU's compiler keeps in its fast memory cost no bytes; others count with the padding of
their tiles.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterator

from experiments.accelerators.replay import name_in

FREE = frozenset(
    "parameter constant tuple get-tuple-element bitcast after-all partition-id replica-id add-dependency opt-barrier "  # noqa: SIM905
    "copy-done slice-done async-done async-update send-done recv-done all-reduce-done domain".split()
)
FREE_CALLS = ("Sharding", "AllocateBuffer", "SPMDFullToShardShape", "SPMDShardToFullShape", "AssumeGather")
SLOW = frozenset(
    "exponential log log-plus-one exponential-minus-one logistic tanh power sqrt rsqrt divide erf cosine sine".split()  # noqa: SIM905
)
NO_WORK = FREE | frozenset(
    "broadcast iota copy reshape transpose slice concatenate pad reverse convert fusion call".split()  # noqa: SIM905
)
OF_SLOW = 8
"""Operations that a transcendental or a division counts for: an assumption of the model."""
WIDTHS = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "bf16": 2, "f16": 2, "s64": 8, "u64": 8, "f64": 8}

_SHAPE = re.compile(r"([a-z]\w*)\[([\d,]*)\](?:\{([^{}]*)\})?")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = ")
_OPCODE = re.compile(r"\s*([a-z][\w\-]*)\(")
_HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{\s*$")


@dataclasses.dataclass
class Array:
    """An array of a text, with what it takes in the device's large memory."""

    elements: int
    dims: tuple[int, ...]
    bytes: int

    @classmethod
    def all_of(cls, text: str) -> list[Array]:
        return [cls._of(*m.groups()) for m in _SHAPE.finditer(text)]

    @classmethod
    def _of(cls, kind: str, dims_text: str, layout: str | None) -> Array:
        dims = tuple(int(d) for d in dims_text.split(",") if d)
        elements, layout = math.prod(dims), layout or ""
        held = elements
        if tile := re.search(r"T\((\d+)(?:,(\d+))?\)", layout):
            order = [int(d) for d in layout.split(":")[0].split(",") if d]
            sides = [int(s) for s in tile.groups() if s]
            minor = order[: len(sides)]  # the first is the fastest
            for side, axis in zip(reversed(sides), minor, strict=False):
                held = held // max(dims[axis], 1) * (-(-dims[axis] // side) * side)
        fast = re.search(r"S\(\d+\)", layout)
        return cls(elements, dims, 0 if fast or kind == "token" else held * WIDTHS.get(kind, 4))


@dataclasses.dataclass
class Instruction:
    name: str
    opcode: str
    out: list[Array]
    operands: list[str]
    rest: str

    @property
    def bytes(self) -> int:
        return sum(a.bytes for a in self.out)

    @property
    def elements(self) -> int:
        return sum(a.elements for a in self.out)

    def called(self, *keys: str) -> list[str]:
        found = []
        for key in keys:
            if m := re.search(rf"\b{key}=(\{{[^}}]*\}}|%?[\w.\-]+)", self.rest):
                found += re.findall(r"%?([\w.\-]+)", m.group(1))
        return found


class Text:
    """The computations of a compiled text by name, each its instructions in order; the last is the result."""

    def __init__(self, text: str) -> None:
        self.computations: dict[str, dict[str, Instruction]] = {}
        here: dict[str, Instruction] = {}
        for line in text.splitlines():
            if head := _HEAD.match(line):
                here = self.computations[head.group(2)] = {}
                if head.group(1):
                    self.entry = head.group(2)
            elif m := _INSTRUCTION.match(line):
                here[m.group(1)] = _instruction(m.group(1), line[m.end() :])

    def operand_bytes(self, computation: dict[str, Instruction], name: str) -> int:
        return computation[name].bytes if name in computation else 0

    def traffic(self, computation: dict[str, Instruction], i: Instruction) -> int:
        """Bytes that an instruction moves."""
        if i.opcode.endswith("-start"):  # a copy: what it reads and what it writes, without the pair of handles
            arrays = sorted(i.out, key=lambda a: -a.elements)[:2]
            return sum(a.bytes for a in arrays)
        if i.opcode in ("dynamic-slice", "slice", "gather"):
            return 2 * i.bytes
        if i.opcode == "dynamic-update-slice":
            return 2 * self.operand_bytes(computation, i.operands[1])
        given = [self.operand_bytes(computation, o) for o in i.operands]
        called = i.called("calls")
        if i.opcode != "fusion" or not called:
            return sum(given) + i.bytes
        inside = self.computations[called[0]]
        parameters = {int(p.rest.split(")")[0]): p.name for p in inside.values() if p.opcode == "parameter"}
        moved = 0
        for n, bytes_ in enumerate(given):
            moved += min(bytes_, self._read_of(inside, parameters[n])) if n in parameters else bytes_
        root = list(inside.values())[-1]
        ends = (
            [self._behind(inside, o) for o in root.operands]
            if root.opcode == "tuple"
            else [self._behind(inside, root.name)]
        )
        for end, array in zip(ends, i.out, strict=False):
            update = end is not None and end.opcode == "dynamic-update-slice"
            moved += self.operand_bytes(inside, end.operands[1]) if update and end else array.bytes
        return moved

    def _behind(self, inside: dict[str, Instruction], name: str) -> Instruction | None:
        found = inside.get(name)
        while found is not None and found.opcode in ("bitcast", "copy", "reshape") and found.operands:
            found = inside.get(found.operands[0])
        return found

    def _read_of(self, inside: dict[str, Instruction], parameter: str) -> float:
        """Bytes that are read of a parameter of a fusion: those of its slices, where nothing else uses it."""
        total = 0.0
        for user in inside.values():
            if parameter not in user.operands:
                continue
            if user.opcode in ("dynamic-slice", "slice", "gather") and user.operands[0] == parameter:
                total += user.bytes
            elif user.opcode == "dynamic-update-slice" and user.operands[0] == parameter:
                total += 0  # in place
            elif user.opcode == "bitcast":
                total += self._read_of(inside, user.name)
            else:
                return math.inf
        return total

    def operations(self, computation: dict[str, Instruction], i: Instruction) -> tuple[float, float]:
        """Operations of products, and others."""
        if i.opcode == "fusion" or (i.opcode == "call" and i.called("to_apply")):
            inside = [self.computations[name] for name in i.called("calls", "to_apply")]
            sums = [self.operations(c, j) for c in inside for j in c.values()]
            return sum(s[0] for s in sums), sum(s[1] for s in sums)
        if i.opcode == "dot":
            left = computation[i.operands[0]].out[0].dims if i.operands[0] in computation else ()
            axes = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", i.rest)
            summed = [int(a) for a in axes.group(1).split(",") if a] if axes else []
            return 2.0 * i.elements * math.prod(left[a] for a in summed if a < len(left)), 0.0
        if i.opcode == "convolution":
            sides = [computation[o].elements for o in i.operands[:2] if o in computation]
            batch = 1
            if (window := re.search(r"window=\{([^}]*)\}", i.rest)) and "lhs_dilate" in window.group(1):
                batch = math.prod(int(s) for s in re.findall(r"\d+", re.search(r"size=([\dx]+)", window.group(1))[1]))
            return 2.0 * i.elements * math.sqrt(math.prod(sides) / max(i.elements, 1) / batch), 0.0
        if i.opcode in ("reduce", "reduce-window"):
            return 0.0, float(sum(computation[o].elements for o in i.operands[: len(i.out)] if o in computation))
        if i.opcode in NO_WORK:
            return 0.0, 0.0
        return 0.0, float(i.elements * (OF_SLOW if i.opcode in SLOW else 1))


def _instruction(name: str, text: str) -> Instruction:
    """From what stands behind the sign of equality: the type, in brackets if it is several, then opcode(operands)."""
    end = _closing(text, 0) + 1 if text.startswith("(") else 0
    opcode = _OPCODE.search(text, end)
    if opcode is None:
        raise ValueError(f"not an instruction: {text[:100]}")
    close = _closing(text, opcode.end() - 1)
    inside = text[opcode.end() : close]
    operands = re.findall(r"%([\w.\-]+)", inside)
    rest = inside + ")" + text[close + 1 :] if opcode.group(1) == "parameter" else text[close + 1 :]
    return Instruction(name, opcode.group(1), Array.all_of(text[: opcode.start()]), operands, rest)


def _closing(text: str, start: int) -> int:
    depth = 0
    for n in range(start, len(text)):
        depth += (text[n] == "(") - (text[n] == ")")
        if depth == 0:
            return n
    return len(text)


@dataclasses.dataclass
class Kernel:
    """An instruction that runs: how often, in which loops (outermost first), and what it costs once."""

    times: float
    loops: tuple[str, ...]
    bytes: float
    products: float
    others: float
    name: str


def kernels(text: Text, turns: Counter[str], root: str) -> Iterator[Kernel]:
    """Every kernel inside the loop ``root``, with how often it runs; ``turns`` as of `replay.counted`. What a compiler
    made a loop of by itself turns as often as it says, or counts once."""

    def walk(name: str, times: float, loops: tuple[str, ...]) -> Iterator[Kernel]:
        computation = text.computations[name]
        for i in computation.values():
            label = name_in(op) if (op := _op_name(i)) else None
            if i.opcode == "while":
                known = re.search(r'"known_trip_count":\{"n":"(\d+)"', i.rest)
                n = turns[label] if label in turns else times * (int(known.group(1)) if known else 1)
                if label == root:
                    n = 1
                inside = (*loops, label or f"{i.name}")
                (body,), (condition,) = i.called("body"), i.called("condition")
                yield from walk(body, n, inside)
                if not known and label != root:
                    yield Kernel(n + times, (*inside, "turn"), 0, 0, 0, i.name)
                    yield from walk(condition, n + times, inside)
            elif i.opcode == "conditional":
                branches = i.called("branch_computations") or i.called("false_computation", "true_computation")
                for b, branch in enumerate(branches):
                    n = turns[f"{label}:{b}"] if any(f"{label}:{k}" in turns for k in range(9)) else times
                    yield from walk(branch, n, loops)
            elif i.opcode in ("call", "async-start") and (inner := i.called("to_apply", "calls")):
                for c in inner:
                    yield from walk(c, times, loops)
            elif i.opcode in FREE or (i.opcode == "custom-call" and any(c in i.rest for c in FREE_CALLS)):
                continue
            elif root in loops and times:
                products, others = text.operations(computation, i)
                yield Kernel(times, loops, text.traffic(computation, i), products, others, i.name)

    yield from walk(text.entry, 1, ())


def _op_name(i: Instruction) -> str:
    found = re.search(r'op_name="([^"]*)"', i.rest)
    return found.group(1) if found else ""
