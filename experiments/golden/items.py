"""Golden values of item response models on five items: sums over all patterns, Newton's method to 1e-15.

Usage: pip install numpy scipy; python experiments/golden/items.py tests/golden/04_items.json

The answers are drawn here from known slopes and difficulties (no data of others). Integrals over ability are sums by
the trapezoid rule on a grid from -12 to 12, which converges exponentially for such integrands; conditional likelihoods
are written out over the 32 patterns. Gradients are written by hand, Hessians are their derivatives by complex steps,
and all is in long double. Checked here: gradients against complex steps of the value, the grid against one twice as
fine, each maximum against SciPy's from three starts.
"""

from __future__ import annotations

import itertools
import json
import sys

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq, minimize
from scipy.special import roots_hermitenorm

LONG = np.longdouble
PATTERNS = np.array(list(itertools.product((0, 1), repeat=5)), LONG)
TABLES = {
    # seed, slopes, difficulties, chance of a right guess
    "even": (20191201, (0.8, 1.0, 0.9, 1.2, 0.7), (-2.2, -1.4, -0.8, -0.2, 0.3), 0.0),
    "steep": (20191202, (1.0, 1.1, 1.7, 0.8, 1.4), (-1.8, -1.0, -0.5, 0.1, -0.8), 0.2),
}
FIFTH = np.log(LONG(1) / 4)  # logit of 0.2


def normal(mean, sd):
    """Logarithm of a density up to a constant, and its derivative."""
    return lambda x: -((x - mean) ** 2) / (2 * sd**2), lambda x: -(x - mean) / sd**2


def lognormal(mean, sd):
    """The same of a lognormal density in x itself."""
    return (
        lambda x: -np.log(x) - (np.log(x) - mean) ** 2 / (2 * sd**2),
        lambda x: -1 / x - (np.log(x) - mean) / (sd**2 * x),
    )


def trapezoid(step=0.04):
    t = np.linspace(LONG(-12), LONG(12), round(24 / step) + 1)
    return t, np.exp(-(t**2) / 2) * (t[1] - t[0]) / np.sqrt(2 * LONG(np.pi))


class Marginal:
    """c + (1 - c) / (1 + exp(-(a t + d))) over t ~ N(0, 1); the columns of items are d, a, logit c, or the first of
    them."""

    def __init__(self, times, depth, rule, guessing=0, priors=(None, None, None)):
        self.times, self.depth, self.guessing, self.priors = times, depth, LONG(guessing), priors
        self.t, self.w = rule

    def curves(self, x, t):
        items = x.reshape(-1, self.depth)
        d, a = items[:, 0], items[:, 1] if self.depth > 1 else LONG(1)
        c = 1 / (1 + np.exp(-items[:, 2])) if self.depth > 2 else self.guessing
        odds = np.exp(a * t[:, None] + d)
        return a, c, odds / (1 + odds), 1 / (1 + odds)

    def joint(self, x):
        _, c, s, not_s = self.curves(x, self.t)
        logs = PATTERNS @ np.log(c + (1 - c) * s).T + (1 - PATTERNS) @ np.log((1 - c) * not_s).T
        return np.exp(logs) * self.w

    def log_likelihood(self, x):
        return self.times @ np.log(self.joint(x).sum(1))

    def value(self, x):
        columns = x.reshape(-1, self.depth).T
        known = [np.sum(p[0](v)) for p, v in zip(self.priors, columns, strict=False) if p]
        return self.log_likelihood(x) + sum(known)

    def gradient(self, x):
        _, c, s, not_s = self.curves(x, self.t)
        joint = self.joint(x)
        expected = joint / joint.sum(1)[:, None] * self.times[:, None]
        by_p = expected.T @ PATTERNS / (c + (1 - c) * s) - expected.T @ (1 - PATTERNS) / ((1 - c) * not_s)
        by_eta = by_p * (1 - c) * s * not_s
        columns = [by_eta.sum(0), (by_eta * self.t[:, None]).sum(0), (by_p * not_s * c * (1 - c)).sum(0)][: self.depth]
        for i, (prior, v) in enumerate(zip(self.priors, x.reshape(-1, self.depth).T, strict=False)):
            if prior:
                columns[i] = columns[i] + prior[1](v)
        return np.stack(columns, 1).ravel()

    def abilities(self, x):
        """Mean and standard deviation of the posterior of every pattern."""
        joint = self.joint(x)
        post = joint / joint.sum(1)[:, None]
        mean = post @ self.t
        return mean, np.sqrt(np.sum(post * (self.t - mean[:, None]) ** 2, 1))

    def quantiles(self, x, q):
        """Quantiles of the posteriors, by adaptive integration and bisection."""
        found = []
        for pattern, total in zip(PATTERNS, self.joint(x).sum(1), strict=True):

            def density(t, pattern=pattern, total=total):
                _, c, s, not_s = self.curves(x, np.array([t], LONG))
                right = np.where(pattern == 1, c + (1 - c) * s, (1 - c) * not_s)
                return float(right.prod() * np.exp(-(LONG(t) ** 2) / 2) / np.sqrt(2 * LONG(np.pi)) / total)

            below = lambda t, f=density: quad(f, -12, -4)[0] + quad(f, -4, t, epsabs=1e-14, epsrel=1e-13)[0] - q
            found.append(brentq(below, -4, 2, xtol=1e-14, rtol=1e-14))
        return found


class Conditional:
    """The Rasch model given the totals, over all patterns of a total."""

    def __init__(self, times):
        self.times, self.total = times, PATTERNS.sum(1)

    def value(self, b):
        weight = np.exp(-PATTERNS @ b)
        groups = np.array([weight[self.total == r].sum() for r in self.total])
        return self.times @ np.log(weight / groups)

    def gradient(self, b):
        weight = np.exp(-PATTERNS @ b)
        slope = 0 * b
        for r in range(6):
            here = self.total == r
            mean = weight[here] @ PATTERNS[here] / weight[here].sum()
            slope = slope - self.times[here] @ (PATTERNS[here] - mean)
        return slope


class Joint:
    """Abilities of the totals 1 to 4 and difficulties, all at once."""

    def __init__(self, times):
        total = PATTERNS.sum(1)
        self.people = np.array([times[total == r].sum() for r in range(1, 5)])
        inside = (total > 0) & (total < 5)
        self.right = times[inside] @ PATTERNS[inside]

    def value(self, x):
        theta, b = x[:4], x[4:]
        spread = self.people @ np.log(1 + np.exp(theta[:, None] - b))
        return np.sum(self.people * np.arange(1, 5) * theta) - self.right @ b - spread.sum()

    def gradient(self, x):
        theta, b = x[:4], x[4:]
        p = 1 / (1 + np.exp(b - theta[:, None]))
        return np.concatenate([self.people * (np.arange(1, 5) - p.sum(1)), self.people @ p - self.right])


def by_complex_steps(f, x):
    """Derivative of a value or of a gradient."""
    h = LONG(1e-30)
    return np.array([np.imag(f(x + 1j * h * e)) / h for e in np.eye(len(x), dtype=LONG)])


def fit(model, start, shift=None, lower=-8, upper=8):
    """Maximum and Hessian. ``shift``: a direction in which the likelihood is flat, held; bounds for SciPy alone."""
    flat = 0 if shift is None else np.outer(shift, shift)
    cost = lambda x: (-float(model.value(x.astype(LONG))), -model.gradient(x.astype(LONG)).astype(float))
    ends = []
    rng = np.random.default_rng(1)
    for spread in (0, 0.1, 0.3):
        first = start + spread * rng.normal(size=len(start))
        bounds = np.broadcast_to(np.stack([lower, upper], -1), (len(start), 2))
        options = {"gtol": 1e-6, "ftol": 1e-15, "maxiter": 5000, "maxcor": 30}
        ends.append(minimize(cost, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options))
    x = min(ends, key=lambda e: e.fun).x.astype(LONG)
    for _ in range(20):
        hessian = by_complex_steps(model.gradient, x)
        step = np.linalg.solve((hessian - flat).astype(float), -model.gradient(x).astype(float))
        x = x + step
        if np.max(np.abs(step)) < 1e-15:
            break
    else:
        raise SystemExit(f"no convergence: the last step was {np.max(np.abs(step))}")
    slope = by_complex_steps(model.value, x)
    short = [float(model.value(x) + e.fun) for e in ends]
    curved = np.linalg.eigvalsh((hessian - flat).astype(float)).max() < 0
    # SciPy's values are short of the maximum by the rounding of doubles or a bit more, never above it.
    if np.max(np.abs(slope)) > 1e-12 or not curved or min(short) < -1e-11 or max(short) > 1e-7:
        raise SystemExit(f"not the maximum: slope {np.max(np.abs(slope))}, values short by {short}, curved {curved}")
    print(f"  slope {np.max(np.abs(slope)):.0e}, SciPy short by {max(short):.0e}")
    return x, hessian


def numbers(values):
    return [float(v) for v in values]


def marginal(times, start, depth, seen, rule=None, **options):
    model = Marginal(times, depth, rule or trapezoid(), **options)
    columns = np.stack([start, np.ones(5), np.full(5, float(FIFTH))], 1)[:, :depth].ravel()
    x, hessian = fit(model, columns, None, np.tile([-8, 0.05, -6][:depth], 5), np.tile([8, 10, 4][:depth], 5))
    if rule is None:
        finer = Marginal(times, depth, trapezoid(0.02), **options)
        change = max(np.max(np.abs(finer.gradient(x))), abs(finer.value(x) - model.value(x)))
        if change > 1e-13:
            raise SystemExit(f"the grid is too coarse: a finer one changes the likelihood by {change}")
    d, a = x.reshape(5, depth)[:, 0], x.reshape(5, depth)[:, 1] if depth > 1 else np.ones(5, LONG)
    inverse = np.linalg.inv(-hessian.astype(float)).reshape(5, depth, 5, depth)
    own = np.array([inverse[m, :, m, :] for m in range(5)])
    slopes = np.stack([-1 / a, d / a**2, 0 * a], 1)[:, :depth]  # of -d / a
    found = {
        "difficulty": numbers(-d / a),
        "difficulty_se": numbers(np.sqrt(np.einsum("mi,mij,mj->m", slopes, own, slopes))),
    }
    for i, name in enumerate(("intercept", "discrimination")[:depth] if depth > 1 else ()):
        found |= {name: numbers((d, a)[i]), f"{name}_se": numbers(np.sqrt(own[:, i, i]))}
    if depth > 2:
        c = 1 / (1 + np.exp(-x.reshape(5, depth)[:, 2]))
        found |= {"guessing": numbers(c), "guessing_se": numbers(c * (1 - c) * np.sqrt(own[:, 2, 2]))}
    elif model.guessing:
        found["guessing"] = [float(model.guessing)] * 5
    mean, sd = model.abilities(x)
    found |= {"log_likelihood": float(model.log_likelihood(x)), "mean": numbers(mean[seen]), "sd": numbers(sd[seen])}
    return found, model, x


def values(times, seen, start):
    found = {}
    model = Conditional(times)
    b, hessian = fit(model, -start, np.ones(5))
    spread = np.linalg.pinv(-hessian.astype(float))
    found["rasch_cml"] = {
        "difficulty": numbers(b - b.mean()),
        "difficulty_se": numbers(np.sqrt(np.diag(spread))),
        "log_likelihood": float(model.value(b)),
    }
    x, _ = fit(Joint(times), np.concatenate([[-1.5, -0.5, 0.5, 1.5], -start]), np.ones(9))
    theta, b = x[:4], x[4:]
    found["rasch_without_extreme_people"] = {
        "ability_by_total": dict(zip("1234", numbers(theta - b.mean()), strict=True)),
        "difficulty": numbers(b - b.mean()),
    }
    found["rasch_mml"], model, x = marginal(times, start, 1, seen)
    found["rasch_mml"]["quantile_0_05"] = numbers(np.array(model.quantiles(x, 0.05))[seen])
    nodes, weights = (v.astype(LONG) for v in roots_hermitenorm(21))
    found["rasch_mml_21_nodes"] = marginal(times, start, 1, seen, (nodes, weights / weights.sum()))[0]
    found["mml_2pl"] = marginal(times, start, 2, seen)[0]
    found["mml_3pl_guessing_0_2"] = marginal(times, start, 2, seen, guessing=LONG(1) / 5)[0]
    guess = normal(FIFTH, LONG(0.5))
    found["mml_3pl_guessing_prior"] = marginal(times, start, 3, seen, priors=(None, None, guess))[0]
    # the prior of the slopes is a density in a, not in log a
    priors = (normal(LONG(0), LONG(2)), lognormal(LONG(0), LONG(0.5)), guess)
    found["mml_3pl_all_priors"] = marginal(times, start, 3, seen, priors=priors)[0]
    return found


def main() -> None:
    out = {}
    for name, (seed, slopes, difficulties, guessing) in TABLES.items():
        rng = np.random.default_rng(seed)
        ability = rng.normal(size=(1000, 1))
        chance = guessing + (1 - guessing) / (1 + np.exp(-np.array(slopes) * (ability - np.array(difficulties))))
        right = (rng.random((1000, 5)) < chance).astype(int)
        times = np.bincount(right @ (1 << np.arange(5)[::-1]), minlength=32)
        seen = times > 0
        share = right.mean(0)
        found = values(times.astype(LONG), seen, np.log(share / (1 - share)))
        drawn = {"seed": seed, "slopes": slopes, "difficulties": difficulties, "guessing": guessing}
        table = {"patterns": PATTERNS[seen].astype(int).tolist(), "counts": times[seen].tolist()}
        out[name] = {"drawn": drawn, **table, "values": found}
        print(name, times, {k: v.get("discrimination", v["difficulty"]) for k, v in found.items()})
    with open(sys.argv[1], "w") as file:
        json.dump(out, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
