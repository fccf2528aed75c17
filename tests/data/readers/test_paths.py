"""The model, the task and the run in the paths of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxrank.data.readers import read
from jaxrank.errors import DataError, OptionError

ROWS = "id,correct\nq1,1\nq2,0\n"


def write(path: Path, text: str = ROWS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_one_level_of_folders_that_differs_names_the_model(tmp_path):
    for model in ("org-a", "org-b"):
        write(tmp_path / "runs" / model / "out.csv")
    data = read(tmp_path / "runs")
    assert data.models == ("org-a", "org-b")
    assert any("a level of the folders does (org-a, org-b)" in note for note in data.notes)


def test_names_of_files_in_one_folder_name_the_model(tmp_path):
    for model in ("gpt.4", "llama-3.1"):
        write(tmp_path / f"{model}.csv")
    assert read(tmp_path).models == ("gpt.4", "llama-3.1")


def test_two_levels_that_differ_need_a_pattern(tmp_path):
    for model in ("a", "b"):
        for task in ("x", "y"):
            write(tmp_path / "runs" / model / task / "out.csv")
    with pytest.raises(DataError, match=r"several levels of the folders differ.*model_from_path='"):
        read(tmp_path)
    data = read(tmp_path, model_from_path="{model}/{task}/*.csv")
    assert data.models == ("a", "b")
    assert data.questions == ("x/q1", "x/q2", "y/q1", "y/q2")
    trials = read(tmp_path, model_from_path="{model}/{run}/*.csv")
    assert trials.shape == (2, 2, 2)


@pytest.mark.parametrize("pattern", ["runs/*.csv", "{model}/{model}.csv", "{colour}/*.csv", 3])
def test_patterns_that_say_nothing(tmp_path, pattern):
    with pytest.raises(OptionError, match="model_from_path"):
        read(write(tmp_path / "a" / "out.csv"), model_from_path=pattern)


def test_a_path_without_the_form_of_the_pattern(tmp_path):
    path = write(tmp_path / "a" / "out.csv")
    with pytest.raises(DataError, match=r"out.csv does not have the form model_from_path='\{model\}/x/\*.csv'"):
        read(path, model_from_path="{model}/x/*.csv")
    assert read(path, model_from_path="{model}/*.csv").models == ("a",)
    assert read(path, model=lambda p: p.parent.name.upper()).models == ("A",)


def test_json_lines_under_any_ending(tmp_path):
    lines = '{"model": "a", "id": "q", "score": 1}\n{"model": "b", "id": "q", "score": 0}\n'
    for name in ("r.log", "r.out", "r.jsonlines", "r-0.8", "r"):
        assert read(write(tmp_path / name, lines)).models == ("a", "b")
    with pytest.raises(DataError, match="does not begin as JSON"):
        read(write(tmp_path / "r.dat", "model;id\n"))
