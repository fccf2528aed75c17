"""Seconds of one call of another program; run by that program's own Python, needs NumPy beside it.

python peer.py PROGRAM CALL OPTIONS TENSOR BUDGET: OPTIONS a JSON object, TENSOR a .npy file with R (models, questions,
trials), BUDGET seconds for repeated calls. Prints one JSON object: the seconds of the first call and of later ones.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import numpy as np


def scorio(call: str, options: dict, R: np.ndarray) -> Callable[[], object]:
    import scorio.rank

    method = getattr(scorio.rank, call)
    return lambda: method(R, return_scores=True, **options)


def choix(call: str, options: dict, R: np.ndarray) -> Callable[[], object]:
    import choix

    wins = decisive(R)
    if call == "ilsr_pairwise_dense":
        return lambda: choix.ilsr_pairwise_dense(wins, **options)
    if call == "ilsr_top1":
        events = [e for e in np.moveaxis(R, 0, -1).reshape(-1, len(R)) if 0 < e.sum() < len(e)]
        choices = [(int(i), tuple(np.flatnonzero(e == 0).tolist())) for e in events for i in np.flatnonzero(e)]
        return lambda: choix.ilsr_top1(len(R), choices, **options)
    method = getattr(choix, call)
    pairs = [(i, j) for i, j in zip(*np.nonzero(wins), strict=True) for _ in range(int(wins[i, j]))]
    return lambda: method(len(R), pairs, **options)


def evalica(call: str, options: dict, R: np.ndarray) -> Callable[[], object]:
    import evalica

    method = getattr(evalica, call)
    if call == "elo":  # the stream of decisive meetings, trials outer
        events = np.moveaxis(R, 0, -1).transpose(1, 0, 2).reshape(-1, len(R))
        meetings = [(i, j) for e in events for i in np.flatnonzero(e == 1) for j in np.flatnonzero(e == 0)]
        first, second = (list(map(int, side)) for side in zip(*meetings, strict=True))
        winners = [evalica.Winner.X] * len(first)
        return lambda: method(first, second, winners, **options)
    wins = decisive(R)
    first, second = (list(map(int, side)) for side in np.nonzero(wins))
    weights = [float(wins[i, j]) for i, j in zip(first, second, strict=True)]
    winners = [evalica.Winner.X] * len(first)
    return lambda: method(first, second, winners, weights=weights, **options)


def arena_rank(call: str, options: dict, R: np.ndarray) -> Callable[[], object]:
    import jax.numpy as jnp
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    wins = decisive(R)
    pairs = np.stack(np.nonzero(wins), axis=1)
    counts = jnp.asarray(wins[tuple(pairs.T)])
    ones = jnp.ones(len(pairs))
    data = PairDataset([str(i) for i in range(len(R))], jnp.asarray(pairs), ones, counts, ones, counts)

    def fit() -> object:
        model = BradleyTerry(len(R), **options)
        model.fit(data)
        return np.asarray(model.params["ratings"])

    return fit


def theta(call: str, options: dict, R: np.ndarray) -> Callable[[], object]:
    import theta

    return lambda: theta.fit(R[..., 0].astype(float), **options).score(R[..., 0].astype(float))


def numpy_loop(call: str, options: dict, R: np.ndarray) -> Callable[[], object]:
    """A replicate of Bradley-Terry as one would write it in NumPy: trials drawn, wins by one product from outcomes that
    were paired before, Newton steps with the closed curvature from the optimum of all data."""
    n, n_trials = len(R), R.shape[2]
    right = R.astype(float)
    rows = np.einsum("iqt,jqt->tij", right, 1 - right).reshape(n_trials, -1)
    rng = np.random.default_rng(0)
    whole = newton(rows.sum(0).reshape(n, n), np.zeros(n))

    def replicate() -> np.ndarray:
        drawn = np.bincount(rng.integers(0, n_trials, n_trials), minlength=n_trials)
        return newton((drawn @ rows).reshape(n, n), whole)

    return replicate


def newton(wins: np.ndarray, strength: np.ndarray) -> np.ndarray:
    """Centred log-strengths; stops where half the Newton decrement, the likelihood that is left, is below 1e-7, about
    the precision of float32."""
    met, won = wins + wins.T, wins.sum(1)
    for _ in range(100):
        chance = 1 / (1 + np.exp(strength[None] - strength[:, None]))
        slope = won - (met * chance).sum(1)
        weight = met * chance * (1 - chance)
        curvature = np.diag(weight.sum(1)) - weight
        step = np.zeros_like(strength)
        step[1:] = np.linalg.solve(curvature[1:, 1:], slope[1:])  # the first stays where it is: only differences count
        strength = strength + step
        if slope @ step / 2 < 1e-7:
            break
    return strength - strength.mean()


def decisive(R: np.ndarray) -> np.ndarray:
    """wins[i, j]: (question, trial) pairs that i solved and j did not."""
    flat = R.reshape(len(R), -1).astype(float)
    return flat @ (1 - flat).T


PROGRAMS = {
    "numpy": numpy_loop,
    "scorio": scorio,
    "choix": choix,
    "evalica": evalica,
    "arena-rank": arena_rank,
    "theta-irt": theta,
}


def main() -> None:
    program, call, options, tensor, budget = sys.argv[1:]
    fit = PROGRAMS[program](call, json.loads(options), np.load(tensor))
    spent = [seconds(fit)]
    while sum(spent) < float(budget) and len(spent) < 200:
        spent.append(seconds(fit))
    print(json.dumps({"first": spent[0], "seconds": float(np.median(spent[1:] or spent)), "calls": len(spent)}))


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
