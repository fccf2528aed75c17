"""Golden values of Plackett-Luce models on ordered lists: Newton's method in 40-digit arithmetic (mpmath).

Usage: pip install mpmath numpy choix; python experiments/golden/orders.py tests/golden/03_orders.json

The lists are drawn here from known worths (no data of others). The likelihood is written out stage by stage, ties by
the sum over all sets of up to `max_tied` items (Davidson-Luce, Firth, Kosmidis and Turner 2019). Strict lists are
checked against choix 0.4.1.
"""

from __future__ import annotations

import itertools
import json
import sys

import choix
import mpmath as mp
import numpy as np

mp.mp.dps = 40


def stages(order):
    """(set chosen, items available) of every choice of a list of tie groups, best first; the last item is no choice."""
    left = [i for group in order for i in group]
    for group in order:
        if len(left) > 1:
            yield tuple(sorted(group)), tuple(sorted(left))
        left = [i for i in left if i not in group]


def derivatives(theta, n, events, top):
    """Log-likelihood, gradient and Hessian at log-worths and the log tie strengths of orders 2 to ``top``."""
    size = n + top - 1
    value, gradient, hessian = mp.mpf(0), mp.matrix(size, 1), mp.matrix(size, size)

    def row(members):
        x = [mp.mpf(0)] * size
        for i in members:
            x[i] += mp.mpf(1) / len(members)
        if len(members) > 1:
            x[n + len(members) - 2] += 1
        return x

    for (chosen, available), count in events.items():
        sets = [s for k in range(1, min(top, len(available)) + 1) for s in itertools.combinations(available, k)]
        rows = [row(s) for s in sets]
        weights = [mp.exp(mp.fsum(a * b for a, b in zip(r, theta, strict=True))) for r in rows]
        total = mp.fsum(weights)
        p = [w / total for w in weights]
        mean = [mp.fsum(q * r[j] for q, r in zip(p, rows, strict=True)) for j in range(size)]
        x = row(chosen)
        value += count * (mp.fsum(a * b for a, b in zip(x, theta, strict=True)) - mp.log(total))
        for j in range(size):
            gradient[j] += count * (x[j] - mean[j])
            for k in range(j, size):
                second = mp.fsum(q * r[j] * r[k] for q, r in zip(p, rows, strict=True)) - mean[j] * mean[k]
                hessian[j, k] -= count * second
                hessian[k, j] = hessian[j, k]
    return value, gradient, hessian


def fit(orders, counts, n, top=1, precision=0):
    """Centred maximum (``precision`` 0) or the mode where log-worths have independent N(0, 1/precision) priors."""
    events = {}
    for order, count in zip(orders, counts, strict=True):
        for event in stages(order):
            events[event] = events.get(event, 0) + count
    size = n + top - 1
    free = list(range(0 if precision else 1, size))
    theta = [mp.mpf(0)] * size
    for _ in range(60):
        value, gradient, hessian = derivatives(theta, n, events, top)
        for i in range(n if precision else 0):
            gradient[i] -= precision * theta[i]
            hessian[i, i] -= precision
        g = mp.matrix([gradient[i] for i in free])
        H = mp.matrix([[hessian[i, j] for j in free] for i in free])
        step = mp.lu_solve(H, -g)
        scale = mp.mpf(1)
        if max(abs(x) for x in step) > 1:
            scale = 1 / max(abs(x) for x in step)
        for i, x in zip(free, step, strict=True):
            theta[i] += scale * x
        if max(abs(x) for x in step) < mp.mpf(10) ** -30:
            break
    else:
        raise SystemExit("no convergence")
    # covariance of the centred log-worths, from the information with the first item held
    inverse = (-H) ** -1
    names = {i: k for k, i in enumerate(free)}
    covariance = [
        [inverse[names[i], names[j]] if i in names and j in names else mp.mpf(0) for j in range(n)] for i in range(n)
    ]
    centre = [[mp.mpf(i == j) - mp.mpf(1) / n for j in range(n)] for i in range(n)]
    errors = [
        mp.sqrt(mp.fsum(centre[i][a] * covariance[a][b] * centre[i][b] for a in range(n) for b in range(n)))
        for i in range(n)
    ]
    mean = mp.fsum(theta[:n]) / n
    return {
        "log_worth": [float(t - mean) for t in theta[:n]],
        **({} if precision else {"se": [float(e) for e in errors]}),
        **({"tie_strengths": [float(mp.exp(t)) for t in theta[n:]]} if top > 1 else {}),
        "log_likelihood": float(value),
    }


def draw(rng, log_worth, length):
    """A list of the first ``length`` items under the worths."""
    return np.argsort(-(log_worth + rng.gumbel(size=len(log_worth))))[:length].tolist()


def main() -> None:
    rng = np.random.default_rng(20190801)
    found = {}
    worth = np.array([0.6, 0.3, -0.2, -0.7])
    lists, counts = np.unique([draw(rng, worth, 4) for _ in range(300)], axis=0, return_counts=True)
    strict, counts = [[[int(i)] for i in order] for order in lists], counts.tolist()
    found["full"] = {
        "orders": strict,
        "counts": counts,
        "values": fit(strict, counts, 4),
        "map": fit(strict, counts, 4, precision=1),
    }
    worth = np.linspace(1.5, -1.5, 12)
    partial = [[[i] for i in draw(rng, worth, int(rng.integers(2, 9)))] for _ in range(60)]
    found["partial"] = {"orders": partial, "counts": [1] * 60, "values": fit(partial, [1] * 60, 12)}
    tied = []
    for _ in range(40):
        items = draw(rng, np.array([0.8, 0.3, 0.0, -0.4, -0.7]), int(rng.integers(2, 6)))
        cuts = [0, *[k for k in range(1, len(items)) if rng.random() < 0.7], len(items)]
        groups = [items[a:b] for a, b in itertools.pairwise(cuts)]
        if max(map(len, groups)) <= 3 and len(groups) > 1:
            tied.append(groups)
    found["tied"] = {"orders": tied, "counts": [1] * len(tied), "values": fit(tied, [1] * len(tied), 5, top=3)}
    for name, n in (("full", 4), ("partial", 12)):
        block = found[name]
        rows = [[g[0] for g in o] for o, c in zip(block["orders"], block["counts"], strict=True) for _ in range(c)]
        theirs = choix.opt_rankings(n, rows, tol=1e-12)
        print(name, "choix differs by", np.max(np.abs(theirs - theirs.mean() - block["values"]["log_worth"])))
    print({k: len(v["orders"]) for k, v in found.items()}, found["tied"]["values"])
    with open(sys.argv[1], "w") as out:
        json.dump(found, out, separators=(",", ":"))
        out.write("\n")


if __name__ == "__main__":
    main()
