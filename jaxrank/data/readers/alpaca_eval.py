"""AlpacaEval: ``annotations.json``, a list of preferences between a baseline and a model."""

from __future__ import annotations

import math

from jaxrank.data.readers.columns import shown
from jaxrank.data.readers.logs import Format, LogOptions, Rows, list_of
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError


def sniff(source: Source) -> bool:
    first = source.first
    entry = first[0] if isinstance(first, list) and first else first
    return isinstance(entry, dict) and {"generator_1", "generator_2", "preference", "instruction"} <= entry.keys()


def read(sources: list[Source], options: LogOptions) -> Responses:
    """Model ``generator_2``, question ``instruction``; the score is the probability that the model is preferred to the
    baseline ``generator_1``: ``preference`` - 1, kept real, so that its mean is the published win rate. Some annotators
    write 0 for a tie, which is 1/2."""
    rows = Rows(options)
    baselines: dict[str, None] = {}
    for source in sources:
        runs: dict[str, int] = {}
        entries = source.document if isinstance(source.first, list) else source.lines
        for n, entry in enumerate(list_of(entries, dict, source.name), 1):
            where = f"{source.name}: row {n}"
            named = entry.get("generator_2")
            if not isinstance(named, str) or not isinstance(entry.get("instruction"), str):
                raise DataError(f"{where} has no generator_2 or no instruction")
            model = options.model_of(source, named, told=True)
            if model not in runs:
                runs[model] = rows.run(model)
            baselines.setdefault(str(entry.get("generator_1")))
            rows.add(
                source, model, entry["instruction"], (runs[model], 0), _probability(entry.get("preference"), where)
            )
    rows.notes.append(f"the score is the probability to be preferred to {', '.join(map(repr, baselines))}")
    return rows.finish(sources, "AlpacaEval annotations")


def _probability(preference: object, where: str) -> float:
    if preference is None or (isinstance(preference, float) and math.isnan(preference)):
        return math.nan
    if (
        isinstance(preference, bool)
        or not isinstance(preference, int | float)
        or not (preference == 0 or 1 <= preference <= 2)
    ):
        raise DataError(f"{where}: preference {shown(preference)} is not a number from 1 to 2")
    return 0.5 if preference == 0 else float(preference) - 1


FORMAT = Format(
    "alpaca-eval",
    sniff,
    read,
    files="`annotations.json`; the preference is a probability and stays one",
    trials="runs",
    options="`threshold`",
)
