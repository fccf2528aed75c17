"""``Status``: how an iteration or a fit ended, as a value."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """How a fit ended. The integer is what a batch stores; ``sentence`` is what a person reads."""

    CONVERGED = 0
    MAX_STEPS = 1
    NO_FINITE_OPTIMUM = 2
    DISCONNECTED = 3
    UNDEFINED = 4
    HOST_LIMIT = 5
    NOT_UNIQUE = 6

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]

    def __str__(self) -> str:
        return _SENTENCES[self]


_SENTENCES = {
    Status.CONVERGED: "converged",
    Status.MAX_STEPS: "stopped at the step limit before the criterion was met",
    Status.NO_FINITE_OPTIMUM: "no finite optimum: some models or questions are separated from the rest",
    Status.DISCONNECTED: "disconnected: some models were never compared, directly or through others",
    Status.UNDEFINED: "undefined: the data do not determine this score",
    Status.HOST_LIMIT: "the host solver reached its limit before it proved the optimum",
    Status.NOT_UNIQUE: "the optimum is not unique: the scores are one of several equally good solutions",
}
