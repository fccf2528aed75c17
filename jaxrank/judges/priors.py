"""Priors on a judge's confusion matrix that say how far the judge is trusted.

A judge is a matrix theta (M, M): row m is the distribution of the level it assigns when m is the true level. The
monotone priors draw the first row from a Dirichlet; each next row is the one before, moved by a transition matrix whose
mass goes to the same or a higher level. So the rows are stochastically ordered: a higher true level never makes a lower
score likelier. Source: simplex2025.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxrank.errors import OptionError


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
        if self.kind not in ("monotone", "free", "perfect"):
            raise OptionError(f'kind={self.kind!r}; it must be "monotone", "free" or "perfect"')
        if not self.trust >= 0:
            raise OptionError(f"trust={self.trust} must be 0 or more")

    def sample(self, n_judges: int, n_levels: int) -> Float[Array, "judges levels levels"]:
        """Confusion matrices inside a NumPyro model."""
        import numpyro
        import numpyro.distributions as dist

        m = n_levels
        if self.kind == "perfect":
            return jnp.broadcast_to(jnp.eye(m), (n_judges, m, m))

        def draw(name: str, weights: Array) -> Any:
            return numpyro.sample(name, dist.Dirichlet(weights).expand([n_judges]).to_event(1))

        if self.kind == "free":
            rows = [draw(f"row_{level}", jnp.ones(m)) for level in range(m)]
            return jnp.stack(rows, axis=1)
        row = draw("row_0", jnp.ones(m).at[0].add(self.trust))
        rows = [row]
        for level in range(1, m):
            moved: Any = 0.0
            for start in range(m):
                if start == m - 1:
                    target = jnp.zeros((n_judges, m)).at[:, m - 1].set(1.0)
                else:
                    up = draw(f"move_{level}_{start}", jnp.ones(m - start).at[1].add(self.trust))
                    target = jnp.concatenate([jnp.zeros((n_judges, start)), up], axis=1)
                moved = moved + row[:, start : start + 1] * target
            row = moved
            rows.append(row)
        return jnp.stack(rows, axis=1)


PRIORS: dict[str, JudgePrior] = {
    "free": JudgePrior("free"),
    "weak": JudgePrior(trust=0.0),
    "moderate": JudgePrior(trust=3.0),
    "strong": JudgePrior(trust=10.0),
    "perfect": JudgePrior("perfect"),
}


def find_prior(prior: str | JudgePrior) -> JudgePrior:
    if isinstance(prior, JudgePrior):
        return prior
    if prior not in PRIORS:
        raise OptionError(f"unknown prior {prior!r}; there are {', '.join(PRIORS)}")
    return PRIORS[prior]
