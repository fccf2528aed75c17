"""Signals of a completion and the predicates made from them: what a rubric can ask about an attempt.

Thresholds are percentiles of the observed signals, over the whole data set (pooled) or model by model.
Source: hariri2026dont, table 4; hariri2026ranking, appendix F.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxrank.errors import DataError
from jaxrank.models.options import check_number, numbers


@dataclasses.dataclass(frozen=True, eq=False)
class Signals:
    """Signals of every attempt, each an array (L, M, N), or None where unknown; NaN where an attempt is missing.

    **has_box**: 1 where the final answer is boxed.  **is_correct**: 0 or 1 (a share counts as correct from 1/2 on).
    **token_ratio**: completion tokens / 32768.  **repeated_pattern**: 1 where generation did not stop.
    **prompt_bpt**, **completion_bpt**: bits per token; lower is more confident.
    **completion_avg_logprob**, **logprob_min**, **completion_sum_logprob**: mean, least and sum of log-probabilities of
    the completion's tokens; **prompt_sum_logprob**, **prompt_perplexity**: of the prompt's.
    **compass_A**, **compass_B**, **compass_C**: a verifier's probabilities of correct, wrong, irrelevant.
    """

    is_correct: Any = None
    has_box: Any = None
    token_ratio: Any = None
    repeated_pattern: Any = None
    prompt_bpt: Any = None
    completion_bpt: Any = None
    compass_A: Any = None
    compass_B: Any = None
    compass_C: Any = None
    completion_avg_logprob: Any = None
    logprob_min: Any = None
    completion_sum_logprob: Any = None
    prompt_sum_logprob: Any = None
    prompt_perplexity: Any = None

    def __post_init__(self) -> None:
        shape = None
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            array = np.asarray(value, float)
            if array.ndim != 3:
                raise DataError(f"signal {field.name} has shape {array.shape}; it needs (models, questions, trials)")
            if shape not in (None, array.shape):
                raise DataError(f"signal {field.name} has shape {array.shape}, another signal {shape}; they must agree")
            shape = array.shape
            object.__setattr__(self, field.name, array)
        if shape is None:
            raise DataError("no signals: give at least one array (models, questions, trials)")

    @property
    def shape(self) -> tuple[int, int, int]:
        return next(v.shape for v in vars(self).values() if v is not None)

    @classmethod
    def from_frame(
        cls, frame: Any, model: str = "model", question: str = "question", trial: str = "trial"
    ) -> tuple[Signals, tuple[str, ...], tuple[str, ...]]:
        """Signals from a data frame (or a mapping of columns) in long form, with the names of models and questions.

        Columns named like the signals are read, others ignored; attempts that have no row are missing.
        """
        columns = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
        absent = [name for name in (model, question, trial) if name not in columns]
        if absent:
            raise DataError(f"no column {', '.join(map(repr, absent))}; the columns are {', '.join(map(str, columns))}")
        keys = [np.unique(np.asarray(frame[name]).astype(str), return_inverse=True) for name in (model, question)]
        # Trials are numbered in the order of their labels within a model and question.
        labels = np.unique(np.asarray(frame[trial]), return_inverse=True)
        (models, i), (questions, m), (trials, n) = *keys, labels
        shape = (len(models), len(questions), len(trials))
        flat = np.ravel_multi_index((i, m, n), shape)
        if len(np.unique(flat)) < len(flat):
            raise DataError("two rows have the same model, question and trial")
        arrays = {}
        for field in dataclasses.fields(cls):
            if field.name in columns:
                values = np.full(shape, np.nan)
                values.reshape(-1)[flat] = np.asarray(frame[field.name], float)
                arrays[field.name] = values
        return cls(**arrays), tuple(models.tolist()), tuple(questions.tolist())


def calibrated(logits: Any, baseline: Any, temperature: float = 1.0) -> np.ndarray:
    """A verifier's probabilities of its labels, softmax over the last axis of (logits - baseline) / temperature.

    **logits**: (..., labels) of the task, such as those of A, B, C after "The answer is".  **baseline**: the same of a
    prompt without content, broadcast, which takes out the verifier's preference for a label.  **temperature**: above 0.
    Source: hariri2026dont, appendix F.1, after Zhao et al. (2021), "Calibrate before use".
    """
    check_number("temperature", temperature, above=0)
    x, base = numbers("logits", logits), numbers("baseline", baseline)
    if not x.ndim or base.shape[-1:] != x.shape[-1:]:
        raise DataError(f"logits has shape {x.shape}, baseline {base.shape}; both end in the axis of the labels")
    z = (x - base) / temperature
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Predicates:
    """Boolean arrays (L, M, N) about the attempts of ``signals``, each computed when asked for.

    **pooled**: True takes thresholds over all attempts, False for each model from its own.  **A_low**: the verifier
    holds an attempt for wrong below it; the sources name this predicate without a number, and 0.3 is a choice of this
    library.
    """

    def __init__(self, signals: Signals, pooled: bool = True, A_low: float = 0.3) -> None:
        self.signals = signals
        self.pooled = pooled
        self.low = A_low
        self.read: set[str] = set()  # signals that were asked for so far

    def __getitem__(self, name: str) -> np.ndarray:
        """A signal by its name; `DataError` where the schema needs one that was not given."""
        value = getattr(self.signals, name)
        if value is None:
            raise DataError(f"this schema needs the signal {name}, which was not given")
        self.read.add(name)
        return value

    def percentile(self, values: np.ndarray, q: float, where: np.ndarray | None = None) -> np.ndarray:
        """The q-th percentile of ``values`` where ``where``, broadcastable to (L, M, N); NaN where there are none."""
        chosen = values if where is None else np.where(where, values, np.nan)
        if self.pooled:
            known = chosen[~np.isnan(chosen)]
            return np.full((1, 1, 1), np.percentile(known, q) if known.size else np.nan)
        rows = [row[~np.isnan(row)] for row in chosen.reshape(len(chosen), -1)]
        return np.array([np.percentile(r, q) if r.size else np.nan for r in rows])[:, None, None]

    def high(self, name: str) -> np.ndarray:
        """Attempts whose signal ``name`` is at its median or above."""
        values = self[name]
        return values >= self.percentile(values, 50)

    @property
    def observed(self) -> np.ndarray:
        """Attempts of which every signal that was asked for so far is known."""
        asked = self.read or {next(n for n, v in vars(self.signals).items() if v is not None)}
        return np.all([~np.isnan(getattr(self.signals, name)) for name in asked], axis=0)

    @property
    def attempted(self) -> np.ndarray:
        """Attempts of which any signal is known."""
        return np.any([~np.isnan(v) for v in vars(self.signals).values() if v is not None], axis=0)

    @property
    def repeated(self) -> np.ndarray:
        if self.signals.repeated_pattern is None:
            return np.zeros(self.signals.shape, bool)
        return self["repeated_pattern"] >= 0.5

    @property
    def invalid(self) -> np.ndarray:
        """Repeated, or irrelevant to the verifier (signals that were not given invalidate nothing)."""
        return self.repeated if self.signals.compass_C is None else self.repeated | (self["compass_C"] >= 0.5)

    @property
    def correct(self) -> np.ndarray:
        return self["is_correct"] >= 0.5

    @property
    def wrong(self) -> np.ndarray:
        return self["is_correct"] < 0.5

    @property
    def boxed(self) -> np.ndarray:
        return self["has_box"] >= 0.5

    @property
    def high_conf(self) -> np.ndarray:
        bits = self["completion_bpt"]
        return bits <= self.percentile(bits, 40)

    @property
    def wrong_high_conf(self) -> np.ndarray:
        bits = self["completion_bpt"]
        return self.wrong & (bits <= self.percentile(bits, 60, self.wrong))

    @property
    def correct_thirds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Correct attempts of low, middle and high confidence, by the thirds of completion_bpt among correct ones."""
        bits, right = self["completion_bpt"], self.correct
        first, second = (self.percentile(bits, q, right) for q in (33, 66))
        return right & (bits > second), right & (bits > first) & (bits <= second), right & (bits <= first)

    @property
    def ood(self) -> np.ndarray:
        bits = self["prompt_bpt"]
        return bits >= self.percentile(bits, 90)

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Economical, moderate and verbose attempts, by the thirds of token_ratio."""
        ratio = self["token_ratio"]
        first, second = self.percentile(ratio, 33), self.percentile(ratio, 66)
        return ratio <= first, (ratio > first) & (ratio <= second), ratio > second

    @property
    def verdict(self) -> np.ndarray:
        """0, 1, 2 where the verifier's largest probability is that of A, B, C."""
        return np.argmax(np.stack([self["compass_A"], self["compass_B"], self["compass_C"]]), axis=0)

    @property
    def A_high(self) -> np.ndarray:
        return self["compass_A"] >= 0.6

    @property
    def A_low(self) -> np.ndarray:
        return self["compass_A"] < self.low
