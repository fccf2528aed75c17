"""Solvers are a field of a method: every one of them finds Newton's optimum of every likelihood."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.numerics.solve.near import Near
from jaxrank.numerics.solve.newton import Newton

SOLVERS = {
    "self-concordant": jr.solvers.SelfConcordantNewton(),
    "levenberg": jr.solvers.LevenbergMarquardt(),
    "fixed point": jr.solvers.FixedPoint(),
    "lbfgs": jr.solvers.LBFGS(),
}
RANKERS = {
    "bradley_terry": jr.methods.BradleyTerry,
    "davidson": jr.methods.Davidson,
    "rao_kupper": lambda **o: jr.methods.RaoKupper(tie_strength=None, **o),
    "luce": jr.methods.BradleyTerryLuce,
    "davidson_luce": jr.methods.DavidsonLuce,
    "gaussian": lambda **o: jr.methods.BradleyTerry(prior=1.0, **o),
}
R = (np.random.default_rng(5).random((4, 6, 8)) < np.linspace(0.3, 0.7, 4)[:, None, None]).astype(int)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("ranker", RANKERS)
def test_every_solver_finds_newtons_optimum(ranker, solver):
    newton = jr.fit(R, RANKERS[ranker](), dtype="float64")
    other = jr.fit(R, RANKERS[ranker](solver=SOLVERS[solver]), dtype="float64")
    assert other.status == jr.Status.CONVERGED
    assert other.fit.resolution < 1e-6
    gap = np.abs(np.asarray(other.scores) - np.asarray(newton.scores)).max()
    assert gap <= other.fit.resolution + newton.fit.resolution
    assert abs(float(np.mean(other.scores))) < 1e-12


def test_a_solver_of_lanes_of_their_own_runs_in_batches():
    by = {
        s: jr.bootstrap(R, jr.methods.BradleyTerry(solver=s), n_replicates=32, seed=1, scheme="trials")
        for s in (jr.solvers.Newton(), jr.solvers.LBFGS())
    }
    newton, lbfgs = by.values()
    np.testing.assert_array_equal(newton.status, lbfgs.status)
    np.testing.assert_allclose(newton.scores, lbfgs.scores, atol=5e-3)


@pytest.mark.parametrize("make", [*(type(s) for s in SOLVERS.values()), jr.solvers.Newton])
@pytest.mark.parametrize("value", [0, -3, 2.5, True, "ten", None])
def test_a_solver_refuses_a_wrong_limit(make, value):
    with pytest.raises(jr.errors.OptionError, match=r"max_steps=.*whole number of 1 or more"):
        make(max_steps=value)


def test_other_fields_of_solvers_are_checked():
    for make in (
        lambda: jr.solvers.LBFGS(memory=0),
        lambda: jr.solvers.Newton(radius=0.0),
        lambda: jr.solvers.Newton(radius=jnp.inf),
        lambda: jr.solvers.SelfConcordantNewton(reach=-1),
    ):
        with pytest.raises(jr.errors.OptionError, match="it must be"):
            make()
    with pytest.raises(jr.errors.OptionError, match="solver="):
        jr.methods.BradleyTerry(solver="simplex")


def test_gradients_alone_end_at_the_optimum_or_leave_it_to_newton():
    """From an optimum nearby by changes of the gradient; from one far away Newton's method begins anew."""
    rng = np.random.default_rng(0)

    def objective_of(weight):
        def objective(beta):
            eta = x @ beta
            p = jax.nn.sigmoid(eta)
            gradient = x.T @ (weight * (p - 0.3)) + beta
            curvature = (x.T * (weight * p * (1 - p))[None]) @ x + jnp.eye(4)
            return jnp.sum(weight * (jax.nn.softplus(eta) - 0.3 * eta)) + jnp.sum(beta**2) / 2, gradient, curvature

        return objective

    with jax.enable_x64(True):
        x = jnp.asarray(rng.normal(size=(60, 4)))
        start = jnp.zeros(4)
        whole = Newton()(objective_of(jnp.ones(60)), start)
        inverse = jnp.linalg.inv(objective_of(jnp.ones(60))(whole.params)[2])
        drawn = objective_of(jnp.asarray(rng.poisson(1.0, 60), float))
        exact = Newton()(drawn, start)
        near = Newton(near=Near(whole.params, inverse, ends=True))(drawn, start)
        far = Newton(near=Near(whole.params + 30, 100 * inverse, ends=True))(drawn, start)
    assert int(near.status) == int(far.status) == int(exact.status) == 0
    assert np.allclose(near.params, exact.params, atol=1e-10) and np.allclose(far.params, exact.params, atol=1e-12)
    assert 0 < float(near.error) < 1e-10 and float(far.error) == 0
