"""Every public call on every kind of data: it works, or says in a sentence what to do instead; nothing else.

One table for all: a row a call, a column a kind of data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.accepted import as_data
from jaxrank.errors import JaxrankError, JaxrankWarning
from tests.problems import graded

R = graded(3, (4, 3, 3))
NAMES = ("ada", "bob", "cyd", "dan")
PAIRS = [("ada", "bob"), ("bob", "cyd"), ("cyd", "dan"), ("dan", "ada"), ("ada", "cyd"), ("bob", "dan"), ("bob", "ada")]
ORDERS = [["ada", "bob", "cyd", "dan"], ["bob", "ada", "dan", "cyd"], ["dan", "cyd", "ada", "bob"], ["cyd", "dan"]]


def _frame() -> dict[str, list]:
    rows = [(NAMES[i], f"q{m}", n, int(R[i, m, n])) for i, m, n in np.ndindex(R.shape)]
    names = ("model", "question", "trial", "score")
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _path(folder: Any) -> str:
    frame = _frame()
    lines = [",".join(frame), *(",".join(map(str, row)) for row in zip(*frame.values(), strict=True))]
    (folder / "results.csv").write_text("\n".join(lines) + "\n")
    return str(folder / "results.csv")


DATA: dict[str, Callable[[Any], Any]] = {
    "array": lambda folder: R,
    "grades": lambda folder: jr.Responses(R / 2 + R[:, :, ::-1] / 2, NAMES, levels=(0, 0.5, 1)),
    "real": lambda folder: jr.Responses(R + np.linspace(0, 0.4, R.size).reshape(R.shape), NAMES),
    "counts": lambda folder: jr.Responses.from_counts(R.sum(axis=2), 3, NAMES),
    "battles": lambda folder: jr.Comparisons(*zip(*PAIRS, strict=True), [1] * len(PAIRS)),
    "ties": lambda folder: jr.Comparisons(
        *zip(*PAIRS, strict=True), [1, 0.5, 1, 0, 1, 0.5, 0], [2, 1, 1.5, 1, 1, 1, 1]
    ),
    "lists": lambda folder: jr.Rankings(ORDERS[:3]),
    "partial": lambda folder: jr.Rankings([*ORDERS, ["bob", ["ada", "dan"]], ["dan"]], NAMES, unlisted="below"),
    "frame": lambda folder: _frame(),
    "path": _path,
}

FEW = {"n_replicates": 8, "seed": 0, "progress": False}
TOLD = {"model": NAMES, "llm": ["x", "x", "y", "y"], "prompt": [0, 1, 0, 1], "cost": [1.0, 2.0, 3.0, 4.0]}


def _told(data: Any) -> Any:
    """Trials with what is known of their models and questions; other data as they are."""
    data = as_data(data)
    if not isinstance(data, jr.Responses):
        return data
    about: Any = {"models": TOLD, "groups": ["g", "h", "h"]}
    if data.counts_only:
        return jr.Responses.from_counts(data.counts[:, :, 1], data.trials, **about)
    return jr.Responses(data.values, levels=data.levels or None, **about)


CALLS: dict[str, Callable[[Any], Any]] = {
    "fit": jr.fit,
    **{
        f"fit {method}": lambda data, method=method: jr.fit(data, method)
        for method in ("avg", "borda", "instant_runoff", "bradley_terry_map", "bradley_terry_luce_map", "elo")
    },
    "fit plackett_luce_map": lambda data: jr.fit(data, "plackett_luce_map"),
    "fit rasch_map": lambda data: jr.fit(data, "rasch_map"),
    "fit dynamic_irt_state_space": lambda data: jr.fit(data, "dynamic_irt_state_space"),
    "fit pairing": lambda data: jr.fit(data, "bradley_terry_map", pairing="all"),
    "fit R0": lambda data: jr.fit(data, R0=R[0]),
    "bootstrap": lambda data: jr.bootstrap(data, **FEW),
    "bootstrap borda": lambda data: jr.bootstrap(data, "borda", **FEW),
    "bootstrap bayesian": lambda data: jr.bootstrap(data, "bradley_terry_map", scheme="bayesian", **FEW),
    "bootstrap questions": lambda data: jr.bootstrap(data, scheme="questions", **FEW),
    "subsample": lambda data: jr.subsample(data, n=2, **FEW),
    "convergence": lambda data: jr.convergence(data, **FEW),
    "model_pools": lambda data: jr.model_pools(data, size=3, **FEW),
    "fit_all": lambda data: jr.fit_all(data, ["borda", "bradley_terry_map", "elo"]),
    "agreement": lambda data: jr.agreement(data, ["borda", "bradley_terry_map", "elo", "avg"]),
    "agreement gold": lambda data: jr.agreement(data, ["bradley_terry_map"], gold="borda"),
    "diagnose": jr.diagnose,
    "posterior": lambda data: jr.posterior(data, "bradley_terry", sampler="laplace", n_chains=2, n_samples=20),
    "by": lambda data: jr.by(data, "category"),
    "ratings_over_time": lambda data: jr.ratings_over_time(data),
    "fit side": lambda data: jr.fit(data, "bradley_terry_map", side=True),
    "tiers": lambda data: jr.tiers(jr.fit(data)),
    "summary": lambda data: jr.fit(data).summary(),
    "to_frame": lambda data: jr.fit(data).to_frame(),
    "compare": lambda data: jr.compare(data, 0, 1, margin=0.1),
    **{
        f"compare {test}": lambda data, test=test: jr.compare(data, 0, 1, test=test)
        for test in ("t", "sign_flip", "mcnemar", "wilcoxon")
    },
    "compare trials": lambda data: jr.compare(data, 0, 1, unit="trials"),
    "compare group": lambda data: jr.compare(_told(data), 0, 1, cluster="group"),
    "compare_all": jr.compare_all,
    "compare_all baseline": lambda data: jr.compare_all(data, 0, unit="trials"),
    "compare_all by": lambda data: jr.compare_all(_told(data), 0, by="group"),
    "compare_factors": lambda data: jr.compare_factors(_told(data), ["llm", "prompt"]),
    "compare_factors unknown": lambda data: jr.compare_factors(data, ["llm", "prompt"]),
    "cost_frontier": lambda data: jr.cost_frontier(_told(data), **FEW),
    "cost_frontier unknown": lambda data: jr.cost_frontier(data, **FEW),
    "convergence stop": lambda data: jr.convergence(data, "avg", stop="sequence", **FEW),
}
REFUSALS = (
    "use", "leave", "make", "needs", "choose", "instead", "take", "turn", "pass", "must", "exclude", "have no",
)  # fmt: skip
WORKS_ON_ALL = {"fit", "fit bradley_terry_map", "diagnose", "summary", "to_frame"}
"""The calls that anyone tries first; but for counts alone, which say nothing of pairs by index."""
NOT_OF_LISTS = {
    "fit avg", "fit rasch_map", "fit dynamic_irt_state_space", "fit pairing", "fit R0", "bootstrap questions", "by",
    "ratings_over_time", "fit side", "convergence stop",
    *(call for call in CALLS if call.startswith(("compare", "cost_frontier"))),
}  # fmt: skip
COMPILING = {
    "convergence", "convergence stop", "model_pools", "tiers", "bootstrap", "subsample", "posterior",
    "bootstrap bayesian", "fit bradley_terry_luce_map",
}  # fmt: skip
"""Calls that compile for every kind of data, more than 5 s each (convergence 68 s, pools 37 s, on a busy machine)."""


@pytest.mark.parametrize(
    "call", [pytest.param(call, marks=pytest.mark.slow) if call in COMPILING else call for call in CALLS]
)
def test_a_call_works_or_names_a_remedy(call, tmp_path):
    """interface 16, 18, 24, 28; numerics 14."""
    found, other = {}, []
    for kind, make in DATA.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JaxrankWarning)
            try:
                CALLS[call](make(tmp_path))
            except JaxrankError as error:
                said = str(error)
                found[kind] = "refuses"
                if "\n" in said or not any(word in said for word in REFUSALS):
                    found[kind] = "other"
                    other.append(f"{kind}: no remedy in {said!r}")
            except Exception as error:
                found[kind] = "other"
                other.append(f"{kind}: {type(error).__name__}: {error}")
            else:
                found[kind] = "works"
    assert not other, "\n".join(other)
    refusing = {kind for kind in found if found[kind] == "refuses"}
    if call in WORKS_ON_ALL:
        assert refusing <= {"counts"}
    assert "lists" not in refusing or call in NOT_OF_LISTS


def test_plackett_luce_is_one_likelihood_of_lists():
    """interface 12."""
    lists = jr.Rankings(ORDERS)
    by_fit = jr.fit(lists, "plackett_luce_map", dtype="float64").scores
    np.testing.assert_allclose(
        jr.fit(lists, jr.methods.PlackettLuce(prior=1.0), dtype="float64").scores, by_fit, atol=1e-9
    )


def test_earlier_outcomes_are_used_by_one_rule():
    """interface 7: convergence and fit_all ignored R0 for bayes, fit and bootstrap used it."""
    R0 = 1 - R[:, :, :2]
    used = jr.fit(R, "bayes", R0=R0).scores
    np.testing.assert_allclose(jr.fit_all(R, "bayes", R0=R0)["bayes"].scores, used)
    both = jr.fit_all(R, ["bayes", "bayes_greedy"], R0=R0)
    np.testing.assert_allclose(both["bayes_greedy"].scores, used)
    np.testing.assert_allclose(both["bayes"].scores, jr.fit(R, "bayes").scores)
    point = jr.bootstrap(R, "bayes", R0=R0, **FEW).scores
    np.testing.assert_allclose(point, used)
    a, b = (jr.convergence(R, "bayes", R0=prior, **FEW).agreement("bayes") for prior in (None, R0))
    assert not np.array_equal(a, b)
    for call, more in ((jr.fit_all, {}), (jr.convergence, {}), (jr.model_pools, {"size": 2})):
        with pytest.raises(jr.errors.OptionError, match="leave R0 out"):
            call(R, ["avg"], R0=R0, **more)


def test_methods_keep_their_labels():
    """interface 8: rankers of one class are told apart, not dropped."""
    one, two = jr.methods.PassAtK(k=1), jr.methods.PassAtK(k=2)
    assert list(jr.fit_all(R, [one, two, "bayes"]).results) == ["PassAtK(k=1.0)", "PassAtK(k=2.0)", "bayes"]
    assert list(jr.fit_all(R, {"first": one, "pairs": two}).results) == ["first", "pairs"]
    assert list(jr.fit_all(R, "avg").results) == ["avg"]
    with pytest.raises(jr.errors.OptionError, match="named twice"):
        jr.fit_all(R, ["avg", "avg"])


def test_gold_never_fails_after_the_work():
    """interface 18."""
    battles = DATA["battles"](None)
    assert jr.agreement(battles, ["bradley_terry_map", "elo"]).gold == "bradley_terry_map"
    with pytest.warns(JaxrankWarning, match="takes its place"):
        assert jr.agreement(battles, ["elo"], gold="bayes").gold == "elo"
    with pytest.raises(jr.errors.UnknownMethodError):
        jr.agreement(battles, ["elo"], gold="bays")


@pytest.mark.parametrize("seed", [2**32 + 5, 2**63 - 1])
def test_long_seeds_count_whole_in_both_precisions(seed):
    """interface 15."""
    import jax

    from jaxrank.studies.fit import as_key

    narrow = jax.random.key_data(as_key(seed))
    with jax.enable_x64(True):
        assert np.array_equal(narrow, jax.random.key_data(as_key(seed)))
    assert not np.array_equal(narrow, jax.random.key_data(as_key(seed % 2**32)))
    for wrong in (2**63, -1, 1.0, True):
        with pytest.raises(jr.errors.OptionError, match=r"^seed=.*from 0 to 2\^63 - 1"):
            as_key(wrong)


def test_files_frames_and_options_of_reading(tmp_path):
    """interface 24: what cannot be read says how it is read."""
    path = DATA["path"](tmp_path)
    assert jr.fit(path, "avg").scores.tolist() == jr.fit([path], "avg").scores.tolist()
    with pytest.raises(jr.errors.DataError, match=r"no file .*absent\.csv"):
        jr.fit(str(tmp_path / "absent.csv"))
    with pytest.raises(jr.errors.OptionError, match=r"jaxrank\.from_frame\(frame, model='llm'\)"):
        jr.fit({"llm": ["a", "b"], "question": [1, 1], "score": [0, 1]}, model="llm")
