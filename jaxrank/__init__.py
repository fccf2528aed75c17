"""jaxrank: rank models from repeated trials or battles, with honest uncertainty, one table or 100,000 replicates."""

from jaxrank import errors, methods, priors
from jaxrank.api import fit
from jaxrank.catalogue import catalogue, entries
from jaxrank.comparisons import Comparisons
from jaxrank.errors import JaxrankError, JaxrankWarning
from jaxrank.fit import Fit, Status
from jaxrank.ranking import kendall_tau, rank_scores, spearman, weighted_tau
from jaxrank.responses import Responses
from jaxrank.result import Result

__version__ = "0.1.0"
