"""Nash averaging."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp

from jaxrank.data.statistics import Pairs
from jaxrank.models.fit import Fit, solver_resolution
from jaxrank.models.options import choice
from jaxrank.models.ranker import Entry, Ranker
from jaxrank.numerics.graph import reachability
from jaxrank.numerics.precision import matmul
from jaxrank.numerics.solve.equilibrium import max_entropy_equilibrium
from jaxrank.numerics.status import Status

SCORES = ("vs_equilibrium", "advantage_vs_equilibrium")


class Nash(Ranker):
    """Expected result against the equilibrium mixture of models.

    **Model** the symmetric zero-sum game with payoff A = 2 P - 1, A_ii = 0; x its equilibrium of largest entropy,
    which is unique; s = P x or s = A x [balduzzi2018; hariri2026ranking, eqs. 63-65].
    **Reads** pairs: P_ij = (wins + ties/2) / comparisons, 1/2 for a pair that was never compared.
    **Scores** "vs_equilibrium": the probability to beat the mixture, at most 1/2, which all models in it have;
    "advantage_vs_equilibrium": the same as a payoff, at most 0.
    **Fields** ``score``: which of the two, default "vs_equilibrium".
    **Params** ``equilibrium`` (models,): x. ``gap``: the most that any model gains against x, on the scale of the
    largest payoff; 0 up to rounding.
    **Status** converged; stopped at the step limit where the gap is not rounding, or rounding moves the scores by a
    tenth; disconnected where no chain of
    comparisons links some models.
    **Departs** in the choice of the equilibrium: a linear program returns any of several, which depends on labels.
    """

    statistic: ClassVar[type] = Pairs
    score: str = choice("vs_equilibrium", SCORES)

    def __call__(self, stat: Pairs, *, key: None = None) -> Fit:
        total = stat.total
        # From the difference of wins, so that it is exactly antisymmetric and exactly 0 between equals.
        payoff = (stat.wins - stat.wins.T) / jnp.where(total > 0, total, 1)
        found = max_entropy_equilibrium(payoff)
        advantage = matmul(payoff, found.mixture)
        scores = advantage if self.score == "advantage_vs_equilibrium" else (1 + advantage) / 2
        connected = jnp.all(reachability(total > 0))
        status = jnp.where(found.reached, Status.CONVERGED, Status.MAX_STEPS)
        rounding = 64 * jnp.finfo(scores.dtype).eps
        iterated = solver_resolution(scores, found.error)
        return Fit(
            scores=scores,
            status=jnp.where(connected, status, Status.DISCONNECTED).astype(jnp.int32),
            steps=found.steps,
            resolution=jnp.where(found.steps == 0, rounding, iterated).astype(scores.dtype),
            params={"equilibrium": found.mixture, "gap": found.gap},
        )


ENTRIES = (
    Entry("nash", Nash, source="balduzzi2018"),
    Entry("nash_vs_equilibrium", Nash, source="balduzzi2018", options={"score": "vs_equilibrium"}, published=True),
    Entry(
        "nash_advantage_vs_equilibrium",
        Nash,
        source="balduzzi2018",
        options={"score": "advantage_vs_equilibrium"},
        published=True,
    ),
)
