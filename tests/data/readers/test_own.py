"""The library's own parquet gives everything back, and so do frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.readers import read
from jaxrank.data.readers.own import write_parquet
from jaxrank.errors import OptionError

R = np.random.default_rng(0).integers(0, 2, (3, 4, 2)).astype(float)
R[0, 1] = np.nan
REAL = np.where(np.isnan(R), np.nan, R * 1.7 - 0.3)
QUESTIONS = {
    "question": list("wxyz"),
    "weight": [1, 2, 0.5, 1],
    "group": ["g", "g", "h", "h"],
    "note": ["a", None, "b", "c"],
}
DATA = {
    "binary": jr.Responses(R, ["ada", "bob", "007"], list("wxyz"), notes=["a note"]),
    "graded": jr.Responses(R, levels=(0, 1)),
    "real": jr.Responses(REAL, ["a", "b", "c"], QUESTIONS, lower_is_better=["x"], tie_within=0.1),
    "filled": jr.Responses(REAL, missing="worst"),
    "counts": jr.Responses.from_counts([[7, 3], [5, 2]], trials=[[8, 3], [9, 4]], models=["ada", "bob"]),
    "battles": jr.Comparisons(
        ["x", "y", "z"],
        ["y", "z", "x"],
        [1, 0, 0.5],
        [1, 2, 3],
        columns={"voter": ["u", None, "v"], "n_a": [1, np.nan, 2]},
    ),
    "lists": jr.Rankings(
        [["ada", "bob"], ["bob"], [["cyd", "ada"]]],
        count=[1, 2, 0.5],
        unlisted="below",
        columns={"voter": ["u", None, "v"], "price": [[1.0, np.nan, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]},
    ),
}


@pytest.mark.parametrize("name", DATA)
def test_what_is_written_is_read_back_whole(tmp_path: Path, name: str) -> None:
    data = DATA[name]
    write_parquet(data, tmp_path / "d.parquet")
    again = read(tmp_path / "d.parquet")
    assert repr(again) == repr(data)
    assert (again.form, again.models, tuple(again.questions), again.notes) == (
        data.form,
        data.models,
        tuple(data.questions),
        data.notes,
    )
    for one, other in zip(again.arrays(), data.arrays(), strict=True):
        np.testing.assert_array_equal(one, other)
    for table in ("question_columns", "model_columns", "columns"):
        one, other = (dict(getattr(d, table, {})) for d in (again, data))
        assert list(one) == list(other)
        for key in one:
            np.testing.assert_array_equal(one[key], other[key])


@pytest.mark.parametrize("name", ["binary", "real", "battles"])
def test_frames_are_read_back(name: str) -> None:
    data = DATA[name]
    again = jr.from_frame(data.to_frame())
    if name == "battles":
        assert again.wins.tolist() == data.wins.tolist()
        assert again.columns["voter"].tolist() == ["u", None, "v"]
    else:
        i, m = [again.models.index(x) for x in data.models], [again.questions.index(q) for q in data.questions]
        np.testing.assert_array_equal(again.values[np.ix_(i, m)], data.values)


def test_files_are_joined_and_other_endings_refused(tmp_path: Path) -> None:
    for k, name in enumerate(("x", "y")):
        write_parquet(jr.Comparisons([name], ["z"], [1]), tmp_path / f"{k}.parquet")
    assert read(tmp_path).models == ("x", "z", "y")
    with pytest.raises(OptionError, match="converted data are written as"):
        write_parquet(DATA["battles"], tmp_path / "d.csv")
