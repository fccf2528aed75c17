"""Processes that share a study and are killed at random, started again, and told lies by their folder.

    python -m experiments.robustness.elastic [--processes 64] [--minutes 10] [--chunks 2500] [--life 60]

For so many minutes a process is killed (SIGKILL) after ``life`` seconds on average and another one begins in its place;
then what is left is done. Unless ``--lies 0``, a third of the claims that fail are handed out all the same, and a
process sees a third of the chunks that others finish only fifteen seconds later. Writes elastic.json: kills, chunks
that were done twice, chunks lost, and whether the study has the bits of one run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import time
import traceback
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import jaxrank as jr
from jaxrank.resampling import checkpoint, sharing
from jaxrank.resampling.store import Folder

RESULTS = Path(__file__).parent / "elastic.json"
CHUNK = 256
WORK = 15.0
"""Seconds that a chunk is in hand, on average: the work itself is small, so that 64 processes fit two cores."""
METHOD = "avg"
TIMEOUT = 20.0
LATE = 15.0
"""Seconds after which a folder that lies shows a file to all; less than those after which a claim is stale."""


def study(n_chunks: int, folder: Path | None, shard: Any) -> np.ndarray:
    rng = np.random.default_rng(0)
    R = (rng.random((12, 40, 4)) < np.linspace(0.3, 0.8, 12)[:, None, None]).astype(int)
    how = {"n_replicates": n_chunks * CHUNK, "seed": 1, "chunk_size": CHUNK, "progress": False}
    return jr.bootstrap(R, METHOD, checkpoint=folder, shard=shard, **how).replicate_scores


class Liar(Folder):
    """A network folder: some claims are handed out twice, some files are seen late."""

    lies = 0.0

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.written: set[str] = set()
        """What this process has written itself, which it sees."""

    def create(self, name: str, content: bytes) -> bool:
        made = super().create(name, content)
        return made or (name.endswith(".claim") and random.random() < self.lies / 3)

    def put(self, name: str, content: bytes) -> None:
        super().put(name, content)
        self.written.add(name)

    def has(self, name: str) -> bool:
        return super().has(name) and not self._is_late(name)

    def names(self) -> list[str]:
        return [name for name in super().names() if not self._is_late(name)]

    def read(self, name: str) -> bytes:
        if self._is_late(name):
            raise FileNotFoundError(name)
        return super().read(name)

    def _is_late(self, name: str) -> bool:
        if not name.endswith(".npz") or name in self.written or zlib.crc32(f"{os.getpid()} {name}".encode()) % 3:
            return False
        try:
            return self.lies > 0 and time.time() - (self.path / name).stat().st_mtime < LATE
        except FileNotFoundError:
            return False


def worker(n_chunks: int, folder: Path, lies: float) -> None:
    """One process of many: notes every chunk that it has written."""
    os.nice(10)
    random.seed(os.getpid())
    rng = random.Random(os.getpid())
    Liar.lies = lies
    checkpoint.open_store = lambda directory: Liar(Path(directory))
    save = checkpoint.Checkpoint.save
    log = folder.parent / "logs" / f"{os.getpid()}-{time.time_ns()}"

    def noted(self: Any, start: int, stop: int, arrays: Any) -> None:
        time.sleep(rng.expovariate(1 / WORK))
        save(self, start, stop, arrays)
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{start}\n")

    checkpoint.Checkpoint.save = noted
    study(n_chunks, folder, sharing.Share.of("steal", TIMEOUT))


def begin(n_chunks: int, folder: Path, lies: float) -> int:
    """A child of this process, which has imported everything and begun nothing."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        worker(n_chunks, folder, lies)
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(code)


def run(processes: int, minutes: float, n_chunks: int, life: float, lies: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder, logs = Path(name) / "study", Path(name) / "logs"
        logs.mkdir()
        folder.mkdir()
        running = {begin(n_chunks, folder, lies) for _ in range(processes)}
        begun, kills, failed = time.monotonic(), 0, 0
        rng = random.Random(0)
        while running:
            time.sleep(life / processes)
            killing = time.monotonic() - begun < 60 * minutes
            if killing:
                victim = rng.choice(sorted(running))
                os.kill(victim, signal.SIGKILL)
                kills += 1
            while running:
                ended, status = os.waitpid(-1, os.WNOHANG)
                if not ended:
                    break
                running.discard(ended)
                if os.WIFSIGNALED(status) and killing:
                    running.add(begin(n_chunks, folder, lies))
                elif status:
                    failed += not os.WIFSIGNALED(status)
        seconds = time.monotonic() - begun
        written = Counter(int(line) for path in logs.iterdir() for line in path.read_text().split())
        merged = study(n_chunks, folder, "merge")
        names = [p.name for p in folder.iterdir()]
    alone = study(n_chunks, None, None)
    return {
        "processes": processes,
        "chunks": n_chunks,
        "lies": lies,
        "kills": kills,
        "ended with an error": failed,
        "done twice": sum(written.values()) - len(written),
        "lost": n_chunks - sum(name.endswith(".npz") for name in names),
        "claims left": sum(name.endswith(".claim") for name in names),
        "half-written files left": sum(name.endswith(".part") for name in names),
        "same bits": bool(np.array_equal(merged, alone)),
        "seconds": round(seconds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--chunks", type=int, default=2500)
    parser.add_argument("--life", type=float, default=60, help="seconds that a process lives, on average")
    parser.add_argument("--lies", type=float, default=1.0)
    found = run(**{("n_chunks" if k == "chunks" else k): v for k, v in vars(parser.parse_args()).items()})
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    known[f"{found['processes']} processes, lies {found['lies']:g}"] = found
    RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
