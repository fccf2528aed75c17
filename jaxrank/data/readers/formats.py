"""The formats of tools, in the order in which a file is tried on them.

A new format is one file with a ``FORMAT`` (a name, what recognises a file, what reads files) and its line in
``FORMATS``; ``read``, the command line and the page of formats have it at once.
"""

from __future__ import annotations

from jaxrank.data.readers import (
    alpaca_eval,
    evalplus,
    every_eval_ever,
    helm,
    inspect_log,
    judgments,
    lighteval,
    livecodebench,
    lm_eval,
    mmlu_pro,
    openai_evals,
    opencompass,
    own,
    pairs,
    preflib,
    py_irt,
    swebench,
    tau_bench,
    terminal_bench,
)
from jaxrank.data.readers.logs import Format
from jaxrank.data.readers.source import Source

FORMATS: tuple[Format, ...] = (
    own.FORMAT,
    lm_eval.FORMAT,
    inspect_log.FORMAT,
    openai_evals.FORMAT,
    every_eval_ever.FORMAT,
    livecodebench.FORMAT,
    evalplus.EVALPLUS,
    evalplus.BIGCODEBENCH,
    swebench.EXPERIMENTS,
    swebench.REPORTS,
    swebench.LEADERBOARDS,
    tau_bench.TAU,
    tau_bench.TAU2,
    lighteval.FORMAT,
    pairs.PAIRS,
    helm.FORMAT,
    alpaca_eval.FORMAT,
    mmlu_pro.FORMAT,
    opencompass.FORMAT,
    terminal_bench.FORMAT,
    py_irt.FORMAT,
    judgments.ARENA_HARD,
    judgments.MT_BENCH,
    preflib.FORMAT,
)
OWN = tuple(dict.fromkeys(suffix for format in FORMATS for suffix in format.suffixes))
"""Endings that belong to one format alone."""
BY_NAME = {format.name: format for format in FORMATS}


def is_companion(source: Source) -> bool:
    """True for files that tools write beside the samples and that hold no results of single trials."""
    keys = source.keys
    return bool({"results", "configs"} <= keys or {"config_general", "results"} <= keys)


def recognise(source: Source) -> str | None:
    """The name of the log format of a file, or None."""
    return next((format.name for format in FORMATS if format.sniff(source)), None)
