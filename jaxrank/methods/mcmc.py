"""Bayesian Bradley-Terry by Markov chain Monte Carlo: posterior mean strengths from NumPyro's NUTS."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.data.statistics import Pairs
from jaxrank.models.fit import Fit
from jaxrank.models.likelihood import maximise
from jaxrank.models.options import count, number
from jaxrank.models.pairs.likelihoods import BradleyTerryLikelihood
from jaxrank.models.pairs.unread import unread_pairs
from jaxrank.models.priors import Gaussian
from jaxrank.models.ranker import Entry, LeavesUnread, Ranker
from jaxrank.numerics.chains import ess_mean, r_hat
from jaxrank.numerics.sampling import nuts
from jaxrank.numerics.solve.newton import Newton
from jaxrank.numerics.status import Status

MAX_R_HAT, MIN_ESS = 1.05, 100.0


class BayesianMCMC(Ranker, LeavesUnread):
    """Posterior mean Bradley-Terry strengths, sampled.

    **Model** Pr(i > j) = sigmoid(theta_i - theta_j), ties dropped, theta_i ~ N(0, prior_var) independently
    [bradleyterry1952; hariri2026ranking], sampled by the No-U-Turn sampler [hoffman2014].
    **Reads** pairs. It runs on the host, in float64, one statistic at a time.
    **Scores** posterior means of theta, mean 0 over models.
    **Fields** ``prior_var`` > 0: variance of a strength, default 1.  ``n_samples``: draws kept in all, default 5,000,
    shared by ``n_chains`` chains, default 4.  ``burnin``: warm-up steps of each chain, default 1,000.
    **Params** ``sd`` posterior standard deviations of centred strengths, ``monte_carlo_error``, ``r_hat``, ``ess``
    (models,), ``divergences``.
    **Status** ``MAX_STEPS`` where R-hat of a model is above 1.05 or its effective sample size below 100: the chains
    have not converged.
    **Departs** the common level, of which the data say nothing, is integrated out: strengths are zero-sum normal,
    which leaves the means as they are. NUTS replaces the published random walk, whose default length does not
    converge. Models are sampled in the order of their posterior modes, and models with the same data share the mean of
    their draws, so that neither labels nor Monte Carlo noise separate them; other neighbours tie within three Monte
    Carlo errors.
    """

    statistic: ClassVar[type] = Pairs
    host: ClassVar[bool] = True
    stochastic: ClassVar[bool] = True
    prior_var: Any = number(1.0, above=0)
    n_samples: int = count(5000, high=10**8)
    burnin: int = count(1000, high=10**8)
    n_chains: int = count(4, high=10**4)

    def unread(self, stat: Pairs) -> str:
        return unread_pairs(stat, 'jaxrank.posterior(data, "bradley_terry_davidson") reads them')

    def __call__(self, stat: Pairs, *, key: Any = None) -> Fit:
        dtype = np.asarray(stat.wins).dtype
        wins = np.asarray(stat.wins, float)
        key_data = np.asarray(jax.random.key_data(key))
        with jax.enable_x64(True):
            variance = jnp.asarray(float(self.prior_var))
            order = _canonical(wins, np.asarray(_mode(jnp.asarray(wins), variance)))
            per_chain = -(-self.n_samples // self.n_chains)
            run = _compiled(len(wins), self.burnin, per_chain)
            keys = jax.random.split(jax.random.wrap_key_data(jnp.asarray(key_data)), self.n_chains)
            draws, extras = run(keys, jnp.asarray(wins[np.ix_(order, order)]), variance)
        theta = np.empty(draws["theta"].shape)
        theta[..., order] = np.asarray(draws["theta"])
        theta = theta @ _twin_average(wins)
        scores = theta.mean(axis=(0, 1))
        ess, rhat = ess_mean(theta), r_hat(theta)
        sd = theta.reshape(-1, len(wins)).std(axis=0, ddof=1)
        error = sd / np.sqrt(ess)
        good = np.all(rhat <= MAX_R_HAT) and np.all(ess >= MIN_ESS)
        params = {
            "sd": sd.astype(dtype),
            "monte_carlo_error": error.astype(dtype),
            "r_hat": rhat.astype(dtype),
            "ess": ess.astype(dtype),
            "divergences": np.asarray(np.sum(np.asarray(extras["diverging"]))),
        }
        return Fit(
            scores=jnp.asarray(scores, dtype),
            status=jnp.asarray(Status.CONVERGED if good else Status.MAX_STEPS, jnp.int32),
            steps=jnp.asarray(np.sum(np.asarray(extras["num_steps"])), jnp.int32),
            resolution=jnp.asarray(3 * np.sqrt(2) * np.max(error), dtype),
            params=params,
        )


def _model(wins: Any, variance: Any) -> None:
    import numpyro
    from numpyro.distributions import ZeroSumNormal

    theta: Any = numpyro.sample("theta", ZeroSumNormal(jnp.sqrt(variance), (wins.shape[0],)))
    numpyro.factor("likelihood", BradleyTerryLikelihood().log_prob(theta, Pairs(wins, jnp.zeros_like(wins))))


@functools.lru_cache(maxsize=8)
def _compiled(n_models: int, n_warmup: int, n_samples: int) -> Any:
    return jax.jit(nuts(_model, n_warmup, n_samples))


@jax.jit
def _mode(wins: Any, variance: Any) -> Any:
    stat = Pairs(wins, jnp.zeros_like(wins))
    return maximise(BradleyTerryLikelihood(), Gaussian(0.0, variance), Newton(), stat, True).params


def _canonical(wins: np.ndarray, mode: np.ndarray) -> np.ndarray:
    """An order of the models that depends on their data and not on their labels: by mode, then by wins and losses."""
    return np.lexsort((wins.sum(axis=0), wins.sum(axis=1), np.round(mode, 6)))


def _twin_average(wins: np.ndarray) -> np.ndarray:
    """(L, L): averages over models that the data cannot tell apart (swapping two of them changes no wins)."""
    n = len(wins)
    twins = np.eye(n)
    for i in range(n):
        for j in range(i):
            swap = np.arange(n)
            swap[[i, j]] = j, i
            twins[i, j] = twins[j, i] = float(np.array_equal(wins[np.ix_(swap, swap)], wins))
    return twins / twins.sum(axis=0, keepdims=True)


ENTRIES = (Entry("bayesian_mcmc", BayesianMCMC, source="hoffman2014", published=True),)
