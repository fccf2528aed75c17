"""Periods of battles: which month, week or day each was fought in."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxrank.data.comparisons import Comparisons
from jaxrank.errors import DataError, OptionError, one_line

_MOST_PERIODS = 2000
_CENTURY = 946_684_800.0  # 2000-01-01 in seconds since 1970


def periods_of(battles: Comparisons, column: str, period: str | float | None) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of the periods, without gaps, and which each battle is of."""
    import pandas as pd

    if not isinstance(column, str) or column not in battles.columns:
        raise OptionError(f"time={one_line(column)}: the battles have no such column; name the one with their times")
    values = battles.columns[column]
    absent = pd.isna(values)
    if absent.any():
        raise DataError(
            f"{int(absent.sum())} of {len(values)} battles have no {column!r}, the first is row "
            f"{int(np.argmax(absent))}; "
            "leave these out with select(battles=...)"
        )
    if period is None:
        names, index = np.unique(values, return_inverse=True)
        names = [f"{n:g}" if isinstance(n, float) else str(n) for n in names.tolist()]
        return _few(names), index.reshape(-1)
    if isinstance(period, str):
        moments = _moments(values, column)
        try:
            length = pd.Timedelta(period)
        except ValueError:
            raise OptionError(f'period={period!r}; it must be a length of time such as "30D" or "1W"') from None
        if pd.isna(length) or length <= pd.Timedelta(0):
            raise OptionError(f"period={period!r}; it must be longer than nothing")
        start = moments.min().floor("D")
        index = np.asarray((moments - start) // length)
        names = [str((start + i * length).date()) for i in range(int(index.max()) + 1)] if index.max() < 1e6 else []
        if length < pd.Timedelta("1D"):
            names = [str(start + i * length) for i in range(len(names))]
    else:
        if values.dtype.kind != "f":
            raise OptionError(f'period={period!r} is a number, and {column!r} holds dates; use a length such as "30D"')
        start = float(np.floor(values.min() / period) * period)
        index = np.floor((values - start) / period).astype(int)
        names = [f"{start + i * period:g}" for i in range(int(index.max()) + 1)] if index.max() < 1e6 else []
    return _few(names), index.astype(int)


def dated(values: np.ndarray) -> bool:
    """Whether times are dates: texts, or numbers that are seconds since 1970 of this century."""
    return values.dtype.kind != "f" or bool(len(values) and np.nanmin(values) >= _CENTURY)


def _few(names: list[str]) -> tuple[str, ...]:
    if not 0 < len(names) <= _MOST_PERIODS:
        raise OptionError(
            f"period: there are {len(names) or 'too many'} periods; use longer ones, {_MOST_PERIODS} at most"
        )
    return tuple(names)


def _moments(values: np.ndarray, column: str) -> Any:
    """Times as dates: numbers are seconds since 1970."""
    import pandas as pd

    try:
        if values.dtype.kind == "f":
            return pd.DatetimeIndex(pd.to_datetime(values, unit="s"))
        return pd.DatetimeIndex(pd.to_datetime(values, utc=True).tz_localize(None))
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(
            f"column {column!r} cannot be read as dates ({error}); make them ISO dates or seconds"
        ) from None
