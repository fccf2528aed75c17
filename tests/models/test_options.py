"""Every option of every method refuses what it cannot mean, by a sentence that names it (interface 21, numerics 2)."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import JaxrankError, OptionError
from jaxrank.methods.catalogue import entries
from jaxrank.models.options import in_words
from jaxrank.studies.fit import as_key, prepare, read_statistic
from tests.problems import graded

WRONG = {
    "None": None,
    "a word": "nonsense",
    "no word": "",
    "bytes": b"half",
    "True": True,
    "0": 0,
    "-1": -1,
    "-1.5": -1.5,
    "1.5": 1.5,
    "NaN": float("nan"),
    "infinite": float("inf"),
    "1e300": 1e300,
    "1e-300": 1e-300,
    "a huge integer": 10**400,
    "a long": 2**40,
    "complex": 1j,
    "a list": [1, 2, 3],
    "an array": np.full(7, 0.5),
    "a matrix": np.ones((2, 2)),
    "ragged": [[1], [2, 3]],
    "empty": [],
    "NaNs": jnp.full(2, jnp.nan),
    "a falling pair": (0.99, 0.01),
    "a pair with -1": (0, -1),
    "a mapping": {"x": 1.0},
    "an object": object(),
    "a class": dict,
    "a date": np.datetime64("2024-01-01"),
}
BY_CLASS = {type(e.ranker()): e.name for e in entries().values()}
DATA = {
    "orders": jr.Rankings([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]),
    "battles": jr.Comparisons(["a", "b", "c", "a"], ["b", "c", "a", "c"], [1, 0.5, 0, 1]),
    "margins": jr.Comparisons(["a", "b", "c", "a"], ["b", "c", "a", "c"], [1, 0.5, 0, 1]),
    "responses": jr.Responses(graded()),
}


def data_of(name: str):
    return DATA.get(entries()[name].ranker().statistic.name, DATA["responses"])


def fields(name: str) -> list[str]:
    return [f.name for f in dataclasses.fields(entries()[name].ranker())]


def refused(name: str, option: str, value) -> bool:
    """Whether an option refuses a value; `AssertionError` where it does so by a raw exception or without its name."""
    said = None
    try:
        entries()[name].ranker(**{option: value})
    except OptionError as error:
        said = str(error)
    assert said is None or (said.startswith(option) and "\n" not in said), (name, option, value, said)
    return said is not None


@pytest.mark.parametrize("name", entries())
def test_wrong_values_are_refused_by_name(name, record_property):
    """No raw exception, whatever the value; the number of refusals is in the report."""
    n_refused = sum(refused(name, option, value) for option in fields(name) for value in WRONG.values())
    record_property("refused", f"{n_refused} of {len(fields(name)) * len(WRONG)}")
    for option in fields(name):
        for always in ("bytes", "NaN", "infinite", "complex", "ragged", "an object", "a class", "a date"):
            assert refused(name, option, WRONG[always]), (option, always)
        if not refused(name, option, WRONG["a word"]):  # it may be a column of the questions, which is known with data
            with pytest.raises(OptionError, match=f"^{option}"):
                prepare(name, data_of(name), None, {option: WRONG["a word"]})


def _slow(name: str) -> list:
    """Item response models and choices of sets take seconds to trace."""
    return (
        [pytest.mark.slow]
        if entries()[name].family in ("irt_joint", "irt_marginal", "mirt", "luce", "dynamic_irt")
        else []
    )


@pytest.mark.parametrize("name", [pytest.param(n, marks=_slow(n)) for n in BY_CLASS.values()])
def test_values_that_are_taken_can_be_run(name):
    """What is not refused is traced on data: it ends in a fit, or in a sentence."""
    data = data_of(name)
    stat = read_statistic(entries()[name].ranker(), data)
    for option in fields(name):
        for value in WRONG.values():
            if refused(name, option, value):
                continue
            try:
                made = prepare(name, data, None, {option: value})
                read = (
                    read_statistic(made, data) if made.statistic.name == "battles" else stat
                )  # options choose columns
            except JaxrankError:
                continue
            if not made.host and not (option.startswith("n_") and value is not None and value > 10**4):
                jax.eval_shape(lambda s, r=made: r(s, key=as_key(0) if r.stochastic else None), read)


@pytest.mark.parametrize(
    ("method", "options", "says"),
    [
        ("bradley_terry", {"ties": "haf"}, "'drop', 'half'"),
        ("bradley_terry", {"pseudo": -1}, "0 or more"),
        ("rao_kupper", {"tie_strength": 0.5}, "1 or more"),
        ("rao_kupper", {"tie_strength": 1}, "nothing ever ties"),
        ("inverse_difficulty", {"clip": (0.99, 0.01)}, "rising order"),
        ("inverse_difficulty", {"clip": (0.1, 0.2, 0.3)}, "2 numbers"),
        ("mml_2pl", {"slope_prior": (0, -1)}, "standard deviation"),
        ("dynamic_irt_state_space", {"anchor": 0}, "above 0"),
        ("rasch_3pl", {"guessing": 1.5}, "below 1"),
        ("mml_3pl", {"guessing": 1.5}, "below 1"),
        ("rasch_mml", {"quadrature": 21}, "Quadrature"),
        ("rasch", {"centred": False}, "prior"),
        ("bradley_terry_map", {"prior": jr.priors.Gaussian([0.0, 1.0], 1.0)}, "2 values"),
        ("bradley_terry_map", {"prior": -1}, "variance above 0"),
        ("bradley_terry_luce", {"pairing": "all"}, "pairing"),
        ("avg", {"pairing": "all"}, "pairing"),
    ],
)
def test_known_holes(method, options, says):
    """Numerics, section 2: each of these was accepted without a word."""
    with pytest.raises(OptionError, match=says):
        jr.fit(graded(), method, **options)


@pytest.mark.parametrize("make", [jr.priors.Gaussian, jr.priors.Laplace, jr.priors.Cauchy])
def test_priors_refuse_wrong_values(make):
    names = [f.name for f in dataclasses.fields(make)]
    for name in names:
        for kind in ("a word", "NaN", "infinite", "1e300", "a matrix", "ragged", "an object", "None"):
            with pytest.raises(OptionError, match=f"^{name}="):
                make(**{name: WRONG[kind]})
        if name in ("var", "scale"):
            with pytest.raises(OptionError, match="above 0"):
                make(**{name: 0})


def test_every_option_says_what_it_may_hold():
    """A new option without a check fails here."""
    for cls in BY_CLASS:
        for field in dataclasses.fields(cls):
            assert "check" in field.metadata, (cls.__name__, field.name)


def test_values_under_a_trace_are_taken_as_they_are():
    ks = jnp.asarray([1.0, 2.0])
    scores = jax.vmap(lambda k: jr.methods.PassAtK(k=k)(read_statistic(jr.methods.PassAtK(), DATA["responses"])).scores)
    assert scores(ks).shape == (2, 5)


PARTS = [(cls, f) for cls in BY_CLASS for f in dataclasses.fields(cls) if "words" in f.metadata]


@pytest.mark.parametrize(("cls", "field"), [pytest.param(c, f, id=f"{c.__name__}-{f.name}") for c, f in PARTS])
def test_parts_are_made_from_the_words_that_the_list_shows(cls, field):
    words = field.metadata["words"]
    for word, make in words.items():
        made = getattr(cls(**{field.name: word.upper()}), field.name)
        assert type(made) is make
        again = getattr(cls(**{field.name: in_words(made, words)}), field.name)
        assert in_words(again, words) == in_words(made, words)
    first = next(iter(words))
    for wrong in ("", ":", f"{first}:wide=1", f"{first}:no number", f"{first}:1:2:3:4:5", "hermite:21"):
        with pytest.raises(OptionError, match=f"^{field.name}="):
            cls(**{field.name: wrong})


def test_numbers_of_words_are_in_order_or_named():
    made = [
        jr.entries()["bradley_terry"].ranker(prior=text).prior for text in ("gaussian:1:4", "gaussian:var=4:mean=1")
    ]
    for prior in made:
        assert (float(prior.mean), float(prior.var)) == (1, 4)
    with pytest.raises(OptionError, match="quadrature='fixed:2': n=2 nodes"):
        jr.entries()["rasch_mml"].ranker(quadrature="fixed:2")
    with pytest.raises(OptionError, match=r"quadrature='fine'.*adaptive, fixed"):
        jr.entries()["rasch_mml"].ranker(quadrature="fine")


def test_parts_that_differ_have_labels_of_their_own():
    rankers = [jr.entries()["rasch_mml"].ranker(quadrature=f"fixed:{n}") for n in (9, 21)]
    table = jr.fit_all(graded(), rankers)
    assert list(table.results) == [f"{type(rankers[0]).__name__}(quadrature=fixed:n={n})" for n in (9, 21)]
