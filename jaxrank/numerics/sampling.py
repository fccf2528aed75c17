"""Drawing from a posterior: NumPyro's NUTS chain by chain or mapped, on one device or several, and variational
inference."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array

from jaxrank.numerics.precision import matmul

EXTRA_FIELDS = ("diverging", "num_steps", "accept_prob")
BLOCKS = 20  # reports of progress
Arguments = tuple[Any, ...]


class Start(NamedTuple):
    """Where a chain starts, in the unconstrained space in which NUTS moves.

    **position**: site -> values. **inverse_mass** (n, n): covariance of the posterior there, about right, over all
    sites in alphabetical order; the chain then adapts its step only. None: the chain learns variances as it warms up.
    """

    position: dict[str, Array]
    inverse_mass: Any = None


class Chain(NamedTuple):
    """One chain as pure functions of arrays. **begin**: (key, start, arguments) -> state, draws still empty.
    **advance**: (state, upto, arguments) -> state after step ``upto`` of ``n_warmup + n_samples``."""

    begin: Callable[[Array, Any, Arguments], Any]
    advance: Callable[[Any, Any, Arguments], Any]


class State(NamedTuple):
    kernel: Any
    draws: dict[str, Array]
    extras: dict[str, Array]


def nuts_chain(
    model: Callable[..., None],
    n_warmup: int,
    n_samples: int,
    target_accept: float = 0.8,
    dense_mass: bool = False,
    preconditioned: bool = False,
) -> Chain:
    """The No-U-turn sampler on a NumPyro model, to be compiled and mapped by the caller. ``preconditioned``: chains
    begin with a `Start` that has an ``inverse_mass``."""
    from numpyro.infer.hmc import hmc
    from numpyro.infer.util import initialize_model

    def kernel(key: Array, start: Any, arguments: Arguments) -> tuple[Any, Any, Any]:
        """First state; state -> next state; state -> a draw and its extras."""
        start_key, key = jax.random.split(key)
        info = initialize_model(start_key, model, dynamic_args=True, model_args=arguments, validate_grad=False)
        initialise, step = hmc(potential_fn_gen=info.potential_fn, algo="NUTS")
        position = info.param_info if start is None else start.position
        state = initialise(
            position,
            n_warmup,
            inverse_mass_matrix=None if start is None else start.inverse_mass,
            adapt_mass_matrix=not preconditioned,
            dense_mass=dense_mass or preconditioned,
            target_accept_prob=target_accept,
            model_args=arguments,
            rng_key=key,
        )

        def draw(state: Any) -> tuple[dict[str, Array], dict[str, Array]]:
            return info.postprocess_fn(*arguments)(state.z), {name: getattr(state, name) for name in EXTRA_FIELDS}

        return state, lambda state: step(state, arguments), draw

    def begin(key: Array, start: Any, arguments: Arguments) -> State:
        state, _, draw = kernel(key, start, arguments)
        empty = jax.tree.map(lambda x: jnp.zeros((n_samples, *x.shape), x.dtype), jax.eval_shape(draw, state))
        return State(state, *empty)

    def advance(state: State, upto: Any, arguments: Arguments) -> State:
        # The functions of this trace; the state that comes with them is not used, and so not computed.
        _, step, draw = kernel(jax.random.key(0), None, arguments)

        def body(state: State) -> State:
            moved = step(state.kernel)
            # Warm-up writes to the first place, and the first draw that counts writes over it.
            place = jnp.maximum(moved.i - 1 - n_warmup, 0)
            kept = jax.tree.map(lambda all, one: all.at[place].set(one), (state.draws, state.extras), draw(moved))
            return State(moved, *kept)

        return jax.lax.while_loop(lambda state: state.kernel.i < upto, body, state)

    return Chain(begin, advance)


def nuts(
    model: Callable[..., None],
    n_warmup: int,
    n_samples: int,
    target_accept: float = 0.8,
    dense_mass: bool = False,
) -> Callable[..., tuple[dict[str, Array], dict[str, Array]]]:
    """A function (keys (C,), arguments of the model...) -> (draws, extras), one chain a key.

    Draws and extras have leading axes (C, n_samples). Pure: it can be jitted, and mapped over the arguments, so that
    data sets are sampled side by side.
    """
    chain = nuts_chain(model, n_warmup, n_samples, target_accept, dense_mass)

    def run(keys: Array, *arguments: Any) -> tuple[dict[str, Array], dict[str, Array]]:
        def one(key: Array) -> tuple[dict[str, Array], dict[str, Array]]:
            state = chain.advance(chain.begin(key, None, arguments), n_warmup + n_samples, arguments)
            return state.draws, state.extras

        return jax.vmap(one)(keys)

    return run


def devices_for(n_chains: int) -> int:
    """On how many devices so many chains are spread, as many on each."""
    return max(d for d in range(1, min(n_chains, len(jax.devices())) + 1) if n_chains % d == 0)


class Spread:
    """Chains over ``n_devices`` devices.

    On a CPU the chains are compiled as one chain, so the same key gives the same bits on any number of devices; several
    run at once. On an accelerator the chains of a device are mapped, since one chain would leave it idle.
    """

    def __init__(self, n_devices: int) -> None:
        devices = jax.devices()
        self.sequential, self.n_devices = devices[0].platform == "cpu", n_devices
        self.mesh = Mesh(np.array(devices[:n_devices]), ("chains",))

    def compiled(self, one: Callable[..., Any], n_shared: int) -> Callable[..., Any]:
        """``one`` of a chain's own arrays and of ``n_shared`` arguments that all chains share, for all chains of a
        group."""

        def every(own: Any, *shared: Any) -> Any:
            function = lambda x: one(x, *shared)
            return jax.lax.map(function, own) if self.sequential else jax.vmap(function)(own)

        if self.n_devices == 1:
            return jax.jit(every)
        own, whole = PartitionSpec("chains"), PartitionSpec()
        specs = (own, *(whole,) * n_shared)
        return jax.jit(jax.shard_map(every, mesh=self.mesh, in_specs=specs, out_specs=own, check_vma=False))

    def placed(self, own: Any, *shared: Any) -> tuple[list[Any], tuple[Any, ...]]:
        """Groups of chains to be called one after the other without waiting, and what they share, on the devices."""
        if self.n_devices > 1:
            place = functools.partial(NamedSharding, self.mesh)
            return [jax.device_put(own, place(PartitionSpec("chains")))], jax.device_put(shared, place(PartitionSpec()))
        if not self.sequential:
            return [own], shared
        n_chains = len(jax.tree.leaves(own)[0])
        return [jax.tree.map(lambda x, c=c: x[c : c + 1], own) for c in range(n_chains)], shared

    @staticmethod
    def joined(parts: list[Any]) -> Any:
        """Host arrays of all chains, from those of the groups."""
        return jax.tree.map(lambda *x: np.concatenate([np.asarray(part) for part in x]), *parts)


class Sampler:
    """All chains of a posterior, spread over ``n_devices`` devices; kept, it does not compile again for data of the
    same shapes."""

    def __init__(self, chain: Chain, n_devices: int) -> None:
        self.spread = Spread(n_devices)

        def begin(own: tuple[Array, Any], mass: Any, arguments: Arguments) -> State:
            key, position = own
            return chain.begin(key, None if position is None else Start(position, mass), arguments)

        self.begin = self.spread.compiled(begin, 2)
        self.advance = self.spread.compiled(chain.advance, 2)

    def __call__(
        self,
        keys: Array,
        start: Start | None,
        arguments: Arguments,
        n_steps: int,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Draws (C, n_samples, ...) and extras after ``n_steps`` of every chain.

        **keys** (C,).  **start**: its ``position`` with a leading chain axis.  **progress**: called now and then with
        the number of steps that every chain did since.
        """
        positions, mass = (None, None) if start is None else start
        groups, (mass, arguments) = self.spread.placed((keys, positions), mass, arguments)
        states = [self.begin(group, mass, arguments) for group in groups]
        stops = [n_steps] if progress is None else np.unique(np.linspace(0, n_steps, BLOCKS + 1).astype(int))[1:]
        begin = 0
        for stop in stops:
            upto = jnp.asarray(int(stop))
            states = [self.advance(state, upto, arguments) for state in states]  # all in flight at once
            if progress is not None:
                jax.block_until_ready(states)
                progress(int(stop) - begin)
                begin = int(stop)
        return self.spread.joined([(state.draws, state.extras) for state in states])


def variational(
    model: Callable[..., None], n_steps: int, n_samples: int, learning_rate: float = 0.02
) -> Callable[..., tuple[dict[str, Array], Array]]:
    """A function (key, arguments...) -> (draws (n_samples, ..), losses (n_steps,)): a low-rank normal guide, fitted by
    Adam."""
    import optax
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoLowRankMultivariateNormal

    def run(key: Array, *arguments: Any) -> tuple[dict[str, Array], Array]:
        guide = AutoLowRankMultivariateNormal(model)
        schedule = optax.cosine_decay_schedule(learning_rate, n_steps, 0.01)
        svi = SVI(model, guide, optax.adam(schedule), Trace_ELBO(num_particles=4))
        fit_key, draw_key = jax.random.split(key)
        result = svi.run(fit_key, n_steps, *arguments, progress_bar=False)
        draws = guide.sample_posterior(draw_key, result.params, sample_shape=(n_samples,))
        return draws, result.losses

    return run


def unconstrained(model: Callable[..., None], arguments: Arguments, values: dict[str, Array]) -> dict[str, Array]:
    """Values of the model's sites in the unconstrained space in which NUTS moves."""
    from numpyro.infer.util import unconstrain_fn

    return unconstrain_fn(model, arguments, {}, values)


def gaussian(key: Array, mean: Array, covariance: Array, n_samples: int) -> Array:
    """Draws (n_samples, n) of a normal whose covariance may be singular (strengths that sum to zero)."""
    values, vectors = jnp.linalg.eigh(covariance)
    root = vectors * jnp.sqrt(jnp.maximum(values, 0))[None, :]
    noise = jax.random.normal(key, (n_samples, mean.shape[0]), mean.dtype)
    return mean[None, :] + matmul(noise, root.T)
