"""``diagnose``: what in the data will trouble which methods, said before any of them is run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jaxrank.data.accepted import DataLike, as_data
from jaxrank.data.comparisons import Comparisons
from jaxrank.data.kind import Data
from jaxrank.data.names import look_alikes
from jaxrank.data.responses import Responses
from jaxrank.results.returned import Returned, named
from jaxrank.studies.diagnosis.battles import findings_of_battles
from jaxrank.studies.diagnosis.finding import CAUTION, NOTE, PROBLEM, Finding
from jaxrank.studies.diagnosis.parts import categories, cycles, drift, neighbours
from jaxrank.studies.diagnosis.shifts import covariates, side_bias, tie_convention
from jaxrank.studies.diagnosis.tensor import findings_of_responses
from jaxrank.studies.diagnosis.voters import battles_alike, bursts, one_sided_voters, one_voter, repetitions
from jaxrank.studies.diagnosis.votes import FEWEST, Votes, looked_at
from jaxrank.studies.diagnosis.wins import findings_of_wins

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CAUTION", "NOTE", "PROBLEM", "Diagnosis", "Finding", "diagnose"]


@dataclass(frozen=True, repr=False)
class Diagnosis(Returned):
    """All findings on one data set, problems first. ``str()`` is a report in plain text. Iterating gives every
    `Finding`, ``[name]`` the one of this name."""

    data: Data
    findings: tuple[Finding, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Findings that leave some methods without an answer."""
        return tuple(f for f in self.findings if f.severity == PROBLEM)

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __getitem__(self, name: str) -> Finding:
        return self.findings[named([f.name for f in self.findings], name, "finding")]

    def __contains__(self, name: object) -> bool:
        return any(finding.name == name for finding in self.findings)

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame, one row a finding: finding, severity, says, means, methods."""
        import pandas as pd

        return pd.DataFrame(self.to_dict())

    def _title(self) -> str:
        return repr(self.data)

    def _foot(self) -> list[str]:
        return list(self.data.notes)

    def __repr__(self) -> str:
        found = [sum(f.severity == level for f in self.findings) for level in (PROBLEM, CAUTION, NOTE)]
        words = ", ".join(
            f"{n} {word}{'s' * (n != 1)}" for n, word in zip(found, (PROBLEM, CAUTION, NOTE), strict=True)
        )
        return f"Diagnosis({words}; {self.data!r})"

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name, one row a finding."""
        return {
            "finding": [f.name for f in self.findings],
            "severity": [f.severity for f in self.findings],
            "says": [f.says for f in self.findings],
            "means": [f.means for f in self.findings],
            "methods": [", ".join(f.methods) for f in self.findings],
        }

    def __str__(self) -> str:
        lines = [repr(self.data)]
        lines += [f"  {note}" for note in self.data.notes]
        for f in self.findings:
            lines.append(f"{f.severity}: {f.name}: {f.says}")
            if f.means:
                lines.append(f"  {f.means}")
        return "\n".join(lines)


_OF_VOTES = (
    *(side_bias, covariates, tie_convention),
    *(one_sided_voters, one_voter, battles_alike, bursts, repetitions),
    *(drift, categories, cycles, neighbours),
)


def diagnose(data: DataLike) -> Diagnosis:
    """Look at any data that `jaxrank.fit` takes, of one model or more. Of trials and lists nothing is fitted.

    Of 100 battles or more Bradley-Terry is, by all that is known of them (voter, question, category, time, lengths):
    a bias to one side, covariates that shift votes, how ties count, voters who favour a model, the weight of one
    voter, battles that are alike, repetitions, drift, categories that differ, cycles, neighbours that are not told
    apart. What is tested comes up by chance in one of a thousand clean data sets.

    >>> import jaxrank as jr
    >>> found = jr.diagnose(jr.Comparisons(["ada", "ada"], ["bob", "cyd"], [1, 1]))
    >>> [finding.name for finding in found.problems]
    ['separation']
    """
    data, found = as_data(data, at_least=1), []
    if isinstance(data, Comparisons):
        found += findings_of_battles(data)
        if data.count.sum() >= FEWEST and len(data.models) > 1:
            found += looked_at(Votes(data), _OF_VOTES)
    elif isinstance(data, Responses):
        found += findings_of_responses(data)
    found += [_names(data), *findings_of_wins(data)]
    rank = {PROBLEM: 0, CAUTION: 1, NOTE: 2}
    return Diagnosis(data, tuple(sorted((f for f in found if f is not None), key=lambda f: rank[f.severity])))


def _names(data: Data) -> Finding | None:
    alike = look_alikes(data.models)
    if not alike:
        return None
    return Finding(
        "look-alike names",
        CAUTION,
        "; ".join(f"{a!r} and {b!r}" for a, b in alike[:5]),
        "They differ in invisible characters or Unicode form and are kept apart; if they are one model, rename one.",
        models=tuple(name for pair in alike for name in pair),
    )
