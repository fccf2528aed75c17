"""The catalogue: every method by its identifier, found by walking ``jaxrank.methods``."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import jaxrank.methods
from jaxrank.errors import OptionError, UnknownMethodError
from jaxrank.models.ranker import Entry, Ranker


@functools.cache
def entries() -> dict[str, Entry]:
    """All entries by identifier, in the order of the files and within them; duplicate identifiers are refused."""
    found: dict[str, Entry] = {}
    for module in _modules():
        for entry in module.ENTRIES:
            if entry.name in found:
                raise RuntimeError(
                    f"two methods are named {entry.name!r}: in {found[entry.name].family} and {entry.family}"
                )
            found[entry.name] = entry
    return found


def catalogue() -> list[str]:
    """The identifiers of all methods.

    >>> import jaxrank as jr
    >>> "bradley_terry" in jr.catalogue()
    True
    """
    return list(entries())


def entry(name: str) -> Entry:
    """The entry of an identifier, or of a name in speech that means one alone ("Bradley-Terry", "accuracy", "pass@k");
    `UnknownMethodError` with the nearest identifiers where there is none."""
    if name in entries():
        return entries()[name]
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower().replace("^", "_hat_")).strip("_")
    meant = plain if plain in entries() else ALIASES.get(plain)
    if meant is not None:
        return entries()[meant]
    spoken = next((meant for word, meant in SPOKEN.items() if re.fullmatch(word, plain)), ())
    near = list(spoken) or difflib.get_close_matches(plain, entries(), n=3)
    k = re.search(r"_(\d+)$", plain)
    option = f" with k={k[1]}" if k and spoken else ""
    hint = f"; did you mean {' or '.join(map(repr, near))}{option}?" if near else "."
    raise UnknownMethodError(f"unknown method {name!r}{hint} jaxrank.catalogue() lists all {len(entries())}")


ALIASES = {
    **dict.fromkeys(("acc", "accuracy", "mean", "average"), "avg"),
    **dict.fromkeys(("bt", "bradleyterry"), "bradley_terry"),
    **dict.fromkeys(("bayes_n", "bayes_at_n"), "bayes"),
    "pass_k": "pass_at_k",
    "unanimous_at_k": "pass_hat_k",
    "geo_spectrum_star_at_k": "geo_spectrum_at_k",
    "davidson": "bradley_terry_davidson",
    "pl": "plackett_luce",
}
"""What methods are called in speech, without capitals and signs, where one identifier is meant."""

SPOKEN = {
    r"pass_(at_)?\d+": ("pass_at_k",),
    r"pass_hat_\d+": ("pass_hat_k",),
    "default": ("avg",),
    "winrate": ("win_rate",),
    r"majority_vot(e|ing)|self_consistency|(maj|cons)(_at)?_\d+": ("maj_at_k",),
    "irt|1pl": ("rasch_map", "mml_rasch"),
    "mml": ("mml_rasch", "mml_2pl", "mml_3pl"),
    "2pl": ("rasch_2pl_map", "mml_2pl"),
    "3pl": ("mml_3pl",),
    "multidimensional(_irt)?|m2pl": ("mirt",),
}
"""The same where several are meant, or one with an option, as patterns: these are asked about."""


def make(method: str | Ranker, **options: Any) -> Ranker:
    """A ranker from an identifier or a ranker, with options set; `OptionError` names the options that exist."""
    if isinstance(method, Ranker):
        fields = [f.name for f in dataclasses.fields(method)]
        _check_options(type(method).__name__, options, fields)
        return dataclasses.replace(method, **options) if options else method
    if not isinstance(method, str):
        raise OptionError(f"method must be an identifier or a ranker, not {type(method).__name__}")
    found = entry(method)
    if options:
        _check_options(method, options, [f.name for f in dataclasses.fields(found.ranker())])
    return found.ranker(**options)


_ARGUMENTS = {
    **dict.fromkeys(("R0", "pairing", "dtype", "seed", "on_failure"), "jaxrank.fit"),
    **dict.fromkeys(
        ("n_replicates", "scheme", "keep", "chunk_size", "checkpoint", "progress"), "jaxrank.bootstrap and its kin"
    ),
    **dict.fromkeys(("n_samples", "n_warmup", "n_chains", "sampler", "priors"), "jaxrank.posterior"),
    **dict.fromkeys(("model", "question", "trial", "score", "levels", "threshold"), "jaxrank.from_frame"),
    "level": "interval, summary and to_frame of the result",
    "reference": "jaxrank.convergence",
    "size": "jaxrank.model_pools",
}
"""Arguments of the public calls, which a mistyped option may have meant, and where they belong."""
_SAME_ARGUMENT = {
    **dict.fromkeys(("B", "n_boot", "n_bootstrap", "n_resamples", "replicates"), "n_replicates"),
    **dict.fromkeys(("confidence", "confidence_level", "alpha", "ci"), "level"),
    **dict.fromkeys(("random_state", "rng", "key"), "seed"),
}
"""What some of them are called elsewhere."""


def _check_options(name: str, options: dict[str, Any], fields: list[str]) -> None:
    unknown = [key for key in options if key not in fields]
    if unknown:
        meant = _nearest(unknown[0], fields)
        owners = [] if meant in fields or unknown[0] in _ARGUMENTS else _with_option(unknown[0])
        verb = "has" if len(owners) == 1 else "have"
        hint = f"{', '.join(owners)} {verb} it. Its" if owners else f"did you mean {meant}? Its" if meant else "its"
        raise OptionError(
            f"{name} has no option {', '.join(map(repr, unknown))}; {hint} options are: {', '.join(fields) or 'none'}"
        )


def _with_option(key: str, most: int = 4) -> list[str]:
    """The first methods that have an option, one of each class."""
    first: dict[Any, str] = {}
    for entry in entries().values():
        if key in (f.name for f in dataclasses.fields(entry.ranker())):
            first.setdefault(entry.make, entry.name)
    return list(first.values())[:most]


def _nearest(key: str, fields: list[str]) -> str:
    """The option or argument that a name stands nearest to, and where it belongs; empty where none is near."""
    if key in _ARGUMENTS:
        return f"the argument of {_ARGUMENTS[key]}"
    if key in _SAME_ARGUMENT:
        return f"{_SAME_ARGUMENT[key]}, an argument of {_ARGUMENTS[_SAME_ARGUMENT[key]]}"
    known = [*fields, *_ARGUMENTS]
    other_case = [other for other in known if other.lower() == key.lower()]
    at_its_start = [other for other in known if other.startswith(f"{key}_") or key.startswith(f"{other}_")]
    near = other_case or at_its_start or difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    if not near:
        return ""
    return near[0] if near[0] in fields else f"{near[0]}, an argument of {_ARGUMENTS[near[0]]}"


def _modules() -> Iterator[Any]:
    package = jaxrank.methods
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        if hasattr(module, "ENTRIES"):
            yield module
