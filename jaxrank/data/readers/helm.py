"""HELM: ``runs/<suite>/<scenario>:<args>,model=<model>/per_instance_stats.json``."""

from __future__ import annotations

import re

from jaxrank.data.readers.columns import listed, shown
from jaxrank.data.readers.logs import Format, LogOptions, Rows, field_of, list_of
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError

METRICS = (
    *("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match", "final_number_exact_match"),
    *("math_equiv", "math_equiv_chain_of_thought", "f1_score", "rouge_l", "bleu_4", "code_eval_acc", "pass"),
)
"""Metrics in the order in which one is taken where ``metric`` names none."""
_MODEL = re.compile(r"(?:^|[:,])model=(?P<model>[^,]+)")


def sniff(source: Source) -> bool:
    first = source.first
    entry = first[0] if isinstance(first, list) and first else None
    return isinstance(entry, dict) and {"instance_id", "train_trial_index", "stats"} <= entry.keys()


def read(sources: list[Source], options: LogOptions) -> Responses:
    """Model and scenario from the folder of the run, question ``instance_id``, trial ``train_trial_index``; the score
    is the mean of ``metric``, by default the first of `METRICS` that is there. Perturbed copies are left out."""
    rows = Rows(options)
    for source in sources:
        run = source.folder.name
        found = _MODEL.search(run)
        model = options.model_of(source, found["model"] if found else run)
        task = (_MODEL.sub("", run) if found else "").strip(":,")
        number = rows.run(model, task)
        entries = list_of(source.document, dict, source.name)
        metric = _metric(entries, options.metric, source)
        rows.notes += [note for note in _said(entries, metric, options.metric) if note not in rows.notes]
        for entry in entries:
            where = f"{source.name}: instance {shown(entry.get('instance_id'))}"
            stats = _plain(entry, where)
            trial = (number, field_of(entry, "train_trial_index", where))
            rows.add(source, model, field_of(entry, "instance_id", where), trial, stats.get(metric), task)
    return rows.finish(sources, "HELM per-instance stats")


def _plain(entry: dict, where: str) -> dict[str, float]:
    """Means by metric, without those of perturbed copies of the instance."""
    out = {}
    for stat in list_of(entry.get("stats"), dict, f"{where}: stats"):
        name = stat.get("name")
        if isinstance(name, dict) and isinstance(name.get("name"), str) and not name.get("perturbation"):
            out[name["name"]] = stat.get("mean")
    return out


def _metric(entries: list[dict], metric: str | None, source: Source) -> str:
    have = dict.fromkeys(name for entry in entries for name in _plain(entry, source.name))
    if metric is not None and metric not in have:
        raise DataError(f"{source.name} has no metric {metric!r}; it has {listed(have, 30)}")
    found = metric or next((name for name in METRICS if name in have), None)
    if found is None:
        raise DataError(f"{source.name}: which metric is the score? metric=... names one of {listed(have, 30)}")
    return found


def _said(entries: list[dict], metric: str, asked: str | None) -> list[str]:
    others = [m for m in METRICS if m != metric and any(m in _plain(entry, "") for entry in entries[:1])]
    if asked is not None or not others:
        return []
    return [f"the score is {metric!r}; metric=... takes another ({listed(others, 4)})"]


FORMAT = Format(
    "helm",
    sniff,
    read,
    files="`per_instance_stats.json` of a run, whose folder names the model",
    trials="`train_trial_index`",
    options="`metric`",
)
