"""Judges taken at their word, and judges corrected by labels: draws by a Bayesian bootstrap of the questions.

Questions get Dirichlet(1, ..., 1) weights, the same for all judges and candidates, for they saw the same questions.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from jaxrank.errors import DataError
from jaxrank.evaluation.judges.draws import CandidateDraws
from jaxrank.evaluation.judges.scores import checked_scores
from jaxrank.models.options import check_count, check_number, numbers
from jaxrank.numerics.seeds import as_key, check_seed

_BLOCK = 256


def perfect_draws(
    scores: Any, counts: Any, gold: Any, m: int, values: Float[np.ndarray, " levels"], n: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draws (n, K) of the mean over judges of each judge's weighted mean, and the shares of levels (K, M).

    From ``scores`` (J, K, Q), a known gold level in place of what the judges said; or from ``counts`` (J, K, M), where
    questions of different judges cannot be told to be the same and are drawn apart.
    """
    rng = np.random.default_rng(seed_numbers(seed))
    if scores is None:
        counts = np.asarray(counts, float)
        if np.any(counts.sum(-1).sum(0) == 0):
            raise DataError("counts has a candidate without any score")
        gamma = rng.standard_gamma(np.broadcast_to(counts, (n, *counts.shape)))
        share = _mean_over_judges(gamma, counts.sum(-1))
        return share @ values, _mean_over_judges(counts[None], counts.sum(-1))[0]
    found, _ = checked_scores(scores, m)
    if gold is not None:
        known = np.asarray(gold)
        found = np.where((known >= 0)[None], known.astype(int)[None], found)
    if (found < 0).all((0, 2)).any():
        raise DataError("scores has a candidate without any score")
    hot = (found[..., None] == np.arange(m)).astype(float)
    seen = hot.sum((2, 3))
    share = np.concatenate(
        [
            _mean_over_judges(
                np.einsum("bq,jkqm->bjkm", _weights(rng, min(_BLOCK, n - start), found.shape[2]), hot), seen
            )
            for start in range(0, n, _BLOCK)
        ]
    )
    return share @ values, _mean_over_judges(hot.sum(2)[None], seen)[0]


def seed_numbers(seed: Any) -> Any:
    """A seed or a key of JAX as what NumPy's generators take."""
    if isinstance(seed, int | np.integer):
        return int(seed)
    return np.asarray(jax.random.key_data(as_key(seed))).ravel().tolist()


def _weights(rng: np.random.Generator, n: int, n_questions: int) -> np.ndarray:
    return rng.dirichlet(np.ones(n_questions), n)


def _mean_over_judges(mass: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Shares of levels (B, K, M) from weights of levels (B, J, K, M); judges without a score are left out."""
    total = mass.sum(-1, keepdims=True)
    share = np.where(seen[None, ..., None] > 0, mass / np.where(total > 0, total, 1), 0)
    return share.sum(1) / (seen > 0).sum(0)[None, :, None]


def label_share(gold: Any, share: float, seed: int = 0) -> np.ndarray:
    """True levels (K, Q) with those of a random ``share`` of the questions kept, the same for all candidates, and -1
    elsewhere: the random partition that prediction-powered means assume."""
    truth = numbers("gold", gold)
    check_number("share", share, above=0, below=1)
    check_seed(seed)
    if truth.ndim != 2:
        raise DataError(f"gold has shape {truth.shape}; it must be (candidates, questions)")
    n = round(share * truth.shape[1])
    if not 2 <= n <= truth.shape[1] - 2:
        raise DataError(f"share={share:g} of {truth.shape[1]} questions is {n}; two or more must be labelled, and not")
    kept = np.random.default_rng(seed_numbers(seed)).permutation(truth.shape[1])[:n]
    out = np.full(truth.shape, -1.0)
    out[:, kept] = truth[:, kept]
    return out


def prediction_powered_draws(
    scores: Any, gold: Any, judge: int | None = None, n_samples: int = 4000, seed: int = 0
) -> CandidateDraws:
    """Joint draws of the prediction-powered means of all candidates, for intervals of ranks and comparisons.

    Labelled and unlabelled questions are drawn again apart, each kind with weights shared by the candidates, which saw
    the same questions. Weights with the variance of a sample mean, n/(n - 1) of Dirichlet(1, ..., 1), since labels are
    few. **scores** (J, K, Q), **gold** (K, Q), **judge**: as in `prediction_powered`.
    """
    predicted, truth = predictions(scores, gold, judge)
    check_count("n_samples", n_samples, 4)
    check_seed(seed)
    rng = np.random.default_rng(seed_numbers(seed))
    labelled, free = (truth >= 0) & ~np.isnan(predicted), (truth < 0) & ~np.isnan(predicted)
    n_questions = truth.shape[1]

    def drawn(values: np.ndarray, where: np.ndarray) -> np.ndarray:
        """Weighted means (n_samples, K) about the plain ones."""
        held = np.where(where, values, 0)
        point = held.sum(1) / where.sum(1)
        used = where.any(0)
        n = int(used.sum())
        weight = np.zeros((n_samples, n_questions))
        weight[:, used] = rng.dirichlet(np.ones(n), n_samples)
        again = weight @ held.T / np.maximum(weight @ where.T.astype(float), 1e-300)
        return point + (again - point) * np.sqrt((n + 1) / (n - 1))

    with np.errstate(invalid="ignore"):
        return CandidateDraws(drawn(predicted, free) + drawn(truth - predicted, labelled))


def predictions(scores: Any, gold: Any, judge: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The judges' mean score of every answer and the true levels, both (K, Q), checked."""
    found, _ = checked_scores(scores)
    truth = numbers("gold", gold)
    if judge is not None:
        check_count("judge", judge, 0, len(found) - 1)
    if truth.shape != found.shape[1:]:
        raise DataError(f"gold has shape {truth.shape}; it must be (candidates, questions) = {found.shape[1:]}")
    chosen = found if judge is None else found[judge : judge + 1]
    seen = chosen >= 0
    with np.errstate(invalid="ignore"):
        predicted = np.where(seen, chosen, 0).sum(0) / seen.sum(0)
    known = ~np.isnan(predicted)
    if np.any(((truth >= 0) & known).sum(1) < 2) or np.any(((truth < 0) & known).sum(1) < 2):
        raise DataError("every candidate needs two or more labelled and two or more unlabelled questions with scores")
    return predicted, truth
