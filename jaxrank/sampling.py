"""Drawing from a posterior: NumPyro's NUTS with all chains in one compiled call, and variational inference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

EXTRA_FIELDS = ("diverging", "num_steps", "accept_prob")


def nuts(
    model: Callable[..., None],
    n_warmup: int,
    n_samples: int,
    target_accept: float = 0.8,
    dense_mass: bool = False,
    started: bool = False,
) -> Callable[[Array, Any, Any], tuple[dict[str, Array], dict[str, Array]]]:
    """A function (keys (C,), starts, arguments of the model) -> (draws, extras), one chain a key.

    Draws and extras have leading axes (C, n_samples). Pure: it can be jitted, and mapped over the arguments, so that
    data sets are sampled side by side. ``starts`` is a dict of unconstrained values with a leading chain axis, read
    where ``started``; else chains start at random within 2 of the origin of the unconstrained space.
    """
    from numpyro.infer import MCMC, NUTS

    def chain(key: Array, start: Any, arguments: Any) -> tuple[dict[str, Array], dict[str, Array]]:
        kernel = NUTS(model, target_accept_prob=target_accept, dense_mass=dense_mass)
        mcmc = MCMC(kernel, num_warmup=n_warmup, num_samples=n_samples, num_chains=1, progress_bar=False)
        mcmc.run(key, arguments, extra_fields=EXTRA_FIELDS, init_params=start if started else None)
        return mcmc.get_samples(), mcmc.get_extra_fields()

    return jax.vmap(chain, (0, 0 if started else None, None))


def variational(
    model: Callable[..., None], n_steps: int, n_samples: int, learning_rate: float = 0.02
) -> Callable[[Array, Any], tuple[dict[str, Array], Array]]:
    """A function (key, arguments) -> (draws (n_samples, ..), losses (n_steps,)): a low-rank normal guide, fitted by
    Adam."""
    import optax
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoLowRankMultivariateNormal

    def run(key: Array, arguments: Any) -> tuple[dict[str, Array], Array]:
        guide = AutoLowRankMultivariateNormal(model)
        schedule = optax.cosine_decay_schedule(learning_rate, n_steps, 0.01)
        svi = SVI(model, guide, optax.adam(schedule), Trace_ELBO(num_particles=4))
        fit_key, draw_key = jax.random.split(key)
        result = svi.run(fit_key, n_steps, arguments, progress_bar=False)
        draws = guide.sample_posterior(draw_key, result.params, sample_shape=(n_samples,))
        return draws, result.losses

    return run


def unconstrained(model: Callable[..., None], arguments: Any, values: dict[str, Array]) -> dict[str, Array]:
    """Values of the model's sites in the unconstrained space in which NUTS moves."""
    from numpyro.infer.util import unconstrain_fn

    return unconstrain_fn(model, (arguments,), {}, values)


def gaussian(key: Array, mean: Array, covariance: Array, n_samples: int) -> Array:
    """Draws (n_samples, n) of a normal whose covariance may be singular (strengths that sum to zero)."""
    values, vectors = jnp.linalg.eigh(covariance)
    root = vectors * jnp.sqrt(jnp.maximum(values, 0))[None, :]
    return mean[None, :] + jax.random.normal(key, (n_samples, mean.shape[0]), mean.dtype) @ root.T
