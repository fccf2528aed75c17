"""Tables that are not in long form: wide both ways, several metrics, pivots, mappings, answers, leaderboards."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import jaxrank as jr
from jaxrank.data.readers import from_frame, read
from jaxrank.errors import DataError, OptionError


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def check(data: jr.Responses, scores=((1, 0), (0, 1)), models=("ada", "bob"), questions=("q1", "q2")) -> None:
    i, m = [data.models.index(x) for x in models], [data.questions.index(x) for x in questions]
    np.testing.assert_array_equal(data.values[np.ix_(i, m)][:, :, 0], scores)
    assert data.shape == (len(models), len(questions), 1)


DOWN, ACROSS = "question,ada,bob\nq1,1,0\nq2,0,1\n", "model,q1,q2\nada,1,0\nbob,0,1\n"


@pytest.mark.parametrize(("text", "other"), [(DOWN, "questions"), (ACROSS, "models")])
def test_wide_tables_both_ways_round(tmp_path, text, other):
    data = read(write(tmp_path / "w.csv", text))
    check(data)
    assert any("a wide table" in note and f"wide={other!r}" in note for note in data.notes)


def test_wide_turns_a_table_and_names_its_labels(tmp_path):
    """Where neither rows nor columns say what they are, the refusal names the option; index columns have no name."""
    path = write(tmp_path / "w.csv", ",ada,bob\nx,1,0\ny,0,1\n")
    with pytest.raises(DataError, match=r"wide='models', for each question wide='questions'"):
        read(path)
    check(read(path, wide="models"), questions=("x", "y"))
    check(read(path, wide="questions"), models=("x", "y"), questions=("ada", "bob"), scores=[[1, 0], [0, 1]])
    with pytest.raises(OptionError, match=r'wide=.*"models" or "questions"'):
        read(path, wide="rows")


def test_names_that_are_numbered_are_questions(tmp_path):
    check(read(write(tmp_path / "w.csv", "who,q1,q2\nada,1,0\nbob,0,1\n")))
    check(read(write(tmp_path / "w.csv", "who,ada,bob\nq1,1,0\nq2,0,1\n")))


def test_columns_and_rows_that_sum_up_or_measure_something_else_are_left_out(tmp_path):
    text = "model,q1,q2,average,cost,comment\nada,1,0,0.5,3.5,good\nbob,0,1,0.5,2.1,\nmean,0.5,0.5,0.5,2,\n"
    data = read(write(tmp_path / "w.csv", text))
    check(data)
    assert any("average, cost, comment" in note for note in data.notes)
    assert any("row 'mean'" in note for note in data.notes)


def test_remarks_behind_numbers_and_gaps(tmp_path):
    data = read(write(tmp_path / "w.csv", "task,ada,bob\nt1,0.84 (1),0.5\nt2,0.31 ± 0.02,\nt3,-0.2,0.1\n"))
    np.testing.assert_array_equal(data.values[:, :, 0], [[0.84, 0.31, -0.2], [0.5, np.nan, 0.1]])
    assert any("'0.84 (1)'" in note for note in data.notes)
    with pytest.raises(DataError, match=r"w.csv: row 1, column 'ada': 'well' is not a score"):
        read(write(tmp_path / "w.csv", "task,ada,bob\nt1,well,0.5\n"), wide="models", score=["ada", "bob"])


def test_trials_weights_and_groups_of_wide_tables(tmp_path):
    text = "question,weight,run,subject,ada,bob\nq1,2,0,x,1,0\nq1,2,1,x,1,1\nq2,1,0,y,0,1\nq2,1,1,y,0,1\n"
    data = read(write(tmp_path / "w.csv", text), group="subject")
    assert data.shape == (2, 2, 2)
    np.testing.assert_array_equal(data.values[0], [[1, 1], [0, 0]])
    assert data.question_columns["weight"].tolist() == [2, 1]
    assert data.question_columns["group"].tolist() == ["x", "y"]


def test_several_metrics_are_a_question_each(tmp_path):
    path = write(tmp_path / "m.csv", "model,acc,loss,note\nada,0.5,2,x\nbob,0.7,1,y\n")
    data = read(path, score=["acc", "loss"])
    np.testing.assert_array_equal(data.values[:, :, 0], [[0.5, 2], [0.7, 1]])
    assert data.question_columns["higher_is_better"].tolist() == [True, False]
    path = write(tmp_path / "m.csv", "model,item,acc,f1\nada,q1,1,0.5\nada,q2,0,0.1\nbob,q1,0,0.2\nbob,q2,1,0.3\n")
    assert read(path, score=["acc", "f1"]).questions == ("q1/acc", "q1/f1", "q2/acc", "q2/f1")
    with pytest.raises(DataError, match="no column 'em' for score"):
        read(path, score=["acc", "em"])


def test_pivots_and_mappings():
    long = pd.DataFrame({"model": ["ada", "ada", "bob", "bob"], "item": ["q1", "q2"] * 2, "score": [1, 0, 0, 1]})
    pivot = long.pivot(index="item", columns="model", values="score")
    check(from_frame(pivot))
    check(from_frame(pivot.T))
    check(jr.fit(pivot, "avg").data)
    check(from_frame({"ada": [1, 0], "bob": [0, 1]}), questions=("question 0", "question 1"))
    check(from_frame({"ada": {"q1": 1, "q2": 0}, "bob": {"q1": 0, "q2": 1}}))
    check(from_frame({"q1": {"ada": 1, "bob": 0}, "q2": {"ada": 0, "bob": 1}}))
    check(from_frame({"x": {"ada": 1, "bob": 0}, "y": {"ada": 0, "bob": 1}}, wide="models"), questions=("x", "y"))
    assert from_frame({"ada": [[1, 0], [1, 1]], "bob": [[0, 0], [1]]}).shape == (2, 2, 2)
    with pytest.raises(DataError, match="'ada' has 2, 'bob' has 1"):
        from_frame({"ada": [1, 0], "bob": [0]})


def test_nested_json_and_lists_inside_an_object(tmp_path):
    nested = {"ada": {"q1": [1, 1], "q2": [0, 1]}, "bob": {"q1": [0, 0], "q2": [1, 1]}}
    assert read(write(tmp_path / "n.json", json.dumps(nested, indent=1))).shape == (2, 2, 2)
    rows = [{"model": m, "id": q, "correct": s} for m, q, s in (("ada", "q1", True), ("bob", "q1", False))]
    check(
        read(write(tmp_path / "o.json", json.dumps({"date": "today", "rows": rows}, indent=1))),
        [[1], [0]],
        questions=("q1",),
    )


def test_predictions_are_compared_with_answers(tmp_path):
    text = "model,question,prediction,answer\nada,q1, b,B\nada,q2,3.0,3\nbob,q1,A,B\nbob,q2,,3\n"
    data = read(write(tmp_path / "a.csv", text))
    check(data, [[1, 0], [0, 0]])
    assert any("1 rows have no prediction and are wrong" in note for note in data.notes)
    absent = read(tmp_path / "a.csv", errors="missing")
    assert np.isnan(absent.values[1, 1, 0])
    path = write(tmp_path / "b.csv", "model,question,said,truth\nada,q1,B,B\nbob,q1,A,B\n")
    check(read(path, score="said", answer="truth"), [[1], [0]], questions=("q1",))
    with pytest.raises(DataError, match="no column of predictions to compare with 'truth'"):
        read(path, answer="truth")


def test_questions_that_are_numbered_anew_in_each_task(tmp_path):
    text = "model,task,id,score\nada,x,1,1\nada,y,1,0\nbob,x,1,0\nbob,y,1,1\n"
    data = read(write(tmp_path / "t.csv", text))
    check(data, questions=("x/1", "y/1"))
    assert data.question_columns["group"].tolist() == ["x", "y"]


def test_directions_by_the_names_of_columns(tmp_path):
    """A loss is better when it is lower; so is a result that is one, question by question."""
    data = read(write(tmp_path / "e.csv", "method,dataset,metric_error\nada,x,0.1\nbob,x,0.4\n"))
    assert data.question_columns["higher_is_better"].tolist() == [False]
    assert any("lower is better for 'metric_error'" in note for note in data.notes)
    assert read(tmp_path / "e.csv", lower_is_better=False).question_columns["higher_is_better"].tolist() == [True]
    text = "framework,task,fold,result,acc,logloss\nada,x,0,0.9,0.9,\nada,y,0,0.2,,0.2\n"
    text += "bob,x,0,0.8,0.8,\nbob,y,0,0.5,,0.5\n"
    data = read(write(tmp_path / "r.csv", text))
    assert data.question_columns["higher_is_better"].tolist() == [True, False]
    text = "model,dataset,metric,value\nada,x,rmse,1.5\nada,y,r2,0.5\nbob,x,rmse,1.2\nbob,y,r2,0.1\n"
    assert read(write(tmp_path / "m.csv", text)).question_columns["higher_is_better"].tolist() == [False, True]


@pytest.mark.parametrize(
    "text",
    [
        "model,elo,ci,votes\nada,1200,+5/-5,300\nbob,1100,+4/-6,200\n",
        "name,win_rate,avg_length\nada,55.1,1800\nbob,44.9,1700\n",
        "model,score,rating_q025,rating_q975\nada,82.1,80,84\nbob,79,77,80\n",
    ],
)
def test_leaderboards_are_refused_with_what_is_missing(tmp_path, text):
    with pytest.raises(DataError, match=r"this is a leaderboard: .*What is missing is the results by question"):
        read(write(tmp_path / "board.csv", text))
    write(tmp_path / "r.csv", "model,id,score\nada,q,1\nbob,q,0\n")
    data = read(tmp_path)
    assert any("board.csv" in note and "left out" in note for note in data.notes)


def test_a_table_that_is_not_understood_is_shown(tmp_path):
    path = write(tmp_path / "u.csv", "who,item,mark,extra\nada,q1,good,7\nbob,q1,bad,9\n")
    with pytest.raises(DataError) as error:
        read(path)
    for part in ("who (ada, bob)", "mark (good, bad)", "understood: question = 'item'", "model=..., score=..."):
        assert part in str(error.value)


def test_a_million_numbers(tmp_path):
    """A column of numbers is read as numbers: 200,000 distinct scores take no dictionary of texts."""
    rng = np.random.default_rng(0)
    table = rng.random((200, 1000)).round(6)
    path = tmp_path / "big.csv"
    frame = pd.DataFrame(table, columns=[f"task_{k}" for k in range(1000)]).assign(model=[f"m{k}" for k in range(200)])
    frame.to_csv(path, index=False)
    np.testing.assert_array_equal(read(path).values[:, :, 0], table)


def test_rows_of_another_length_are_left_out_on_request(tmp_path):
    path = write(tmp_path / "w.csv", "model,q1,q2\nada,1,0\neve,1\nbob,0,1\n")
    with pytest.raises(DataError, match=r"row 2 has 2 fields, the header has 3.*errors='missing'"):
        read(path)
    data = read(path, errors="missing")
    check(data)
    assert any("1 rows have another number of fields" in note for note in data.notes)
