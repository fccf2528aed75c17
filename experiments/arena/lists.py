"""How often 95 % intervals of a coefficient and of strengths miss the truth: ordered lists and sets of winners of 5
alternatives with a price.

python -m experiments.arena.lists [--sets 2000]   # -> results/lists.json, lists.md
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from pathlib import Path

import numpy as np

import jaxrank as jr

HERE = Path(__file__).parent
N_LISTS, N_VOTERS, SLOPE = 200, 40, -0.7
STRENGTHS = np.linspace(1, -1, 5)
TIES = np.log([1.0, 0.6, 0.4, 0.2])  # tie parameters of one to four winners
KINDS = {
    "lists": ("plackett_luce", 0.0),
    "lists that are alike by voter": ("plackett_luce", 0.6),
    "sets of winners": ("davidson_luce", 0.0),
}


def made(kind: str, rng: np.random.Generator) -> jr.Rankings:
    """200 lists by 40 voters. A share of a voter's lists has one and the same noise, so that they are alike while each
    of them follows the model."""
    price, voter = rng.normal(size=(N_LISTS, 5)), np.arange(N_LISTS) % N_VOTERS
    eta = STRENGTHS + SLOPE * price
    if kind != "sets of winners":
        alike = rng.random((N_LISTS, 1)) < KINDS[kind][1]
        noise = np.where(alike, rng.gumbel(size=(N_VOTERS, 5))[voter], rng.gumbel(size=eta.shape))
        places = np.argsort(np.argsort(-(eta + noise), axis=1), axis=1) + 1
        return jr.Rankings.from_places(places, columns={"price": price, "voter": voter})
    sets = [s for t in range(1, 5) for s in itertools.combinations(range(5), t)]
    worth = np.stack([TIES[len(s) - 1] + eta[:, list(s)].mean(axis=1) for s in sets], axis=1)
    won = np.argmax(worth + rng.gumbel(size=worth.shape), axis=1)
    orders = [[list(sets[k])] for k in won]
    return jr.Rankings(orders, range(5), unlisted="below", columns={"price": price, "voter": voter})


def missed(kind: str, seed: int) -> dict[str, list[float]]:
    """Whether the interval of the coefficient misses it, and the share of strengths that lie outside of theirs, by the
    errors of the method and by voter."""
    data = made(kind, np.random.default_rng(seed))
    fit = jr.fit(data, KINDS[kind][0], covariates="price", dtype="float64")
    out = {}
    for name, result in (("method", fit), ("by voter", fit.clustered("voter"))):
        row, (low, high) = jr.coefficients(result)["price"], result.interval()
        shares = float(not row.lower <= SLOPE <= row.upper), float(np.mean((low > STRENGTHS) | (high < STRENGTHS)))
        out[name] = [*shares, round(row.upper - row.lower, 4)]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=2000)
    given = parser.parse_args()
    warnings.simplefilter("ignore", jr.JaxrankWarning)
    began = time.process_time()
    found = {kind: [missed(kind, seed) for seed in range(given.sets)] for kind in KINDS}
    seconds = round(time.process_time() - began, 1)
    (HERE / "results" / "lists.json").write_text(json.dumps({"seconds of the processor": seconds, **found}))
    lines = ["| data | errors | sets | coefficient missed | width | strengths missed |", "|---|---|---|---|---|---|"]
    for kind, rows in found.items():
        for name in rows[0]:
            slope, strengths, width = np.mean([row[name] for row in rows], axis=0)
            shares = f"{100 * slope:.1f} % | {width:.3f} | {100 * strengths:.1f} %"
            lines.append(f"| {kind} | {name} | {len(rows)} | {shares} |")
    (HERE / "results" / "lists.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
