"""How one answer is made of n completions: every rule as totals of the answers, the largest of which wins.

What a rule reads of the completions so far: the votes of each answer, the sum of a weight that each completion has for
itself, and the best score of each answer (`Linear`); or weights by the rank of a completion's score (`Ranked`). Both
are worked out for one set of completions and for every prefix of ten thousand replicates by the same formulas.
"""

from __future__ import annotations

import abc
import functools
import math
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from jaxrank.data.names import nearest
from jaxrank.errors import OptionError
from jaxrank.models.options import check_choice, check_count, check_flag, check_number

NONE = -1e30
"""The total of an answer that cannot win."""


@dataclass(frozen=True)
class Rule(abc.ABC):
    """A way to choose among the answers of a question. **name**: what it is called in `RULES`."""

    name: ClassVar[str]
    reads_scores: ClassVar[bool] = True
    unit_scores: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """`OptionError` for an option out of its range."""
        return

    def formula(self) -> Rule:
        """The rule without the data that only its weights are made of: what compiled code depends on."""
        return self

    def __str__(self) -> str:
        return called(self)


class Linear(Rule):
    """Totals from votes, sums of weights and best scores."""

    @abc.abstractmethod
    def weights(self, scores: np.ndarray) -> np.ndarray:
        """The weight of each completion, (..., N), from the scores (..., N) of its question (on the host)."""

    @abc.abstractmethod
    def totals(self, votes: Any, sums: Any, best: Any, pool: Any, xp: Any) -> Any:
        """Totals of the answers, (K, ...), from their votes, sums of weights and best scores, and (1, ...) the mean of
        `pooled` over the completions with an answer."""

    def pooled(self, scores: np.ndarray) -> np.ndarray | None:
        """A number of each completion, (..., N), whose mean over all of them `totals` reads; None for none."""
        return None

    def by_best(self) -> bool:
        """Whether the best completion decides alone: its first place breaks ties, not that of the answer."""
        return False

    def reads_best(self) -> bool:
        """Whether `totals` reads the best scores."""
        return False


class Ranked(Rule):
    """Totals of weights by rank among the n completions with an answer, 0 for the highest score."""

    @abc.abstractmethod
    def weight(self, rank: Any, n: Any, xp: Any) -> Any:
        """The weight of rank 0..n-1."""

    def upto(self, rank: Any, n: Any, most: int, xp: Any) -> Any:
        """What the ranks before ``rank`` weigh together; None where that has no formula. **most**: the largest n."""
        return None

    def scored(self) -> bool:
        """Whether the weight is multiplied by the score."""
        return False

    def drops(self) -> bool:
        """Whether some ranks have no weight, so that their completions take no part."""
        return False


@dataclass(frozen=True)
class Majority(Linear):
    """The most frequent answer: self-consistency [wang2023]."""

    name = "majority"
    reads_scores = False

    def weights(self, scores: np.ndarray) -> np.ndarray:
        return np.zeros_like(scores)

    def totals(self, votes: Any, sums: Any, best: Any, pool: Any, xp: Any) -> Any:
        return votes


@dataclass(frozen=True)
class Weighted(Linear):
    """The answer with the largest sum, or mean, of scores. **aggregate**: "sum" or "mean". Sums are for scores of 0 and
    more: negative ones, such as log-probabilities, would speak against frequent answers (`Softmax` takes those)."""

    aggregate: str = "sum"
    name = "weighted"

    def check(self) -> None:
        check_choice("aggregate", self.aggregate, ("sum", "mean"))

    def weights(self, scores: np.ndarray) -> np.ndarray:
        return scores

    def totals(self, votes: Any, sums: Any, best: Any, pool: Any, xp: Any) -> Any:
        return sums if self.aggregate == "sum" else sums / xp.maximum(votes, 1)


@dataclass(frozen=True)
class Softmax(Linear):
    """The largest sum of exp((s - max s) / T) [taubenfeld2025]. **T**: above 0."""

    T: float = 1.0
    name = "softmax"

    def check(self) -> None:
        check_number("T", self.T, above=0)

    def weights(self, scores: np.ndarray) -> np.ndarray:
        return np.exp((scores - scores.max(axis=-1, keepdims=True)) / self.T)

    def totals(self, votes: Any, sums: Any, best: Any, pool: Any, xp: Any) -> Any:
        return sums


@dataclass(frozen=True)
class LogitWeighted(Linear):
    """The largest sum of logit s - logit b, scores in (0, 1) [kuang2025]. **b**: where a completion says nothing."""

    b: float = 0.5
    name = "logit_weighted"
    unit_scores = True

    def check(self) -> None:
        check_number("b", self.b, above=0, below=1)

    def weights(self, scores: np.ndarray) -> np.ndarray:
        return logit(scores) - logit(np.asarray(self.b))

    def totals(self, votes: Any, sums: Any, best: Any, pool: Any, xp: Any) -> Any:
        return sums


@dataclass(frozen=True)
class KdeWeighted(Linear):
    """The largest sum of log f1(s) - log f0(s) + log q (m - 1) / (1 - q): f1 and f0 are kernel densities of the logits
    of scores of right and of wrong completions, q is the mean chance of being right of these completions by their
    scores, and m the number of different answers [kuang2025]. `fit` makes it from completions that were judged.

    **right**, **wrong**: logits of the scores of such completions.  **bandwidths**: of both densities.  **edges**:
    inner limits of bins of scores, and **chances**, one more, the share that was right in each.
    """

    right: tuple[float, ...] = field(default=(), repr=False)
    wrong: tuple[float, ...] = field(default=(), repr=False)
    bandwidths: tuple[float, float] = (1.0, 1.0)
    edges: tuple[float, ...] = field(default=(), repr=False)
    chances: tuple[float, ...] = field(default=(0.5,), repr=False)
    name = "kde_weighted"
    unit_scores = True

    @classmethod
    def fit(cls, scores: Any, correct: Any, n_bins: int = 10) -> KdeWeighted:
        """From ``scores`` in (0, 1) of completions and whether each was right, arrays of one shape. Bandwidths are
        Scott's; bins hold about equal numbers of scores."""
        check_count("n_bins", n_bins, 1)
        s, good = np.ravel(np.asarray(scores, float)), np.ravel(np.asarray(correct)).astype(bool)
        known = np.isfinite(s)
        s, good = s[known], good[known]
        x = logit(s)
        parts = x[good], x[~good]
        if min(map(len, parts)) < 2:
            raise OptionError("kde_weighted is made from two right and two wrong completions or more")
        widths = [max(float(p.std(ddof=1)) * len(p) ** -0.2, 1e-3) for p in parts]
        edges = np.unique(np.quantile(s, np.arange(1, n_bins) / n_bins, method="nearest"))
        edges = edges[(edges > s.min()) & (edges < s.max())]
        place = np.searchsorted(edges, s, side="right")
        chances = np.bincount(place, weights=good) / np.bincount(place)
        return cls(tuple(parts[0]), tuple(parts[1]), (widths[0], widths[1]), tuple(edges), tuple(chances))

    def check(self) -> None:
        if min(len(self.right), len(self.wrong)) < 2:
            raise OptionError("kde_weighted needs judged completions: jaxrank.answers.KdeWeighted.fit(scores, correct)")
        if len(self.chances) != len(self.edges) + 1:
            raise OptionError(f"chances has {len(self.chances)} values; {len(self.edges)} edges make one more bin")

    def formula(self) -> Rule:
        return KdeWeighted((0.0, 0.0), (0.0, 0.0))

    def weights(self, scores: np.ndarray) -> np.ndarray:
        return np.interp(logit(scores), *_log_ratio(self))

    def pooled(self, scores: np.ndarray) -> np.ndarray | None:
        return np.asarray(self.chances)[np.searchsorted(self.edges, scores, side="right")]

    def totals(self, votes: Any, sums: Any, best: Any, pool: Any, xp: Any) -> Any:
        others = xp.maximum(xp.sum(votes > 0, axis=0, keepdims=True) - 1, 1)
        q = xp.clip(pool, 1e-6, 1 - 1e-6)
        return sums + votes * xp.log(q * others / (1 - q))


@dataclass(frozen=True)
class Cges(Linear):
    """The most probable answer where a completion is right with probability s and else gives any of the K - 1 others
    with equal probability, K one more than the answers seen [aghazadeh2026]."""

    name = "cges"
    unit_scores = True

    def weights(self, scores: np.ndarray) -> np.ndarray:
        return logit(scores)

    def totals(self, votes: Any, sums: Any, best: Any, pool: Any, xp: Any) -> Any:
        seen = xp.sum(votes > 0, axis=0, keepdims=True)
        return sums + votes * xp.log(xp.maximum(seen, 1))


@dataclass(frozen=True)
class BestOfN(Linear):
    """The answer of the completion with the highest score."""

    name = "best_of_n"

    def weights(self, scores: np.ndarray) -> np.ndarray:
        return np.zeros_like(scores)

    def totals(self, votes: Any, sums: Any, best: Any, pool: Any, xp: Any) -> Any:
        return best

    def by_best(self) -> bool:
        return True


@dataclass(frozen=True)
class BestOfMajority(Linear):
    """Of the answers with a share of the votes of **alpha** or more (of all, where none has) the one with the largest
    mean, sum or max of scores, **aggregate** [di2025]."""

    alpha: float = 0.25
    aggregate: str = "mean"
    name = "best_of_majority"

    def check(self) -> None:
        check_number("alpha", self.alpha, 0, 1)
        check_choice("aggregate", self.aggregate, ("mean", "sum", "max"))

    def weights(self, scores: np.ndarray) -> np.ndarray:
        return scores

    def totals(self, votes: Any, sums: Any, best: Any, pool: Any, xp: Any) -> Any:
        made = best if self.aggregate == "max" else sums if self.aggregate == "sum" else sums / xp.maximum(votes, 1)
        open_ = votes >= self.alpha * xp.sum(votes, axis=0, keepdims=True) - 1e-6
        return xp.where(open_ | ~xp.any(open_ & (votes > 0), axis=0, keepdims=True), made, NONE)

    def reads_best(self) -> bool:
        return self.aggregate == "max"


@dataclass(frozen=True)
class RankWeighted(Ranked):
    """The largest sum of (n - rank)^p, rank 0 the highest score [kang2025]. **p**: 0 or more."""

    p: float = 1.0
    name = "rank_weighted"

    def check(self) -> None:
        check_number("p", self.p, 0)

    def weight(self, rank: Any, n: Any, xp: Any) -> Any:
        left = xp.maximum(n - rank, 0)
        return left if self.p == 1 else left * left if self.p == 2 else left**self.p

    def upto(self, rank: Any, n: Any, most: int, xp: Any) -> Any:
        return rank * n - rank * (rank - 1) / 2 if self.p == 1 else None


@dataclass(frozen=True)
class Filtered(Ranked):
    """Of the top ceil(keep n) completions by score the answer with the largest sum of scores, or most votes without
    ``weighted`` [fu2025]. **keep**: above 0, at most 1."""

    keep: float = 0.5
    weighted: bool = True
    name = "filtered"

    def check(self) -> None:
        check_number("keep", self.keep, 0, 1, above=0)
        check_flag("weighted", self.weighted)

    def weight(self, rank: Any, n: Any, xp: Any) -> Any:
        return xp.where(rank < xp.ceil(self.keep * n - 1e-6), 1.0, 0.0)

    def upto(self, rank: Any, n: Any, most: int, xp: Any) -> Any:
        return xp.minimum(rank, xp.ceil(self.keep * n - 1e-6))

    def scored(self) -> bool:
        return self.weighted

    def drops(self) -> bool:
        return self.keep < 1


@dataclass(frozen=True)
class MajorityOfTheBests(Ranked):
    """The answer that is most often the best of m = floor(sqrt n) completions drawn with replacement: rank t weighs
    ((n - t)/n)^m - ((n - t - 1)/n)^m [rakhsha2025]."""

    name = "majority_of_the_bests"

    def weight(self, rank: Any, n: Any, xp: Any) -> Any:
        size = xp.maximum(n, 1)
        m = xp.floor(xp.sqrt(size) + 1e-6)
        left = xp.maximum((size - rank) / size, 0)
        return left**m - xp.maximum(left - 1 / size, 0) ** m

    def upto(self, rank: Any, n: Any, most: int, xp: Any) -> Any:
        size = xp.maximum(n, 1)
        m = xp.floor(xp.sqrt(size) + 1e-6).astype(int)
        left, power = xp.maximum(size - rank, 0) / size, 1.0
        for bit in range(math.isqrt(most).bit_length()):  # products are five times as fast as a power
            power = xp.where((m >> bit) & 1, power * left, power)
            left = left * left
        return 1 - power


RULES: dict[str, type[Rule]] = {
    rule.name: rule
    for rule in (
        *(Majority, Weighted, Softmax, RankWeighted, LogitWeighted, Filtered, BestOfN, MajorityOfTheBests),
        *(BestOfMajority, KdeWeighted, Cges),
    )
}


_SPOKEN = {**dict.fromkeys(("self_consistency", "vote", "voting"), "majority"), "bon": "best_of_n"}  # names elsewhere


def called(rule: Any) -> str:
    """The name of a rule, with the options that are not at their defaults and are shown at all."""
    shown = [
        f"{f.name}={value:g}" if isinstance(value := getattr(rule, f.name), float) else f"{f.name}={value}"
        for f in fields(rule)
        if f.repr and getattr(rule, f.name) != f.default
    ]
    return f"{rule.name}({', '.join(shown)})" if shown else rule.name


def rule_of(rule: str | Rule, **options: Any) -> Rule:
    """A rule from its name and options, or a rule as it is; `OptionError` names the rules that there are."""
    if isinstance(rule, Rule):
        if options:
            raise OptionError(f"{rule} has its options already; leave {', '.join(options)} out")
        return rule
    if rule not in RULES:
        near = nearest(_SPOKEN.get(str(rule), str(rule)), RULES, 1)
        raise OptionError(f"rule={rule!r}; {f'did you mean {near}? ' * bool(near)}the rules are {', '.join(RULES)}")
    made = RULES[rule]
    known = list(made.__dataclass_fields__)
    if unknown := [name for name in options if name not in known]:
        raise OptionError(f"{rule} has no option {', '.join(unknown)}; its options are: {', '.join(known) or 'none'}")
    return made(**options)


def logit(p: np.ndarray) -> np.ndarray:
    """log p / (1 - p), of p within 1e-12 of 0 and 1."""
    inside = np.clip(p, 1e-12, 1 - 1e-12)
    return np.log(inside) - np.log1p(-inside)


@functools.lru_cache(maxsize=8)
def _log_ratio(rule: KdeWeighted) -> tuple[np.ndarray, np.ndarray]:
    """Logits on a grid, and the log ratio of the densities of right and wrong completions there."""
    grid = np.linspace(-28, 28, 4001)
    ends = [np.asarray(part) for part in (rule.right, rule.wrong)]
    logs = [_log_density(grid, part, width) for part, width in zip(ends, rule.bandwidths, strict=True)]
    return grid, logs[0] - logs[1]


def _log_density(grid: np.ndarray, points: np.ndarray, width: float) -> np.ndarray:
    from scipy.special import logsumexp

    z = (grid[:, None] - points[None, :]) / width
    return logsumexp(-(z**2) / 2, axis=1) - np.log(len(points) * width)
