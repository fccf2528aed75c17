"""When to stop asking for completions: rules that read the answers so far, replayed on recorded ones."""

from __future__ import annotations

import abc
import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int

from jaxrank.errors import OptionError
from jaxrank.evaluation.answers.rules import Cges, Majority, called
from jaxrank.evaluation.answers.tally import chosen, totals_of
from jaxrank.models.options import check_count, check_flag, check_number


@dataclass(frozen=True)
class Stop(abc.ABC):
    """A stopping rule. **name**: what it is called in `STOPS`."""

    name: ClassVar[str]
    reads_scores: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.check()

    @abc.abstractmethod
    def check(self) -> None:
        """`OptionError` for an option out of its range."""

    @abc.abstractmethod
    def stops(
        self, codes: Int[np.ndarray, "questions completions"], scores: np.ndarray | None, n_classes: int
    ) -> np.ndarray:
        """bool (questions,): whether it stops after all of these completions."""

    def __str__(self) -> str:
        return called(self)


@dataclass(frozen=True)
class AdaptiveConsistency(Stop):
    """Stops when the leading answer is ahead of the second with posterior probability ``threshold``: 1 - I_.5(v1 + 1,
    v2 + 1) of their votes [aggarwal2023]."""

    threshold: float = 0.95
    name = "adaptive_consistency"

    def check(self) -> None:
        check_number("threshold", self.threshold, 0.5, 1)

    def stops(self, codes: np.ndarray, scores: np.ndarray | None, n_classes: int) -> np.ndarray:
        return self.probability(codes, n_classes) >= self.threshold

    def probability(self, codes: np.ndarray, n_classes: int) -> Float[np.ndarray, " questions"]:
        """The posterior probability that the leader is ahead of the second, (questions,)."""
        return _ahead(_ordered_votes(codes, n_classes))


@dataclass(frozen=True)
class DirichletLeader(Stop):
    """Stops when the leading answer has the largest probability of all answers seen, with posterior probability
    ``threshold`` under a uniform Dirichlet prior [aggarwal2023]; of fewer than three answers as `AdaptiveConsistency`.
    """

    threshold: float = 0.95
    name = "dirichlet_leader"

    def check(self) -> None:
        check_number("threshold", self.threshold, 0, 1)

    def stops(self, codes: np.ndarray, scores: np.ndarray | None, n_classes: int) -> np.ndarray:
        return self.probability(codes, n_classes) >= self.threshold

    def probability(self, codes: np.ndarray, n_classes: int) -> Float[np.ndarray, " questions"]:
        """The posterior probability that the leader has the largest share, (questions,)."""
        votes = _ordered_votes(codes, n_classes)
        pair, few = _ahead(votes), (votes > 0).sum(axis=1) < 3
        return np.array([p if f else _leads(tuple(v[v > 0])) for v, f, p in zip(votes, few, pair, strict=True)])


def _ordered_votes(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes of the answers of each question, most first, (questions, classes), of two classes at least."""
    return -np.sort(-votes_of(codes, max(n_classes, 2)), axis=1)


def _ahead(votes: np.ndarray) -> Float[np.ndarray, " questions"]:
    """1 - I_.5(v1 + 1, v2 + 1) of the first two columns of ordered votes."""
    from scipy.special import betainc

    return 1 - betainc(votes[:, 0] + 1, votes[:, 1] + 1, 0.5)


@functools.lru_cache(maxsize=100_000)
def _leads(votes: tuple[float, ...]) -> float:
    """Pr(the first of independent Gamma(v + 1) is the largest), by Gauss-Legendre on the range that holds it."""
    from scipy.special import gammainc
    from scipy.stats import gamma

    low, high = gamma.ppf([1e-14, 1 - 1e-14], votes[0] + 1)
    x, w = np.polynomial.legendre.leggauss(200)
    at = low + (x + 1) / 2 * (high - low)
    below = np.prod([gammainc(v + 1, at) for v in votes[1:]], axis=0)
    return float((w * gamma.pdf(at, votes[0] + 1) * below).sum() * (high - low) / 2)


@dataclass(frozen=True)
class Esc(Stop):
    """Stops when the last ``window`` completions agree: windows follow each other, or with ``sliding`` every run of
    that length is one [li2024]. Completions without an answer agree with nothing."""

    window: int = 5
    sliding: bool = False
    name = "esc"

    def check(self) -> None:
        check_count("window", self.window, 1)
        check_flag("sliding", self.sliding)

    def stops(self, codes: np.ndarray, scores: np.ndarray | None, n_classes: int) -> np.ndarray:
        n = codes.shape[1]
        if n < self.window or (not self.sliding and n % self.window):
            return np.zeros(len(codes), bool)
        last = codes[:, -self.window :]
        return (last == last[:, :1]).all(axis=1) & (last[:, 0] >= 0)


@dataclass(frozen=True)
class Crp(Stop):
    """Stops when the leading answer would still lead after ``horizon`` completions with probability ``threshold``,
    where answers come as guests to a Chinese restaurant, new ones included [aggarwal2023]; at the horizon in any case.

    The concentration is Gamma(k, rate 1 + 0.5772 + log n) after k answers of n completions [west1992]. **n_draws**:
    futures that are simulated, each with its own concentration: at .95 the probability is off by .002 (one standard
    error of 10,000). **seed**: equal votes give equal probabilities.
    """

    threshold: float = 0.95
    horizon: int = 40
    n_draws: int = 10_000
    seed: int = 0
    name = "crp"

    def check(self) -> None:
        check_number("threshold", self.threshold, 0, 1)
        check_count("horizon", self.horizon, 1)
        check_count("n_draws", self.n_draws, 1)
        check_count("seed", self.seed, 0)

    def stops(self, codes: np.ndarray, scores: np.ndarray | None, n_classes: int) -> np.ndarray:
        return self.probability(codes, n_classes) >= self.threshold

    def probability(self, codes: np.ndarray, n_classes: int) -> Float[np.ndarray, " questions"]:
        """The probability that the leader still leads at the horizon, (questions,); 0 where there is no answer."""
        votes = votes_of(codes, max(n_classes, 1)).astype(int)
        found = np.zeros(len(codes))
        for m, row in enumerate(codes):
            seen = list(dict.fromkeys(row[row >= 0].tolist()))  # as they came: the first of equal ones leads
            if seen:
                found[m] = _stays(tuple(votes[m, seen].tolist()), self.horizon, self.n_draws, self.seed)
        return found


@functools.lru_cache(maxsize=100_000)
def _stays(votes: tuple[int, ...], horizon: int, n_draws: int, seed: int) -> float:
    """Share of futures in which the first of the answers with most votes still is that; new answers come later."""
    n, ahead = sum(votes), horizon - sum(votes)
    if ahead <= 0:
        return 1.0
    rng = np.random.default_rng([seed, horizon, *votes])
    alpha = rng.gamma(len(votes), 1 / (1 + np.euler_gamma + np.log(n)), n_draws)
    weights = rng.gamma(np.column_stack([np.tile(votes, (n_draws, 1)), np.maximum(alpha, 1e-300)]))
    drawn = rng.multinomial(ahead, weights / weights.sum(axis=1, keepdims=True))
    total, fresh = drawn[:, :-1] + np.array(votes), drawn[:, -1]
    leader = int(np.argmax(votes))
    stays = total.argmax(axis=1) == leader
    # Among the new answers the largest counts: each completion joins one of those before it, or is another answer.
    label = np.zeros((n_draws, ahead), int)
    count = np.zeros((n_draws, ahead + 1), int)
    rows = np.arange(n_draws)
    for j in range(int(fresh.max(initial=0))):
        joins = rng.random(n_draws) * (alpha + j) >= alpha
        label[:, j] = np.where(joins, label[rows, rng.integers(max(j, 1), size=n_draws)], j)
        count[rows, label[:, j]] += j < fresh
    return float((stays & (count.max(axis=1) <= total[:, leader])).mean())


@dataclass(frozen=True)
class CgesStop(Stop):
    """Stops when the answer of `Cges` has a probability of ``threshold`` or more [aghazadeh2026]; reads scores as the
    probability that a completion is right."""

    threshold: float = 0.95
    name = "cges_stop"
    reads_scores = True

    def check(self) -> None:
        check_number("threshold", self.threshold, 0, 1)

    def stops(self, codes: np.ndarray, scores: np.ndarray | None, n_classes: int) -> np.ndarray:
        return self.probability(codes, scores, n_classes) >= self.threshold

    def probability(
        self, codes: np.ndarray, scores: np.ndarray | None, n_classes: int
    ) -> Float[np.ndarray, " questions"]:
        """The probability of the leading answer, (questions,); 0 where there is none."""
        from scipy.special import logsumexp

        totals, _ = totals_of(Cges(), codes, scores, n_classes)
        none = (codes < 0).all(axis=1)
        rest = logsumexp(np.vstack([totals, np.zeros(len(codes))]), axis=0)  # and an answer not seen yet
        return np.where(none, 0.0, np.exp(totals.max(axis=0) - rest))


STOPS: dict[str, type[Stop]] = {s.name: s for s in (AdaptiveConsistency, DirichletLeader, Crp, Esc, CgesStop)}


@dataclass(frozen=True, eq=False)
class Stopped:
    """What a stopping rule did. **used**: int (L, M), completions until it stopped, N where it never did.  **stopped**:
    bool (L, M).  **accuracy**: (L,) with the completions used, and **full_accuracy** with all of them; None without
    the right answers.  **mean_used**: (L,)."""

    rule: str
    models: tuple[str, ...]
    used: Int[np.ndarray, "models questions"]
    stopped: np.ndarray
    accuracy: Float[np.ndarray, " models"] | None
    full_accuracy: Float[np.ndarray, " models"] | None

    @property
    def mean_used(self) -> Float[np.ndarray, " models"]:
        return self.used.mean(axis=1)

    def to_frame(self) -> Any:
        """A pandas frame, a row a model: mean_used, share_stopped, accuracy, full_accuracy."""
        import pandas as pd

        columns = {"model": self.models, "mean_used": self.mean_used, "share_stopped": self.stopped.mean(axis=1)}
        more = {"accuracy": self.accuracy, "full_accuracy": self.full_accuracy} if self.accuracy is not None else {}
        return pd.DataFrame({**columns, **more})


def stop_of(rule: str | Stop, **options: Any) -> Stop:
    """A stopping rule from its name and options; `OptionError` names the rules that there are."""
    if isinstance(rule, Stop):
        return rule
    if rule not in STOPS:
        raise OptionError(f"rule={rule!r}; the stopping rules are {', '.join(STOPS)}")
    fields = list(STOPS[rule].__dataclass_fields__)
    if unknown := [name for name in options if name not in fields]:
        raise OptionError(f"{rule} has no option {', '.join(unknown)}; its options are: {', '.join(fields)}")
    return STOPS[rule](**options)


def replay(
    codes: np.ndarray, good: np.ndarray | None, scores: np.ndarray | None, models: tuple[str, ...], rule: Stop
) -> Stopped:
    """Completions one after the other until the rule stops; then the majority of those, or the answer of `Cges`."""
    n_models, n_questions, n = codes.shape
    flat = codes.reshape(-1, n)
    values = None if scores is None else scores.reshape(-1, n)
    n_classes = max(int(codes.max()) + 1, 1)
    used, going = np.full(len(flat), n), np.arange(len(flat))
    stopped = np.zeros(len(flat), bool)
    for size in range(1, n + 1):
        part = None if values is None else values[going, :size]
        now = rule.stops(flat[going, :size], part, n_classes)
        used[going[now]], stopped[going[now]] = size, True
        going = going[~now]
        if not len(going):
            break
    accuracy = full = None
    if good is not None:
        judge = Cges() if rule.reads_scores else Majority()
        question = np.tile(np.arange(n_questions), n_models)
        shares = []
        for sizes in (used, np.full(len(flat), n)):
            right = np.zeros(len(flat))
            for size in np.unique(sizes):
                at = np.flatnonzero(sizes == size)
                part = None if values is None else values[at, :size]
                pick = chosen(*totals_of(judge, flat[at, :size], part, n_classes), "earliest")
                right[at] = np.where(pick >= 0, good[question[at], np.maximum(pick, 0)], False)
            shares.append(right.reshape(n_models, n_questions).mean(axis=1))
        accuracy, full = shares
    shape = (n_models, n_questions)
    return Stopped(str(rule), models, used.reshape(shape), stopped.reshape(shape), accuracy, full)


def votes_of(codes: np.ndarray, n_classes: int) -> Float[np.ndarray, "questions classes"]:
    """Votes of each answer, (questions, K)."""
    out = np.zeros((len(codes), n_classes))
    rows, columns = np.nonzero(codes >= 0)
    np.add.at(out, (rows, codes[rows, columns]), 1)
    return out
