"""Completions from files: tables, nested objects, logs of tools."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.responses import responses_of
from jaxrank.errors import DataError, OptionError
from jaxrank.evaluation.answers.reading import boxed

LOGS = Path(__file__).resolve().parent.parent.parent / "docs" / "tools" / "logs"


def written(folder: Path, rows: list[dict[str, Any]], name: str = "rows.jsonl") -> Path:
    path = folder / name
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return path


def completion(seed: int, question: str, answer: str | None, right: bool) -> dict[str, Any]:
    return {
        "seed": seed,
        "data_id": question,
        "model": "a",
        "output": {"text": f"so \\boxed{{{answer}}}" if answer else "no idea", "num_completion_tokens": 10 * seed},
        "tokens": {"completion_avg_logprob": -0.1 * seed, "logprobs": [-0.5, -1.5]},
        "processed_results": {"is_correct": right, "has_box": answer is not None},
    }


def test_completions_as_nested_objects(tmp_path: Path) -> None:
    rows = [completion(s, q, a, a == "4") for q in ("p", "q") for s, a in ((2, "4"), (1, "5"), (10, None))]
    answers = jr.read_answers(written(tmp_path, rows), extract="boxed")
    assert answers.shape == (1, 2, 3) and answers.models == ("a",) and answers.questions == ("p", "q")
    assert answers.codes[0, 0].tolist() == [0, 1, -1]  # by seed, not by row
    assert answers.select()[0].tolist() == [Fraction(5), Fraction(5)]
    assert answers.select("best_of_n")[0].tolist() == [Fraction(5), Fraction(5)]
    by_tokens = answers.scored_by("output.num_completion_tokens")
    assert by_tokens.select("best_of_n")[0].tolist() == [Fraction(4), Fraction(4)]
    assert by_tokens.accuracy("best_of_n").tolist() == [1.0] and answers.accuracy().tolist() == [0.0]
    assert answers.columns["tokens.logprobs.mean"].max() == -1 and answers.columns["tokens.logprobs.min"].max() == -1.5
    with pytest.raises(OptionError, match=r"no column 'x'; there are output\.num"):
        answers.scored_by("x")


def test_logs_of_tools_agree_with_their_scores() -> None:
    made = jr.read_answers(LOGS / "lm_eval")
    data = responses_of(jr.read(LOGS / "lm_eval"), "a test")
    assert made.models == data.models and made.shape == data.values.shape
    assert made.correct.mean((1, 2)) == pytest.approx(np.asarray(data.values).mean((1, 2)))
    inspect = jr.read_answers(LOGS / "inspect", extract="ANSWER: (.*)")
    data = responses_of(jr.read(LOGS / "inspect"), "a test")
    assert inspect.shape == data.values.shape
    assert inspect.correct.mean((1, 2)) == pytest.approx(np.asarray(data.values).mean((1, 2)))
    assert all(isinstance(answer, Fraction) for of in inspect.classes for answer in of)


def test_what_is_left_out_is_counted_and_what_is_wrong_is_named(tmp_path: Path) -> None:
    row = lambda m, q, t, a="1", **more: {"model": m, "question": q, "trial": t, "prediction": a, "gold": 1, **more}
    rows = [row("a", "p", 0), row("a", "p", 1), row("b", "p", 0)]
    answers = jr.read_answers(written(tmp_path, rows))
    assert answers.shape == (2, 1, 1)
    assert "cells have 1 to 2 completions: the first 1 of each are read, 1 not" in answers.notes
    for more, words in (
        ([row("b", "q", 0)], r"no completion of some models \('a'\)"),
        ([row("b", "p", 0)], "1 completions stand twice.*trial_column"),
        ([{**row("a", "p", 2), "gold": 7}], "'p' has two right answers, 1 and 7"),
    ):
        with pytest.raises(DataError, match=words):
            jr.read_answers(written(tmp_path, rows + more))
    scored = [row("a", "p", t, score=None if t else 1.0) for t in range(2)]
    answers = jr.read_answers(written(tmp_path, scored))
    assert answers.scores is None and "1 completions have no score: scores are left out" in answers.notes
    with pytest.raises(DataError, match="no column of the answer"):
        jr.read_answers(written(tmp_path, [{"model": "a", "question": "p"}]))
    with pytest.raises(DataError, match="no column 'x'"):
        jr.read_answers(written(tmp_path, rows), answer_column="x")
    with pytest.raises(OptionError, match="not a regular expression"):
        jr.read_answers(written(tmp_path, rows), extract="(")


def test_boxes() -> None:
    assert boxed("\\boxed{1} and \\boxed{\\frac{1}{2}} end") == "\\frac{1}{2}"
    assert boxed("\\boxed{never closed") is None and boxed("none") is None and boxed("\\boxed{ }") is None


def test_a_column_answer_beside_texts_holds_the_right_answers(tmp_path: Path) -> None:
    """Where it says the same in all completions of a question; where it does not it is what was answered."""
    rows = [
        {"model": m, "question": q, "sample": s, "output": f"\\boxed{{{s}}}", "answer": right}
        for m in ("a", "b")
        for q, right in (("p", "1"), ("q", "0"))
        for s in range(2)
    ]
    answers = jr.read_answers(written(tmp_path, rows), extract="boxed")
    assert any("answer 'output', truth 'answer'" in note for note in answers.notes)
    np.testing.assert_array_equal(
        answers.accuracy("best_of_n" if answers.scores is not None else "majority"), [0.5, 0.5]
    )
    given = [{**row, "answer": str(row["sample"])} for row in rows]
    with pytest.raises(DataError, match=r"truth_column=\.\.\. or correct_column=\.\.\."):
        jr.read_answers(written(tmp_path, given)).accuracy("majority")
    with pytest.raises(DataError, match=r"none of the 8 completions has an answer in column 'answer'.*answer_column="):
        jr.read_answers(written(tmp_path, given), extract="boxed")
