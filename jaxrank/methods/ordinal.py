"""Bradley-Terry strengths from graded votes: how much better, not only who is."""

from __future__ import annotations

from typing import Any, ClassVar

from jaxrank.data.battle_statistic import BattleReader, Battles
from jaxrank.data.statistics import Pairs
from jaxrank.models.fit import Fit
from jaxrank.models.options import choice, columns, flag, number, part
from jaxrank.models.pairs.battles import WithCovariates, check_design, fit_battles
from jaxrank.models.pairs.grades import GradedOutcomes
from jaxrank.models.priors import PRIORS, Flat, Prior, as_prior
from jaxrank.models.ranker import Entry, Ranker
from jaxrank.numerics.solve.newton import Newton
from jaxrank.numerics.solve.solver import Solver
from jaxrank.numerics.solvers import SOLVERS


class BradleyTerryOrdinal(Ranker, WithCovariates):
    """Bradley-Terry strengths from grades: a cumulative link with symmetric thresholds.

    **Model** Pr(y <= c) = sigmoid(k_c - (theta_i - theta_j)), k_{-c-1} = -k_c increasing, y in -C..C how much i was
    better than j [agresti1992].
    **Reads** battles: the column "grade" where there is one, whose numbers say their order alone, else who won (C = 1,
    Rao-Kupper's model). Grades that nobody gave are no categories of their own.
    **Scores** log-strengths theta, mean 0 over models.
    **Fields** ``prior``, ``solver``, ``covariates``, ``side``, ``relative``, ``covariate_var`` as in `BradleyTerry`.
    ``separation``: "raise" or "nan" where there is no finite optimum.
    **Status** ``DISCONNECTED`` where models were never compared, ``NO_FINITE_OPTIMUM`` where strengths run off,
    ``MAX_STEPS``.
    **Params** ``thresholds`` k_0 .. k_{C-1}; k_0 is 0 where nothing tied. ``beta`` and ``delta`` with covariates.
    **Departs** a covariate and the side shift the difference, which the source does not have.
    """

    statistic: ClassVar[type] = Battles
    kinds: ClassVar[tuple[str, ...]] = ("comparisons",)
    prior: Prior = part(Flat(), Prior, PRIORS, as_prior)
    separation: str = choice("raise", ("raise", "nan"))
    solver: Solver = part(Newton(), Solver, SOLVERS)
    covariates: tuple[str, ...] = columns()
    side: bool = flag(False)
    relative: bool = flag(True)
    covariate_var: Any = number(None, above=0)

    @property
    def likelihood(self) -> GradedOutcomes:
        return GradedOutcomes()

    @property
    def reader(self) -> BattleReader:
        return BattleReader(self.design, graded=True)

    def observed(self, stat: Pairs) -> Pairs:
        return stat

    def check(self, data: Any) -> None:
        check_design(self, data)

    def __call__(self, stat: Any, *, key: None = None) -> Fit:
        return fit_battles(self, stat)


ENTRIES = (
    Entry("bradley_terry_ordinal", BradleyTerryOrdinal, source="agresti1992"),
    Entry("bradley_terry_ordinal_map", BradleyTerryOrdinal, source="agresti1992", options={"prior": 1.0}),
)
