"""Plots: each takes what it draws and ``ax=``, and returns Axes; ``return_data=True`` gives the data frame as well.

``ax`` is Axes of yours, an empty ``matplotlib.figure.Figure`` (which gets a size that fits), or None for a new pyplot
figure. Nothing is shown, saved or set globally. Results draw themselves by `Result.plot`, `Replicates.plot`,
`Convergence.plot`, `Posterior.plot` and `FitTable.plot`, with ``kind=`` a name under which a function below is
registered for their class in `jaxrank.results.drawing`. matplotlib is imported when the first
plot is drawn.
"""

from __future__ import annotations

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.rankings import Rankings
from jaxrank.data.responses import Responses
from jaxrank.results.agreement import Agreement, FitTable
from jaxrank.results.categories import Categories
from jaxrank.results.coefficients import Coefficients
from jaxrank.results.comparison import Comparison
from jaxrank.results.comparison_table import ComparisonTable
from jaxrank.results.convergence import Convergence
from jaxrank.results.costs import CostFrontier
from jaxrank.results.drawing import Drawer, register
from jaxrank.results.fit import Result
from jaxrank.results.over_time import RatingsOverTime
from jaxrank.results.plots.agreement_matrix import agreement
from jaxrank.results.plots.bump_chart import bump
from jaxrank.results.plots.chains import chain_ranks, effective_size, trace
from jaxrank.results.plots.coefficient_lines import coefficients
from jaxrank.results.plots.convergence_at_n import convergence
from jaxrank.results.plots.cost_and_score import frontier
from jaxrank.results.plots.critical_differences import critical_difference
from jaxrank.results.plots.forest_of_pairs import forest
from jaxrank.results.plots.hodge_parts import hodge
from jaxrank.results.plots.items import item_curves
from jaxrank.results.plots.judge_simplex import judge_ranks, judge_scores, judge_triangle
from jaxrank.results.plots.metric_chart import estimates
from jaxrank.results.plots.over_time import confidence_sequence
from jaxrank.results.plots.pass_by_k import pass_curves
from jaxrank.results.plots.profiles_by_threshold import profiles
from jaxrank.results.plots.question_dots import paired_dots
from jaxrank.results.plots.rank_shares import rank_distribution
from jaxrank.results.plots.ranking_chart import leaderboard
from jaxrank.results.plots.ranks_of_categories import ranks_by_category
from jaxrank.results.plots.responses import response_matrix
from jaxrank.results.plots.rules_by_n import answer_curves
from jaxrank.results.plots.scaling_levels import scaling_curves, scaling_parts
from jaxrank.results.plots.strengths_by_period import ratings_over_time
from jaxrank.results.plots.strengths_of_categories import strengths_by_category
from jaxrank.results.plots.superiority_matrix import superiority
from jaxrank.results.plots.tau_by_n import tau_curve
from jaxrank.results.plots.tier_lines import tiers
from jaxrank.results.plots.wins import win_matrix
from jaxrank.results.plots.wright import wright_map
from jaxrank.results.posterior import Posterior
from jaxrank.results.posterior_by_category import PosteriorByCategory
from jaxrank.results.study import Study

__all__ = [
    "agreement",
    "answer_curves",
    "bump",
    "chain_ranks",
    "coefficients",
    "confidence_sequence",
    "convergence",
    "critical_difference",
    "effective_size",
    "estimates",
    "forest",
    "frontier",
    "hodge",
    "item_curves",
    "judge_ranks",
    "judge_scores",
    "judge_triangle",
    "leaderboard",
    "paired_dots",
    "pass_curves",
    "profiles",
    "rank_distribution",
    "ranks_by_category",
    "ratings_over_time",
    "response_matrix",
    "scaling_curves",
    "scaling_parts",
    "strengths_by_category",
    "superiority",
    "tau_curve",
    "tiers",
    "trace",
    "win_matrix",
    "wright_map",
]

_RANKING: dict[str, Drawer] = {"leaderboard": leaderboard, "tiers": tiers, "superiority": superiority}

register(
    Result,
    {
        **_RANKING,
        "wins": win_matrix,
        "responses": response_matrix,
        "pass": pass_curves,
        "profiles": profiles,
        "critical_difference": critical_difference,
        "items": item_curves,
        "wright": wright_map,
        "hodge": hodge,
    },
)
register(Responses, {"responses": response_matrix, "wins": win_matrix})
register(Comparisons, {"wins": win_matrix})
register(Rankings, {"wins": win_matrix})
register(FitTable, {"agreement": agreement})
register(Agreement, {"agreement": agreement})
register(Study, {"ranks": rank_distribution, **_RANKING})
register(Convergence, {"tau": tau_curve, "convergence": convergence, "bump": bump})
_CHAINS: dict[str, Drawer] = {"trace": trace, "chain_ranks": chain_ranks, "ess": effective_size}
register(Posterior, {**_RANKING, "ranks": rank_distribution, **_CHAINS})
register(
    PosteriorByCategory,
    {"categories": strengths_by_category, **_RANKING, "ranks": rank_distribution, **_CHAINS},
)
register(Comparison, {"questions": paired_dots, "forest": forest})
register(ComparisonTable, {"forest": forest})
register(CostFrontier, {"frontier": frontier})
register(Coefficients, {"coefficients": coefficients})
register(RatingsOverTime, {"ratings": ratings_over_time})
register(Categories, {"ranks": ranks_by_category})
