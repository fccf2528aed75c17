"""``cost_frontier``: models that no other beats in both score and cost."""

from __future__ import annotations

import numpy as np

from jaxrank.data.accepted import DataLike, Seed, as_data
from jaxrank.data.names import name_list
from jaxrank.data.responses import responses_of
from jaxrank.errors import DataError, OptionError
from jaxrank.models.options import shown
from jaxrank.results.costs import CostFrontier, on_frontier
from jaxrank.studies.replicates import bootstrap

_BLOCK = 2_000_000


def cost_frontier(
    data: DataLike, cost: str = "cost", *, n_replicates: int = 10_000, seed: Seed = 0, progress: bool | None = None
) -> CostFrontier:
    """Which models are worth their cost: the frontier of mean score and cost, and how sure a place on it is.

    **data**: results with a column of the model table that holds the cost of each model (dollars, tokens, seconds).
    **cost**: its name.  **n_replicates**, **seed**, **progress**: as in `bootstrap`, which draws the questions again;
    costs are taken as they are. A model is dominated where another costs no more, scores no less, and is better in one.

    >>> import jaxrank as jr
    >>> table = {"model": ["ada", "bob", "cyd"], "cost": [1.0, 2.0, 3.0]}
    >>> data = jr.Responses([[1, 0, 0, 1], [1, 1, 1, 1], [1, 0, 1, 1]], models=table)
    >>> jr.cost_frontier(data, n_replicates=200).frontier.tolist()
    [True, True, False]
    """
    found = responses_of(as_data(data), "cost_frontier", "use jaxrank.fit(data) for battles and lists")
    if not isinstance(cost, str) or cost not in found.model_columns:
        have = ", ".join(map(repr, found.model_columns)) or "none"
        raise OptionError(f"cost={shown(cost)}; the models have no such column; there are {have}")
    try:
        spent = np.asarray(found.model_columns[cost], float)
    except (TypeError, ValueError):
        raise DataError(f"the column {cost!r} does not hold numbers") from None
    unknown = np.flatnonzero(~np.isfinite(spent))
    if len(unknown):
        raise DataError(
            f"the column {cost!r} has no cost of {name_list(found.models, unknown)}; leave these models out"
        )
    rep = bootstrap(
        found, "avg", n_replicates=n_replicates, seed=seed, scheme="questions", progress=progress, dtype="float64"
    )
    drawn = np.round(rep.replicate_scores, 12)  # equal means of other sums are equal
    step = max(_BLOCK // len(spent) ** 2, 1)
    times = np.sum([on_frontier(drawn[b : b + step], spent).sum(axis=0) for b in range(0, len(drawn), step)], axis=0)
    scores = np.asarray(rep.scores, float)
    frontier = on_frontier(np.round(scores, 12), spent)
    return CostFrontier(found.models, scores, spent, frontier, times / len(drawn), cost, len(drawn), found.notes)
