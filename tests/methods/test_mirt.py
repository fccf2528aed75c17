"""Several abilities: golden values, one ability as in the other item models, axes, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import OptionError
from jaxrank.methods.irt_marginal import ThreeParameterMarginal, TwoParameterMarginal
from jaxrank.methods.mirt import MultidimensionalMarginal
from jaxrank.numerics.solve.quadrature import AdaptiveGaussHermite
from tests.oracles import golden

GOLDEN = golden("mirt")


def binary(rows: list[str]) -> np.ndarray:
    return np.array([[int(x) for x in row] for row in rows])


def two_skills(n_models: int = 60, n_questions: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Questions of which the first half ask for one skill and the others for another; counts of eight trials."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(n_models, 2))
    slopes = np.zeros((n_questions, 2))
    slopes[: n_questions // 2, 0] = slopes[n_questions // 2 :, 1] = rng.uniform(1, 2, n_questions // 2)
    p = 1 / (1 + np.exp(-(theta @ slopes.T + rng.normal(size=n_questions))))
    return (rng.random((n_models, n_questions, 8)) < p[..., None]).astype(int), theta, slopes


@pytest.mark.parametrize("example", GOLDEN)
@pytest.mark.parametrize("ridge", [0.01, 0.0])
def test_golden_values_of_two_factors(example: str, ridge: float) -> None:
    """Figures that do not depend on the axes, from a grid of 49 x 49 nodes. The largest differences are 3.0e-7 (the
    length of an EAP vector), 1.1e-8 of a discrimination and 8.7e-8 of a score."""
    want = GOLDEN[example][f"ridge_{ridge:g}"]
    fit = jr.fit(binary(GOLDEN[example]["R"]), "mirt", ridge=ridge, quadrature="adaptive:21", dtype="float64")
    assert fit.status == jr.Status.CONVERGED
    slopes = fit.params["slopes"]
    got = {
        "loglik": fit.params["log_likelihood"],
        "MDISC": fit.params["discrimination"],
        "MDIFF": fit.params["difficulty"],
        "intercepts": fit.params["intercept"],
        "slope_products": slopes @ slopes.T,
        "score": fit.scores,
        "eap_norm": np.linalg.norm(fit.params["abilities"], axis=1),
    }
    for name, value in got.items():
        gap = float(np.max(np.abs(np.asarray(value) - np.asarray(want[name]))))
        print(f"{example}, ridge {ridge:g}, {name}: {gap:.1e}")
        assert gap < 1e-6, name


def test_the_default_nodes_are_enough() -> None:
    """9 nodes in each dimension, on answers to eight questions alone: within 1e-4 of 49 x 49."""
    for example in GOLDEN.values():
        fit = jr.fit(binary(example["R"]), "mirt", dtype="float64")
        np.testing.assert_allclose(fit.scores, example["ridge_0.01"]["score"], atol=1e-4)
        np.testing.assert_allclose(fit.params["discrimination"], example["ridge_0.01"]["MDISC"], atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["2pl", "3pl"])
def test_one_ability_is_the_model_with_one_ability(model: str) -> None:
    R, *_ = two_skills(40, 6)
    more: dict[str, Any] = {"quadrature": AdaptiveGaussHermite(21)}
    one = jr.fit(R, MultidimensionalMarginal(n_factors=1, ridge=0.0, model=model, **more), dtype="float64")
    sibling: Any = TwoParameterMarginal if model == "2pl" else ThreeParameterMarginal
    other = jr.fit(R, sibling(slope_prior=None, **more), dtype="float64")
    assert np.all(other.params["discrimination"] > 0)
    mean_slope = one.params["slopes"].mean()
    np.testing.assert_allclose(one.params["abilities"][:, 0], other.scores, atol=1e-6)
    np.testing.assert_allclose(one.scores, other.scores * mean_slope, atol=1e-6)
    np.testing.assert_allclose(one.params["sd"], other.params["sd"] * mean_slope, atol=1e-6)
    names = ("discrimination", "intercept", "difficulty", "log_likelihood", "aic", "bic")
    for name in (*names, *(["guessing"] if model == "3pl" else [])):
        np.testing.assert_allclose(one.params[name], other.params[name], atol=1e-5, err_msg=name)


@pytest.mark.slow
def test_two_skills_are_found_whatever_the_axes() -> None:
    R, theta, slopes = two_skills()
    plain, simple, oblique = (jr.fit(R, "mirt", rotate=r, dtype="float64") for r in ("none", "varimax", "oblimin"))
    for fit in (simple, oblique):
        np.testing.assert_allclose(fit.scores, plain.scores, atol=1e-9)
        np.testing.assert_allclose(fit.params["discrimination"], plain.params["discrimination"], atol=1e-9)
        found, phi = fit.params["slopes"], fit.params["ability_correlation"]
        np.testing.assert_allclose(np.diag(phi), 1, atol=1e-9)
        products = plain.params["slopes"] @ plain.params["slopes"].T
        np.testing.assert_allclose(found @ phi @ found.T, products, atol=1e-9)
        np.testing.assert_allclose(fit.params["abilities"] @ found.T, _pull(plain), atol=1e-9)
        first = int(np.argmax(found[0]))
        gap = np.abs(found[:, [first, 1 - first]] - slopes)
        assert gap.mean() < 0.3, gap
        assert np.all(np.sum(found, axis=0) >= 0)
    # The mean of the slopes points along the mean of both skills.
    assert np.corrcoef(plain.scores, theta.mean(axis=1))[0, 1] > 0.95
    squares = (plain.params["slopes"] ** 2).sum(axis=0)
    assert squares[0] >= squares[1]


def _pull(fit: jr.Result) -> np.ndarray:
    return fit.params["abilities"] @ fit.params["slopes"].T


@pytest.mark.parametrize("n_axes", [2, 3])
def test_axes_are_where_their_criterion_is_best(n_axes: int) -> None:
    """No small turn of the axes makes the squares of the slopes vary more (varimax), or axes at other angles makes them
    less alike (oblimin)."""
    from jaxrank.models.irt.axes import turned_axes

    rng = np.random.default_rng(n_axes)
    slopes = rng.normal(size=(9, n_axes)) + np.repeat(3 * np.eye(n_axes), 9 // n_axes + 1, axis=0)[:9]
    ones = np.ones(9)
    with_x64 = lambda rotation: _axes(turned_axes, slopes, ones, rotation)
    varimax = lambda a: np.sum(np.var(a**2, axis=0))
    quartimin = lambda a: np.sum(a**2 @ (1 - np.eye(n_axes)) * a**2)
    best, oblique = with_x64("varimax"), with_x64("oblimin")
    for _ in range(50):
        turn = rng.normal(0, 1e-3, (n_axes, n_axes))
        rotation = np.linalg.qr(np.eye(n_axes) + turn - turn.T)[0]
        assert varimax(best.slopes @ rotation) <= varimax(best.slopes) + 1e-12
        # oblique.slopes = slopes T^-1', the abilities being theta @ T with columns of length 1
        t = oblique.turn + rng.normal(0, 1e-3, (n_axes, n_axes))
        t = t / np.linalg.norm(t, axis=0)
        assert quartimin(slopes @ np.linalg.inv(t).T) >= quartimin(oblique.slopes) - 1e-9
    np.testing.assert_allclose(oblique.slopes, slopes @ np.linalg.inv(oblique.turn).T, atol=1e-9)
    np.testing.assert_allclose(oblique.correlation, oblique.turn.T @ oblique.turn, atol=1e-9)


def _axes(turned_axes: Any, slopes: np.ndarray, weight: np.ndarray, rotation: str) -> Any:
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        found = jax.jit(lambda a, w: turned_axes(a, w, rotation))(jnp.asarray(slopes), jnp.asarray(weight))
        return jax.tree.map(np.asarray, found)


def test_options_that_cannot_be() -> None:
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"n_factors": 6}, "more than 200,000; take fewer abilities, or quadrature='adaptive:7'"),
        ({"n_factors": 3, "quadrature": "adaptive:61"}, "adaptive:58"),
        ({"guessing": 0.2}, "say model='3pl'"),
        ({"model": "4pl"}, "'2pl', '3pl'"),
        ({"rotate": "promax"}, "'varimax'"),
        ({"ridge": -1.0}, "0 or more"),
    )
    for options, text in refused:
        with pytest.raises(OptionError, match=text):
            jr.fit(np.eye(3, dtype=int), "mirt", **options)


@pytest.mark.slow
def test_replicates_follow_the_whole_fit() -> None:
    R, *_ = two_skills(8, 12)
    rep = jr.bootstrap(R, "mirt", n_replicates=64, seed=0, scheme="trials", progress=False)
    assert rep.status_counts().get(jr.Status.CONVERGED, 0) >= 62
    fit = jr.fit(R, "mirt")
    lower, upper = rep.interval(0.99)
    assert np.all((lower <= fit.scores) & (fit.scores <= upper))
