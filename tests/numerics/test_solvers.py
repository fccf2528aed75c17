"""The solvers on problems with known answers: accuracy, scale, limits, dead lanes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrank.numerics.solve.damped import levenberg_marquardt
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
        solve = jax.jit(solve_spd)
        np.testing.assert_allclose(solve(a, b), np.linalg.solve(a, b), rtol=1e-10)
        np.testing.assert_allclose(solve(a, b[:, 0]), np.linalg.solve(a, b[:, 0]), rtol=1e-10)
        np.testing.assert_allclose(jax.jit(inverse_spd)(a), np.linalg.inv(a), atol=1e-12)
        batched = jax.jit(jax.vmap(solve_spd))(np.stack([a, 2 * a]), np.stack([b[:, 0], b[:, 0]]))
        np.testing.assert_allclose(batched[1], np.linalg.solve(2 * a, b[:, 0]), rtol=1e-10)


def test_indefinite_system_is_not_solved_in_silence():
    assert np.all(np.isnan(jax.jit(solve_spd)(np.diag([1.0, -1.0]), np.ones(2))))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_newton_is_exact_and_ignores_scale(scale):
    with jax.enable_x64(True):
        y = np.array([1.0, 5.0, 9.99])
        solution = jax.jit(lambda s: Newton()(logistic(y, scale), s))(np.array([-20.0, 30.0, 0.0]))
        assert int(solution.status) == Status.CONVERGED
        np.testing.assert_allclose(solution.params, np.log(y / (10 - y)), atol=1e-12)
        assert int(solution.steps) < 40


def test_newton_reports_its_limit_and_skips_dead_lanes():
    objective, start = logistic(np.array([1.0, 5.0], np.float32)), np.array([-9.0, 9.0])
    limited = jax.jit(lambda s: Newton(max_steps=2)(objective, s))(start)
    assert int(limited.status) == Status.MAX_STEPS and int(limited.steps) == 2
    one = lambda s, alive: Newton()(objective, s, alive)
    lanes = jax.jit(jax.vmap(one, (None, 0)))(start, np.array([True, False]))
    assert lanes.status.tolist() == [Status.CONVERGED, Status.NO_FINITE_OPTIMUM]
    assert int(lanes.steps[1]) == 0 and lanes.params[1].tolist() == [-9.0, 9.0]


def test_newton_on_a_valley_that_has_no_end_does_not_claim_convergence():
    def downhill(x):
        return jnp.sum(jnp.exp(-x)), -jnp.exp(-x), jnp.diag(jnp.exp(-x))

    found = jax.jit(lambda s: Newton(max_steps=20)(downhill, s))(np.zeros(1))
    assert int(found.status) == Status.MAX_STEPS


def test_lbfgs_reaches_newtons_optimum():
    with jax.enable_x64(True):
        y = np.array([1.0, 5.0, 9.0])
        value = logistic(y)
        solution = jax.jit(lambda s: LBFGS()(value, s))(np.zeros(3))
        assert int(solution.status) == Status.CONVERGED
        np.testing.assert_allclose(solution.params, np.log(y / (10 - y)), atol=1e-8)
        assert int(jax.jit(lambda s: LBFGS(max_steps=1)(value, s))(np.zeros(3)).status) == Status.MAX_STEPS


@pytest.mark.parametrize("rate", [0.5, 0.99, 0.9999])
def test_fixed_point_of_slow_maps(rate):
    """The error that is left is small, not only the last step."""
    with jax.enable_x64(True):
        target, rates = np.array([1.0, -2.0]), np.array([rate, rate / 2])
        solve = jax.jit(lambda s: FixedPoint().iterate(lambda x: target + rates * (x - target), s))
        solution = solve(np.zeros(2))
        assert int(solution.status) == Status.CONVERGED
        np.testing.assert_allclose(solution.params, target, atol=1e-9)
    slow = lambda x: 1 + 0.999 * (x - 1) + 0.0003 * x**2
    limited = jax.jit(lambda s: FixedPoint(max_steps=3).iterate(slow, s))(np.zeros(2))
    assert int(limited.status) == Status.MAX_STEPS


@pytest.mark.parametrize("lanes_last", [False, True])
@pytest.mark.parametrize("fewest", [2, 16, 64])
def test_a_queue_of_lanes_does_what_each_loop_does(monkeypatch, fewest, lanes_last):
    """Halvings until below a bound: lanes of 0 to 40 steps, over two nested axes, with arrays closed over at each."""
    monkeypatch.setattr("jaxrank.numerics.solve.slots._CACHE_BYTES", 1)
    monkeypatch.setattr("jaxrank.numerics.solve.slots._FEWEST", fewest)
    shared = np.array([0.5, 0.25], np.float32)

    def run(start, bound, factor):
        return loop(
            begin=lambda x: (x, jnp.asarray(0)),
            searching=lambda s: (jnp.max(s[0]) > bound) & (s[1] < 40),
            iterate=lambda s: (s[0] * shared * factor, s[1] + 1),
            finish=lambda s: {"x": s[0] + bound, "steps": s[1]},
            start=start,
            lanes_last=lanes_last,
        )

    rng = np.random.default_rng(0)
    start, bound = rng.uniform(0, 9, (7, 5, 2)).astype(np.float32), (10.0 ** rng.uniform(-9, 1.5, 7)).astype(np.float32)
    factor, single = np.array([1.0, 0.9, 1.9, 2.1, 1.0], np.float32), jax.jit(run)
    got = jax.jit(jax.vmap(jax.vmap(run, (0, None, 0)), (0, 0, None)))(start, bound, factor)
    steps = np.asarray(got["steps"])
    assert steps.min() == 0 and steps.max() == 40 and len(np.unique(steps)) > 10
    for i, j in np.ndindex(7, 5):
        alone = single(start[i, j], bound[i], factor[j])
        assert steps[i, j] == alone["steps"]
        np.testing.assert_array_equal(got["x"][i, j], alone["x"])


def test_a_queue_under_an_axis_that_only_a_constant_has():
    run = lambda bound: loop(
        lambda x: x, lambda x: x > bound, lambda x: x / 2, lambda x: x, np.asarray(8.0, np.float32)
    )
    got = jax.jit(jax.vmap(run))(np.array([20.0, 3.0, 0.9], np.float32))
    np.testing.assert_array_equal(got, [8, 2, 0.5])


def test_the_error_of_a_search_is_that_of_what_is_measured():
    """y lies in a valley of which a value near 100 shows nothing in float32; x has its optimum."""
    objective = lambda v, _: (100 + (v[0] - 1) ** 2 + 1e-7 * jnp.abs(v[1] - 50) ** 1.5, v, None)
    step = lambda v, damping: -jnp.stack([0.9 * (v[0] - 1), (v[1] - 50) / 3]) / (1 + damping)
    start = np.array([3.0, 0.0], np.float32)
    for measured, low, high in ((None, 20, np.inf), (lambda v: v[0], 1e-6, 1)):
        found = jax.jit(lambda v, m=measured: levenberg_marquardt(objective, step, v, measured=m))(start)
        assert found.status == Status.CONVERGED
        assert low <= found.error <= high and abs(found.params[0] - 1) <= found.error
