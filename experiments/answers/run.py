"""Rules for answers on simulated completions: what they are worth at every n, what stopping saves, how fast it goes.

``python -m experiments.answers.run study`` writes results.json and figure.png here, ``... speed`` adds the times of a
large table, beside scorio's own functions in a Python loop where scorio is installed, and ``... scorio`` how often both
select the same answer.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import jaxrank as jr
from jaxrank import answers as an

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
SHAPE = (3, 200, 64)
SIZES = (1, 2, 4, 8, 16, 32, 64)
RULES = ("majority", "weighted", "best_of_n", "filtered", "majority_of_the_bests")
# Mean chance of the right answer, share of questions with a wrong answer that draws, what the score knows.
MODELS = {"calibrated": (0.55, 0.2, 1.5), "careless": (0.55, 0.2, 0.2), "misled": (0.45, 0.5, 0.7)}


def completions(seed: int, shape: tuple[int, int, int] = SHAPE, kinds: Any = None) -> tuple[Any, Any, Any]:
    """Labels, scores, and the chances (L, M, K) behind the labels, of which 0 is right.

    A question's chance of a right answer is Beta, its wrong answers follow Zipf's law, and on some questions one wrong
    answer takes most of the rest. The logit of a score is normal, higher for right answers by what the score knows.
    """
    rng = np.random.default_rng(seed)
    chances = truths(0, shape, kinds)
    n_models, n_questions, n = shape
    labels = np.empty(shape, int)
    for i in range(n_models):
        for m in range(n_questions):
            labels[i, m] = rng.choice(chances.shape[2], n, p=chances[i, m])
    known = [MODELS[k][2] for k in list(kinds or MODELS)]
    shift = np.resize(known, n_models)[:, None, None] * (labels == 0)
    return labels, 1 / (1 + np.exp(-(rng.normal(size=shape) + shift - 0.3))), chances


def truths(seed: int, shape: tuple[int, int, int], kinds: Any = None) -> np.ndarray:
    rng = np.random.default_rng(seed)
    names = list(kinds or MODELS)
    chances = np.zeros((*shape[:2], 13))
    for i in range(shape[0]):
        mean, draws, _ = MODELS[names[i % len(names)]]
        right = rng.beta(1.5 * mean, 1.5 * (1 - mean), shape[1])
        rest = 1 / np.arange(1, 13) ** rng.uniform(0.5, 1.5, shape[1])[:, None]
        rest[:, 0] *= np.where(rng.random(shape[1]) < draws, 8, 1)
        chances[i] = np.concatenate([right[:, None], (1 - right)[:, None] * rest / rest.sum(axis=1)[:, None]], axis=1)
    return chances


def study() -> dict[str, Any]:
    labels, scores, chances = completions(1)
    answers = jr.Answers(labels, scores, [0] * SHAPE[1], models=list(MODELS))
    curves = answers.curve(RULES, SIZES, n_paths=400)
    frame = curves.to_frame()
    known = ~np.isnan(curves.exact) & (curves.error > 0)
    off = (curves.accuracy - curves.exact)[known] / curves.error[known]
    found: dict[str, Any] = {
        "curves": {name: json.loads(column.to_json(orient="values")) for name, column in frame.round(4).items()},
        "exact_against_replicated": {
            "compared": int(known.sum()),
            "largest": float(np.abs(off).max()),
            "sd": float(off.std()),
            "largest_difference": float(np.abs(curves.accuracy - curves.exact)[known].max()),
        },
        "crossings": {
            f"{name}: {a} and {b}": curves.crossings(name, a, b)
            for name in MODELS
            for a, b in (("majority", "weighted"), ("majority", "best_of_n"), ("weighted", "best_of_n"))
        },
        "stops": {},
        "coverage": coverage(curves, chances),
    }
    for stop in ("adaptive_consistency", "dirichlet_leader", "esc", "cges_stop"):
        found["stops"][stop] = json.loads(answers.stop(stop).to_frame().round(4).to_json(orient="records"))
    draw(curves)
    return found


def coverage(curves: Any, chances: np.ndarray, n_sets: int = 400) -> dict[str, float]:
    """Share of fresh data sets of these questions, from the chances themselves, whose majority lies in the band."""
    rng = np.random.default_rng(2)
    held = {}
    for k, n in enumerate(SIZES):
        inside = np.zeros((n_sets, len(MODELS)), bool)
        for b in range(n_sets):
            votes = rng.multinomial(n, chances)
            top = votes.max(axis=2, keepdims=True)
            right = (votes[..., 0] == top[..., 0]) * rng.random(votes.shape[:2])
            rival = (votes[..., 1:] == top) * rng.random((*votes.shape[:2], 12))
            share = (right > rival.max(axis=2)).mean(axis=1)
            inside[b] = (share >= curves.lower[0, :, k] - 1e-9) & (share <= curves.upper[0, :, k] + 1e-9)
        held[str(n)] = round(float(inside.mean()), 3)
    return held


def draw(curves: Any) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(15, 4.4), layout="constrained")
    for ax, name in zip(axes, MODELS, strict=True):
        jr.plots.answer_curves(curves, ax, model=name, rules=RULES[:3])
    figure.savefig(HERE / "figure.png", dpi=80)


def scorios(scores: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    """scorio's function of every rule, (answers, scores) -> answer; its kernel densities are fitted on these."""
    import scorio.aggregate as agg  # pyright: ignore[reportMissingImports]

    fitted = agg.fit_kde_vote_calibration(scores, right)
    return {
        "majority": lambda a, s: agg.majority_vote(a),
        "kde_weighted": lambda a, s: agg.kde_weighted_vote(a, s, fitted),
        "weighted": agg.weighted_majority_vote,
        "softmax": agg.softmax_weighted_vote,
        "rank_weighted": agg.rank_weighted_vote,
        "logit_weighted": agg.logit_weighted_vote,
        "filtered": agg.filtered_vote,
        "best_of_n": agg.best_of_n,
        "majority_of_the_bests": agg.majority_of_the_bests,
        "best_of_majority": lambda a, s: agg.best_of_majority(a, s, alpha=0.25),
        "cges": agg.cges_vote,
    }


def black_box(n_inputs: int = 1000) -> dict[str, Any]:
    """How often a rule selects what scorio selects, on random inputs without equal scores; where it does not, whether
    totals tie here. Of `kde_weighted` also the largest differences of the log ratio of densities and of chances."""
    import scorio.aggregate as agg  # pyright: ignore[reportMissingImports]

    from jaxrank.evaluation.answers.tally import totals_of, winners

    rng = np.random.default_rng(5)
    judged = rng.random(400) < 0.5
    known = np.clip(rng.normal(0.4 + 0.2 * judged, 0.15), 0.01, 0.99)
    calls = scorios(known, judged)
    kde = an.KdeWeighted.fit(known, judged)
    rules = {name: kde if name == "kde_weighted" else an.RULES[name]() for name in calls}
    found: dict[str, Any] = {name: {"same": 0, "tied here": 0, "other": 0} for name in calls}
    for _ in range(n_inputs):
        n = int(rng.integers(1, 25))
        labels = rng.choice(["a", "b", "c", "d"], n, p=[0.4, 0.3, 0.2, 0.1])
        scores = rng.uniform(0.02, 0.98, n)
        answers = jr.Answers([[labels.tolist()]], [[scores]])
        for name, counts in found.items():
            ours, theirs = answers.select(rules[name])[0, 0], calls[name](labels.tolist(), scores)
            totals, _ = totals_of(rules[name], answers.codes[0], scores[None], len(answers.classes[0]))
            tied = int(winners(totals).sum()) > 1
            counts["same" if ours == theirs else "tied here" if tied else "other"] += 1
    at = np.linspace(0.02, 0.98, 97)
    theirs = agg.fit_kde_vote_calibration(known, judged)
    found["kde_weighted"] |= {
        "log ratio of densities": float(np.abs(kde.weights(at) - theirs.log_density_ratio(at)).max()),
        "chances": float(np.abs(np.subtract(kde.pooled(at), theirs.calibrated_probability(at))).max()),
    }
    return found


def speed(shape: tuple[int, int, int] = (20, 500, 64), n_calls: int = 4000) -> dict[str, Any]:
    labels, scores, _ = completions(3, shape)
    answers = jr.Answers(labels, scores, [0] * shape[1])
    kde = an.KdeWeighted.fit(scores[0, :50], labels[0, :50] == 0)
    rules = [kde if name == "kde_weighted" else name for name in an.RULES]
    start, cpu = time.time(), time.process_time()
    answers.curve(rules, n_replicates=10_000)
    found = {
        "shape": shape,
        "rules": len(rules),
        "n_replicates": 10_000,
        "n_paths": 100,
        "seconds": round(time.time() - start, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
    }
    try:
        calls = scorios(scores[0, :50].ravel(), (labels[0, :50] == 0).ravel())
    except ImportError:
        return found
    rng = np.random.default_rng(4)
    picks = [(*(int(rng.integers(size)) for size in shape[:2]), int(rng.integers(1, shape[2] + 1))) for _ in range(300)]
    data = [(labels[i, m, :n].tolist(), scores[i, m, :n]) for i, m, n in picks]
    start = time.process_time()
    done = 0
    while done < n_calls:
        for name in an.RULES:
            calls[name](*data[done % len(data)])
            done += 1
    each = (time.process_time() - start) / done
    at_once = shape[0] * shape[1] * shape[2] * len(rules)
    return found | {
        "scorio_microseconds_a_call": round(1e6 * each, 1),
        "scorio_cpu_seconds_for_the_paths": round(each * at_once * 100),
        "scorio_cpu_seconds_for_the_replicates": round(each * at_once * 10_000),
        "ratio_for_the_paths": round(each * at_once * 100 / found["cpu_seconds"]),
        "ratio_for_the_replicates": round(each * at_once * 10_000 / found["cpu_seconds"]),
    }


if __name__ == "__main__":
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for part in sys.argv[1:] or ["study"]:
        results[part] = {"study": study, "speed": speed, "scorio": black_box}[part]()
        print(json.dumps({k: v for k, v in results[part].items() if k != "curves"}, indent=1))
    parts = (
        f"{json.dumps(name)}: {{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in part.items()) + "\n}"
        for name, part in results.items()
    )
    RESULTS.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
