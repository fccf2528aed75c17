"""tau-bench (a list of trajectories) and tau2-bench (``results.json``, or with a folder ``simulations/``)."""

from __future__ import annotations

import math
import re
from typing import Any

from jaxrank.data.readers.columns import shown
from jaxrank.data.readers.logs import Format, LogOptions, Rows, field_of, list_of
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError

TOLERANCE = 1e-6
"""Rewards are products of 0 and 1 in floating point: a task is solved within this distance of 1."""

_RUN = re.compile(r"^(?:tool-calling|act|react|few-shot)-(?P<model>.+?)-\d+(?:\.\d+)?_range_")
_DOMAIN = re.compile(r"^(?P<model>.+)-(?P<domain>airline|retail)$")
INFRASTRUCTURE = ("infrastructure_error", "context_window_exceeded")
"""Ends of a simulation that tau2-bench leaves out of its means."""


def sniff_tau(source: Source) -> bool:
    first = source.first
    entry = first[0] if isinstance(first, list) and first else None
    return isinstance(entry, dict) and {"task_id", "reward", "trial"} <= entry.keys() and "traj" in entry


def read_tau(sources: list[Source], options: LogOptions) -> Responses:
    """Model: from the file's name. A reward of 1 is solved. Trajectories that ended in an exception (``info.error``)
    have reward 0, as in the tool; ``errors="missing"`` takes them as missing."""
    rows = Rows(options)
    for source, model in zip(sources, options.models_of(sources, lambda s: _parts(s)[0], rows.notes), strict=True):
        task = _parts(source)[1]
        run = rows.run(model, task)
        for k, entry in enumerate(list_of(source.document, dict, source.name), 1):
            where = f"{source.name}: trajectory {k}"
            info = entry.get("info")
            score = _solved(entry.get("reward"), where)
            if isinstance(info, dict) and info.get("error"):
                rows.count("trajectories ended in an exception")
                score = options.failed("zero")
            rows.add(source, model, _key(entry, "task_id", where), (run, _key(entry, "trial", where)), score, task)
    return rows.finish(sources, "tau-bench")


def _parts(source: Source) -> tuple[str, str]:
    """Model and domain from the file's name."""
    found = _RUN.match(source.stem) or _DOMAIN.match(source.stem)
    return (found["model"], found.groupdict().get("domain", "")) if found else (source.stem, "")


def sniff_tau2(source: Source) -> bool:
    return "info" in source.keys and bool({"simulations", "simulation_index"} & source.keys)


def read_tau2(sources: list[Source], options: LogOptions) -> Responses:
    """Model ``info.agent_info.llm``, question ``task_id``, trial ``trial``. Simulations that ended in an
    infrastructure error or beyond the context window are missing, as in the tool; ``errors="zero"`` counts them."""
    rows = Rows(options)
    for source in sources:
        model = options.model_of(source, str(field_of(source.document, "info.agent_info.llm", source.name)), told=True)
        environment = source.document["info"].get("environment_info")
        task = str(environment.get("domain_name", "")) if isinstance(environment, dict) else ""
        run = rows.run(model, task)
        for k, entry in enumerate(_simulations(source), 1):
            where = f"{source.name}: simulation {k}"
            info, end = entry.get("reward_info"), entry.get("termination_reason")
            if end in INFRASTRUCTURE:
                rows.count("simulations ended in an infrastructure error or beyond the context window")
                score = options.failed("missing")
            elif info is None:
                rows.count("simulations have no reward")
                score = options.failed("missing")
            else:
                score = _solved(field_of(entry, "reward_info.reward", where), where)
            rows.add(source, model, _key(entry, "task_id", where), (run, _key(entry, "trial", where)), score, task)
    return rows.finish(sources, "tau2-bench")


def _simulations(source: Source) -> list[dict]:
    found = source.document.get("simulations")
    if found is not None:
        return list_of(found, dict, f"{source.name}: simulations")
    folder = source.path.with_name("simulations")
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not files:
        raise DataError(f"{source.name} has an index of simulations, but {folder.name}/ beside it has no files")
    return list_of([Source(path).document for path in files], dict, f"{folder.name}/")


def _solved(reward: Any, where: str) -> float:
    if reward is None:
        return math.nan
    if isinstance(reward, str) or not isinstance(reward, int | float):
        raise DataError(f"{where}: reward {shown(reward)} is not a number")
    return float(abs(reward - 1) <= TOLERANCE)


def _key(entry: dict, name: str, where: str) -> Any:
    value = entry.get(name)
    if value is None or (name == "trial" and not isinstance(value, int)):
        raise DataError(f"{where} has no {name} ({shown(value)})")
    return value


TAU = Format(
    "tau-bench",
    sniff_tau,
    read_tau,
    files="a list of trajectories",
    trials="`trial`",
    options="`errors`",
)
TAU2 = Format(
    "tau2-bench",
    sniff_tau2,
    read_tau2,
    files="`results.json`, with `simulations/` beside it or in it",
    trials="`trial`",
    options="`errors`",
)
