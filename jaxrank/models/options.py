"""Options of methods and arguments of calls: what a value may be, and the one sentence where it is something else.

A field of a ranker or a prior is made by `number`, `choice`, `count`, `flag` or `part`, which say what it may hold;
`check_fields` holds a new object to that. Values under a JAX trace are taken as they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

from jaxrank.errors import DataError, OptionError

LARGEST = 1e9
"""Largest size of a numeric option: its powers stay within float32."""
SMALLEST = 1e-9
"""Smallest option that must be above 0: its inverse powers stay within float32."""
MOST = 2**31 - 1
SEPARATION = ("raise", "nan", "extend")
"""What a method without a prior does where models or questions are all right or all wrong against the rest."""


def number(
    default: Any = None,
    low: float = -LARGEST,
    high: float = LARGEST,
    *,
    above: float | None = None,
    below: float | None = None,
    optional: bool | None = None,
    whole: bool = False,
    ndim: int | tuple[int, ...] = 0,
    length: int | None = None,
    check: Callable[[str, Any], None] | None = None,
    converter: Callable[[Any], Any] | None = None,
) -> Any:
    """A field for a numeric option: kept as a NumPy array, so that it is traced and a sweep does not compile again.

    **low**, **high**: its range, ends included; **above**, **below**: ends excluded.  **optional**: whether None is a
    value, by default where it is the default.  **whole**: whole numbers only.  **ndim**: axes that it may have, and
    **length** of the last.  **check**: a check of name and value after these.
    """
    none = default is None if optional is None else optional

    def checked(name: str, value: Any) -> None:
        if value is None and none:
            return
        check_number(name, value, low, high, above=above, below=below, whole=whole, ndim=ndim, length=length)
        if check is not None and not isinstance(value, Tracer):
            check(name, value)

    return eqx.field(default=default, converter=converter or as_number, metadata={"check": checked})


def normal_prior(default: Any) -> Any:
    """A field for a normal prior, (mean, standard deviation), or None for a flat one."""

    def check(name: str, value: Any) -> None:
        check_number(f"{name}[1], the standard deviation,", value[1], above=0)

    return number(default, ndim=1, length=2, optional=True, check=check)


def by_model(default: float, low: float = -LARGEST, *, above: float | None = None) -> Any:
    """A field for a number that may differ by model (`ByModel`): one, an array (L,), or a mapping from names."""

    def checked(name: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for model, own in value.items():
                check_number(f"{name}[{model!r}]", own, low, above=above)
        else:
            check_number(name, value, low, above=above, ndim=(0, 1))

    return eqx.field(default=default, converter=as_number, metadata={"check": checked})


def reference(default: Any) -> Any:
    """A field for a number, one for each question (M,), or a word: the name of a column of the question table, or one
    that the method knows (`ByQuestion`)."""

    def checked(name: str, value: Any) -> None:
        if not isinstance(value, str):
            check_number(name, value, ndim=(0, 1))

    return eqx.field(default=default, converter=as_number, metadata={"check": checked})


def choice(default: str, allowed: tuple[str, ...]) -> Any:
    """A field for an option that selects code by a word: static."""
    return _static(default, lambda name, value: check_choice(name, value, allowed))


def count(default: int | None, low: int = 1, high: int = MOST, *, optional: bool | None = None) -> Any:
    """A field for a whole number that sets a shape or a limit: static. None is a value where it is the default, or
    where ``optional`` says so."""
    none = default is None if optional is None else optional

    def checked(name: str, value: Any) -> None:
        if value is not None or not none:
            check_count(name, value, low, high)

    return _static(default, checked)


def flag(default: bool) -> Any:
    """A field for an option that is True or False: static."""
    return _static(default, check_flag)


def columns() -> Any:
    """A field for names of columns of the data, none by default: static. One name stands for a list of one."""

    def convert(value: Any) -> Any:
        if isinstance(value, str):
            return (value,)
        return tuple(value) if isinstance(value, list | tuple) else _hashable(value)

    def checked(name: str, value: Any) -> None:
        right = type(value) is tuple and all(isinstance(v, str) and v for v in value)
        if not right or len(set(value)) < len(value):
            raise OptionError(f"{name}={shown(value)}; it must be names of columns, each once")

    return eqx.field(default=(), static=True, metadata={"check": checked}, converter=convert)


def part(
    default: Any, kind: type, words: Mapping[str, Callable[..., Any]], converter: Callable[[Any], Any] | None = None
) -> Any:
    """A field for an object of one class: a solver, a prior, a quadrature.

    **words**: the makers by the words that may stand for them, as in "fixed:21" (`from_words`).  **converter**: what
    else makes such an object.
    """

    def convert(value: Any) -> Any:
        if isinstance(value, str):
            try:
                return from_words(value, words)
            except OptionError:
                return value  # the check knows the name of the option
        return value if converter is None else converter(value)

    def checked(name: str, value: Any) -> None:
        if isinstance(value, str):
            try:
                from_words(value, words)
            except OptionError as error:
                raise OptionError(f"{name}={shown(value)}: {error}") from None
        if not isinstance(value, kind):
            raise OptionError(f"{name}={shown(value)}; it must be a {kind.__name__} of {kind.__module__}")

    return eqx.field(default=default, converter=convert, metadata={"check": checked, "words": words})


def from_words(text: str, words: Mapping[str, Callable[..., Any]]) -> Any:
    """The object that a text names: a word, and after colons its numbers in their order or by name.

    "newton", "fixed:21", "gaussian:mean=0:var=2". `OptionError` lists the words, or says which number is wrong.
    """
    word, *numbers = (piece.strip() for piece in text.split(":"))
    make = words.get(word.lower())
    if make is None:
        raise OptionError(f"it must be one of the words {', '.join(words)}, with options after colons")
    names = _number_names(make)
    given: dict[str, Any] = {}
    for place, piece in enumerate(numbers):
        name, equals, value = piece.rpartition("=")
        name = name.strip() if equals else names[place] if place < len(names) else ""
        if name not in names or name in given:
            raise OptionError(f"{word} has the options {', '.join(names) or 'none'}, each once")
        try:
            given[name] = int(value) if value.strip().lstrip("+-").isdecimal() else float(value)
        except ValueError:
            raise OptionError(f"{name}={value!r} of {word} is no number") from None
    return make(**given)


def options_in_words(ranker: Any) -> dict[str, str]:
    """The fields of a method, as they are typed after ``--set``."""
    return {f.name: _option_in_words(f, getattr(ranker, f.name)) for f in dataclasses.fields(ranker) if f.init}


def _option_in_words(field: Any, value: Any) -> str:
    if "words" in field.metadata:
        return in_words(value, field.metadata["words"])
    if hasattr(value, "shape"):
        return f"{value.item():g}" if value.shape == () else str(value.tolist())
    return str(value)


def in_words(value: Any, words: Mapping[str, Callable[..., Any]]) -> str:
    """The text that `from_words` takes for an object; its class's name where no word stands for it."""
    word = next((word for word, make in words.items() if make is type(value)), None)
    if word is None:
        return type(value).__name__
    text = lambda x: f"{np.asarray(x).item():g}" if np.ndim(x) == 0 else shown(x)
    return ":".join([word, *(f"{name}={text(getattr(value, name))}" for name in _number_names(type(value)))])


def _number_names(make: Any) -> list[str]:
    return [f.name for f in dataclasses.fields(make) if isinstance(f.default, int | float)]


def _static(default: Any, check: Callable[[str, Any], None]) -> Any:
    more: dict[str, Any] = {"converter": _hashable}
    return eqx.field(default=default, static=True, metadata={"check": check}, **more)


class _Array(NamedTuple):
    """An array given where none can be, kept for the message: as a static field it could not be hashed."""

    text: str

    def __repr__(self) -> str:
        return self.text


def _hashable(value: Any) -> Any:
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    return _Array(shown(value)) if isinstance(value, np.ndarray | np.generic | jax.Array) else value


def check_fields(module: Any) -> None:
    """`OptionError` for the first field of a new object that holds what its maker does not allow."""
    for field in dataclasses.fields(module):
        if "check" in field.metadata:
            field.metadata["check"](field.name, getattr(module, field.name))


def as_number(value: Any) -> Any:
    """A number or an array of numbers as a float array; anything else as it is, for the check to name it."""
    if value is None or isinstance(value, jax.Array):
        return value
    array = _numbers(value)
    return value if array is None else array


def check_number(
    name: str,
    value: Any,
    low: float = -LARGEST,
    high: float = LARGEST,
    *,
    above: float | None = None,
    below: float | None = None,
    whole: bool = False,
    ndim: int | tuple[int, ...] = 0,
    length: int | None = None,
) -> None:
    """`OptionError` unless a value is a number in a range, or an array of such with as many axes as ``ndim`` says."""
    if isinstance(value, Tracer):
        return
    axes = (ndim,) if isinstance(ndim, int) else ndim
    array = _numbers(value)
    right = array is not None and array.ndim in axes and (length is None or array.shape[-1:] == (length,))
    if right and array is not None:
        inside = np.isfinite(array) & (np.abs(array) <= LARGEST)
        inside &= (array >= low) & (array <= high)
        if above is not None:
            inside &= (array > above) & (array - above >= SMALLEST)
        if below is not None:
            inside &= array < below
        if whole:
            inside &= array == np.round(array)
        if bool(np.all(inside)):
            return
    noun = "whole number" if whole else "number"
    if array is not None and not np.all(np.isfinite(array)):
        noun = f"finite {noun}"
    what = f"a {noun}" if 0 in axes else f"{length} {noun}s" if length else f"an array of {noun}s"
    lower = f"above {above:g}" if above is not None else f"{low:g} or more" if low > -LARGEST else ""
    upper = f"below {below:g}" if below is not None else f"at most {high:g}"
    if below is None and high >= LARGEST and not _beyond(array):
        upper = ""
    bounds = " and ".join(filter(None, (lower, upper)))
    raise OptionError(f"{name}={shown(value)}; it must be {what}{', ' if bounds else ''}{bounds}")


def check_count(name: str, value: Any, low: int = 1, high: int = MOST) -> None:
    """`OptionError` unless a value is a Python or NumPy integer from ``low`` to ``high``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or not low <= value <= high:
        upper = f" and at most {high}" if isinstance(value, int | np.integer) and value > high else ""
        raise OptionError(f"{name}={shown(value)}; it must be a whole number of {low} or more{upper}")


def check_flag(name: str, value: Any, optional: bool = False) -> None:
    """`OptionError` unless a value is True or False, or None where that is one (``optional``)."""
    if not isinstance(value, bool | np.bool_) and not (optional and value is None):
        raise OptionError(f"{name}={shown(value)}; it must be True or False{' or None' * optional}")


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """`OptionError` unless a value is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise OptionError(f"{name}={shown(value)}; it must be one of {', '.join(map(repr, allowed))}")


def shown(value: Any) -> str:
    """A value for a message: arrays as lists, and no more than a line of it."""
    text = repr(value.tolist() if isinstance(value, np.ndarray | np.generic | jax.Array) else value)
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def numbers(name: str, value: Any) -> np.ndarray:
    """Data that a call reads as a float array; `DataError` unless they are numbers."""
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{name}={shown(value)}; it must be an array of numbers") from None


def _numbers(value: Any) -> np.ndarray | None:
    """The value as a float array, or None where it is not made of numbers."""
    try:
        array = np.asarray(value)
        return array.astype(float) if array.dtype.kind in "iuf" else None
    except (TypeError, ValueError, OverflowError):
        return None


def _beyond(array: np.ndarray | None) -> bool:
    return array is not None and bool(np.any(np.abs(array) > LARGEST))
