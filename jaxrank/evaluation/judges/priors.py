"""Priors on a judge's confusion matrix that say how far the judge is trusted.

A judge is a matrix theta (M, M): row m is the distribution of the level it assigns when m is the true level. The
monotone priors draw the first row from a Dirichlet; each next row is the one before, moved by a transition matrix whose
mass goes to the same or a higher level. So the rows are stochastically ordered: a higher true level never makes a lower
score likelier. Source: simplex2025.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.errors import OptionError
from jaxrank.models.options import check_choice, check_number, shown


@dataclass(frozen=True)
class JudgePrior:
    """A prior on confusion matrices.

    **kind**: "monotone" as above; "free", independent Dirichlet(1, ..., 1) rows, no trust at all; "perfect", the
    identity: scores are true levels.  **trust**: 0 or more; prior counts that the first row puts on level 0, and every
    transition on the next level up, beside 1 for each allowed level.
    """

    kind: str = "monotone"
    trust: float = 1.0

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, ("monotone", "free", "perfect"))
        check_number("trust", self.trust, 0)

    def sample(self, n_judges: int, n_levels: int) -> Float[Array, "judges levels levels"]:
        """Confusion matrices inside a NumPyro model."""
        import numpyro
        import numpyro.distributions as dist

        m = n_levels
        if self.kind == "perfect":
            return jnp.broadcast_to(jnp.eye(m), (n_judges, m, m))

        def draw(name: str, weights: Array, *shape: int) -> Any:
            return numpyro.sample(name, dist.Dirichlet(weights).expand(shape).to_event(len(shape)))

        if self.kind == "free":
            return draw("rows", jnp.ones(m), n_judges, m)
        row = draw("row_0", jnp.ones(m).at[0].add(self.trust), n_judges)
        # One site for all transitions that start at one level: NUTS pays for every site at every step.
        moves = [
            draw(f"moves_from_{start}", jnp.ones(m - start).at[1].add(self.trust), m - 1, n_judges)
            for start in range(m - 1)
        ]
        last = jnp.zeros((m - 1, n_judges, m)).at[..., m - 1].set(1.0)
        up = [jnp.concatenate([jnp.zeros((m - 1, n_judges, s)), move], axis=-1) for s, move in enumerate(moves)]
        transitions = jnp.stack([*up, last], axis=2)  # (levels - 1, judges, from, to)
        rows = [row]
        for transition in transitions:
            rows.append(jnp.einsum("js,jst->jt", rows[-1], transition, precision=jax.lax.Precision.HIGHEST))
        return jnp.stack(rows, axis=1)


PRIORS: dict[str, JudgePrior] = {
    "free": JudgePrior("free"),
    "weak": JudgePrior(trust=0.0),
    "moderate": JudgePrior(trust=3.0),
    "strong": JudgePrior(trust=10.0),
    "perfect": JudgePrior("perfect"),
}
"""The priors by name, from no trust in the judges to complete trust."""


def find_prior(prior: str | JudgePrior) -> JudgePrior:
    if isinstance(prior, JudgePrior):
        return prior
    if not isinstance(prior, str) or prior not in PRIORS:
        raise OptionError(f"unknown prior {shown(prior)}; there are {', '.join(PRIORS)}, or a JudgePrior")
    return PRIORS[prior]
