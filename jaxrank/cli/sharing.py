"""``--shard``, ``--steal``: one study by many processes, which may be told to stop; ``jaxrank merge`` ends it."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxrank.cli.runtime import TYPED, fail, say
from jaxrank.errors import OptionError, StoppedError, UnfinishedError

TRY_AGAIN = 75
"""The exit code of a study that was stopped: the same command goes on."""

COMMAND = "command.json"
GRACE = 20.0

CheckpointFolder = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="FOLDER",
        help="Keep finished chunks here, in a folder or an address such as gs://bucket/study; a stopped study goes on "
        "from them.",
    ),
]
Shard = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="K/N|auto",
        help="Do part K of N (from 1) of a study that shares --checkpoint; auto takes both from SLURM or Kubernetes. "
        "`jaxrank merge FOLDER` puts the parts together.",
    ),
]
Steal = Annotated[
    bool,
    typer.Option(
        "--steal", help="Do any part that no other process with the same --checkpoint has in hand, until all is done."
    ),
]
ClaimTimeout = Annotated[
    float,
    typer.Option(
        "--claim-timeout", metavar="SECONDS", help="With --steal: after this silence a process is taken for dead."
    ),
]


def _grace(seconds: float) -> float:
    if not 0 <= seconds < float("inf"):
        raise OptionError(f"--grace {seconds:g}; it is the seconds that a chunk in hand may take, 0 or more")
    return seconds


Grace = Annotated[
    float,
    typer.Option(
        "--grace",
        metavar="SECONDS",
        callback=_grace,
        help="With --checkpoint: how long a study that is told to stop may take to end the chunk in hand.",
    ),
]


def share_of(shard: str | None, steal: bool, claim_timeout: float, checkpoint: str | None) -> Any:
    """The share of this process; None where it is alone."""
    from jaxrank.resampling.sharing import Share

    if shard is not None and steal:
        raise OptionError("--shard and --steal both say what this process does; leave one out")
    if (shard is not None or steal) and checkpoint is None:
        raise OptionError("--shard and --steal share a study through its files; name a folder: --checkpoint FOLDER")
    return Share.of("steal", claim_timeout) if steal else None if shard is None else Share.of(shard)


@contextmanager
def shared(checkpoint: str | None, share: Any, grace: float) -> Iterator[None]:
    """Around a study with a checkpoint: SIGTERM and SIGINT stop it (exit code 75), and a part that is done while others
    are not is no error."""
    if checkpoint is None:
        yield
        return
    remember(checkpoint)
    try:
        with stopped_by_signals(grace):
            yield
    except UnfinishedError as error:
        if share.merges:
            raise
        say(str(error))
        raise typer.Exit from None
    except StoppedError as error:
        fail(str(error), TRY_AGAIN)


@contextmanager
def stopped_by_signals(grace: float) -> Iterator[None]:
    """The first signal lets chunks in hand end, within ``grace`` seconds; the second, or the end of that time, ends the
    process at once. A thread waits for them, since the main one may be within compiled code."""
    from jaxrank.resampling.sharing import allow_work, drop_claims, request_stop

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def watch() -> None:
        if reader.recv(1) == b"\0":
            return
        request_stop()
        say(f"stopping: the chunk in hand may take {grace:g} seconds more")
        reader.settimeout(grace)
        try:
            if reader.recv(1) == b"\0":
                return
        except TimeoutError:
            say("stopped: the chunk in hand is dropped; the same command goes on from what is finished")
        drop_claims()
        sys.stdout.flush()
        os._exit(TRY_AGAIN)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    before = {s: signal.signal(s, lambda *_: None) for s in (signal.SIGTERM, signal.SIGINT)}
    wakeup = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        writer.send(b"\0")
        watcher.join()
        reader.close()
        writer.close()
        allow_work()


def remember(checkpoint: str) -> None:
    """Keep what was typed beside the chunks, for ``jaxrank merge``."""
    from jaxrank.resampling.store import open_store

    words = {"command": TYPED, "folder": os.getcwd()}
    open_store(checkpoint).create(COMMAND, json.dumps(words, indent=1).encode())


def recall(checkpoint: str) -> tuple[list[str], Path]:
    """The words of the command that began the study in a folder, and where it was typed."""
    from jaxrank.resampling.store import open_store

    if "://" not in checkpoint and not Path(checkpoint).is_dir():
        raise OptionError(f"there is no folder {checkpoint!r}; name the --checkpoint of a study")
    try:
        words = json.loads(open_store(checkpoint).read(COMMAND))
        return [str(word) for word in words["command"]], Path(words["folder"])
    except FileNotFoundError:
        raise OptionError(
            f"{checkpoint!r} holds no {COMMAND}, so no study of the command line began there; of a study in Python "
            'repeat its call with shard="merge"'
        ) from None
    except (ValueError, KeyError, TypeError):
        raise OptionError(f"{checkpoint}/{COMMAND} is no command of jaxrank; choose another folder") from None
