"""Rubrics: a schema maps every attempt to a category 0..C with a weight; Bayes@N of the categories is the score.

    signals = rubrics.Signals(is_correct=R, has_box=box, completion_bpt=bits)
    rubrics.evaluate(signals, "conservative")                     # -> Estimate over models
    mine = rubrics.Schema("mine", ("wrong", "correct"), lambda p: (p.wrong, p.correct), weights=(0, 0, 1))
    rubrics.evaluate(signals, mine)

Category 0 is invalid. Sources: hariri2026ranking, table 20 (eight weighted schemes); hariri2026dont, table 5 (twelve);
scorio2026 (five with thresholds at the medians, whose category 0 is the one of least weight).
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxrank.errors import JaxrankWarning, OptionError
from jaxrank.evaluation.estimates import Estimate
from jaxrank.evaluation.metrics import bayes
from jaxrank.evaluation.signals import Predicates, Signals
from jaxrank.evaluation.signals import calibrated as calibrated
from jaxrank.models.options import check_flag, check_number

Rule = Callable[[Predicates], Sequence[np.ndarray]]


@dataclasses.dataclass(frozen=True)
class Schema:
    """A mapping of attempts to categories.

    **labels**: names of the categories 1..C.  **rule**: from `Predicates` to C boolean arrays (L, M, N), one a
    category; an attempt belongs to the first that holds, and to 0 where none does.  **weights**: C + 1 numbers, that
    of category 0 first, or None where they are to be given.  **invalid**: which attempts are in category 0 before
    anything else: "invalid", "repeated", or None.  **pooled**: whether thresholds are percentiles over all models, or
    for each model from its own attempts, as the source of the eight schemes has them.
    """

    name: str
    labels: tuple[str, ...]
    rule: Rule
    weights: tuple[float, ...] | None = None
    invalid: str | None = "invalid"
    pooled: bool = True

    def __post_init__(self) -> None:
        if self.weights is not None and len(self.weights) != len(self.labels) + 1:
            raise OptionError(
                f"schema {self.name!r} has {len(self.weights)} weights for {len(self.labels)} categories; "
                f"it needs {len(self.labels) + 1}, that of category 0 first"
            )

    def categories(self, signals: Signals, pooled: bool | None = None, A_low: float = 0.3) -> np.ndarray:
        """int (L, M, N): the category of every attempt, -1 where a signal that the schema reads is missing.

        **pooled**: in place of the schema's own.  **A_low**: as in `Predicates`. Warns where an attempt has some of
        these signals and not others.
        """
        check_flag("pooled", pooled, optional=True)
        check_number("A_low", A_low, 0, 1)
        p = Predicates(signals, self.pooled if pooled is None else pooled, A_low)
        out = np.zeros(signals.shape, int)
        invalid = getattr(p, self.invalid) if self.invalid else np.zeros(signals.shape, bool)
        chosen = self.rule(p)
        observed = p.observed
        self._warn(p, observed)
        free = observed & ~invalid
        if len(chosen) != len(self.labels):
            raise OptionError(f"schema {self.name!r} names {len(self.labels)} categories; its rule gives {len(chosen)}")
        for c, holds in enumerate(chosen, 1):
            here = free & holds
            out[here] = c
            free &= ~here
        return np.where(observed, out, -1)

    def _warn(self, p: Predicates, observed: np.ndarray) -> None:
        absent = {name: np.isnan(p[name]) for name in sorted(p.read)}
        partly = {name: int((hole & p.attempted).sum()) for name, hole in absent.items()}
        holes = [f"{name} of {n}" for name, n in partly.items() if n]
        if holes:
            n_partly = int((~observed & p.attempted).sum())
            warnings.warn(
                f"schema {self.name!r}: {n_partly} attempts have some of the signals that it reads and not others "
                f"(no {', '.join(holes)}); they count as missing",
                JaxrankWarning,
                stacklevel=4,
            )


def evaluate(
    signals: Signals,
    schema: str | Schema,
    *,
    weights: Sequence[float] | None = None,
    pooled: bool | None = None,
    A_low: float = 0.3,
    level: float = 0.95,
    **options: Any,
) -> Estimate:
    """Bayes@N of the categories of a schema (a name of `SCHEMES` or `SCHEMATA`, or a `Schema`).

    **weights** replace those of the schema. **pooled**: thresholds over the data set (True) or for each model from its
    own attempts (False); None as the schema has it. **A_low**: the verifier's probability of "correct" below which
    "verifier_calibrated" takes it for low; not published.
    **options**: R0 (categories), strength, method, n_draws, seed, dtype of `jaxrank.evaluation.bayes`.
    """
    schema = find(schema)
    w = schema.weights if weights is None else tuple(weights)
    if w is None:
        raise OptionError(
            f"schema {schema.name!r} has no published weights; give weights, {len(schema.labels) + 1} numbers"
        )
    if len(w) != len(schema.labels) + 1:
        raise OptionError(
            f"weights has {len(w)} numbers; schema {schema.name!r} has the categories 0..{len(schema.labels)}"
        )
    return bayes(schema.categories(signals, pooled, A_low), w=w, level=level, **options)


def evaluate_all(
    signals: Signals, schemas: Sequence[str | Schema] | None = None, **options: Any
) -> dict[str, Estimate]:
    """`evaluate` by several schemas, by their names; by default by those of `BY_MEDIANS`."""
    several = [find(schema) for schema in (BY_MEDIANS if schemas is None else schemas)]
    return {schema.name: evaluate(signals, schema, **options) for schema in several}


def find(schema: str | Schema) -> Schema:
    if isinstance(schema, Schema):
        return schema
    tables = (SCHEMES, SCHEMATA, BY_MEDIANS)
    for table in tables:
        if schema in table:
            return table[schema]
    names = dict.fromkeys(name for table in tables for name in table)
    raise OptionError(f"unknown schema {schema!r}; there are {', '.join(names)}")


def _cross(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [a & b for a in first for b in second]


def _boxes(p: Predicates) -> tuple[np.ndarray, np.ndarray]:
    return ~p.boxed, p.boxed


def _confidence(p: Predicates) -> tuple[np.ndarray, np.ndarray]:
    return ~p.high_conf, p.high_conf


def _results(p: Predicates) -> tuple[np.ndarray, np.ndarray]:
    return p.wrong, p.correct


def _by_confidence(p: Predicates) -> list[np.ndarray]:
    return [p.wrong & p.high_conf, p.wrong, p.correct]


def _confident_errors(p: Predicates) -> list[np.ndarray]:
    return [p.wrong_high_conf, p.wrong, p.correct]  # what is wrong and not confidently so is in the second


def _by_length(p: Predicates) -> list[np.ndarray]:
    return _cross(_results(p), p.lengths)


def _by_box(p: Predicates) -> list[np.ndarray]:
    return _cross(_results(p), _boxes(p))


def _box_and_confidence(p: Predicates) -> list[np.ndarray]:
    return [
        p.wrong & ~p.boxed,
        *_cross([p.wrong & p.boxed], _confidence(p)),
        *_cross(_cross([p.correct], _boxes(p)), _confidence(p)),
    ]


def _by_prompt(p: Predicates) -> list[np.ndarray]:
    return _cross(_results(p), (p.ood, ~p.ood))


def _rare_event(p: Predicates) -> list[np.ndarray]:
    # An attempt that is wrong and gives no boxed answer abstains.
    abstain = p.wrong & ~p.boxed
    return [*(a & ~abstain for a in _cross((p.ood, ~p.ood), _results(p))), abstain]


def _verifier_calibrated(p: Predicates) -> list[np.ndarray]:
    middle = ~p.A_low & ~p.A_high
    return [p.wrong & p.A_high, p.wrong & ~p.A_high, p.correct & p.A_low, p.correct & middle, p.correct & p.A_high]


def _verdicts(p: Predicates) -> list[np.ndarray]:
    return [p.verdict == 2, p.verdict == 1, p.verdict == 0]


def _verdicts_at_threshold(p: Predicates) -> list[np.ndarray]:
    """Correct from A = 0.6 on; else what of B and C is larger."""
    irrelevant = p["compass_C"] > p["compass_B"]
    return [~p.A_high & irrelevant, ~p.A_high, p.A_high]


def _conf_calibrated(p: Predicates) -> list[np.ndarray]:
    return [p.wrong & ~p.wrong_high_conf, p.wrong_high_conf, *p.correct_thirds]


def _strict(p: Predicates) -> list[np.ndarray]:
    return [p.wrong | ~p.boxed, p.correct & p.boxed]


def _verifier_probability(p: Predicates) -> list[np.ndarray]:
    return [p.wrong & p.A_high, p.wrong & ~p.A_high, p.correct & ~p.A_high, p.correct & p.A_high]


def _concise(p: Predicates) -> list[np.ndarray]:
    short, medium, long = p.lengths
    brief = p.correct & short
    return [p.wrong, p.correct & long, p.correct & medium, brief & ~p.high_conf, brief & p.high_conf]


def _confident_and_correct(p: Predicates) -> list[np.ndarray]:
    high = p.high("completion_avg_logprob")
    return [p.wrong & ~high, p.correct & ~high, p.correct & high]


def _surprise(p: Predicates) -> list[np.ndarray]:
    smooth = p.high("logprob_min")
    return [p.wrong & smooth, p.correct & ~smooth, p.correct & smooth]


def _boxed_and_correct(p: Predicates) -> list[np.ndarray]:
    return [p.wrong & p.boxed, p.correct & ~p.boxed, p.correct & p.boxed]


def _difficulty(p: Predicates) -> list[np.ndarray]:
    hard = p.high("prompt_perplexity")
    return [p.wrong & hard, p.correct & ~hard, p.correct & hard]


def _input_and_output(p: Predicates) -> list[np.ndarray]:
    prompt, completion = p.high("prompt_sum_logprob"), p.high("completion_sum_logprob")
    neither = ~prompt & ~completion
    return [p.wrong & ~neither, p.correct & neither, p.correct & prompt, p.correct & ~prompt & completion]


_CONFIDENT = ("wrong, high confidence", "wrong, low confidence", "correct")
_LENGTHS = tuple(f"{r}, {v}" for r in ("wrong", "correct") for v in ("economical", "moderate", "verbose"))
_BOXES = ("wrong, unboxed", "wrong, boxed", "correct, unboxed", "correct, boxed")
_COMPOSITE = (
    "wrong, unboxed",
    *(f"wrong, boxed, {v} confidence" for v in ("low", "high")),
    *(f"correct, {b}, {v} confidence" for b in ("unboxed", "boxed") for v in ("low", "high")),
)
_PROMPTS = ("out of distribution, wrong", "wrong", "out of distribution, correct", "correct")
_RARE = ("out of distribution, wrong", "out of distribution, correct", "wrong", "correct", "abstain")
_CALIBRATED = ("wrong, A high", "wrong, A not high", *(f"correct, A {v}" for v in ("low", "middle", "high")))
_VERDICTS = ("irrelevant", "wrong by the verifier", "correct by the verifier")

SCHEMES: dict[str, Schema] = {
    s.name: dataclasses.replace(s, pooled=False)
    for s in (
        Schema("conservative", _CONFIDENT, _by_confidence, (0, -0.10, 0.05, 1)),
        Schema("efficiency_adjusted", _LENGTHS, _by_length, (0, 0.10, 0.07, 0.03, 1, 0.92, 0.85)),
        Schema("format_aware", _BOXES, _by_box, (0, 0.10, 0.05, 0.90, 1)),
        Schema("balanced", _COMPOSITE, _box_and_confidence, (0, 0.10, 0.06, -0.02, 0.90, 0.95, 0.97, 1)),
        Schema("ood_robust", _PROMPTS, _by_prompt, (0, 0.05, 0.10, 0.95, 1)),
        Schema("rare_event", _RARE, _rare_event, (0, 0.05, 1, 0.08, 0.95, 0.20)),
        Schema("verifier_calibrated", _CALIBRATED, _verifier_calibrated, (0, -0.05, 0.05, 0.88, 0.94, 1)),
        Schema("verifier_only", _VERDICTS, _verdicts, (0, 0, 0.1, 1), invalid="repeated"),
    )
}

SCHEMATA: dict[str, Schema] = {
    s.name: s
    for s in (
        Schema("exact_match", ("wrong", "correct"), _results, (0, 0, 1)),
        Schema("format_aware", _BOXES, _by_box),
        Schema(
            "conf_calibrated",
            (
                "wrong, low confidence",
                "wrong, high confidence",
                *(f"correct, {v} confidence" for v in ("low", "middle", "high")),
            ),
            _conf_calibrated,
        ),
        Schema("ood_robustness", _PROMPTS, _by_prompt),
        Schema("strict_compliance", ("wrong or unboxed", "correct, boxed"), _strict, (0, 0, 1)),
        Schema("conf_wrong_penalty", _CONFIDENT, _confident_errors),
        Schema("verifier_only", _VERDICTS, _verdicts_at_threshold),
        Schema("format_confidence", _COMPOSITE, _box_and_confidence),
        Schema("length_robust", ("wrong", "correct"), _results, (0, 0, 1)),
        Schema("verifier_prob", (*_CALIBRATED[:2], "correct, A not high", "correct, A high"), _verifier_probability),
        Schema("efficiency_adjusted", _LENGTHS, _by_length),
        Schema(
            "concision_high_conf",
            ("wrong", *(f"correct, {v}" for v in ("verbose", "moderate", "economical", "economical, high confidence"))),
            _concise,
        ),
    )
}

BY_MEDIANS: dict[str, Schema] = {
    s.name: dataclasses.replace(s, invalid=None)
    for s in (
        Schema(
            "confident_correct",
            ("wrong, low confidence", "correct, low confidence", "correct, high confidence"),
            _confident_and_correct,
            (0.1, 0.2, 0.6, 1),
        ),
        Schema(
            "token_surprise",
            ("wrong, smooth", "correct, surprising", "correct, smooth"),
            _surprise,
            (0.1, 0.3, 0.6, 0.9),
        ),
        Schema(
            "format_correct",
            ("wrong, boxed", "correct, unboxed", "correct, boxed"),
            _boxed_and_correct,
            (0, 0.3, 0.6, 1),
        ),
        Schema(
            "difficulty_adjusted", ("wrong, hard", "correct, easy", "correct, hard"), _difficulty, (0.1, 0.4, 0.7, 1)
        ),
        Schema(
            "io_ratio",
            (
                "wrong, prompt or completion high",
                "correct, both low",
                "correct, prompt high",
                "correct, prompt low, completion high",
            ),
            _input_and_output,
            (0.1, 0.2, 0.5, 0.8, 1),
        ),
    )
}
"""Five schemata with levels cut at the medians of all attempts. Category 0 is what the labels leave: wrong and
confident, wrong and surprising, wrong and unboxed, wrong and easy, wrong and both low."""
