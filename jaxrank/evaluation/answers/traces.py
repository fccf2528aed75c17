"""Signals of one completion from the log-probabilities of its tokens: what may serve as its score.

**logprobs** (T,): of the tokens that were drawn.  **top** (T, k): of the k most probable tokens at every place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from jaxrank.errors import DataError, OptionError
from jaxrank.models.options import check_choice, check_count, check_number

AGGREGATES = ("mean", "min", "max")
_OVER = {"mean": np.mean, "min": np.min, "max": np.max}
_STEPS = {"last": lambda x: x[-1], "min": np.min, "mean": np.mean, "prod": np.prod, "max": np.max}


def mean_logprob(logprobs: Any) -> float:
    """Mean log-probability of the tokens, in nats."""
    return float(_line(logprobs, "logprobs").mean())


def sequence_logprob(logprobs: Any) -> float:
    """Log-probability of the whole completion, in nats."""
    return float(_line(logprobs, "logprobs").sum())


def perplexity(logprobs: Any) -> float:
    """exp of minus the mean log-probability, 1 or more; lower is more confident."""
    return float(np.exp(-_line(logprobs, "logprobs").mean()))


def self_certainty(top: Any, aggregate: str = "mean") -> float:
    """Divergence of the uniform distribution over the k tokens from theirs, in nats, 0 or more [kang2025]."""
    logs = _renormalised(top)
    return _over(-np.log(logs.shape[1]) - logs.mean(axis=1), aggregate)


def token_entropy(top: Any, aggregate: str = "mean") -> float:
    """Entropy of the k tokens, made to sum to 1, in nats; lower is more confident."""
    logs = _renormalised(top)
    return _over(-(np.exp(logs) * logs).sum(axis=1), aggregate)


def varentropy(top: Any, aggregate: str = "mean") -> float:
    """Variance of the log-probability of the k tokens, made to sum to 1, under themselves."""
    logs = _renormalised(top)
    p = np.exp(logs)
    entropy = -(p * logs).sum(axis=1)
    return _over((p * (logs + entropy[:, None]) ** 2).sum(axis=1), aggregate)


def max_probability(top: Any, aggregate: str = "mean") -> float:
    """Probability of the most probable token."""
    return _over(np.exp(_table(top).max(axis=1)), aggregate)


def logprob_margin(top: Any, aggregate: str = "mean") -> float:
    """Log-probability of the most probable token less that of the second, in nats."""
    table = np.sort(_table(top), axis=1)
    if table.shape[1] < 2:
        raise DataError("a margin needs the two most probable tokens at every place; top has one")
    return _over(table[:, -1] - table[:, -2], aggregate)


def token_confidence(top: Any) -> Float[np.ndarray, " tokens"]:
    """Minus the mean log-probability of the k tokens, at every place [fu2025]: peaked distributions have high ones."""
    return -_table(top).mean(axis=1)


def group_confidence(top: Any, window: int = 2048) -> Float[np.ndarray, " windows"]:
    """`token_confidence` averaged over every window of so many tokens, at most the length [fu2025]."""
    check_count("window", window, 1)
    each = token_confidence(top)
    size = min(window, len(each))
    return np.lib.stride_tricks.sliding_window_view(each, size).mean(axis=1)


def deepconf(top: Any, mode: str = "mean", window: int = 2048, quantile: float = 0.1) -> float:
    """Confidence of a completion [fu2025]. **mode**: "mean" of all tokens, "tail" of the last ``window``, "lowest"
    window, or "bottom", the mean of the windows below their ``quantile``."""
    check_choice("mode", mode, ("mean", "tail", "lowest", "bottom"))
    check_count("window", window, 1)
    check_number("quantile", quantile, 0, 1, above=0)
    if mode in ("mean", "tail"):
        each = token_confidence(top)
        return float(each.mean() if mode == "mean" else each[-window:].mean())
    groups = group_confidence(top, window)
    if mode == "lowest":
        return float(groups.min())
    return float(groups[groups <= np.quantile(groups, quantile)].mean())


def deepconf_threshold(confidences: Any, keep: float = 0.1) -> float:
    """The confidence that a share ``keep`` of the warm-up completions reaches [fu2025]."""
    check_number("keep", keep, 0, 1, above=0)
    return float(np.quantile(_line(confidences, "confidences"), 1 - keep))


def deepconf_cut(top: Any, threshold: float, window: int = 2048) -> int | None:
    """Where a completion would be cut off [fu2025]: the place, from 0, of the last token of the first window whose mean
    confidence is below ``threshold``; None where none is."""
    groups = group_confidence(top, window)
    low = np.flatnonzero(groups < threshold)
    return int(low[0]) + len(_table(top)) - len(groups) if len(low) else None


def step_score(rewards: Any, method: str = "last") -> float:
    """One score of the rewards of the steps of a completion. **method**: "last", "min", "mean", "prod" or "max"."""
    check_choice("method", method, tuple(_STEPS))
    return float(_STEPS[method](_line(rewards, "rewards")))


def _over(values: np.ndarray, aggregate: str) -> float:
    check_choice("aggregate", aggregate, AGGREGATES)
    return float(_OVER[aggregate](values))


def _line(values: Any, what: str) -> np.ndarray:
    line = np.asarray(values, float)
    if line.ndim != 1 or not len(line) or not np.isfinite(line).all():
        raise DataError(f"{what} must be a list of finite numbers, one or more")
    return line


def _table(top: Any) -> np.ndarray:
    try:
        table = np.asarray(top, float)
    except (TypeError, ValueError):
        raise DataError("top must be (tokens, k), with as many log-probabilities at every place") from None
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise DataError("top must be (tokens, k), finite log-probabilities of the k most probable tokens")
    if table.max() > 1e-6:
        raise OptionError("top holds numbers above 0, which are no log-probabilities")
    return table


def _renormalised(top: Any) -> np.ndarray:
    table = _table(top)
    high = table.max(axis=1, keepdims=True)
    return table - high - np.log(np.exp(table - high).sum(axis=1, keepdims=True))
