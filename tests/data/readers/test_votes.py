"""Battles as people write them: sides of any name, points, verdicts with degrees, two games a row, further columns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import jaxrank as jr
from jaxrank.data.readers import read
from jaxrank.data.readers.votes import graded
from jaxrank.errors import DataError, OptionError


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


WAYS = {
    "home,away,result\nx,y,H\ny,x,D\nx,y,A\n": "letters of football",
    "home_team,away_team,winner\nx,y,home\ny,x,draw\nx,y,away\n": "names of the columns",
    "white,black,result\nx,y,1-0\ny,x,1/2-1/2\nx,y,0-1\n": "chess",
    "player1,player2,winner\nx,y,1\ny,x,0\nx,y,2\n": "numbers of the players",
    "model_a,model_b,outcome\nx,y,1\ny,x,0\nx,y,-1\n": "signs",
    "model_1,model_2,score\nx,y,1\ny,x,0.5\nx,y,0\n": "points of the first",
    "team_a,team_b,score_a,score_b\nx,y,3,1\ny,x,2,2\nx,y,0,1\n": "what either side scored",
    "home,away,fthg,ftag\nx,y,3,1\ny,x,2,2\nx,y,0,1\n": "goals",
    "left,right,vote\nx,y,A>B\ny,x,A=B\nx,y,[[B>>A]]\n": "verdicts",
    "model_a,model_b,winner\nx,y,A is slightly better\ny,x,tie\nx,y,B is much better\n": "degrees",
}


@pytest.mark.parametrize("text", WAYS, ids=list(WAYS.values()))
def test_one_win_one_tie_and_one_loss(tmp_path, text):
    options = {"winner": "score", "a": "model_1", "b": "model_2"} if "score\n" in text else {}
    battles = read(write(tmp_path / "b.csv", text), **options)
    assert battles.models == ("x", "y")
    assert battles.outcome.tolist() == [0, 2, 1]


def test_verdicts_keep_their_degree(tmp_path):
    text = "model_a,model_b,winner\nx,y,A>B\nx,y,A>>B\nx,y,B>A\nx,y,A=B\nx,y,\n"
    battles = read(write(tmp_path / "b.csv", text))
    assert battles.columns["grade"].tolist() == [1, 2, -1, 0]
    assert [graded(word) for word in ("A>>B", "B >= A", "a much better", "C>A")] == [2, None, 3, None]


@pytest.mark.parametrize(("columns", "second"), [("g1_winner,g2_winner", "model_1"), ("winner_ab,winner_ba", "B")])
def test_two_games_a_row_keep_who_was_shown_first(tmp_path, columns, second):
    """The first model wins when shown first, and again when shown second."""
    first = {"model_1": "model_1", "B": "A"}[second]
    text = f"question_id,model_1,model_2,{columns}\n81,x,y,{first},{second}\n82,x,y,tie,error\n"
    battles = read(write(tmp_path / "b.csv", text))
    x, y = battles.models.index("x"), battles.models.index("y")
    assert battles.a.tolist() == [x, y, x]
    assert battles.outcome.tolist() == [0, 1, 2]
    assert battles.columns["game"].tolist() == [1, 2, 1]
    assert battles.columns["question"].tolist() == ["81", "81", "82"]
    assert battles.wins[x, y] == 2


def test_further_columns_are_kept_by_their_roles(tmp_path):
    text = "arena,first,second,who,judge,day,n_a,n_b,w,answer\n"
    text += f"1,x,y,x,u,3,10,20,2,{'long ' * 40}\n2,y,x,x,,4,5,,1,short\n"
    names = {"a": "first", "b": "second", "winner": "who", "time": "day", "weight": "w"}
    battles = read(write(tmp_path / "b.csv", text), **names)
    kept = {name: values.tolist() for name, values in battles.columns.items()}
    assert kept["voter"][0] == "u"
    assert kept["time"] == [3, 4]
    np.testing.assert_array_equal(battles.columns["n_b"], [20, np.nan])
    assert battles.count.tolist() == [1, 1]
    assert battles.weight.tolist() == [2, 1]
    assert any("answer" in note and "left out" in note for note in battles.notes)
    half = read(tmp_path / "b.csv", ties="drop", **names)
    assert list(half.columns) == list(battles.columns)


def test_one_side_alone_and_points_that_are_none(tmp_path):
    path = write(tmp_path / "b.csv", "home,away,hs,as\nx,y,3,one\n")
    with pytest.raises(OptionError, match=r"b_score=\.\.\. is needed as well"):
        read(path, a_score="hs")
    with pytest.raises(DataError, match="row 1, column 'as': 'one' is not a number of points"):
        read(path, a_score="hs", b_score="as")
    with pytest.raises(DataError, match="no winner column"):
        read(path, a="home", b="away")
    with pytest.raises(OptionError, match="give one kind"):
        jr.from_frame({"home": ["x"], "away": ["y"]}, a="home", b="away", wide="models")


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "csv"])
def test_what_arena_logs_tell_of_answers_becomes_columns(tmp_path, kind):
    """``conv_metadata`` of votes: tokens and marks of both answers, counts by kind added up, as pairs of columns."""
    marks = lambda n: {"h1": n, "h2": 1}
    rows = [
        {"model_a": "x", "model_b": "y", "winner": "model_a", "conv_metadata":
         {"sum_assistant_a_tokens": 10 * n, "sum_assistant_b_tokens": 5, "header_count_a": marks(n),
          "header_count_b": marks(0), "bold_count_a": n, "bold_count_b": 0, "turns": 1}}
        for n in (1, 2, 3)
    ]  # fmt: skip
    path = tmp_path / f"votes.{kind}"
    if kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    elif kind == "parquet":
        pd.DataFrame(rows).to_parquet(path)
    else:
        frame = pd.DataFrame(rows)
        frame["conv_metadata"] = frame["conv_metadata"].map(json.dumps)
        frame.to_csv(path, index=False)
    battles = read(path)
    found = {name: battles.columns[name].tolist() for name in battles.columns}
    assert found["length_a"] == [10, 20, 30] and found["length_b"] == [5, 5, 5]
    assert found["headers_a"] == [2, 3, 4] and found["bold_a"] == [1, 2, 3] and found["turns"] == [1, 1, 1]
    assert "lists_a" not in found
    assert any("conv_metadata" in note and "length_a" in note for note in battles.notes)
