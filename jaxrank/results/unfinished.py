"""The sentence about a search that has not converged."""

from __future__ import annotations

from jaxrank.models.ranker import Ranker
from jaxrank.numerics.status import Status


def unfinished(ranker: Ranker, steps: int, single: bool) -> str:
    """What ended a search after ``steps`` steps, in float32 where ``single``, and the remedies that its method has."""
    solver = getattr(ranker, "solver", None)
    limit = getattr(ranker if solver is None else solver, "max_steps", None)
    rounded = limit is not None and steps < limit
    remedies = ['dtype="float64"'] if single else []
    if limit is not None and not rounded:
        remedies.append("more steps in solver=" if solver is not None else f"max_steps above {limit}")
    if not getattr(getattr(ranker, "prior", None), "proper", True):
        remedies.append("a prior")
    ended = "rounding ended the search before the criterion was met" if rounded else Status.MAX_STEPS.sentence
    listed = " or ".join(filter(None, (", ".join(remedies[:-1]), *remedies[-1:])))
    return f"{ended} ({steps} steps)" + (f"; use {listed}" if remedies else "")
