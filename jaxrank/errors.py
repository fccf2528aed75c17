"""The errors and warnings of the library: every one says what is wrong, where, and what to do."""

from __future__ import annotations


class JaxrankError(Exception):
    """Base of all errors that jaxrank raises on purpose."""


class DataError(JaxrankError, ValueError):
    """The input cannot be read as results: wrong shape, values, names or an empty axis."""


class OptionError(JaxrankError, ValueError):
    """An argument or a method option has a value outside its range, or does not exist."""


class UnknownMethodError(OptionError):
    """The requested method identifier is not in the catalogue."""


class UnsupportedDataError(JaxrankError, TypeError, ValueError):
    """The method cannot read data of this kind (categorical, counts only, battles, ...)."""


class NoFiniteOptimumError(JaxrankError, ArithmeticError):
    """The likelihood has no finite maximum: separated or disconnected data."""


class ConvergenceError(JaxrankError, ArithmeticError):
    """An iterative solver stopped before its criterion was met."""


class UndefinedScoreError(JaxrankError, ArithmeticError):
    """The score does not exist for this data (for example k larger than the number of trials)."""


class UnfinishedError(JaxrankError, RuntimeError):
    """A study that several processes share is not complete: this one's part is done."""


class StoppedError(JaxrankError, RuntimeError):
    """A study was asked to stop before it was complete."""


class JaxrankWarning(UserWarning):
    """Something in the data deserves a look; the result stands."""


def one_line(value: object) -> str:
    """A wrong value for a message: on one line, and no more than a line of it."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
