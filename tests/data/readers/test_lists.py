"""Tables of ordered lists in long form: a row for each model of a list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import jaxrank as jr
from jaxrank.errors import DataError, OptionError

TABLE = {
    "order": ["q1", "q1", "q1", "q2", "q2", "q3", "q3", "q3"],
    "model": ["bob", "ada", "cyd", "cyd", "ada", "ada", "bob", "cyd"],
    "rank": [2, 1, 3, 1, 4, 1, 1, 2],
    "price": [0.5, 0.25, 1.0, 0.75, 0.125, 2.0, 3.0, 4.0],
    "judge": ["eve", "eve", "eve", "dan", "dan", "eve", "eve", "eve"],
    "remark": ["x", "y", "x", "x", "x", "x", "x", "x"],
}


def read(table: Any, **options: Any) -> Any:
    return jr.from_frame(table, **options)


def test_a_row_for_each_model_of_a_list(tmp_path):
    path = tmp_path / "lists.csv"
    pd.DataFrame(TABLE).to_csv(path, index=False)
    for data in (read(TABLE), jr.read(path), read(pd.DataFrame(TABLE))):
        assert isinstance(data, jr.Rankings) and data.models == ("bob", "ada", "cyd")
        assert data.places.tolist() == [[2, 1, 3], [0, 2, 1], [1, 1, 2]]
        price = [[0.5, 0.25, 1.0], [np.nan, 0.125, 0.75], [3.0, 2.0, 4.0]]
        assert np.array_equal(data.columns["price"], price, equal_nan=True)
        assert data.columns["judge"].tolist() == ["eve", "dan", "eve"]
        assert "remark" not in data.columns and any("left out: remark" in note for note in data.notes)


def test_columns_of_other_names_are_named():
    table = {"item": TABLE["order"], "llm": TABLE["model"], "better": TABLE["rank"], "n": [3, 3, 3, 1, 1, 2, 2, 2]}
    data = read(table, place="better", model="llm", question="item", count="n")
    assert isinstance(data, jr.Rankings) and data.count.tolist() == [3, 1, 2]
    assert read(table, order="item", place="better", model="llm").places.tolist() == data.places.tolist()
    with pytest.raises(DataError, match=r"say place='rank'"):
        read({"question": TABLE["order"], "model": TABLE["model"], "rank": TABLE["rank"]})


def test_what_to_frame_writes_is_read_back():
    data = jr.Rankings(
        [["ada", ["bob"]], [["cyd", "ada"]]], count=[2, 1], unlisted="below",
        columns={"voter": ["v1", "v2"], "price": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]},
    )  # fmt: skip
    back = read(data.to_frame())
    assert back.models == data.models and back.places.tolist() == data.places.tolist()
    assert back.open_end.tolist() == [True, True] and back.count.tolist() == [2, 1]
    assert back.columns["voter"].tolist() == ["v1", "v2"]
    assert np.array_equal(back.columns["price"], data.columns["price"])


def test_a_table_with_scores_stays_one_of_trials():
    data = read({**TABLE, "score": [1, 0, 1, 1, 0, 1, 1, 0], "question": TABLE["order"]})
    assert isinstance(data, jr.Responses)


def test_what_is_wrong_with_a_table_of_lists_is_said():
    for change, says in (
        ({"rank": [0, 1, 2, 1, 2, 1, 1, 2]}, "row 1, column 'rank': 0 is no place.*write 1 and 2"),
        ({"rank": [2, None, 3, 1, 4, 1, 1, 2]}, "row 2, column 'rank': empty is no place"),
        ({"model": ["bob", "bob", *TABLE["model"][2:]]}, "the list 'q1' has 'bob' 2 times.*order="),
        ({"count": [1, 2, 1, 1, 1, 1, 1, 1]}, "row 2: column 'count' differs within a list"),
        ({"open_end": ["no?", *[True] * 7]}, "column 'open_end': 'no\\?' is not true or false"),
    ):
        with pytest.raises(DataError, match=says):
            read({**TABLE, **change})
    with pytest.raises(DataError, match=r"ordered lists need columns.*Name order="):
        read({"model": ["a", "b"], "rank": [1, 2]}, place="rank")
    for other in ({"score": "price"}, {"a": "model"}, {"wide": "models"}):
        with pytest.raises(OptionError, match="order and place name"):
            read(TABLE, place="rank", **other)
