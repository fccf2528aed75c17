"""What a leaderboard of battles shows, computed; and its tables for other programs."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxrank.data.accepted import as_data
from jaxrank.data.comparisons import Comparisons, comparisons_of
from jaxrank.data.periods import dated
from jaxrank.errors import JaxrankError, JaxrankWarning, OptionError, one_line
from jaxrank.results.categories import Categories
from jaxrank.results.coefficients import Coefficients, coefficients
from jaxrank.results.fit import Result
from jaxrank.results.over_time import RatingsOverTime
from jaxrank.results.ratings import Ratings, ratings
from jaxrank.results.storage import RECORD, versions
from jaxrank.results.tiers import tiers
from jaxrank.studies.categories import by
from jaxrank.studies.diagnosis import Diagnosis, diagnose
from jaxrank.studies.fit import fit
from jaxrank.studies.over_time import ratings_over_time
from jaxrank.studies.preparation import default_method

VOTER, CATEGORY, TIME, PERIOD = "voter", "category", "time", "30D"


@dataclass(frozen=True)
class Board:
    """All that the page is made from; None where the votes do not have it, with the reason in ``missing``."""

    title: str
    command: str
    level: float
    data: Comparisons
    result: Result
    ratings: Ratings
    coefficients: Coefficients | None
    categories: Categories | None
    history: RatingsOverTime | None
    diagnosis: Diagnosis
    missing: dict[str, str]
    seconds: float


def make_board(
    data: Any,
    method: str | None,
    covariates: Sequence[str],
    side: bool,
    cluster: str | None,
    category: str | None,
    period: str | float | None,
    anchor: tuple[str, float] | None,
    level: float,
    title: str | None,
    command: str,
) -> Board:
    """Run everything; what these votes cannot bear is left out with its reason, unless it was asked for."""
    began = time.perf_counter()
    votes = comparisons_of(as_data(data), "leaderboard")
    method = method or default_method(votes)
    options: dict[str, Any] = {"covariates": list(covariates)} if covariates else {}
    options |= {"side": True} if side else {}
    missing: dict[str, str] = {}
    for option, column in (("cluster", cluster), ("category", category)):
        if column is not None and column not in votes.columns:
            have = ", ".join(map(repr, votes.columns)) or "none"
            raise OptionError(
                f"{option}={one_line(column)}: the battles have no such column; there are {have}. Choose one "
                "(readers call a judge or an annotator 'voter', a language 'category')"
            )

    def attempt(name: str, asked: Any, column: str, run: Any) -> Any:
        """What ``run`` gives; where it was not ``asked`` for, None if the column is missing or nothing comes out."""
        if asked is None and column not in votes.columns:
            missing[name] = f"the votes have no column {column!r}"
            return None
        try:
            return run()
        except JaxrankError as error:
            if asked is not None:
                raise
            missing[name] = str(error)
            return None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)  # the findings say it
        result = fit(votes, method, dtype="float64", **options)
        result = attempt("clusters", cluster, VOTER, lambda: result.clustered(cluster or VOTER)) or result
        split = attempt(
            "categories", category, CATEGORY, lambda: by(votes, category or CATEGORY, method, dtype="float64")
        )
        length = PERIOD if period is None and TIME in votes.columns and dated(votes.columns[TIME]) else period
        history = attempt("history", period, TIME, lambda: ratings_over_time(votes, period=length))
        findings = diagnose(votes)
    return Board(
        title or f"Leaderboard of {len(votes.models)} models",
        command,
        level,
        votes,
        result,
        ratings(result, anchor=anchor, level=level),
        coefficients(result, level=level) if options else None,
        split,
        history,
        findings,
        missing,
        round(time.perf_counter() - began, 2),
    )


def tables_of(board: Board) -> dict[str, Any]:
    """The tables by the name of their file, pandas frames."""
    data, order = board.data, board.ratings.order
    played = np.bincount(data.a, data.count, len(order)) + np.bincount(data.b, data.count, len(order))
    ranking = board.ratings.to_frame()
    ranking["tier"] = tiers(board.result, board.level).tiers[order]
    ranking["battles"] = played[order].astype(int) if data.whole else played[order]
    out = {"ranking": ranking}
    if board.coefficients is not None:
        out["coefficients"] = board.coefficients.to_frame()
    if board.categories is not None:
        out["categories"] = board.categories.to_frame()
    if board.history is not None:
        out["history"] = board.history.to_frame(level=board.level)
    return {**out, "findings": board.diagnosis.to_frame().drop(columns="methods")}


def json_of(board: Board, tables: dict[str, Any]) -> str:
    """All tables, and how they were made."""
    rows = {name: json.loads(frame.to_json(orient="records")) for name, frame in tables.items()}
    record = {**versions(), **board.result._record(), "level": board.level, "cluster": board.result.cluster}
    record |= {"intervals": board.ratings.kind, "note": board.ratings.note, "missing": board.missing}
    return json.dumps({"title": board.title, RECORD: record, **rows}, indent=1, ensure_ascii=False) + "\n"
