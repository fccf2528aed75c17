"""``posterior``: draws from the full posterior of any likelihood of the library."""

from __future__ import annotations

import difflib
import functools
import os
import time
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from jaxrank.data.accepted import DataLike, Dtype, Pairing, Seed, as_data
from jaxrank.data.kind import Data
from jaxrank.data.statistics import Pairs
from jaxrank.errors import JaxrankWarning, OptionError, UnknownMethodError, UnsupportedDataError
from jaxrank.models.likelihood import covariance, maximise
from jaxrank.models.options import check_choice, check_count, check_flag, check_number
from jaxrank.models.priors import Gaussian, Prior
from jaxrank.numerics.precision import HIGHEST, precision
from jaxrank.numerics.sampling import Sampler, Start, devices_for, gaussian, nuts_chain, unconstrained, variational
from jaxrank.numerics.solve.newton import Newton
from jaxrank.posteriors.conjugate import conjugate
from jaxrank.posteriors.models import build, informative, likelihood_argument, zero_sum_variance
from jaxrank.posteriors.pooled import by_category, observe
from jaxrank.posteriors.specs import IDENTIFIERS, MODELS, PREFIX, Evidence, PosteriorModel, base_name, name_for
from jaxrank.resampling.configuration import check_running
from jaxrank.resampling.progress import is_shown, progress_bar
from jaxrank.resampling.sharing import Share
from jaxrank.resampling.units import in_units, settings
from jaxrank.results.posterior import Posterior
from jaxrank.results.posterior_by_category import PosteriorByCategory
from jaxrank.studies.fit import as_key, fit
from jaxrank.studies.pooling import Parts, parts_by
from jaxrank.studies.preparation import PAIRINGS

if TYPE_CHECKING:
    from numpyro.distributions import Distribution

SitePrior: TypeAlias = "float | Prior | Distribution"
Priors: TypeAlias = "SitePrior | Mapping[str, SitePrior]"

CONJUGATE = ("bayes",)
_MAXIMUM = {
    "bradley_terry": "bradley_terry_map",
    "bradley_terry_ties": "bradley_terry_davidson_map",
    "bradley_terry_davidson": "bradley_terry_davidson_map",
    "rao_kupper": "rao_kupper_map",
    "plackett_luce": "plackett_luce_map",
}
"""The maximum of the posterior of models of pairs, as an identifier of the catalogue."""
TARGET_ACCEPT = (0.8, 0.9, 0.9, 0.95)  # by the number of parameters of a question
BY_TARGET_ACCEPT = 0.9  # tau may be next to 0
SAMPLERS = ("nuts", "laplace", "svi")
_DRAW, _EXTRA = ">", "+"  # before the names of a chain's arrays


def posterior(
    data: DataLike,
    model: str | None = None,
    *,
    priors: Priors | None = None,
    n_chains: int = 4,
    n_warmup: int = 1000,
    n_samples: int = 1000,
    seed: Seed = 0,
    sampler: Literal["nuts", "laplace", "svi"] = "nuts",
    pairing: Pairing = "aligned",
    dtype: Dtype = "float64",
    target_accept: float | None = None,
    dense_mass: bool = False,
    n_steps: int = 5000,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    shard: str | Share | None = None,
    by: str | None = None,
) -> Posterior:
    """Draw from the posterior of a model: not one order, but the probability of every rank.

    **data**: R, `Responses`, `Comparisons` or `Rankings`, as `jaxrank.fit` takes them.
    **model**: by default rasch for trials of 0 and 1, whose questions are in the model (bayes for grades),
    bradley_terry_davidson for battles and plackett_luce for lists; an identifier of the catalogue that has a posterior:
    bradley_terry, plackett_luce (of ordered lists with
    their ties, as plackett_luce_rankings), bradley_terry_davidson, rao_kupper, bradley_terry_luce, davidson_luce,
    rasch, rasch_2pl, rasch_3pl; bradley_terry_ties has one tie rate for all pairs. With the prefix ``hierarchical_``
    the scale of the strengths is learnt. bayes is conjugate, and its draws are independent.
    **priors**: by site; "theta" is a variance (1 by default: zero-sum normal strengths), a `jaxrank.priors` prior or a
    NumPyro distribution for one model or for all; a prior that is not a dict is that of theta. Priors that are not
    normal are those of independent strengths, which are centred afterwards, so that prior draws exist; `jaxrank.fit`
    takes them for the centred ones, and its mode is another (normal priors are the same both ways). Other sites take
    NumPyro distributions: "scale" (HalfNormal(2), hierarchical), "tie_rate" (Beta(1, 1)), "log_nu" (Normal(0, 1.5)),
    "log_kappa" (HalfNormal(1.5)), "log_delta" (Normal(0, 2)), "b" (Normal(0, 1), times "b_scale", HalfNormal(2), plus
    "level", Normal(0, 3)), "a" (LogNormal(0, 0.5)), "c_share" (Beta(2, 6), the guessing probability as a share of 1/2).
    **by**: a column of battles, "category" or "language", say, for models of pairs: each category has strengths of its
    own, normal around those of all with a standard deviation "tau" (HalfNormal(1)) that is learnt, so that small
    categories are pulled to the others [dekoninck2025]; a `PosteriorByCategory`.
    **sampler**: "nuts" (chains spread over the devices, started around the mode and scaled by the curvature there where
    both are cheap), "laplace" (normal around the maximum, models of strengths with a normal prior; tie parameters then
    have a flat prior) or "svi" (low-rank normal guide, ``n_steps`` of Adam). The last two give n_chains x n_samples
    independent draws.
    **seed**: integer or JAX key; the same seed gives the same draws on any number of devices.
    **target_accept**: of NUTS, between 0 and 1; 0.8 by default, 0.9 for rasch, rasch_2pl and with ``by``, 0.95 for
    rasch_3pl, whose posteriors have narrower corners.
    **progress**: a progress bar; by default on a terminal only, where sampling takes more than two seconds.

    **checkpoint**, **shard**: a folder that keeps finished chains, and which of them this process draws, as in
    `jaxrank.bootstrap`; for "nuts". On a CPU the draws are those of one run; on an accelerator each device then draws a
    chain at a time.

    Returns a `Posterior`; warns by `JaxrankWarning` where the chains cannot be trusted. Small models are fastest on a
    CPU.
    """
    data = as_data(data)
    model = default_model(data) if model is None else model
    kind, hierarchical = _model_name(model, data)
    _check_numbers(n_chains=n_chains, n_warmup=n_warmup, n_samples=n_samples, n_steps=n_steps)
    check_choice("sampler", sampler, SAMPLERS)
    check_choice("pairing", pairing, PAIRINGS)
    if pairing != "aligned" and (kind in CONJUGATE or MODELS[kind].statistic is not Pairs):
        raise OptionError(f"pairing={pairing!r} is about models of pairs; {kind} reads none")
    check_flag("dense_mass", dense_mass)
    check_flag("progress", progress, optional=True)
    if target_accept is None:
        depth = MODELS[kind].item_depth if kind in MODELS else 0
        target_accept = TARGET_ACCEPT[depth] if by is None else BY_TARGET_ACCEPT
    check_number("target_accept", target_accept, above=0, below=1)
    check_running(checkpoint, None, shard)
    parts = None if by is None else parts_by(data, by, kind)
    if checkpoint is not None and (sampler != "nuts" or kind in CONJUGATE):
        own = f"sampler={sampler!r} draws" if kind not in CONJUGATE else f"{kind} is drawn"
        raise OptionError(f"checkpoint and shard are for the chains of sampler='nuts'; {own} at once, leave them out")
    begin = time.perf_counter()
    with precision(dtype):
        key = as_key(seed)
        if kind in CONJUGATE:
            if priors is not None or hierarchical:
                raise OptionError(f"{kind} has a uniform prior and no others; leave priors and the prefix out")
            draws, extras, used, evidence = conjugate(data, key, n_chains, n_samples), {}, "exact", None
        else:
            job = _prepare(data, kind, priors, hierarchical, pairing, parts)
            evidence, used = job.evidence, sampler
            if sampler == "laplace":
                draws, extras = _laplace(job, key, n_chains, n_samples), {}
            elif sampler == "svi":
                draws, extras = _svi(job, key, n_chains, n_samples, n_steps), {}
            else:
                options = (n_warmup, n_samples, target_accept, dense_mass)
                run = functools.partial(_chains, job, key, n_chains, options, model, progress)
                labels = {"study": "posterior", "model": model, "pairing": pairing, "seed": seed, "chains": n_chains}
                labels |= {"options": options, "priors": jax.tree.structure(job.priors)}
                leaves = jax.tree.leaves((tuple(job.evidence), job.priors))
                found = in_units(n_chains, run, settings(labels, *leaves), checkpoint, shard)
                draws, extras = ({k[1:]: v for k, v in found.items() if k[0] == mark} for mark in (_DRAW, _EXTRA))
        draws, extras = ({k: np.asarray(v) for k, v in d.items()} for d in (draws, extras))
    seconds, evidence = time.perf_counter() - begin, evidence and jax.tree.map(np.asarray, evidence)
    known = (tuple(data.questions), data)
    if parts is None or by is None:
        cautions = design_caution(data, kind, pairing)
        result = Posterior(draws, data.models, model, used, extras, seconds, evidence, *known, cautions)
    else:
        own = (parts.cautions, parts.names, by)
        result = PosteriorByCategory(draws, data.models, model, used, extras, seconds, evidence, *known, *own)
    if used == "nuts":
        for problem in result.chain_problems:
            warnings.warn(f"{model}: {problem}", JaxrankWarning, stacklevel=2)
    return result


def _chains(
    job: _Job, key: Any, n_chains: int, options: tuple[Any, ...], title: str, progress: bool | None, chains: np.ndarray
) -> dict[str, np.ndarray]:
    """Draws and extras of some of the chains, (len(chains), n_samples, ...), by names that say which is which."""
    n_warmup, n_samples, _, dense_mass = options
    start = None if dense_mass else _start(job, key, n_chains)
    keys = jax.random.split(key, n_chains)[chains]
    if start is not None:
        start = start._replace(position=jax.tree.map(lambda x: x[chains], start.position))
    run = _sampler(job.model, devices_for(len(chains)), (*options, start is not None))
    n_steps = n_warmup + n_samples
    with progress_bar(title, n_steps, progress, "steps of each chain") as advance:
        draws, extras = run(keys, start, tuple(job.evidence), n_steps, advance if is_shown(progress) else None)
    return {**{_DRAW + k: v for k, v in draws.items()}, **{_EXTRA + k: v for k, v in extras.items()}}


def default_model(data: Data) -> str:
    """The posterior where none is named: the one whose model holds the questions, where there are any."""
    if data.form == "responses":
        return "rasch" if data.n_categories == 2 else "bayes"
    return {"comparisons": "bradley_terry_davidson", "rankings": "plackett_luce"}[data.form]


def design_caution(data: Data, kind: str, pairing: Pairing) -> tuple[str, ...]:
    """A sentence on models that count every pair of trials as a battle, with the factor by which variances by question
    exceed theirs (the design effect, of the model's own maximum a posteriori)."""
    if kind not in _MAXIMUM or len(data.questions) < 2:
        return ()
    whole = fit(data, _MAXIMUM[kind], pairing=pairing, on_failure="return")
    if whole.contributions is None:
        return ()
    effect = np.trace(whole.contributions.covariance) / np.trace(whole.covariance("information"))
    return (
        f"{kind} counts every pair of trials as a battle, but trials of one question are alike: by question the "
        f"variances are {effect:.2g} times as large (the design effect); use rasch, or jaxrank.bootstrap, which draws "
        "questions",
    )


def numpyro_model(
    data: DataLike,
    model: str | None = None,
    *,
    priors: Priors | None = None,
    pairing: Pairing = "aligned",
    dtype: Dtype = "float64",
) -> tuple[Callable[..., None], Mapping[str, jax.Array], jax.Array]:
    """The NumPyro model behind `posterior`, the design of the data and their outcomes.

    ``model(design, outcomes)`` is the joint density and ``model(design)`` the prior predictive distribution, for
    `numpyro.infer.Predictive`, ``numpyro.infer.log_likelihood`` and other samplers; the observed site is "outcomes".
    """
    data = as_data(data)
    model = default_model(data) if model is None else model
    kind, hierarchical = _model_name(model, data)
    if kind in CONJUGATE:
        raise OptionError(f"{kind} is conjugate: its posterior is drawn in closed form, and there is no NumPyro model")
    with precision(dtype):
        job = _prepare(data, kind, priors, hierarchical, pairing)
    return job.model, job.evidence.design, job.evidence.outcomes


class _Job(NamedTuple):
    """Everything about a posterior but how it is drawn."""

    spec: PosteriorModel
    argument: Any
    evidence: Evidence
    priors: Mapping[str, Any]
    hierarchical: bool
    model: Callable[..., None]


def _prepare(
    data: Data, kind: str, priors: Priors | None, hierarchical: bool, pairing: str, parts: Parts | None = None
) -> _Job:
    spec = MODELS[kind] if parts is None else by_category(MODELS[kind])
    priors = {} if priors is None else dict(priors) if isinstance(priors, Mapping) else {"theta": priors}
    if spec.item_depth and data.n_categories > 2:
        raise UnsupportedDataError(f"{kind} needs outcomes 0 and 1; R has {data.n_categories} categories")
    if parts is None:
        argument = spec.read(spec.statistic.of(data, pairing=pairing))
        evidence = spec.family.observe(argument)
    else:
        argument, evidence = observe(spec, parts.pairs())
    if evidence.outcomes.size == 0:
        raise UnsupportedDataError(f"{kind}: the data hold no outcome that says anything about the models")
    centred = informative(spec, argument)
    if set(priors) <= {"theta"} and isinstance(priors.get("theta", 1.0), int | float):
        shapes = tuple((name, jax.ShapeDtypeStruct(x.shape, x.dtype)) for name, x in evidence.design.items())
        model = _standard_model(kind, tuple(priors.items()), hierarchical, centred, shapes, parts is not None)
    else:
        model = build(spec, evidence.design, priors, hierarchical, centred)
    return _Job(spec, argument, jax.device_put(evidence), priors, hierarchical, model)


@functools.lru_cache(maxsize=32)
def _standard_model(
    kind: str, priors: tuple[Any, ...], hierarchical: bool, centred: Any, shapes: tuple[Any, ...], pooled: bool
) -> Callable[..., None]:
    """One function for all data of a shape, so that compiled samplers are found again."""
    spec = by_category(MODELS[kind]) if pooled else MODELS[kind]
    return build(spec, dict(shapes), dict(priors), hierarchical, centred)


@functools.lru_cache(maxsize=16)
def _sampler(model: Callable[..., None], n_devices: int, options: tuple[Any, ...]) -> Sampler:
    return Sampler(nuts_chain(model, *options), n_devices)


def _model_name(model: str, data: Data) -> tuple[str, bool]:
    known = [*IDENTIFIERS, *CONJUGATE]
    name = base_name(model) if isinstance(model, str) else ""
    if name in known:
        return name_for(name, data), model.startswith(PREFIX)
    meant = [n for n in (name.removesuffix("_map"), f"bradley_terry_{name}") if n in known]
    near = meant or difflib.get_close_matches(name, known, n=2)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    there = "There" if hint else "there"
    raise UnknownMethodError(f"no posterior for {model!r}; {hint}{there} are {', '.join(known)}")


def _check_numbers(**numbers: Any) -> None:
    for name, value in numbers.items():
        check_count(name, value, 1, 10**8)


def _normal_variance(job: _Job) -> float | None:
    """The variance of the strengths where the mode and the curvature of the posterior are known in closed form."""
    if job.hierarchical or job.spec.likelihood is None or job.spec.strengths != "theta":
        return None
    return zero_sum_variance(job.priors.get("theta", 1.0))


def _start(job: _Job, key: Any, n_chains: int) -> Start | None:
    """Starts spread around the mode by twice its standard deviations, and the covariance there; None where the mode is
    not at hand, or a tie parameter lies at its border.

    Large data make the posterior so narrow that chains from random starts spend the warm-up on the way, and so uneven
    that variances learnt from a few hundred draws leave the steps short.
    """
    variance = _normal_variance(job)
    if variance is None or _at_border(job):
        return None
    mode, spread = _mode(job, variance)
    n = job.spec.n_models(job.evidence.design)
    noise = gaussian(jax.random.fold_in(key, 1), jnp.zeros_like(mode), 4 * spread, n_chains)

    start = _placed(job.model, job.spec.name, n)(mode, spread, noise, tuple(job.evidence))
    usable = all(bool(jnp.all(jnp.isfinite(x))) for x in jax.tree.leaves(start))
    return start if usable and bool(jnp.all(jnp.linalg.eigvalsh(start.inverse_mass) > 0)) else None


@functools.lru_cache(maxsize=32)
def _placed(model: Callable[..., None], spec_name: str, n_models: int) -> Callable[..., Start]:
    """(mode, covariance, shifts (C, n), arguments of the model) -> `Start`, in the space in which NUTS moves."""

    def position(params: Any, arguments: tuple[Any, ...]) -> Any:
        theta = params[:n_models]
        values = {"theta": theta - jnp.mean(theta), **MODELS[spec_name].unpack(params[n_models:])}
        return unconstrained(model, arguments, values)

    @jax.jit
    def place(mode: Any, spread: Any, shifts: Any, arguments: tuple[Any, ...]) -> Start:
        slope = jax.jacobian(lambda params: ravel_pytree(position(params, arguments))[0])(mode)
        positions = jax.vmap(lambda shift: position(mode + shift, arguments))(shifts)
        return Start(positions, jnp.linalg.multi_dot([slope, spread, slope.T], precision=HIGHEST))

    return place


def _at_border(job: _Job) -> bool:
    """Whether a tie parameter is as low as it goes, since no pair tied."""
    ties = getattr(job.argument, "ties", None)
    return ties is not None and bool(job.spec.sites(job.evidence.design)) and not bool(jnp.any(ties > 0))


@functools.partial(jax.jit, static_argnums=0)
def _mode_of(spec_name: str, argument: Any, variance: Any) -> tuple[Any, Any]:
    likelihood, prior = MODELS[spec_name].likelihood_of(argument), Gaussian(0.0, variance)
    start = likelihood.start(argument)
    everyone = jnp.ones((start.shape[0] - likelihood.n_extra,) * 2, bool)
    solution = maximise(likelihood, prior, Newton(), argument, True)
    return solution.params, covariance(likelihood, prior, solution.params, argument, everyone)


def _mode(job: _Job, variance: float) -> tuple[Any, Any]:
    return _mode_of(job.spec.name, likelihood_argument(job.argument), np.asarray(variance))


def _laplace(job: _Job, key: Any, n_chains: int, n_samples: int) -> dict[str, Any]:
    variance = _normal_variance(job)
    if variance is None or set(job.priors) - {"theta"}:
        raise OptionError(
            "sampler='laplace' is for models of strengths with a zero-mean normal prior on theta alone, without by; "
            "use 'nuts'"
        )
    mode, spread = _mode(job, variance)
    draws = gaussian(key, mode, spread, n_chains * n_samples).reshape(n_chains, n_samples, -1)
    n = job.spec.n_models(job.evidence.design)
    sites = jax.vmap(jax.vmap(job.spec.unpack))(draws[..., n:])
    return {"theta": draws[..., :n], **sites}


def _svi(job: _Job, key: Any, n_chains: int, n_samples: int, n_steps: int) -> dict[str, Any]:
    draws, _ = jax.jit(variational(job.model, n_steps, n_chains * n_samples))(key, *job.evidence)
    return {k: v.reshape(n_chains, n_samples, *v.shape[1:]) for k, v in draws.items() if not k.startswith("_")}
