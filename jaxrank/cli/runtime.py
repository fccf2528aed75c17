"""How the command line runs: float64 on the CPU, compiled code kept on disk, warnings and errors in one line."""

from __future__ import annotations

import gc
import io
import os
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from jaxrank.errors import JaxrankError

_COLUMNS = "model|question|trial|score|answer|weight|group|a|b|winner|a_score|b_score|count|voter|category|time"
_READ = "array|scorer|metric|filter|rescore|questions|n"
IN_FLAGS: tuple[tuple[str, Any], ...] = (
    (r" \(jaxrank\.(Responses|Comparisons|Rankings)\)", ""),
    (r"\bjaxrank\.fit\b(?!\()", "`jaxrank fit`"),
    (r"\bjaxrank\.evaluation\b(?!\.)", "`jaxrank evaluate`"),
    (r"\bjaxrank\.catalogue\(\) lists all \d+", "`jaxrank list` shows all"),
    (
        r"\bjaxrank\.fit\(data\)\.difference_intervals\(\), which has the differences of all pairs\b.*",
        "`jaxrank fit FILE --plot superiority=pairs.svg`, which draws how sure it is of each pair that one is above",
    ),
    (r" with k=(\d+)\?", r" with --set k=\1?"),
    (
        r"\bjaxrank\.bootstrap\(data, '(\w+)', scheme=jaxrank\.clusters\('([^']+)'\)\)",
        r"`jaxrank bootstrap FILE -m \1 --cluster \2`",
    ),
    (r"\bjaxrank\.clusters\(\"(\w+)\"\)", r"--cluster \1"),
    (r"\bjaxrank\.bootstrap\(data, '(\w+)'\)(?:\.interval\(\))?", r"`jaxrank bootstrap FILE -m \1`"),
    (r"\bjaxrank\.(bootstrap|posterior)\b(?!\()", r"`jaxrank \1`"),
    (rf"\b({_COLUMNS})=\.\.\.", lambda m: f"--{m[1].replace('_', '-')}-column ..."),
    (rf"\b({_READ})=\.\.\.", r"--read \1=..."),
    (r"\b(wide|missing)=(['\"])(\w+)\2", r"--\1 \3"),
    (r"\bwide=\.\.\.", "--wide ..."),
    (r"\bmodel_from_path=", "--model-from-path "),
    (r"\blower_is_better=False", "--higher-is-better"),
    (r"\berrors='missing'", "--read errors=missing"),
    (r"\b(winner_as|model)=(?=[\"'])", r"--read \1="),
    (r"\bformat=\.\.\.", "--file-format ..."),
    (r"\b(ties|comparison|separation)=[\"'](\w+)[\"']", r"--set \1=\2"),
    (r"\bextrapolate=True", "--set extrapolate=true"),
    (r"\blevels=\(0, 0\.5, 1\)", "--levels 0,0.5,1"),
    (r"\bthreshold=([\d.]+)", r"--threshold \1"),
    (r"\bscheme=[\"']?(\w+(?:\(\w+\))?)[\"']?", r"--scheme \1"),
    (r"\bn_(replicates|samples|chains|warmup)=", r"--\1 "),
    (r"\bn_(replicates|samples|chains|warmup)\b", r"--\1"),
    (r"give truth=\.\.\. or correct=\.\.\. to Answers, or name", "name"),
    (r"\b(trial|answer|truth|correct|score|model|question)_column=\.\.\.", r"--\1-column ..."),
    (r"\bextract=\.\.\.", "--extract ..."),
    (
        r"\btime='time': (.*) name the one with their times",
        r"--period: \1 name the one with their times, --time-column",
    ),
    (r"\b(chunk_size|checkpoint|reference|sampler|level|seed)=", lambda m: f"--{m[1].replace('_', '-')} "),
)
"""Options and calls of Python in messages of the library, and what does the same on the command line."""

TYPED: list[str] = []
"""The words of the command that runs."""

BAD_INPUT = 2
INTERRUPTED = 130


def configure() -> None:
    """Set JAX up for this process; what the user's environment says about JAX stands.

    By JAX's own variables of the environment, which it reads when a command first needs it: importing it takes longer
    than help and the answer to a slip. Systems of more than 64 models are OpenBLAS's, whose threads wait for each other
    longer than these take (half of the time of a leaderboard of 129 models on a busy machine): it has one thread,
    unless the environment says how many. Imports make objects by the hundred thousand that stay; at Python's own
    thresholds its collector of garbage looks through them for a tenth of a short command.
    """
    gc.set_threshold(50_000, 20, 50)
    if not {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"} & {*os.environ}:
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
    settings: dict[str, Any] = {
        "jax_platforms": "cpu",
        "jax_enable_x64": True,
        "jax_persistent_cache_min_compile_time_secs": 0.0,
    }
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ and (folder := cache_folder()) is not None:
        settings["jax_compilation_cache_dir"] = str(folder)
    for name, value in settings.items():
        if name.upper() in os.environ:
            continue
        if "jax" in sys.modules:
            sys.modules["jax"].config.update(name, value)
        else:
            os.environ[name.upper()] = str(value)
    warnings.showwarning = _one_line_warning


def cache_folder() -> Path | None:
    """``jaxrank/jax`` in the user's cache directory, made where it is absent; None where it cannot be written."""
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        folder = (Path(root) if root else Path.home() / ".cache") / "jaxrank" / "jax"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # a read-only or absent home: compile anew every time
        return None
    return folder if os.access(folder, os.W_OK) else None


@contextmanager
def outliving_readers() -> Iterator[None]:
    """Within it a command goes on where nobody reads what it prints: the reader has left (``jaxrank diff | head``),
    the disk is full, or stdout was closed from the start. Files are still to be written, and a gate is still to fail;
    what a full disk has lost is told at the end, with exit code 2."""
    before = sys.stdout, sys.stderr
    out, err = (
        _Outliving(own, number) if own is python else None
        for own, python, number in ((sys.stdout, sys.__stdout__, 1), (sys.stderr, sys.__stderr__, 2))
    )
    sys.stdout, sys.stderr = out or before[0], err or before[1]
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stdout, sys.stderr = before
        if out and out.lost:
            fail(f"what is printed could not be written: {out.lost.strerror}")


class _Outliving(io.TextIOWrapper):
    """A stream of the process (None: closed before it began) on the file descriptor **number**, for which writing never
    fails. **lost**: the error with which it did, other than of a pipe without a reader."""

    def __init__(self, stream: TextIO | None, number: int) -> None:
        if stream is None:
            self.raw, encoding, errors, lines = _Raw(os.devnull, "wb"), "utf-8", None, False
        else:
            stream.flush()
            self.raw, encoding, errors = _Raw(number, "wb", closefd=False), stream.encoding, stream.errors
            lines = stream.isatty() or number == 2
        super().__init__(io.BufferedWriter(self.raw), encoding, errors, line_buffering=lines)

    @property
    def lost(self) -> OSError | None:
        return self.raw.lost


class _Raw(io.FileIO):
    lost: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.lost = error
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return len(memoryview(data).cast("B"))


@contextmanager
def reporting() -> Iterator[None]:
    """Errors are told in one line on stderr: exit code 2 for bad input, 130 for an interruption."""
    try:
        yield
        sys.stdout.flush()
    except JaxrankError as error:
        fail(in_flags(str(error)))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        fail(f"{where}{error.strerror or error}")
    except UnicodeDecodeError as error:
        fail(f"the file is not text in {error.encoding}: {error.reason} at byte {error.start}")
    except KeyboardInterrupt:
        fail("interrupted", INTERRUPTED)


def in_flags(text: str) -> str:
    """A message of the library with options as they are typed here: ``model=...`` is ``--model-column ...``."""
    for python, typed in IN_FLAGS:
        text = re.sub(python, typed, text)
    return text


def fail(message: str, code: int = BAD_INPUT) -> None:
    """Say ``message`` in one line on stderr and end with ``code``."""
    say(f"error: {message}")
    raise SystemExit(code)


def say(message: str) -> None:
    """One line on stderr, where it does not mix with a table that is piped on; a terminal has it in lines that break no
    word (nor an address, which then can still be opened)."""
    from jaxrank.results.tables import visible

    print(wrapped(f"jaxrank: {visible(' '.join(message.split()))}", sys.stderr), file=sys.stderr)


def wrapped(line: str, stream: TextIO, indent: str = "") -> str:
    """A line of words as a stream shows it: whole, or, where that is a terminal, in lines that fit and break no word;
    ``indent`` begins all but the first."""
    if not (width := _width(stream)):
        return line
    from jaxrank.results.tables import bound

    options: Any = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": indent}
    return "\n".join(textwrap.wrap(bound(line), width, **options)).replace("\u00a0%", " %")


def _width(stream: TextIO) -> int:
    """Cells of the terminal that a stream goes to; 0 where it goes to none, or the width is not known."""
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):  # a stream without a file
        return 0


def _one_line_warning(message: Any, category: Any, *_: Any, **__: Any) -> None:
    say(f"warning: {message}")
