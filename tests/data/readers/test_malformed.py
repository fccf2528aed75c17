"""Two hundred malformed inputs: each one ranks or raises a `JaxrankError`; none is NaN and called converged."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jaxrank as jr
from jaxrank.errors import JaxrankError, OptionError, UnsupportedDataError
from jaxrank.numerics.status import Status

# Few shapes, so that few programs are compiled.
USUAL = st.sampled_from([(3, 4, 2), (3, 4), (3, 4, 1)])
ODD_SHAPES = st.sampled_from([(3,), (), (1, 3, 2), (2, 0, 3), (0, 3), (2, 2, 1, 1), (3, 3)])
METHODS = st.sampled_from(
    ["bayes", "avg", "bayes", "avg", "pass_at_k", "bradley_terry_map", "bradley_terry", "no_such_method", ""]
)
USUAL_DTYPES = st.sampled_from(["bool", "int8", "uint8", "int64", "float16", "float32", "float64"])
ODD_DTYPES = st.sampled_from(["uint64", "complex64", "str", "object", "datetime64[s]"])
ODD = st.sampled_from(
    [None, "", "x", "1", np.nan, np.inf, -np.inf, -2, 0.5, 256, 1e300, 10**30, b"1", (1,), [0, 1], {}]
)
CELLS = st.sampled_from([0, 0, 1, 1, 1, -1, 2, 3])
ABC = st.just(["a", "b", "c"])
ODD_NAMES = st.one_of(
    st.lists(
        st.sampled_from(["a", "b", "c", "a\u200b", "Zoë", "Zoe\u0308", "", " ", None, 1, 1.5, np.nan]), max_size=5
    ),
    st.sampled_from(["abc", 3, {"a": 1, "b": 2, "c": 3}, np.array(["a", "b", "c"]), np.array([["a"], ["b"], ["c"]])]),
)
NAMES = st.one_of(st.none(), ABC, ODD_NAMES)
LEVELS = st.sampled_from([None, None, None, (0, 1), (0, 0.5, 1), (1, 0), (), "01", 3, (0, float("nan")), (None, 1)])


@st.composite
def arrays(draw, shapes=USUAL, top=4):
    """Arrays with at most one oddity (or one of a list): depth, type, values, layout."""
    odd = draw(st.sampled_from(["none", "none", "none", "shape", "dtype", "values", "scalar"]))
    shape = draw(ODD_SHAPES if odd == "shape" else shapes)
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    dtype = draw(ODD_DTYPES if odd == "dtype" else USUAL_DTYPES)
    array = np.asarray(rng.integers(0, draw(st.integers(1, top)), shape)).astype(dtype)
    share = draw(st.sampled_from([0.1, 0.5, 1.0]))
    if dtype.startswith("float"):
        bad = [np.inf, 0.5, -3.0, 1e9] if odd == "values" else [np.nan, -1.0]
        with np.errstate(over="ignore"):
            array[rng.random(shape) < share] = draw(st.sampled_from(bad))
    if dtype == "object":
        array[rng.random(shape) < share] = draw(st.sampled_from([None, "x", 1.0, np.nan, 2 + 1j]))
    form = draw(st.sampled_from(["plain", "fortran", "masked", "reversed", "list"]))
    if odd == "scalar":
        return array.reshape(-1)[0]
    if form == "fortran":
        return np.asfortranarray(array)
    if form == "masked":
        return np.ma.masked_array(array, mask=rng.random(shape) < share / 2)
    if form == "reversed":
        return array[..., ::-1] if array.ndim else array
    return array.tolist() if form == "list" else array


@st.composite
def nested_lists(draw):
    """Nested Python lists: ragged, of mixed depth, with odd values."""
    cell = st.one_of(CELLS, CELLS, CELLS, ODD, st.lists(st.one_of(CELLS, ODD), max_size=3))
    row = st.one_of(st.lists(cell, min_size=2, max_size=3), st.lists(CELLS, min_size=3, max_size=3))
    rows = draw(st.lists(row, max_size=4))
    return draw(st.sampled_from([rows, tuple(rows), iter(rows), set(), "R", None, object(), 7]))


@st.composite
def tables(draw):
    """Long tables with odd names, values, lengths and missing columns."""
    n = draw(st.integers(0, 8))
    odd = draw(st.sampled_from(["none", "none", "model", "question", "trial", "score"]))
    names = {
        "model": st.sampled_from(["a", "b", "c"] + [None, "", 1, np.nan] * (odd == "model")),
        "question": st.sampled_from(["q", "r"] + [1, None] * (odd == "question")),
        "trial": st.sampled_from([0, 1] + ["x", None] * (odd == "trial")),
        "score": st.one_of(CELLS, ODD) if odd == "score" else st.sampled_from([0, 1]),
    }
    frame = {name: draw(st.lists(values, min_size=n, max_size=n)) for name, values in names.items()}
    change = draw(
        st.sampled_from(["none", "none", "none", "untimed", "untimed", "drop", "short", "scalar", "rename", "battles"])
    )
    column = draw(st.sampled_from(list(frame)))
    if change == "untimed":
        del frame["trial"]
    elif change == "drop":
        del frame[column]
    elif change == "short":
        frame[column] = frame[column][:-1]
    elif change == "scalar":
        frame[column] = "x"
    elif change == "rename":
        frame[3] = frame.pop(column)
    elif change == "battles":
        winner = st.sampled_from(["model_a", "model_b", "tie", "tie (bothbad)", "", None, "nobody", 1])
        side = st.sampled_from(["a", "b", "c", None, 2])
        frame = {
            k: draw(st.lists(v, min_size=n, max_size=n))
            for k, v in (("model_a", side), ("model_b", side), ("winner", winner))
        }
    return _as_frame(frame, draw(st.sampled_from(["dict", "pandas", "polars", "pyarrow"])))


def _as_frame(frame, library):
    """The table in another library, or as it is where that library itself refuses it."""
    if library == "dict":
        return frame
    module = importlib.import_module(library)
    try:
        return module.table(frame) if library == "pyarrow" else module.DataFrame(frame)
    except Exception:
        return frame


@st.composite
def problems(draw):
    """(build, method, options): ``build()`` makes the data inside the guarded call."""
    kind = draw(st.sampled_from(["array", "array", "lists", "frame", "responses", "counts", "comparisons", "matrix"]))
    usual = st.sampled_from([{}, {}, {"on_failure": "return"}, {"dtype": "float32"}])
    odd = [{"k": 2}, {"k": 0}, {"k": "x"}, {"unknown": 1}, {"dtype": "int8"}, {"dtype": "x"}, {"dtype": 3}]
    odd += [{"pairing": "x"}, {"on_failure": 1}, {"R0": [[0, 1]]}, {"R0": "x"}, {"seed": "x"}, {"seed": -1}]
    options = draw(st.sampled_from(odd) if draw(st.integers(0, 5)) == 5 else usual)
    method = draw(METHODS)
    if kind == "array":
        R = draw(arrays())
        return lambda: R, method, options
    if kind == "lists":
        R = draw(nested_lists())
        return lambda: R, method, options
    if kind == "frame":
        table = draw(tables())
        return lambda: table, method, options
    if kind == "responses":
        R, models, questions, levels = draw(arrays()), draw(NAMES), draw(st.one_of(st.none(), NAMES)), draw(LEVELS)
        full = st.sampled_from([None, True, False, np.eye(3, 4, dtype=bool), np.eye(3, 4)[:, :, None]])
        mask = draw(st.one_of(full, full, st.sampled_from([[True, False], np.ones((3, 4, 2)), "m", [[1], [1, 0]]])))
        return lambda: jr.Responses(R, models, questions, levels=levels, mask=mask), method, options
    if kind == "counts":
        k, names = draw(arrays(st.just((3, 4)))), draw(NAMES)
        n = draw(st.one_of(arrays(st.just((3, 4)), top=6), st.sampled_from([3, 3, 0, -1, 2.5, "n", None])))
        return lambda: jr.Responses.from_counts(k, n, names), method, options
    method = draw(st.sampled_from(["bradley_terry_map", "bradley_terry", method]))
    if kind == "comparisons":
        build = draw(battle_lists())
        return build, method, options
    wins, ties = (draw(arrays(st.just((3, 3)))) for _ in range(2))
    if draw(st.booleans()):
        wins = np.ones((3, 3)) - np.eye(3)
    ties = draw(st.sampled_from([None, None, ties, np.ones((3, 3)) - np.eye(3)]))
    names = draw(NAMES)
    return lambda: jr.Comparisons.from_matrix(wins, ties, models=names), method, options


@st.composite
def battle_lists(draw):
    """Battles with odd names, outcomes, counts and lengths."""
    size = draw(st.integers(0, 6))
    ring = [["a", "b", "c", "a", "b", "c"][:size], ["b", "c", "a", "c", "a", "b"][:size]]
    side = st.one_of(st.sampled_from(["a", "b", "c"]), st.integers(-1, 3), st.none(), st.just([1]))
    sides = ring if draw(st.booleans()) else [draw(st.lists(side, min_size=size, max_size=size)) for _ in range(2)]
    usual = st.sampled_from([0, 1, 0.5] if draw(st.booleans()) else ["a", "b", "tie"])
    odd = st.sampled_from(["x", None, 2, np.nan, "a", 1])
    outcome = draw(st.lists(st.one_of(usual, odd) if draw(st.booleans()) else usual, min_size=size, max_size=size))
    if draw(st.integers(0, 9)) == 0:
        outcome = [*outcome, 1]
    count = draw(st.sampled_from([None, None, None, [1.0] * size, [2] * size, [-1.0] * size, [np.nan] * size, "x", 3]))
    models = draw(st.one_of(st.none(), st.just(["a", "b", "c"]), NAMES))
    return lambda: jr.Comparisons(*sides, outcome, count, models)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=200, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(problems())
def test_malformed_input_ranks_or_raises(problem):
    build, method, options = problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = jr.fit(build(), method, **options)
        except JaxrankError:
            return
    scores = np.asarray(result.scores)
    if result.status == Status.CONVERGED:
        assert np.all(np.isfinite(scores)), f"{method}: converged with scores {scores}"
        assert np.all(np.asarray(result.ranks) >= 1)


@pytest.mark.parametrize("value", ["x", [1, [2]], {}, object()])
def test_an_option_that_is_no_number(value):
    with pytest.raises(OptionError, match="it must be a whole number"):
        jr.fit([[1, 0], [0, 1]], "pass_at_k", k=value)


@pytest.mark.parametrize("method", ["bayes", "avg", "pass_at_k", "copeland", "rasch"])
def test_battles_are_no_repeated_trials(method):
    with pytest.raises(UnsupportedDataError, match=r"reads repeated trials .*these data are battles.*; use "):
        jr.fit(jr.Comparisons([0, 1], [1, 0], [1, 1]), method)
