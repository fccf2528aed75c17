"""The solvers on problems with known answers: accuracy, scale, limits, dead lanes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrank.numerics.solve.fixed_point import FixedPoint
from jaxrank.numerics.solve.lbfgs import LBFGS
from jaxrank.numerics.solve.linear import inverse_spd, solve_spd
from jaxrank.numerics.solve.newton import Newton
from jaxrank.numerics.solve.slots import loop
from jaxrank.numerics.status import Status


def logistic(y, scale=1.0):
    """Minus the log-likelihood of y successes in ten at a common log-odds x per coordinate."""

    def objective(x):
        value = scale * jnp.sum(10 * jnp.logaddexp(0, x) - y * x)
        p = jax.nn.sigmoid(x)
        return value, scale * (10 * p - y), scale * jnp.diag(10 * p * (1 - p))

    return objective


@pytest.mark.parametrize("n", [3, 21, 64, 80])
def test_linear_systems(n):
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, n))
    a = a @ a.T + n * np.eye(n)
    b = rng.normal(size=(n, 2))
    with jax.enable_x64(True):
        np.testing.assert_allclose(solve_spd(jnp.asarray(a), jnp.asarray(b)), np.linalg.solve(a, b), rtol=1e-10)
        np.testing.assert_allclose(
            solve_spd(jnp.asarray(a), jnp.asarray(b[:, 0])), np.linalg.solve(a, b[:, 0]), rtol=1e-10
        )
        np.testing.assert_allclose(inverse_spd(jnp.asarray(a)), np.linalg.inv(a), atol=1e-12)
        batched = jax.vmap(solve_spd)(jnp.stack([a, 2 * a]), jnp.stack([b[:, 0], b[:, 0]]))
        np.testing.assert_allclose(batched[1], np.linalg.solve(2 * a, b[:, 0]), rtol=1e-10)


def test_indefinite_system_is_not_solved_in_silence():
    assert np.all(np.isnan(solve_spd(jnp.diag(jnp.array([1.0, -1.0])), jnp.ones(2))))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_newton_is_exact_and_ignores_scale(scale):
    y = jnp.array([1.0, 5.0, 9.99])
    with jax.enable_x64(True):
        y = jnp.asarray(np.array([1.0, 5.0, 9.99]))
        solution = jax.jit(lambda s: Newton()(logistic(y, scale), s))(jnp.array([-20.0, 30.0, 0.0]))
        assert int(solution.status) == Status.CONVERGED
        np.testing.assert_allclose(solution.params, np.log(y / (10 - y)), atol=1e-12)
        assert int(solution.steps) < 40


def test_newton_reports_its_limit_and_skips_dead_lanes():
    objective = logistic(jnp.array([1.0, 5.0]))
    limited = Newton(max_steps=2)(objective, jnp.array([-9.0, 9.0]))
    assert int(limited.status) == Status.MAX_STEPS and int(limited.steps) == 2
    lanes = jax.vmap(lambda alive: Newton()(objective, jnp.array([-9.0, 9.0]), alive))(jnp.array([True, False]))
    assert lanes.status.tolist() == [Status.CONVERGED, Status.NO_FINITE_OPTIMUM]
    assert int(lanes.steps[1]) == 0 and lanes.params[1].tolist() == [-9.0, 9.0]


def test_newton_on_a_valley_that_has_no_end_does_not_claim_convergence():
    def downhill(x):
        return jnp.sum(jnp.exp(-x)), -jnp.exp(-x), jnp.diag(jnp.exp(-x))

    assert int(Newton(max_steps=20)(downhill, jnp.zeros(1)).status) == Status.MAX_STEPS


def test_lbfgs_reaches_newtons_optimum():
    with jax.enable_x64(True):
        y = jnp.asarray(np.array([1.0, 5.0, 9.0]))
        value = logistic(y)
        solution = LBFGS()(value, jnp.zeros(3))
        assert int(solution.status) == Status.CONVERGED
        np.testing.assert_allclose(solution.params, np.log(y / (10 - y)), atol=1e-8)
        assert int(LBFGS(max_steps=1)(value, jnp.zeros(3)).status) == Status.MAX_STEPS


@pytest.mark.parametrize("rate", [0.5, 0.99, 0.9999])
def test_fixed_point_of_slow_maps(rate):
    """The error that is left is small, not only the last step."""
    with jax.enable_x64(True):
        target = jnp.asarray(np.array([1.0, -2.0]))
        rates = jnp.asarray(np.array([rate, rate / 2]))
        solution = FixedPoint().iterate(lambda x: target + rates * (x - target), jnp.zeros(2))
        assert int(solution.status) == Status.CONVERGED
        np.testing.assert_allclose(solution.params, target, atol=1e-9)
    limited = FixedPoint(max_steps=3).iterate(lambda x: 1 + 0.999 * (x - 1) + 0.0003 * x**2, jnp.zeros(2))
    assert int(limited.status) == Status.MAX_STEPS


@pytest.mark.parametrize("fewest", [2, 16, 64])
def test_a_queue_of_lanes_does_what_each_loop_does(monkeypatch, fewest):
    """Halvings until below a bound: lanes of 0 to 40 steps, over two nested axes, with arrays closed over at each."""
    monkeypatch.setattr("jaxrank.numerics.solve.slots._CACHE_BYTES", 1)
    monkeypatch.setattr("jaxrank.numerics.solve.slots._FEWEST", fewest)
    shared = jnp.asarray([0.5, 0.25])

    def run(start, bound, factor):
        return loop(
            begin=lambda x: (x, jnp.asarray(0)),
            searching=lambda s: (jnp.max(s[0]) > bound) & (s[1] < 40),
            iterate=lambda s: (s[0] * shared * factor, s[1] + 1),
            finish=lambda s: {"x": s[0] + bound, "steps": s[1]},
            start=start,
        )

    rng = np.random.default_rng(0)
    start, bound = jnp.asarray(rng.uniform(0, 9, (7, 5, 2))), jnp.asarray(10.0 ** rng.uniform(-9, 1.5, 7))
    factor = jnp.asarray([1.0, 0.9, 1.9, 2.1, 1.0])
    got = jax.jit(jax.vmap(jax.vmap(run, (0, None, 0)), (0, 0, None)))(start, bound, factor)
    steps = np.asarray(got["steps"])
    assert steps.min() == 0 and steps.max() == 40 and len(np.unique(steps)) > 10
    for i, j in np.ndindex(7, 5):
        alone = run(start[i, j], bound[i], factor[j])
        assert steps[i, j] == alone["steps"]
        np.testing.assert_array_equal(got["x"][i, j], alone["x"])


def test_a_queue_under_an_axis_that_only_a_constant_has():
    run = lambda bound: loop(
        lambda x: x, lambda x: x > bound, lambda x: x / 2, lambda x: x, jnp.asarray(8.0, jnp.float32)
    )
    got = jax.vmap(run)(jnp.asarray([20.0, 3.0, 0.9], jnp.float32))
    np.testing.assert_array_equal(got, [8, 2, 0.5])
