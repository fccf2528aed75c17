"""Eight categorical schemes at one trial: the protocol of table 5 of arXiv 2603.10960 on simulated signals.

Correctness comes from the mimic of the four published benchmarks (the first 11 models, 120 questions, 80 trials); the
other signals are drawn given correctness (wrong attempts are longer, less confident, less often boxed, and the verifier
believes them less), with a style of each model. The published signals are not public, so only the pattern can be
compared: schemes near correctness agree most with the gold standard, the verifier-only scheme least.
``python -m experiments.rubrics.run`` writes results.json beside this file.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from experiments import mimic
from jaxrank import evaluation as ev
from jaxrank import kendall_tau
from jaxrank.evaluation.rubrics import SCHEMES, Signals

HERE = Path(__file__).parent


def signals(R: np.ndarray, rng: np.random.Generator) -> Signals:
    style = lambda scale: scale * rng.standard_normal((len(R), 1, 1))
    right = R.astype(float)
    verifier = rng.standard_gamma(np.stack([1 + 4 * right, 4 - 3 * right, np.full(R.shape, 0.4)]))
    verifier[0] *= np.exp(style(0.25))
    a, b, c = verifier / verifier.sum(0)
    return Signals(
        is_correct=right,
        has_box=rng.random(R.shape) < 0.75 + 0.22 * right,
        token_ratio=np.exp(-1.5 - 0.7 * right + style(0.3) + 0.4 * rng.standard_normal(R.shape)),
        repeated_pattern=rng.random(R.shape) < 0.06 * (1 - right),
        prompt_bpt=np.broadcast_to(rng.standard_normal((1, R.shape[1], 1)), R.shape),
        completion_bpt=np.exp(-0.5 - 0.3 * right + style(0.15) + 0.3 * rng.standard_normal(R.shape)),
        compass_A=a,
        compass_B=b,
        compass_C=c,
    )


def main() -> None:
    bench = mimic.benchmark("Combined")
    R, greedy = bench.R[:11], bench.greedy[:11]
    s = signals(R, np.random.default_rng(0))
    gold = ev.bayes(R).mean
    prior = ev.bayes(R, R0=greedy[..., None]).mean
    rows = {}
    for pooled in (True, False):
        for name, scheme in SCHEMES.items():
            categories = scheme.categories(s, pooled)
            whole = ev.bayes(categories, w=scheme.weights).mean
            single = np.stack([ev.bayes(categories[..., n : n + 1], w=scheme.weights).mean for n in range(R.shape[2])])
            same = lambda reference, single=single: np.broadcast_to(reference, single.shape)
            tau = lambda reference, single=single, same=same: np.asarray(kendall_tau(single, same(reference)))
            found = {"gold": tau(gold), "self": tau(whole), "greedy": tau(prior)}
            key = f"{name}, thresholds {'pooled' if pooled else 'per model'}"
            rows[key] = {k: [round(float(v.mean()), 4), round(float(v.std(ddof=1)), 4)] for k, v in found.items()}
    (HERE / "results.json").write_text(json.dumps(rows, indent=1) + "\n")
    for key, row in sorted(rows.items(), key=lambda item: -item[1]["gold"][0]):
        print(f"{key:48}", row)


if __name__ == "__main__":
    main()
