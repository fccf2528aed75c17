"""jaxrank: rank models from repeated trials or battles, with honest uncertainty, one table or 100,000 replicates."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxrank import errors, evaluation, methods
    from jaxrank.data import datasets
    from jaxrank.data.comparisons import Comparisons
    from jaxrank.data.kind import concat
    from jaxrank.data.rankings import Rankings
    from jaxrank.data.readers import from_frame, read
    from jaxrank.data.responses import Responses
    from jaxrank.errors import JaxrankError, JaxrankWarning
    from jaxrank.evaluation import answers, judges, scaling
    from jaxrank.evaluation.answers.curves import AnswerCurves
    from jaxrank.evaluation.answers.reading import read_answers
    from jaxrank.evaluation.answers.stops import Stopped
    from jaxrank.evaluation.answers.table import Answers
    from jaxrank.evaluation.table_tests import CriticalDifference, FriedmanTest, critical_difference, friedman
    from jaxrank.methods.catalogue import catalogue, entries
    from jaxrank.models import priors
    from jaxrank.models.fit import Fit
    from jaxrank.numerics import solvers
    from jaxrank.numerics.interval import Interval
    from jaxrank.numerics.orders import compare_rankings, n_rankings, ranking_number, ranking_of
    from jaxrank.numerics.ranks import kendall_tau, rank_scores, spearman, top_k_overlap, weighted_tau
    from jaxrank.numerics.separation import Superiority
    from jaxrank.numerics.status import Status
    from jaxrank.reports import leaderboard, report
    from jaxrank.resampling.clusters import clusters
    from jaxrank.results import plots
    from jaxrank.results.agreement import Agreement, FitTable
    from jaxrank.results.categories import Categories, EqualStrengths
    from jaxrank.results.coefficients import Coefficients, coefficients
    from jaxrank.results.comparison import Comparison
    from jaxrank.results.comparison_table import ComparisonTable
    from jaxrank.results.convergence import Convergence
    from jaxrank.results.costs import CostFrontier
    from jaxrank.results.factors import Factors
    from jaxrank.results.fit import Result
    from jaxrank.results.over_time import RatingsOverTime
    from jaxrank.results.pools import Pools
    from jaxrank.results.posterior import Posterior, load_posterior
    from jaxrank.results.posterior_by_category import PosteriorByCategory
    from jaxrank.results.ratings import Ratings, ratings
    from jaxrank.results.replicates import Replicates
    from jaxrank.results.storage import load
    from jaxrank.results.study import Summary
    from jaxrank.results.tiers import Tiers, tiers
    from jaxrank.studies.agreement import agreement, fit_all
    from jaxrank.studies.categories import by
    from jaxrank.studies.compare import compare, compare_all, runs
    from jaxrank.studies.convergence import convergence
    from jaxrank.studies.costs import cost_frontier
    from jaxrank.studies.diagnosis import Diagnosis, diagnose
    from jaxrank.studies.factors import compare_factors
    from jaxrank.studies.fit import fit
    from jaxrank.studies.over_time import ratings_over_time
    from jaxrank.studies.pools import model_pools
    from jaxrank.studies.posterior import numpyro_model, posterior
    from jaxrank.studies.replicates import bootstrap, subsample
    from jaxrank.studies.updates import update

__version__ = "0.1.0"

__all__ = [
    "Agreement",
    "AnswerCurves",
    "Answers",
    "Categories",
    "Coefficients",
    "Comparison",
    "ComparisonTable",
    "Comparisons",
    "Convergence",
    "CostFrontier",
    "CriticalDifference",
    "Diagnosis",
    "EqualStrengths",
    "Factors",
    "Fit",
    "FitTable",
    "FriedmanTest",
    "Interval",
    "JaxrankError",
    "JaxrankWarning",
    "Pools",
    "Posterior",
    "PosteriorByCategory",
    "Rankings",
    "Ratings",
    "RatingsOverTime",
    "Replicates",
    "Responses",
    "Result",
    "Status",
    "Stopped",
    "Summary",
    "Superiority",
    "Tiers",
    "agreement",
    "answers",
    "bootstrap",
    "by",
    "catalogue",
    "clusters",
    "coefficients",
    "compare",
    "compare_all",
    "compare_factors",
    "compare_rankings",
    "concat",
    "convergence",
    "cost_frontier",
    "critical_difference",
    "datasets",
    "diagnose",
    "entries",
    "errors",
    "evaluation",
    "fit",
    "fit_all",
    "friedman",
    "from_frame",
    "judges",
    "kendall_tau",
    "leaderboard",
    "load",
    "load_posterior",
    "methods",
    "model_pools",
    "n_rankings",
    "numpyro_model",
    "plots",
    "posterior",
    "priors",
    "rank_scores",
    "ranking_number",
    "ranking_of",
    "ratings",
    "ratings_over_time",
    "read",
    "read_answers",
    "report",
    "runs",
    "scaling",
    "solvers",
    "spearman",
    "subsample",
    "tiers",
    "top_k_overlap",
    "update",
    "weighted_tau",
]

# Each is imported when it is first asked for: what needs no arrays, as the help of the command line, need not wait for
# JAX.
_MODULES = {
    "errors": "jaxrank.errors",
    "evaluation": "jaxrank.evaluation",
    "methods": "jaxrank.methods",
    "datasets": "jaxrank.data.datasets",
    "answers": "jaxrank.evaluation.answers",
    "judges": "jaxrank.evaluation.judges",
    "scaling": "jaxrank.evaluation.scaling",
    "priors": "jaxrank.models.priors",
    "solvers": "jaxrank.numerics.solvers",
    "plots": "jaxrank.results.plots",
}
_PLACES = {
    "jaxrank.data.comparisons": "Comparisons",
    "jaxrank.data.kind": "concat",
    "jaxrank.data.rankings": "Rankings",
    "jaxrank.data.readers": "from_frame read",
    "jaxrank.data.responses": "Responses",
    "jaxrank.errors": "JaxrankError JaxrankWarning",
    "jaxrank.evaluation.answers.curves": "AnswerCurves",
    "jaxrank.evaluation.answers.reading": "read_answers",
    "jaxrank.evaluation.answers.stops": "Stopped",
    "jaxrank.evaluation.answers.table": "Answers",
    "jaxrank.evaluation.table_tests": "CriticalDifference FriedmanTest critical_difference friedman",
    "jaxrank.methods.catalogue": "catalogue entries",
    "jaxrank.models.fit": "Fit",
    "jaxrank.numerics.interval": "Interval",
    "jaxrank.numerics.orders": "compare_rankings n_rankings ranking_number ranking_of",
    "jaxrank.numerics.ranks": "kendall_tau rank_scores spearman top_k_overlap weighted_tau",
    "jaxrank.numerics.separation": "Superiority",
    "jaxrank.numerics.status": "Status",
    "jaxrank.reports": "leaderboard report",
    "jaxrank.resampling.clusters": "clusters",
    "jaxrank.results.agreement": "Agreement FitTable",
    "jaxrank.results.categories": "Categories EqualStrengths",
    "jaxrank.results.coefficients": "Coefficients coefficients",
    "jaxrank.results.over_time": "RatingsOverTime",
    "jaxrank.results.ratings": "Ratings ratings",
    "jaxrank.results.comparison": "Comparison",
    "jaxrank.results.comparison_table": "ComparisonTable",
    "jaxrank.results.convergence": "Convergence",
    "jaxrank.results.costs": "CostFrontier",
    "jaxrank.results.factors": "Factors",
    "jaxrank.results.fit": "Result",
    "jaxrank.results.pools": "Pools",
    "jaxrank.results.posterior": "Posterior load_posterior",
    "jaxrank.results.posterior_by_category": "PosteriorByCategory",
    "jaxrank.results.replicates": "Replicates",
    "jaxrank.results.storage": "load",
    "jaxrank.results.study": "Summary",
    "jaxrank.results.tiers": "Tiers tiers",
    "jaxrank.studies.agreement": "agreement fit_all",
    "jaxrank.studies.categories": "by",
    "jaxrank.studies.over_time": "ratings_over_time",
    "jaxrank.studies.updates": "update",
    "jaxrank.studies.compare": "compare compare_all runs",
    "jaxrank.studies.convergence": "convergence",
    "jaxrank.studies.costs": "cost_frontier",
    "jaxrank.studies.diagnosis": "Diagnosis diagnose",
    "jaxrank.studies.factors": "compare_factors",
    "jaxrank.studies.fit": "fit",
    "jaxrank.studies.pools": "model_pools",
    "jaxrank.studies.posterior": "numpyro_model posterior",
    "jaxrank.studies.replicates": "bootstrap subsample",
}
_MEANT = {
    **dict.fromkeys(("rank", "leaderboard", "Ranker", "run"), "jaxrank.fit(data)"),
    **{m: f'jaxrank.fit(data, "{m}")' for m in ("elo", "glicko", "trueskill", "bradley_terry", "borda", "rasch")},
    **{m: f"jaxrank.evaluation.{m}(data, k)" for m in ("pass_at_k", "pass_hat_k")},
    **dict.fromkeys(("load_dataset", "load_data", "data", "example"), 'jaxrank.datasets.load("misguided_attention")'),
    **dict.fromkeys(("read_csv", "load_csv", "from_csv", "open"), 'jaxrank.read("results.csv")'),
    **dict.fromkeys(("from_pandas", "from_dataframe", "from_df"), "jaxrank.from_frame(frame)"),
    **dict.fromkeys(("diff", "versus", "compare_models", "test"), "jaxrank.compare(data, new, old)"),
    **dict.fromkeys(("list_methods", "methods_list", "available"), "jaxrank.catalogue()"),
    **dict.fromkeys(("plot", "bar"), "jaxrank.fit(data).plot()"),
    **dict.fromkeys(("mcmc", "sample"), "jaxrank.posterior(data)"),
    **dict.fromkeys(("Battles", "battles", "matches"), "jaxrank.Comparisons(a, b, outcome)"),
}
"""What people look for here first, and where it is."""
_PLACE = {name: place for place, names in _PLACES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _PLACE:
        hint = f"; did you mean {_MEANT[name]}?" if name in _MEANT else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name)
    return getattr(importlib.import_module(_PLACE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
