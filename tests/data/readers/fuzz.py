"""Files of every format, changed at random below the format: bytes flipped, cut, put in, lines swapped, values changed.

``python -m tests.data.readers.fuzz 5000`` reads that many and prints what happened; the tests read a few hundred.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jaxrank.data.readers import read
from jaxrank.errors import JaxrankError
from tests.data.readers.written import write_all

VALUES = (None, True, -1, 3, 1e9, "", "x", [], {}, [[]], [None], {"a": 1}, 10**400, "\ud800", "\0", float("nan"))
BYTES = (
    b"\0",
    b"\n",
    b"\r",
    b'"',
    b",",
    b"{",
    b"[" * 3000,
    b"\xff",
    b"9" * 5000,
    b"\\",
    b"\xef\xbb\xbf",
    b"e99999",
    b":",
)


def plant(root: Path) -> list[Path]:
    """The written logs, further tables, arrays and packed files below ``root``."""
    write_all(root)
    table = (root / "long" / "long.csv").read_text()
    folder = root / "more"
    folder.mkdir()
    (folder / "quoted.csv").write_text('model,text,question,score\n"a, b","one\ntwo",q,1\nc,"say ""x""",q,0\n')
    (folder / "semicolons.csv").write_text(table.replace(",", ";"))
    (folder / "tabs.tsv").write_bytes(b"\xef\xbb\xbf" + table.replace(",", "\t").replace("\n", "\r\n").encode())
    (folder / "table.csv.gz").write_bytes(gzip.compress(table.encode()))
    with pa.output_stream(str(folder / "table.jsonl.zst"), compression="zstd") as out:
        out.write((root / "long" / "long.jsonl").read_bytes())
    counted = "model_a,model_b,winner,count\nx,y,x,3\ny,z,tie,2\nz,x,z,1\n"
    (folder / "counted.csv").write_text(counted)
    R = np.random.default_rng(0).integers(0, 2, (3, 4, 2))
    names = {"models": ["a", "b", "c"], "questions": ["p", "q", "r", "s"]}
    np.savez(folder / "r.npz", R=R, **names)
    np.savez_compressed(folder / "k.npz", k=R.sum(axis=2), n=np.full((3, 4), 2), **names)
    np.savez(folder / "x.npz", X=[[0, 1], [1, 2]], Y=[[3, 1, 2, 1], [0, 4, 0, 0]], models=names["models"])
    np.savez(folder / "w.npz", left=[0, 1, 2], right=[1, 2, 0], winner=[0, 2, -1])
    np.save(folder / "r.npy", R)
    return sorted(p for p in root.rglob("*") if p.is_file())


def changed(raw: bytes, suffix: str, rng: np.random.Generator) -> bytes:
    """The bytes of a file after one to three changes of one kind."""
    kinds: list[Callable[[bytes, np.random.Generator], bytes]] = [_flip, _cut, _put, _swap, _drop, _end]
    if suffix in (".json", ".jsonl"):
        kinds += [_values] * 3
    change = kinds[rng.integers(len(kinds))]
    for _ in range(rng.integers(1, 4)):
        raw = change(raw, rng) if raw else raw
    return raw


def _at(raw: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(len(raw)))


def _flip(raw: bytes, rng: np.random.Generator) -> bytes:
    k = _at(raw, rng)
    return raw[:k] + bytes([raw[k] ^ (1 << int(rng.integers(8)))]) + raw[k + 1 :]


def _cut(raw: bytes, rng: np.random.Generator) -> bytes:
    return raw[: _at(raw, rng)]


def _put(raw: bytes, rng: np.random.Generator) -> bytes:
    k = _at(raw, rng)
    return raw[:k] + BYTES[rng.integers(len(BYTES))] + raw[k:]


def _drop(raw: bytes, rng: np.random.Generator) -> bytes:
    k = _at(raw, rng)
    return raw[:k] + raw[k + int(rng.integers(1, 40)) :]


def _end(raw: bytes, rng: np.random.Generator) -> bytes:
    """Bytes near the end, where archives keep their directory."""
    k = max(0, len(raw) - 1 - int(rng.integers(200)))
    return raw[:k] + rng.bytes(int(rng.integers(1, 5))) + raw[k + 4 :]


def _swap(raw: bytes, rng: np.random.Generator) -> bytes:
    lines = raw.split(b"\n")
    i, j = rng.integers(len(lines), size=2)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def _values(raw: bytes, rng: np.random.Generator) -> bytes:
    """Values of JSON that are removed or replaced."""
    share = float(rng.choice([0.001, 0.01, 0.03, 0.2]))
    try:
        text = raw.decode()
        if text.startswith("{") and "\n{" in text:
            return "\n".join(json.dumps(_other(json.loads(line), rng, share)) for line in text.splitlines()).encode()
        return json.dumps(_other(json.loads(text), rng, share)).encode()
    except ValueError:
        return raw


def _other(value: Any, rng: np.random.Generator, share: float) -> Any:
    if rng.random() < share:
        return VALUES[rng.integers(len(VALUES))]
    if isinstance(value, dict):
        return {k: _other(v, rng, share) for k, v in value.items() if rng.random() > share}
    if isinstance(value, list):
        return [_other(v, rng, share) for v in value if rng.random() > share]
    return value


def files(folder: Path, count: int, seed: int = 0) -> Iterator[Path]:
    """``count`` changed files, one after the other, each under the name of the whole one."""
    rng = np.random.default_rng(seed)
    sources = plant(folder / "whole")
    groups: dict[tuple[str, str], list[Path]] = {}
    for source in sources:
        groups.setdefault((source.relative_to(folder).parts[1], source.suffix), []).append(source)
    for k in range(count):
        group = list(groups.values())[k % len(groups)]
        source = group[rng.integers(len(group))]
        raw = changed(source.read_bytes(), source.suffix, rng)
        path = folder / source.relative_to(folder / "whole")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
        yield path
        path.unlink()


OPTIONS: tuple[dict[str, Any], ...] = (
    *({}, {}, {}, {"threshold": 0.5}, {"levels": (0, 0.5, 1)}, {"errors": "zero"}, {"errors": "missing"}),
    *({"ties": "half", "bothbad": "drop"}, {"filter": "maj@4"}, {"rescore": r"(\d+)"}, {"tests": "base"}, {"n": 4}),
    *({"scorer": "match"}, {"metric": "exact_match"}, {"model": "m"}, {"winner_as": "name"}, {"array": "R"}),
)


def outcome(path: Path, **options: Any) -> tuple[str, str]:
    """What reading comes to: "read", "refused" in one line, or "traceback" for anything else; and the message."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            read(path, **options)
        except JaxrankError as error:
            text = str(error)
            return ("refused" if "\n" not in text and len(text) < 2000 else "traceback"), text
        except Exception:
            return "traceback", traceback.format_exc()
    return "read", ""


def main(count: int, seed: int) -> Counter[str]:
    """Read that many changed files, print what did not go well, and count what happened."""
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for path in files(Path(folder), count, seed):
            start = time.perf_counter()
            options = OPTIONS[(sum(seen.values()) * 7) % len(OPTIONS)]
            kind, text = outcome(path, **options)
            seen[kind] += 1
            if kind == "traceback" or time.perf_counter() - start > 5:
                print(path.name, options, f"{time.perf_counter() - start:.1f} s", text[-1500:], sep="\n")
    print(count, "files:", dict(seen))
    return seen


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
