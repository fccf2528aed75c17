"""Priors on a judge's confusion matrix that say how far the judge is trusted.

A judge is a matrix theta (M, M): row m is the distribution of the level it assigns when m is the true level. Rows are
made one from another: each is the one before, moved by a transition matrix whose mass goes to the same or a higher
level (a lower one, on the way down). So the rows are stochastically ordered: a higher true level never makes a lower
score likelier. Source: simplex2025, figure 5 and B.10, whose nodes are (true, assigned) levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxrank.errors import OptionError
from jaxrank.models.options import check_choice, check_count, check_number, shown
from jaxrank.numerics.precision import HIGHEST

KINDS = ("symmetric", "ladder", "free", "perfect", "identity")
_MOST = 1e6


@dataclass(frozen=True)
class JudgePrior:
    """A prior on confusion matrices.

    **kind**: "symmetric", from a middle row upwards and, mirrored, downwards, so that turning the scale round turns the
    prior round; "ladder", the published one, from the lowest row upwards; "free", independent Dirichlet(1, ..., 1)
    rows, no trust at all; "perfect", scores are true levels and only questions are drawn again (see `infer`);
    "identity", the matrix 1 within the joint likelihood: refused where judges disagree.
    **trust** of "symmetric", in [0, 1): how far the expected share of right levels is from chance (0, 1/M) to always
    (1), the same for any M; `expected` has the matrix. The weights are solved for.
    **beta** of "ladder", 0 or more: prior counts that the first row puts on level 0, and every transition on the next
    level up, beside 1 for each allowed level. Or {(t, s): weights}: Dirichlet weights of the edges out of node (t, s),
    from assigned level s at true level t to levels s, s + 1, ... at true level t + 1, as many as there are edges; nodes
    that are not named have weights 1.
    **reach** of both: how many levels one step may move; None, any.
    """

    kind: str = "symmetric"
    trust: float = 0.5
    beta: Any = 1.0
    reach: int | None = None

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        check_number("trust", self.trust, 0, below=1)
        if self.reach is not None:
            check_count("reach", self.reach)
        if isinstance(self.beta, Mapping | tuple):
            object.__setattr__(self, "beta", _nodes(self.beta))
        else:
            check_number("beta", self.beta, 0)
            object.__setattr__(self, "beta", float(self.beta))

    @property
    def name(self) -> str:
        """Kind and parameter in words."""
        if self.kind == "symmetric":
            return f"symmetric({self.trust:g})"
        if self.kind == "ladder":
            return f"ladder({self.beta:g})" if isinstance(self.beta, float) else "ladder(by node)"
        return self.kind

    def expected(self, n_levels: int) -> Float[np.ndarray, "levels levels"]:
        """Exact prior mean of the matrix; its diagonal is the expected share of right scores at every true level."""
        if self.kind == "free":
            return np.full((n_levels, n_levels), 1 / n_levels)
        if self.kind in ("perfect", "identity"):
            return np.eye(n_levels)
        return _mean(self._weights(n_levels), n_levels, self.kind)

    def sample(self, n_judges: int, n_levels: int) -> Float[Array, "judges levels levels"]:
        """Confusion matrices inside a NumPyro model."""
        import numpyro
        import numpyro.distributions as dist

        m = n_levels
        if self.kind in ("perfect", "identity"):
            return jnp.broadcast_to(jnp.eye(m), (n_judges, m, m))

        def draw(name: str, weights: Any, n_steps: int | None = None) -> Any:
            shape = (n_judges,) if n_steps is None else (n_steps, n_judges)
            concentration = jnp.asarray(weights, jnp.zeros(()).dtype)
            if n_steps is not None:
                concentration = jnp.broadcast_to(concentration[:, None], (*shape, concentration.shape[-1]))
            else:
                concentration = jnp.broadcast_to(concentration[None], (*shape, concentration.shape[-1]))
            return numpyro.sample(name, dist.Dirichlet(concentration).to_event(len(shape)))

        if self.kind == "free":
            rows = jnp.ones((m, m))
            return jnp.swapaxes(draw("rows", rows, m), 0, 1)
        first, steps = self._weights(m)
        # One site for all transitions that start at one level: NUTS pays for every site at every step.
        moves = []
        for start, weights in enumerate(steps):
            move = draw(f"moves_from_{start}", weights, len(weights)) if weights.shape[1] > 1 else None
            if move is None:
                move = jnp.ones((len(weights), n_judges, 1))
            pad = m - start - weights.shape[1]
            moves.append(jnp.pad(move, ((0, 0), (0, 0), (start, pad))))
        up = jnp.stack(moves, axis=2)  # (steps, judges, from, to)
        return _rows(draw("row_0", first), up, m, self.kind, jnp)

    def _weights(self, m: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Dirichlet weights of the first row (M,), and for every start level of its transitions (steps, edges)."""
        if self.kind == "symmetric":
            return _symmetric(_solved(self.trust, m, self.reach), m, self.reach)
        first = np.ones(m)
        steps = [np.ones((m - 1, _width(s, m, self.reach))) for s in range(m)]
        if isinstance(self.beta, float):
            first[0] += self.beta
            for weights in steps[:-1]:
                weights[:, 1] += self.beta
            return first, tuple(steps)
        for (t, s), own in self.beta:
            if t >= m - 1 or s >= m or len(own) != steps[s].shape[1]:
                raise OptionError(
                    f"beta has {len(own)} weights for node ({t}, {s}); with {m} levels it has "
                    f"{steps[s].shape[1] if s < m and t < m - 1 else 0} edges"
                )
            steps[s][t] = own
        return first, tuple(steps)


def _nodes(beta: Any) -> tuple[tuple[tuple[int, int], tuple[float, ...]], ...]:
    """{(t, s): weights} as a tuple, so that a prior can be a static argument."""
    found = []
    for node, own in beta.items() if isinstance(beta, Mapping) else beta:
        if not isinstance(node, tuple) or len(node) != 2:
            raise OptionError(f"beta has the node {shown(node)}; it must be a pair (true level, assigned level)")
        for level in node:
            check_count("level of a node of beta", level, 0)
        check_number(f"beta[{node}]", own, above=0, ndim=1)
        found.append((node, tuple(float(x) for x in np.asarray(own, float))))
    return tuple(sorted(found))


def _width(start: int, m: int, reach: int | None) -> int:
    return m - start if reach is None else min(m - start, reach + 1)


def _n_steps(m: int) -> int:
    """Steps of the symmetric prior on either side: an even number of levels has half a step from its middle."""
    return m // 2


def _symmetric(beta: float, m: int, reach: int | None) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Weights for ``beta`` counts: above 0 on the move that makes a judge right, below 0 on staying; steps are first
    those upwards, then those downwards, which are drawn on the scale turned round."""
    first = np.ones(m)
    for level in {(m - 1) // 2, m // 2}:
        first[level] += max(beta, 0) / (1 if m % 2 else 2)
    steps = []
    for start in range(m):
        weights = np.ones((2 * _n_steps(m), _width(start, m, reach)))
        for k in range(len(weights)):
            half = m % 2 == 0 and k % _n_steps(m) == 0 and start >= m // 2
            move = 0 if half or beta < 0 else 1
            weights[k, min(move, weights.shape[1] - 1)] += abs(beta)
        steps.append(weights)
    return first, tuple(steps)


@lru_cache(maxsize=256)
def _solved(trust: float, m: int, reach: int | None) -> float:
    """The counts whose expected share of right scores, mean over levels, is 1/M + trust (1 - 1/M), by bisection."""
    wanted = 1 / m + trust * (1 - 1 / m)
    right = lambda x: np.trace(_mean(_symmetric(x, m, reach), m, "symmetric")) / m
    scale = lambda u: np.sign(u) * np.expm1(abs(u))  # counts over many sizes
    low, high = -np.log1p(_MOST), np.log1p(_MOST)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if right(scale(middle)) < wanted else (low, middle)
    return float(scale((low + high) / 2))


def _mean(weights: tuple[np.ndarray, tuple[np.ndarray, ...]], m: int, kind: str) -> np.ndarray:
    """Prior mean of the matrix: transitions are independent, so it is the product of their means."""
    first, steps = weights
    up = np.zeros((len(steps[0]), 1, m, m))
    for start, own in enumerate(steps):
        up[:, 0, start, start : start + own.shape[1]] = own / own.sum(1, keepdims=True)
    return _rows((first / first.sum())[None], up, m, kind, np)[0]


def _rows(first: Any, up: Any, m: int, kind: str, xp: Any) -> Any:
    """The matrix (judges, M, M) from its first row (judges, M) and the transitions (steps, judges, from, to)."""
    options = {"precision": HIGHEST} if xp is jnp else {}
    moved = lambda row, step: xp.einsum("js,jst->jt", row, step, **options)
    above = [first]
    n_up = m - 1 if kind == "ladder" else _n_steps(m)
    for step in up[:n_up]:
        above.append(moved(above[-1], step))
    if kind == "ladder":
        return xp.stack(above, axis=1)
    below = [first[:, ::-1]]
    for step in up[n_up:]:
        below.append(moved(below[-1], step))
    lower = [row[:, ::-1] for row in below[:0:-1]]
    # an even number of levels has no middle row: the first is between two levels and no row of the judge
    return xp.stack([*lower, *(above if m % 2 else above[1:])], axis=1)


PRIORS: dict[str, JudgePrior] = {
    "free": JudgePrior("free"),
    "weak": JudgePrior(trust=0.3),
    "moderate": JudgePrior(trust=0.5),
    "strong": JudgePrior(trust=0.8),
    "ladder_weak": JudgePrior("ladder", beta=0.0),
    "ladder_moderate": JudgePrior("ladder", beta=3.0),
    "ladder_strong": JudgePrior("ladder", beta=10.0),
    "perfect": JudgePrior("perfect"),
}
"""The priors by name, from no trust in the judges to complete trust."""

FAMILY = ("free", "weak", "moderate", "strong", "perfect")
"""The priors that `sensitivity` runs by default."""


def find_prior(prior: str | JudgePrior) -> JudgePrior:
    if isinstance(prior, JudgePrior):
        return prior
    if not isinstance(prior, str) or prior not in PRIORS:
        raise OptionError(f"unknown prior {shown(prior)}; there are {', '.join(PRIORS)}, or a JudgePrior")
    return PRIORS[prior]
