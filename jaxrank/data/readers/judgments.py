"""Judgments of Arena-Hard (games against a baseline) and MT-bench (grades of single answers)."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.readers import votes
from jaxrank.data.readers.battles import CODE_VALUES, apply, check_options
from jaxrank.data.readers.columns import shown
from jaxrank.data.readers.logs import Format, LogOptions, Rows, list_of, named
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.errors import DataError

BASELINE = "baseline"
"""What the other side is called where the file does not name it."""


def sniff_games(source: Source) -> bool:
    games = source.first.get("games") if isinstance(source.first, dict) else None
    entry = games[0] if isinstance(games, list) and games else None
    return "model" in source.keys and isinstance(entry, dict) and "score" in entry


def read_games(sources: list[Source], options: LogOptions) -> Comparisons:
    """Two games a question: the baseline is shown first, then the model. ``score`` is a verdict such as "A>>B", whose
    degree is kept as ``grade``; a game without one is dropped and counted."""
    check_options(options.ties, options.bothbad)
    rows: list[tuple[str, str, float, Any, Any, float]] = []
    silent = 0
    for source in sources:
        for n, entry in enumerate(list_of(source.lines, dict, source.name), 1):
            model, games = entry.get("model"), entry.get("games")
            if not isinstance(model, str) or not isinstance(games, list):
                raise DataError(f"{source.name}: line {n} has no model or no games")
            other = str(entry.get(BASELINE) or BASELINE)
            for k, game in enumerate(list_of(games, dict, f"{source.name}: line {n}: games")):
                score = game.get("score")
                size = votes.graded(str(score)) if score is not None else None
                if size is None and score not in (None, "error", "ERROR", ""):
                    raise DataError(f"{source.name}: line {n}: {shown(score)} is not a verdict such as A>B")
                if size is None:
                    silent += 1
                    continue
                sides = (other, model) if k % 2 == 0 else (model, other)
                rows.append((*sides, size, entry.get("question_id"), entry.get("judge"), k + 1.0))
    if not rows:
        raise DataError(f"{named(sources)}: no game has a verdict")
    a, b, size, question, voter, game = zip(*rows, strict=True)
    models = list(dict.fromkeys([*a, *b]))
    place = {name: i for i, name in enumerate(models)}
    first, second = (np.array([place[name] for name in side]) for side in (a, b))
    grade = np.array(size)
    outcome = np.select([grade > 0, grade < 0], [0, 1], 2)
    notes = [f"read {len(rows)} games of {named(sources)} (Arena-Hard judgments): in each, a is who was shown first"]
    if silent:
        notes.append(f"{silent} games have no verdict and were dropped")
    if BASELINE in models:
        notes.append(f"the files do not name the other side: it is called {BASELINE!r}")
    first, second, outcome, count, kept = apply(
        first, second, outcome, np.ones(len(first)), options.ties, options.bothbad, notes
    )
    columns = {"question": question, "voter": voter, "grade": grade, "game": game}
    texts = {name: np.array([None if v is None else v for v in values], object) for name, values in columns.items()}
    texts["grade"], texts["game"] = grade, np.array(game)
    told = {name: values for name, values in texts.items() if any(v is not None for v in values)}
    extra = told if kept is None else {name: values[kept] for name, values in told.items()}
    return Comparisons(first, second, CODE_VALUES[outcome], count, models, columns=extra, notes=notes)


def sniff_single(source: Source) -> bool:
    return {"question_id", "model", "judge", "turn", "score"} <= source.keys


def read_single(sources: list[Source], options: LogOptions) -> Responses:
    """Grades of MT-bench: the question is ``question_id`` and the turn; -1 (no grade was found) is missing."""
    rows = Rows(options)
    for source in sources:
        runs: dict[tuple[str, str], int] = {}
        for n, entry in enumerate(list_of(source.lines, dict, source.name), 1):
            model, question, turn = (entry.get(key) for key in ("model", "question_id", "turn"))
            if model is None or question is None:
                raise DataError(f"{source.name}: line {n} has no model or no question_id")
            where = (str(model), f"{question}/{turn}")
            runs[where] = runs.get(where, -1) + 1
            score = entry.get("score")
            missing = score == -1
            if missing:
                rows.count("answers have no grade and are missing")
            rows.add(source, where[0], where[1], runs[where], None if missing else score)
    return rows.finish(sources, "MT-bench grades")


ARENA_HARD = Format(
    "arena-hard",
    sniff_games,
    read_games,
    files="`model_judgment/<judge>/<model>.jsonl`: two games a question",
    trials="games",
    options="`ties`",
)
MT_BENCH = Format(
    "mt-bench",
    sniff_single,
    read_single,
    files="`model_judgment/<judge>_single.jsonl`; pairs are a table of battles",
    trials="rows of one answer",
    options="`threshold`",
)
