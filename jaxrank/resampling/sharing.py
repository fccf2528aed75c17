"""Many processes, one study, nobody in charge: who does which chunk.

Replicates are numbered and a finished chunk is a file, so whoever finds the file need not do the chunk. A `Share` says
which of the others a process does: every K-th of them ("K/N"), or any that nobody has in hand ("steal"). A claim is a
file beside the chunk's, made only where there is none and written again while the chunk is in hand; one that stays as
it is for ``claim_timeout`` seconds, by the clock of whoever looks, belongs to a process that died. That of a finished
chunk stands as long, since a shared folder may show the chunk's file late. When all chunks are there their claims go,
and one file, ``complete``, says so to those that see a chunk late. Claims save work and nothing more: a chunk that is
done twice has the same bits.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from jaxrank.errors import OptionError
from jaxrank.models.options import check_number, shown
from jaxrank.resampling.checkpoint import Checkpoint, name_of
from jaxrank.resampling.store import Store

Bounds = tuple[int, int]
COMPLETE = "complete"
_LOOK = 0.25  # seconds between two looks at what others have in hand
_UNKNOWN = 8  # processes that are reckoned with where any may join

LAYOUTS = (
    ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN"),
    ("JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", None),
    ("SLURM_PROCID", "SLURM_NTASKS", None),
)
"""Variables of the environment that number a job: its number, how many there are, the first number (0 without)."""


class Share(NamedTuple):
    """The chunks that one process does: number ``index`` of every ``count``; count 0: any that nobody has in hand;
    index -1: none, the study is only put together."""

    index: int
    count: int
    claim_timeout: float = 60.0

    @classmethod
    def of(cls, text: str | Share, claim_timeout: float | None = None) -> Share:
        """From "K/N" (K from 1 to N), "auto" (the number of this job under SLURM or Kubernetes), "steal" or "merge"."""
        if isinstance(text, Share):
            return text
        if claim_timeout is not None:
            check_number("claim_timeout", claim_timeout, above=0)
        wait = 60.0 if claim_timeout is None else float(claim_timeout)
        if text == "steal":
            return cls(0, 0, wait)
        if text == "merge":
            return cls(-1, 1, wait)
        if text == "auto":
            return _from_environment(os.environ)
        found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text) if isinstance(text, str) else None
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise OptionError(
                f'shard={shown(text)}; it must be "K/N" with K from 1 to N, such as "2/8", "auto" (the number of this '
                'job under SLURM or Kubernetes), "steal" (any chunk that nobody has in hand) or "merge"'
            )
        return cls(int(found[1]) - 1, int(found[2]))

    @property
    def steals(self) -> bool:
        return self.count == 0

    @property
    def merges(self) -> bool:
        """Whether this process does no chunk."""
        return self.index < 0

    @property
    def processes(self) -> int:
        """How many are reckoned with where chunks are sized."""
        return self.count or _UNKNOWN

    def order(self, bounds: Sequence[Bounds]) -> list[Bounds]:
        """The chunks that this process does, in its order: of those that anybody may do, from a place of its own."""
        if self.merges:
            return []
        if not self.steals:
            return list(bounds[self.index :: self.count])
        first = secrets.randbelow(len(bounds))
        return [*bounds[first:], *bounds[:first]]

    def __str__(self) -> str:
        return "any chunk" if self.steals else "no chunk" if self.merges else f"shard {self.index + 1}/{self.count}"


def _from_environment(environment: Mapping[str, str]) -> Share:
    for number, count, first in LAYOUTS:
        if number not in environment:
            continue
        if count not in environment:
            raise OptionError(
                f"shard='auto': {number} is set, but not {count}, the number of jobs that share the study; set it in "
                f'the job\'s environment, or name the shard: shard="K/N"'
            )
        try:
            start = int(environment.get(first, "0")) if first else 0
            step = int(environment.get("SLURM_ARRAY_TASK_STEP", "1")) if first else 1
            found = Share((int(environment[number]) - start) // step, int(environment[count]))
        except (ValueError, ZeroDivisionError):
            found = Share(-1, 0)
        if not 0 <= found.index < found.count:
            raise OptionError(
                f"shard='auto': {number}={environment[number]} is no number of a job among {count}={environment[count]}"
            )
        return found
    known = ", ".join(number for number, *_ in LAYOUTS)
    raise OptionError(f"shard='auto' reads the number of this job from {known}, and none is set; name the shard: K/N")


class Claims:
    """The chunks that this process has in hand, and those that others have."""

    def __init__(self, store: Store, timeout: float, end: int) -> None:
        """``end``: of the last chunk of the study."""
        self.store, self.timeout, self.end = store, timeout, end
        self.token = secrets.token_hex(8)
        self.mine: set[str] = set()
        self.done: dict[str, float] = {}
        """Claims of chunks that this process has finished, and when."""
        self.lock = threading.Lock()
        self.turn = 0

    def is_open(self, bounds: Bounds) -> bool:
        """Whether the chunk has no file yet, and nobody has seen all."""
        return not self.store.has(name_of(*bounds)) and not self._is_complete()

    def take(self, bounds: Bounds) -> bool:
        """Whether the chunk is now in this process's hand. A claim counts when it is there to read: a shared folder may
        hand one out twice."""
        name = _claim_of(bounds)
        with self.lock:
            made = self.store.create(name, self._words())
        if not made and not self._is_stale(name):
            return False
        with self.lock:
            if not made:
                self.store.scribble(name, self._words())
            try:
                won = self.store.read(name).startswith(self.token.encode())
            except FileNotFoundError:
                won = False
            if won:
                self.mine.add(name)
            return won

    def finish(self, bounds: Bounds) -> None:
        """The chunk has its file. Its claim is written once more, so that the timeout of others begins now."""
        with self.lock:
            name = _claim_of(bounds)
            self.turn += 1
            self.store.scribble(name, self._words())
            self.mine.discard(name)
            self.done[name] = time.monotonic()

    def release_all(self) -> None:
        with self.lock:
            for name in (*self.mine, *self.done):
                self.store.remove(name)
            self.mine.clear()
            self.done.clear()

    @contextmanager
    def kept_fresh(self) -> Iterator[None]:
        """Claims in hand are written again four times within the timeout, those of finished chunks removed after it."""
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(self.timeout / 4):
                with self.lock:
                    self.turn += 1
                    for name in self.mine:
                        self.store.scribble(name, self._words())
                    now = time.monotonic()
                    for name in [name for name, since in self.done.items() if now - since > self.timeout]:
                        self.store.remove(name)
                        del self.done[name]

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        _OPEN.append(self)
        try:
            yield
            with self.lock:
                self.done.clear()  # they stand until the study is complete: see `sweep_claims`
        finally:
            ended.set()
            thread.join()
            self.release_all()
            _OPEN.remove(self)

    def _words(self) -> bytes:
        return f"{self.token} {os.getpid()} {self.turn}\n".encode()

    def _is_complete(self) -> bool:
        """Whether a process has seen all chunks of a study as long as this. It says so for the timeout: what is still
        without a file then was lost."""
        try:
            content = self.store.read(COMPLETE)
        except FileNotFoundError:
            return False
        return content.split()[:1] == [b"%d" % self.end] and not self._has_stood(COMPLETE, content)

    def _is_stale(self, name: str) -> bool:
        """Whether a claim has not changed for as long as the timeout since this process first saw it so."""
        try:
            content = self.store.read(name)
        except FileNotFoundError:
            _SEEN.pop(f"{self.store}/{name}", None)
            return False
        return self._has_stood(name, content)

    def _has_stood(self, name: str, content: bytes) -> bool:
        before, since = _SEEN.get(f"{self.store}/{name}", (None, 0.0))
        now = time.monotonic()
        if before != content:
            _SEEN[f"{self.store}/{name}"] = content, now
            return False
        return now - since > self.timeout


def _claim_of(bounds: Bounds) -> str:
    return f"{bounds[0]:09d}-{bounds[1]:09d}.claim"


def sweep_claims(checkpoint: Checkpoint, end: int) -> None:
    """Remove the claims of a study whose chunks are all there, to the one that ends at ``end``."""
    claims = [name for name in checkpoint.store.names() if name.endswith(".claim")]
    if claims:
        checkpoint.store.put(COMPLETE, f"{end} {secrets.token_hex(8)}\n".encode())
    for name in claims:
        checkpoint.store.remove(name)


def wait_for_others(claim_timeout: float) -> None:
    time.sleep(min(_LOOK, claim_timeout / 4) * (0.5 + np.random.default_rng().random()))


_SEEN: dict[str, tuple[bytes, float]] = {}
"""Claims of others, what stood in them, and since when."""
_OPEN: list[Claims] = []
_STOP = threading.Event()


def request_stop() -> None:
    """Studies of this process take no further chunk, and end with `StoppedError` when the chunks in hand are done."""
    _STOP.set()


def allow_work() -> None:
    """Undo `request_stop`."""
    _STOP.clear()


def is_stopped() -> bool:
    return _STOP.is_set()


def drop_claims() -> None:
    """Give back what this process has in hand, before it ends at once."""
    for claims in list(_OPEN):
        claims.release_all()
