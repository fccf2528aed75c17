"""The log formats of evaluation tools, in the order in which a file is tried on them."""

from __future__ import annotations

from jaxrank.data.readers import (
    battles,
    evalplus,
    every_eval_ever,
    inspect_log,
    lighteval,
    livecodebench,
    lm_eval,
    openai_evals,
    swebench,
    tau_bench,
)
from jaxrank.data.readers.logs import Format
from jaxrank.data.readers.source import Source

FORMATS: tuple[Format, ...] = (
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
    battles.PAIRS,
)
BY_NAME = {format.name: format for format in FORMATS}


def is_companion(source: Source) -> bool:
    """True for files that tools write beside the samples and that hold no results of single trials."""
    keys = source.keys
    return bool({"results", "configs"} <= keys or {"config_general", "results"} <= keys)


def recognise(source: Source) -> str | None:
    """The name of the log format of a file, or None."""
    return next((format.name for format in FORMATS if format.sniff(source)), None)
