"""jaxrank: rank models from repeated trials or battles, with honest uncertainty, one table or 100,000 replicates."""

from jaxrank import datasets, errors, evaluation, methods, plots, priors
from jaxrank.agreement import Agreement, FitTable, agreement, fit_all
from jaxrank.api import fit
from jaxrank.catalogue import catalogue, entries
from jaxrank.comparisons import Comparisons
from jaxrank.convergence import Convergence
from jaxrank.diagnosis import Diagnosis, diagnose
from jaxrank.errors import JaxrankError, JaxrankWarning
from jaxrank.fit import Fit, Status
from jaxrank.io import from_frame, read
from jaxrank.orderings import Rankings
from jaxrank.pool_studies import model_pools
from jaxrank.pools import Pools
from jaxrank.posterior import numpyro_model, posterior
from jaxrank.posterior_draws import Posterior, load_posterior
from jaxrank.prefix_studies import convergence
from jaxrank.ranking import kendall_tau, rank_scores, spearman, top_k_overlap, weighted_tau
from jaxrank.replicates import Replicates, Summary
from jaxrank.report import report
from jaxrank.responses import Responses
from jaxrank.result import Result
from jaxrank.storage import load
from jaxrank.studies import bootstrap, subsample
from jaxrank.tiers import tiers

__version__ = "0.1.0"

__all__ = [
    "Agreement",
    "Comparisons",
    "Convergence",
    "Diagnosis",
    "Fit",
    "FitTable",
    "JaxrankError",
    "JaxrankWarning",
    "Pools",
    "Posterior",
    "Rankings",
    "Replicates",
    "Responses",
    "Result",
    "Status",
    "Summary",
    "agreement",
    "bootstrap",
    "catalogue",
    "convergence",
    "datasets",
    "diagnose",
    "entries",
    "errors",
    "evaluation",
    "fit",
    "fit_all",
    "from_frame",
    "kendall_tau",
    "load",
    "load_posterior",
    "methods",
    "model_pools",
    "numpyro_model",
    "plots",
    "posterior",
    "priors",
    "rank_scores",
    "read",
    "report",
    "spearman",
    "subsample",
    "tiers",
    "top_k_overlap",
    "weighted_tau",
]
