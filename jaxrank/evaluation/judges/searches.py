"""Extreme score differences over all parameters of equal likelihood, by sequential quadratic programming."""

from __future__ import annotations

from typing import Any

import numpy as np

Parts = tuple[np.ndarray, np.ndarray]


class Turned:
    """Largest score difference of a pair over A: (A theta_j, pi A^-1), rows of A sum to 1; pi has rank M.

    A = 1 is the fit itself and feasible; what was found for one pair is a start for the next.
    """

    def __init__(self, theta: np.ndarray, pi: np.ndarray, v: np.ndarray, monotone: bool, margin: float) -> None:
        self.theta, self.pi, self.v, self.margin = theta, pi, v, margin
        self.m = len(v)
        self.known = [np.eye(self.m)]
        # all of these are linear in A: entries, mean scores, and sums below each level, of every judge
        self.entries = np.concatenate(list(theta), axis=1)  # (M, J M)
        self.means = theta @ v  # (J, M)
        self.below = np.concatenate(list(np.cumsum(theta, -1)[..., :-1]), axis=1) if monotone else np.zeros((self.m, 0))
        self.jacobian_linear = self._linear_jacobian()

    def _matrix(self, x: np.ndarray) -> np.ndarray:
        """A from its entries without the last column."""
        a = x.reshape(self.m, self.m - 1)
        return np.c_[a, 1 - a.sum(1)]

    def _free(self, gradient: np.ndarray) -> np.ndarray:
        """Gradients (..., M, M) with respect to A as those with respect to the free entries."""
        g = gradient[..., :-1] - gradient[..., -1:]
        return g.reshape(*g.shape[:-2], -1)

    def _linear(self, a: np.ndarray) -> np.ndarray:
        rise = np.diff(a @ self.means.T, axis=0) - self.margin
        fall = -np.diff(a @ self.below, axis=0)
        return np.r_[(a @ self.entries).ravel(), rise.ravel(), fall.ravel()]

    def _linear_jacobian(self) -> np.ndarray:
        base = self._linear(np.zeros((self.m, self.m)))
        columns = [self._linear(e.reshape(self.m, self.m)) - base for e in np.eye(self.m**2)]
        return self._free(np.stack(columns, -1).reshape(-1, self.m, self.m))

    def above(self, x: np.ndarray) -> np.ndarray:
        a = self._matrix(x)
        return np.r_[self._linear(a), (self.pi @ np.linalg.inv(a)).ravel()]

    def above_jacobian(self, x: np.ndarray) -> np.ndarray:
        inverse = np.linalg.inv(self._matrix(x))
        new = self.pi @ inverse
        # d (pi A^-1)_km / d A_ab = -(pi A^-1)_ka (A^-1)_bm
        moved = -np.einsum("ka,bm->kmab", new, inverse).reshape(-1, self.m, self.m)
        return np.r_[self.jacobian_linear, self._free(moved)]

    def extreme(self, i: int, j: int) -> tuple[float, Parts]:
        from scipy.optimize import minimize

        gap = self.pi[i] - self.pi[j]
        value = lambda a: float(gap @ np.linalg.inv(a) @ self.v)

        def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
            inverse = np.linalg.inv(self._matrix(x))
            return -float(gap @ inverse @ self.v), self._free(np.outer(gap @ inverse, inverse @ self.v))

        best = max(self.known, key=value)
        for start in (best, self.known[0])[: 1 + (best is not self.known[0])]:
            try:
                found = minimize(
                    loss,
                    start[:, :-1].ravel(),
                    jac=True,
                    method="SLSQP",
                    constraints=[{"type": "ineq", "fun": self.above, "jac": self.above_jacobian}],
                    options={"maxiter": 150, "ftol": 1e-10},
                )
            except np.linalg.LinAlgError:  # a step to a matrix without an inverse: what was found before stands
                continue
            a = self._matrix(found.x)
            if self.above(found.x).min() > -1e-6 and value(a) > value(best) + 1e-9:
                best = a
                self.known.append(a)
        self.known = self.known[:1] + self.known[-20:]
        return value(best), self.parts(best)

    def parts(self, a: np.ndarray) -> Parts:
        return a @ self.theta, self.pi @ np.linalg.inv(a)


class Direct:
    """The same over (theta, pi) with pi theta = g, for fewer candidates than levels: more parameters are equal then."""

    def __init__(
        self, g: np.ndarray, theta: np.ndarray, pi: np.ndarray, v: np.ndarray, monotone: bool, margin: float
    ) -> None:
        self.g, self.v = g, v
        self.shapes = ((g.shape[0], g.shape[2], g.shape[2]), (g.shape[1], g.shape[2]))
        self.size = int(np.prod(self.shapes[0]))
        self.monotone, self.margin = monotone, margin
        self.known = [np.r_[theta.ravel(), pi.ravel()]]
        if len(g) == 1:  # the perfect judge fits any distributions of one judge
            self.known.append(np.r_[np.eye(len(v)).ravel(), g[0].ravel()])

    def parts(self, x: np.ndarray) -> Parts:
        return x[: self.size].reshape(self.shapes[0]), x[self.size :].reshape(self.shapes[1])

    def _equal(self, x: np.ndarray) -> np.ndarray:
        theta, pi = self.parts(x)
        # The last level of each distribution follows from the others.
        return np.r_[(pi @ theta - self.g)[..., :-1].ravel(), theta.sum(-1).ravel() - 1, pi.sum(-1) - 1]

    def above(self, x: np.ndarray) -> np.ndarray:
        theta, _ = self.parts(x)
        rise = np.diff(theta @ self.v, axis=1).ravel() - self.margin
        if not self.monotone:
            return rise
        below = np.cumsum(theta, axis=-1)[..., :-1]
        return np.r_[rise, -np.diff(below, axis=1).ravel()]

    def extreme(self, i: int, j: int) -> tuple[float, Parts]:
        from scipy.optimize import minimize

        def value(x: np.ndarray) -> float:
            _, pi = self.parts(x)
            return float((pi[i] - pi[j]) @ self.v)

        best = max(self.known, key=value)
        for start in list(self.known):
            found = minimize(
                lambda x: -value(x),
                start,
                method="SLSQP",
                bounds=[(0, 1)] * len(start),
                constraints=[{"type": "eq", "fun": self._equal}, {"type": "ineq", "fun": self.above}],
                options={"maxiter": 200, "ftol": 1e-9},
            )
            feasible = np.abs(self._equal(found.x)).max() < 1e-6 and self.above(found.x).min() > -1e-6
            if feasible and value(found.x) > value(best):
                best = found.x
        return value(best), self.parts(best)


class Profile:
    """The same over all (theta, pi) whose log likelihood of the counts is within half a chi-square quantile of that of
    the fit; starts are the extremes of equal likelihood and what was found for earlier pairs."""

    def __init__(
        self,
        equal: Turned | Direct,
        y: np.ndarray,
        theta: np.ndarray,
        pi: np.ndarray,
        v: np.ndarray,
        monotone: bool,
        margin: float,
        level: float,
    ) -> None:
        from scipy.stats import chi2

        self.equal, self.y, self.v = equal, y, v
        self.direct = Direct(np.einsum("km,jmn->jkn", pi, theta), theta, pi, v, monotone, margin)
        self.bound = self._likelihood(self._join(theta, pi)) - float(chi2.ppf(level, 1)) / 2
        self.linear = self._jacobian_of(self.direct.above, self._join(theta, pi))
        self.sums = self._jacobian_of(self._sums, self._join(theta, pi))

    def _join(self, theta: np.ndarray, pi: np.ndarray) -> np.ndarray:
        return np.r_[theta.ravel(), pi.ravel()]

    def _jacobian_of(self, linear: Any, x: np.ndarray) -> np.ndarray:
        base = linear(x)
        return np.stack([linear(x + e) - base for e in np.eye(len(x))], axis=-1)

    def _sums(self, x: np.ndarray) -> np.ndarray:
        theta, pi = self.direct.parts(x)
        return np.r_[theta.sum(-1).ravel() - 1, pi.sum(-1) - 1]

    def _likelihood(self, x: np.ndarray) -> float:
        theta, pi = self.direct.parts(x)
        return float(np.sum(self.y * np.log(np.maximum(np.einsum("km,jmn->jkn", pi, theta), 1e-12))))

    def _likelihood_slope(self, x: np.ndarray) -> np.ndarray:
        theta, pi = self.direct.parts(x)
        slope = self.y / np.maximum(np.einsum("km,jmn->jkn", pi, theta), 1e-12)
        by_theta, by_pi = np.einsum("km,jkn->jmn", pi, slope), np.einsum("jmn,jkn->km", theta, slope)
        return self._join(by_theta, by_pi)

    def extreme(self, i: int, j: int) -> tuple[float, Parts]:
        from scipy.optimize import minimize

        least, parts = self.equal.extreme(i, j)
        x0 = np.clip(self._join(*parts), 0, 1)
        theta, pi = (np.zeros(shape) for shape in self.direct.shapes)
        pi[i], pi[j] = self.v, -self.v
        gradient = self._join(theta, pi)
        scale = max(float(self.y.sum()), 1.0)
        found = minimize(
            lambda x: (-float(gradient @ x), -gradient),
            x0,
            jac=True,
            method="SLSQP",
            bounds=[(0, 1)] * len(x0),
            constraints=[
                {"type": "eq", "fun": self._sums, "jac": lambda x: self.sums},
                {"type": "ineq", "fun": self.direct.above, "jac": lambda x: self.linear},
                {
                    "type": "ineq",
                    "fun": lambda x: (self._likelihood(x) - self.bound) / scale,
                    "jac": lambda x: self._likelihood_slope(x) / scale,
                },
            ],
            options={"maxiter": 200, "ftol": 1e-8},
        )
        inside = self._likelihood(found.x) - self.bound > -1e-3 and self.direct.above(found.x).min() > -1e-6
        if inside and np.abs(self._sums(found.x)).max() < 1e-6 and gradient @ found.x > least:
            return float(gradient @ found.x), self.direct.parts(found.x)
        return least, parts
