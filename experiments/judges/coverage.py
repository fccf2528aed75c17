"""How often 95 % intervals of ranks hold the true ranks, levels M = 2, 3, 5 by questions Q = 100, 1,000, 5,000.

The paper's claims, from its abstract: binary scores are safe, with more levels intervals that take judges at their word
fail, and modelling the judges covers more. Two judges, five candidates with Dirichlet(1, ..., 1) levels; judges are
drawn from the published ladder ("ladder_weak", "ladder_moderate"), so that rows are stochastically ordered. Methods:
means under a bootstrap, prediction-powered means with 5 and 10 % random labels, and, at Q = 1,000 and weak judges, the
posterior of counts under the generating prior and under one that trusts too much; the same intervals of ranks for all.
``python -m experiments.judges.coverage`` writes coverage.json beside this file; with ``--posterior`` only the rows of
the posterior, of all or of the named levels; with ``--dawid-skene`` it adds the bootstrap of Dawid-Skene with three or
five judges, which go on apart or of which one copies another's score on half of the answers.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.errors import JaxrankWarning
from jaxrank.evaluation import judges
from jaxrank.evaluation.judges.inference import draw_chain
from jaxrank.numerics.precision import precision

PATH = Path(__file__).parent / "coverage.json"
LEVELS, QUESTIONS = (2, 3, 5), (100, 1000, 5000)
JUDGES = ("ladder_weak", "ladder_moderate")
N_SETS, N_POSTERIOR, N_CANDIDATES, N_JUDGES = 60, 12, 5, 2
DRAWS = 250
N_DAWID_SKENE = 30
PANELS = {3: "three", 5: "five"}  # judges of the Dawid-Skene rows


def matrices(name: str, m: int, n: int, seed: int) -> np.ndarray:
    """Judges (n, M, M) drawn from a prior."""
    import numpyro

    with numpyro.handlers.seed(rng_seed=seed):
        return np.asarray(judges.PRIORS[name].sample(n, m))


def data_set(theta: np.ndarray, q: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores (J, K, Q), true levels (K, Q), true ranks (K,)."""
    m = theta.shape[-1]
    pi = rng.dirichlet(np.ones(m), N_CANDIDATES)
    draw = lambda p: (rng.random(p.shape[:-1])[..., None] > np.cumsum(p, -1)[..., :-1]).sum(-1)
    truth = draw(np.broadcast_to(pi[:, None], (N_CANDIDATES, q, m)))
    value = pi @ np.arange(m)
    return np.stack([draw(t[truth]) for t in theta]), truth, 1 + (value[None] > value[:, None]).sum(1)


def posteriors(counts: np.ndarray, prior: str) -> list[judges.JudgePosterior]:
    """The posterior of counts (sets, J, K, M) of every set, all in one batch: two chains each."""
    sizes = counts.shape[1:]
    with precision("float64"):
        keys = jax.random.split(jax.random.key(0), (len(counts), 2))
        one = lambda key, y: draw_chain(key, y, judges.PRIORS[prior], sizes, DRAWS, DRAWS)
        drawn = jax.jit(jax.vmap(lambda k, y: jax.vmap(lambda key: one(key, y))(k)))(keys, jnp.asarray(counts, float))
        pi = np.asarray(drawn["pi"])
    score = pi @ np.arange(sizes[-1])
    out = []
    for s in score:
        within, between = s.var(1, ddof=1).mean(0), s.mean(1).var(0, ddof=1)
        r_hat = np.sqrt((within * (1 - 1 / s.shape[1]) + between) / within)
        out.append(judges.JudgePosterior(s.reshape(-1, s.shape[-1]), pi[0, 0, 0], pi, r_hat, r_hat, prior))
    return out


def add(rows: dict, how: str, found: judges.CandidateDraws, ranks: np.ndarray) -> None:
    low, high = found.rank_intervals(0.95)
    row = rows.setdefault(how, {"sets": 0, "inside": 0.0, "ranks in an interval": 0.0})
    new = {"inside": ((low <= ranks) & (ranks <= high)).mean(), "ranks in an interval": (high - low + 1).mean()}
    if isinstance(found, judges.JudgePosterior) and np.isfinite(found.r_hat).all():
        new["sets with R-hat above 1.05"] = float(found.r_hat.max() > 1.05)
    n = row["sets"]
    for key, value in new.items():
        row[key] = (row.get(key, 0.0) * n + float(value)) / (n + 1)
    row["sets"] = n + 1


def save(more: dict) -> None:
    known = json.loads(PATH.read_text()) if PATH.exists() else {}
    PATH.write_text(json.dumps(known | more, indent=1) + "\n")


def dawid_skene(n_judges: int, begin: float) -> None:
    """Rows of the Dawid-Skene bootstrap beside the means of the same judges."""
    out = {}
    for q, m, name, copies in (
        *itertools.product((1000,), LEVELS, JUDGES, (False,)),
        *itertools.product((1000,), LEVELS, JUDGES[:1], (True,)),
        *itertools.product((100,), LEVELS, JUDGES[:1], (False,)),
    ):
        rows = out.setdefault(f"M = {m}, Q = {q}, {name} judges{', one copies' if copies else ''}", {})
        theta = matrices(name, m, N_DAWID_SKENE * n_judges, m).reshape(N_DAWID_SKENE, n_judges, m, m)
        rng = np.random.default_rng([m, q, JUDGES.index(name), n_judges])
        for s, t in enumerate(theta):
            scores, _, ranks = data_set(t, q, rng)
            if copies:
                scores[2] = np.where(rng.random(scores[2].shape) < 0.5, scores[1], scores[2])
            add(rows, "means, bootstrap", judges.infer(scores, prior="perfect", n_levels=m, n_samples=100), ranks)
            add(rows, "Dawid-Skene, bootstrap", judges.dawid_skene_draws(scores, m, n_samples=100, seed=s), ranks)
        print(n_judges, m, q, name, copies, round(time.monotonic() - begin), "s", json.dumps(rows), flush=True)
        save({f"Dawid-Skene, {PANELS[n_judges]} judges": out | {"seconds": round(time.monotonic() - begin)}})


def data_sets(m: int, q: int, name: str) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The data sets of a row."""
    theta = matrices(name, m, N_SETS * N_JUDGES, m).reshape(N_SETS, N_JUDGES, m, m)
    rng = np.random.default_rng([m, q, JUDGES.index(name)])
    return [data_set(t, q, rng) for t in theta]


def means(rows: dict, m: int, sets: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> None:
    for s, (scores, truth, ranks) in enumerate(sets):
        add(rows, "means, bootstrap", judges.infer(scores, prior="perfect", n_levels=m, n_samples=100), ranks)
        for share in (0.05, 0.1):
            gold = judges.label_share(truth, share, s)
            found = judges.prediction_powered_draws(scores, gold, n_samples=400, seed=s)
            add(rows, f"prediction-powered, {share:.0%} labels", found, ranks)


def of_counts(rows: dict, m: int, sets: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> None:
    """The posterior of counts under the judges' own prior and under too much trust."""
    for prior in (JUDGES[0], "strong"):
        rows.pop(f"counts, {prior}", None)
        counts = np.stack([judges.level_counts(scores, m) for scores, _, _ in sets[:N_POSTERIOR]])
        for found, (_, _, ranks) in zip(posteriors(counts, prior), sets, strict=False):
            add(rows, f"counts, {prior}", found, ranks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dawid-skene", type=int, choices=PANELS, metavar="JUDGES")
    parser.add_argument(
        "--posterior", type=int, nargs="*", metavar="M", help="the posterior of these levels alone, again"
    )
    args = parser.parse_args()
    begin = time.monotonic()
    told = lambda *row, rows: print(*row, round(time.monotonic() - begin), "s", json.dumps(rows), flush=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxrankWarning)
        if args.dawid_skene:
            dawid_skene(args.dawid_skene, begin)
            return
        out = {} if args.posterior is None else json.loads(PATH.read_text())
        for m, q, name in itertools.product(LEVELS, QUESTIONS, JUDGES) if args.posterior is None else ():
            rows = out.setdefault(f"M = {m}, Q = {q}, {name} judges", {})
            means(rows, m, data_sets(m, q, name))
            told(m, q, name, rows=rows)
        for m in args.posterior or LEVELS:
            q, name = 1000, JUDGES[0]
            rows = out[f"M = {m}, Q = {q}, {name} judges"]
            of_counts(rows, m, data_sets(m, q, name))
            told(m, q, name, rows=rows)
            if args.posterior is None:
                out["seconds"] = round(time.monotonic() - begin)
            save(out)


if __name__ == "__main__":
    main()
