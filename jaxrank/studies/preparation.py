"""Which methods run, and on what: the default of a kind of data, labels, what a method can read, who gets R0."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from jaxrank.data.accepted import DataLike
from jaxrank.data.ballots import Ballots
from jaxrank.data.kind import Data, check_kind
from jaxrank.data.moments import Moments, Samples
from jaxrank.data.readers import from_frame
from jaxrank.data.statistics import Pairs, Sequence
from jaxrank.errors import OptionError, UnsupportedDataError
from jaxrank.methods import catalogue
from jaxrank.methods.plackett_luce import PlackettLuce
from jaxrank.methods.plackett_luce_orders import PlackettLuceRankings
from jaxrank.models.options import check_choice, in_words, shown
from jaxrank.models.priors import Prior
from jaxrank.models.ranker import ByModel, ByQuestion, ChecksData, Method, NeedsPrior, Ranker

if TYPE_CHECKING:
    from jaxrank.evaluation.answers.rules import Rule
    from jaxrank.evaluation.answers.table import Answers

PAIRINGS = ("aligned", "all")

DEFAULT = {
    "responses": "avg",
    "comparisons": "bradley_terry_davidson_wide",
    "rankings": "plackett_luce_rankings_wide",
}
"""The method where none is named, by kind of data: it has an answer on all data of its kind."""

_INSTEAD = {
    "responses": "make jaxrank.Rankings of ordered lists, or use bayes, borda or bradley_terry_map",
    "comparisons": "use bradley_terry_davidson_wide or another method that reads pairs or a stream, as elo does",
    "rankings": "use plackett_luce_rankings_wide, borda or another method that reads lists, ballots or pairs",
}
_LISTS = {"plackett_luce": "plackett_luce_rankings", "plackett_luce_map": "plackett_luce_rankings_map"}
_READING = tuple(p.name for p in inspect.signature(from_frame).parameters.values() if p.kind is p.KEYWORD_ONLY)


def of_answers(
    data: DataLike | Answers, method: Method | Rule | None, options: Mapping[str, Any]
) -> tuple[DataLike, Method | None, dict[str, Any]]:
    """`Answers` as what a rule makes of them, right or wrong, ranked by its accuracy: the method is the rule, by
    default the majority, with its options, ``n`` and ``ties``. Other data as they are."""
    if "jaxrank.evaluation.answers" not in sys.modules:  # whoever has answers or a rule has imported it
        return data, cast("Method | None", method), dict(options)
    from jaxrank.evaluation.answers.rules import Rule
    from jaxrank.evaluation.answers.table import Answers

    if isinstance(data, Answers):
        if isinstance(method, Ranker):
            raise OptionError(
                f"{method_name(method)} ranks responses, not answers: jaxrank.fit(answers.responses(rule), method)"
            )
        return data.responses("majority" if method is None else method, **options), "avg", {}
    if isinstance(method, Rule):
        raise OptionError(f"{method} chooses among answers; give jaxrank.Answers(labels, ...) as data")
    return data, method, dict(options)


def method_name(method: str | Ranker) -> str:
    """What a method is called in results and messages: its identifier, whatever it was called in speech."""
    return catalogue.entry(method).name if isinstance(method, str) else type(method).__name__


def default_method(data: Data, R0: Any = None) -> str:
    """The identifier that ranks these data where no method is named; with earlier outcomes R0 one that reads them."""
    return gold_method(data) if R0 is not None else DEFAULT[data.form]


def gold_method(data: Data) -> str:
    """The identifier whose ranking of the whole data studies compare others with: Bayes@N where there are trials."""
    return "bayes" if data.questions and data.kind != "real" else DEFAULT[data.form]


USUAL = {
    "responses": (
        *("bayes", "avg", "pass_hat_k", "bradley_terry_map", "rasch_map", "borda", "copeland", "elo", "pagerank"),
        *("rank_centrality", "hodge_rank"),
    ),
    "comparisons": (
        *("bradley_terry_davidson_wide", "bradley_terry_map", "rao_kupper_map", "elo", "pagerank", "rank_centrality"),
        "hodge_rank",
    ),
    "rankings": (
        *("plackett_luce_rankings_wide", "bradley_terry_map", "borda", "copeland", "elo", "pagerank"),
        *("rank_centrality", "hodge_rank"),
    ),
}
"""By kind of data, methods of different families that take moments: what reports and the command line compare."""


def named_methods(methods: Any) -> dict[str, str | Ranker]:
    """Labels and methods, from one method, a sequence of them, or a mapping from labels of the caller's own.

    Rankers of one class are told apart by the options in which they differ. `OptionError` where two are the same.
    """
    if isinstance(methods, Mapping):
        named = {str(label): method for label, method in methods.items()}
    else:
        if not isinstance(methods, str | Ranker | Iterable):
            said = shown(methods)
            raise OptionError(f"methods={said}; it must be an identifier, a ranker, a list of them or a dict to them")
        several = [methods] if isinstance(methods, str | Ranker) else list(methods)
        labels = _labels(several)
        named = dict(zip(labels, several, strict=True))
        if len(named) < len(several):
            twice = sorted({label for label in labels if labels.count(label) > 1})
            raise OptionError(
                f"{', '.join(twice)} is named twice; leave one out, or pass a dict from labels to methods"
            )
    if not named:
        raise OptionError("methods is empty; name at least one method")
    return named


def _labels(methods: list[str | Ranker]) -> list[str]:
    labels = [method_name(m) for m in methods]
    for name in {label for label in labels if labels.count(label) > 1}:
        alike = [i for i, label in enumerate(labels) if label == name and isinstance(methods[i], Ranker)]
        rankers: list[Any] = [methods[i] for i in alike]
        options = [{f.name: _text(f, getattr(r, f.name)) for f in dataclasses.fields(r)} for r in rankers]
        differing = [key for key in (options[0] if options else {}) if len({o[key] for o in options}) > 1]
        for i, chosen in zip(alike, options, strict=True):
            if differing:
                labels[i] = f"{name}({', '.join(f'{key}={chosen[key]}' for key in differing)})"
    return labels


def _text(field: Any, value: Any) -> str:
    if "words" in field.metadata:
        return in_words(value, field.metadata["words"])
    return str(np.asarray(value).tolist()) if isinstance(value, np.ndarray) or np.isscalar(value) else str(value)


def priors_for(methods: Mapping[str, str | Ranker], R0: Any) -> dict[str, Any]:
    """Who gets the earlier outcomes R0, by label: those that cannot do without (bayes_greedy), and where none of them
    is among the methods, all that read a prior. `OptionError` where nobody does."""
    rankers = {label: catalogue.make(method) for label, method in methods.items()}
    if R0 is None:
        return dict.fromkeys(rankers)
    readers = [label for label, ranker in rankers.items() if isinstance(ranker, NeedsPrior)]
    takers = [label for label in readers if getattr(rankers[label], "needs_R0", False)] or readers
    if not takers:
        names = ", ".join(list(rankers)[:5])
        raise OptionError(f"{names}: no method here reads prior outcomes; leave R0 out, or name bayes_greedy")
    return {label: R0 if label in takers else None for label in rankers}


def check_pairing(rankers: Mapping[str, Ranker], data: Data, pairing: str) -> None:
    """``pairing`` is for methods that read pairs of trials: `OptionError` where methods or data have none."""
    check_choice("pairing", pairing, PAIRINGS)
    if pairing == "aligned":
        return
    if not data.questions:
        raise OptionError(f"pairing={pairing!r} is about trials of questions; {data.content} have none, leave it out")
    if rankers and not any(ranker.statistic is Pairs for ranker in rankers.values()):
        names = ", ".join(list(rankers)[:5])
        raise OptionError(f"pairing={pairing!r} is about methods that read pairs; {names} reads none, leave it out")


def ranker_for(method: str | Ranker, data: Data, options: Mapping[str, Any]) -> Ranker:
    """The ranker of a method for a kind of data: on ordered lists Plackett-Luce has one likelihood, that of lists."""
    if data.form == "rankings" and isinstance(method, str):
        method = _LISTS.get(method, method)
    elif data.form == "rankings" and isinstance(method, PlackettLuce):
        if method.separation != "raise":
            raise OptionError("separation is for pairs; on ordered lists use PlackettLuceRankings, with a prior")
        same = ("prior", "solver", "covariates", "side", "relative", "covariate_var")
        method = PlackettLuceRankings(**{name: getattr(method, name) for name in same})
    try:
        return catalogue.make(method, **options)
    except OptionError as error:
        reading = [key for key in options if key in _READING]
        if not reading or "has no option" not in str(error):
            raise
        said = ", ".join(f"{key}={options[key]!r}" for key in reading)
        raise OptionError(
            f"{said} says how to read a table, not how to rank: read it first, jaxrank.from_frame(frame, {said}) "
            f"or jaxrank.read(path, {said})"
        ) from None


def _check_real(ranker: Ranker, data: Any, name: str) -> None:
    """`UnsupportedDataError` for methods that need categories, with what would work."""
    by_order = ranker.statistic is Sequence and "rankings" in (ranker.kinds or Sequence.kinds)
    if (
        ranker.reads_moments
        or by_order
        or (ranker.statistic in (Ballots, Pairs, Moments, Samples) and not ranker.binary)
    ):
        if by_order and data.tie_within:
            raise UnsupportedDataError(f"{name} reads places, which tie_within does not make; leave tie_within out")
        return
    raise UnsupportedDataError(
        f"{name} reads right and wrong or grades, and these scores are real numbers; turn them into right and wrong "
        "(R >= threshold, or threshold= where a file is read), name the categories with levels=, or use avg, "
        "mean_rank, borda or bradley_terry_map"
    )


def _check_weights(ranker: Ranker, data: Any, name: str) -> None:
    """`UnsupportedDataError` for methods that take results one after the other, or whole ones only."""
    if ranker.statistic is Sequence:
        raise UnsupportedDataError(
            f"{name} reads results one after the other, which have no weights; leave weights out, or use avg, borda or "
            "bradley_terry_map"
        )
    if not ranker.fractional and np.any(data.weights != np.rint(data.weights)):
        raise UnsupportedDataError(f"{name} counts whole results; weights of questions must be whole numbers")


def prepare(method: str | Ranker, data: Data, R0: Any, options: Mapping[str, Any]) -> Ranker:
    """The ranker, after it was checked that it can read the data. ``R0`` is used, or refused by name."""
    ranker = ranker_for(method, data, options)
    name = method_name(method)
    if data.kind == "real":
        _check_real(ranker, data, name)
    elif ranker.binary and data.n_categories > 2:
        raise UnsupportedDataError(
            f"{name} is defined for outcomes 0 and 1; R has {data.n_categories} categories. "
            "Use bayes or avg, or turn R into 0 and 1 (for example R >= threshold)"
        )
    check_kind(data, ranker.kinds or ranker.statistic.kinds, name, _INSTEAD[data.form])
    if getattr(data, "weighted", False):
        _check_weights(ranker, data, name)
    if isinstance(ranker, NeedsPrior):
        ranker = ranker.with_prior(R0, data) if R0 is not None else ranker
    elif R0 is not None:
        raise OptionError(f"{name} reads no prior outcomes; leave R0 out")
    if isinstance(ranker, ByModel):
        ranker = ranker.for_models(data.models)
    if isinstance(ranker, ByQuestion):
        ranker = ranker.for_questions(data)
    prior = getattr(ranker, "prior", None)
    if isinstance(prior, Prior):
        prior.check_models(len(data.models))
    if isinstance(ranker, ChecksData):
        ranker.check(data)
    return cast(Ranker, ranker)
