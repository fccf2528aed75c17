"""``ratings_over_time``: strengths that move from period to period."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.data.accepted import DataLike, as_data
from jaxrank.data.comparisons import A_WINS, B_WINS, TIE, comparisons_of
from jaxrank.data.periods import periods_of
from jaxrank.models.options import check_choice, check_number
from jaxrank.models.pairs.dynamic import mode_of, smooth
from jaxrank.numerics.status import Status
from jaxrank.results.over_time import RatingsOverTime

LOWEST, HIGHEST = 1e-3, 5.0
"""Where a drift that is not given is searched."""


def ratings_over_time(
    data: DataLike,
    *,
    period: str | float | None = None,
    drift: float | None = None,
    start_var: float = 1.0,
    ties: str = "drop",
    time: str = "time",
) -> RatingsOverTime:
    """Bradley-Terry strengths that move from period to period as a random walk, every period given all battles.

    **period**: how long one is, a number in the unit of the column ``time``, or for dates a length such as "30D" or
    "1W"; by default each value of the column is one. **drift**: variance of a step, above 0; by default the one with
    the largest marginal likelihood (Laplace's method) between 0.001 and 5. **start_var**: variance of strengths at the
    start. **ties**: "drop", or "half" a win to each side.

    A model that does not play keeps its mean and its interval widens. `OptionError` for a column that is not there,
    `DataError` for battles without a time.
    """
    battles = comparisons_of(as_data(data), "jaxrank.ratings_over_time")
    check_choice("ties", ties, ("drop", "half"))
    check_number("start_var", start_var, above=0)
    if drift is not None:
        check_number("drift", drift, above=0)
    if period is not None and not isinstance(period, str):
        check_number("period", period, above=0)
    names, index = periods_of(battles, time, period)
    n, shape = len(battles.models), (len(names), len(battles.models), len(battles.models))
    wins, played = np.zeros(shape), np.zeros(shape[:2])
    share = 0.5 if ties == "half" else 0.0
    for won in (A_WINS, B_WINS):
        first, second = (battles.a, battles.b) if won == A_WINS else (battles.b, battles.a)
        value = (
            battles.count
            * battles.weight
            * np.select([battles.outcome == won, battles.outcome == TIE], [1.0, share], 0.0)
        )
        wins += np.bincount((index * n + first) * n + second, value, wins.size).reshape(shape)
        played += np.bincount(index * n + first, battles.count, played.size).reshape(shape[:2])
    notes = list(battles.notes)
    tied = battles.count[battles.outcome == TIE].sum()
    if ties == "drop" and tied:
        notes.append(f'{tied:g} ties were not read; ties="half" reads them')
    with jax.enable_x64(True):
        table = jnp.asarray(wins)
        chosen = float(drift) if drift is not None else _best_drift(table, float(start_var), notes)
        found = jax.tree.map(np.asarray, smooth(table, chosen, float(start_var)))
    if int(found.status) != Status.CONVERGED:
        notes.append(Status(int(found.status)).sentence)
    made = found.theta, found.sd, played, chosen, drift is None, float(start_var), float(found.log_marginal)
    return RatingsOverTime(battles.models, names, *made, tuple(notes))


def _best_drift(table: Any, start_var: float, notes: list[str]) -> float:
    from scipy.optimize import minimize_scalar  # slow to import

    if len(table) < 2:
        notes.append("there is one period, which says nothing about drift; its smallest value is taken")
        return LOWEST
    near = jnp.zeros(table.shape[:2], table.dtype)  # the mode of the drift tried before, where the next search begins

    def at(x: float) -> float:
        nonlocal near
        found = mode_of(table, float(np.exp(x)), start_var, near)
        if int(found.status) == Status.CONVERGED:
            near = found.theta
        return -float(found.log_marginal)

    low, high = np.log(LOWEST), np.log(HIGHEST)
    best: Any = minimize_scalar(at, bounds=(low, high), method="bounded", options={"xatol": 1e-4})
    ends = {x: at(x) for x in (low, high)}
    edge = min(ends, key=lambda x: ends[x])
    if ends[edge] <= best.fun:
        notes.append(f"the marginal likelihood of the drift is largest at the end of its range, {np.exp(edge):.3g}")
        return float(np.exp(edge))
    return float(np.exp(best.x))
