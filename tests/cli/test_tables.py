"""Tables of every command at four widths: names and numbers whole, lines that fit, columns left out in order."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxrank.cli import runtime
from jaxrank.cli.app import make_app
from jaxrank.cli.tables import Table, draw_bars
from jaxrank.results.bars import Bars
from jaxrank.results.tables import SPARE, THEN, cell_width, column_text, fold, latex_escape, render, shortened, visible
from jaxrank.results.tables import Table as Plain

WIDTHS = (60, 80, 100, 200)
LONG = "organisation/a-model-with-a-name-of-quite-unusual-length-2026-11-28-instruct-thinking"
NAMES = [f"{LONG}-a", f"{LONG}-b", "模型三", "d"]
EVIL = "a\x1b[31mred\x07\u202eevil\nline"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for each kind that commands read."""
    out = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    R = (rng.random((4, 8, 3)) < np.array([0.8, 0.7, 0.5, 0.3])[:, None, None]).astype(int)
    np.savez(out / "trials.npz", R=R, models=np.array(NAMES))
    axes = [(m, q, e, t) for m in NAMES for q in range(4) for e in range(3) for t in range(2)]
    frame = pd.DataFrame(axes, columns=["model", "question", "level", "trial"])
    frame["correct"], frame["tokens"] = rng.integers(0, 2, len(frame)), 100 * 2.0 ** frame["level"]
    frame.to_csv(out / "efforts.csv", index=False)
    axes = [(j, c, q) for j in ("x", "y") for c in NAMES for q in range(12)]
    frame = pd.DataFrame(axes, columns=["judge", "candidate", "question"])
    frame["score"] = rng.integers(1, 3, len(frame))
    frame.to_csv(out / "judged.csv", index=False)
    axes = [(m, q, t, rng.choice(["x", "y"]), rng.random(), "x") for m in NAMES for q in range(4) for t in range(5)]
    frame = pd.DataFrame(axes, columns=["model", "question", "trial", "answer", "score", "truth"])
    frame.to_csv(out / "votes.csv", index=False)
    axes = [(m, q, t) for m in NAMES for q in range(4) for t in range(3)]
    frame = pd.DataFrame(axes, columns=["model", "question", "trial"])
    frame["is_correct"], frame["completion_bpt"] = rng.integers(0, 2, len(frame)), rng.random(len(frame))
    frame.to_csv(out / "attempts.csv", index=False)
    axes = [(a, b, rng.choice(["model_a", "model_b"]), f"category {c}") for a in NAMES for b in NAMES for c in range(9)]
    frame = pd.DataFrame(
        [row for row in axes if row[0] != row[1]], columns=["model_a", "model_b", "winner", "category"]
    )
    frame.to_csv(out / "battles.csv", index=False)
    return out


COMMANDS = {
    "answers": [
        "attempts.csv",
        "--answer-column",
        "is_correct",
        "--correct-column",
        "is_correct",
        "--replicates",
        "20",
    ],
    "answers --stop": ["votes.csv", "--stop", "adaptive_consistency", "--stop", "esc:window=3"],
    "answers rules": ["votes.csv", "--replicates", "20"],
    "arise": ["efforts.csv", "--replicates", "20"],
    "bootstrap": ["trials.npz", "-m", "avg", "--replicates", "50"],
    "check": ["trials.npz"],
    "methods": ["trials.npz", "-m", "avg", "-m", "borda"],
    "compare": ["trials.npz", "--old", NAMES[3], "--new", NAMES[0]],
    "diff": ["trials.npz", "--old", NAMES[3], "--new", NAMES[0]],
    "fit --by": ["battles.csv", "--by", "category"],
    "judges --sensitivity": ["judged.csv", "--samples", "50", "--sensitivity"],
    "converge": ["trials.npz", "--replicates", "50"],
    "demo": [],
    "evaluate": ["trials.npz"],
    "fit": ["trials.npz"],
    "judges": ["judged.csv", "--prior", "perfect", "--samples", "50"],
    "list": [],
    "list --all": ["--all"],
    "list pointwise": ["pointwise"],
    "posterior": ["trials.npz", "-m", "bayes", "--samples", "50"],
    "rubrics": ["attempts.csv"],
}


@pytest.fixture
def tables(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Table]:
    """The tables that a command shows."""
    shown: list[Table] = []
    monkeypatch.setattr(Table, "show", lambda table: shown.append(table))
    monkeypatch.chdir(folder)
    with jax.enable_x64(True), pytest.raises(SystemExit) as end:
        make_app()([request.param.split()[0], *COMMANDS[request.param]], prog_name="jaxrank")
    assert not end.value.code
    return shown


def test_every_command_that_prints_a_table_is_here() -> None:
    commands = {str(command.name) for command in make_app().registered_commands}
    assert {words.split()[0] for words in COMMANDS} == commands - {"leaderboard", "report", "convert", "merge"}


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
@pytest.mark.rank_promotion("allow")
@pytest.mark.parametrize(
    "tables",
    [
        pytest.param(c, marks=pytest.mark.slow if c in ("judges", "judges --sensitivity", "posterior") else ())
        for c in COMMANDS
    ],
    indirect=True,
)
def test_tables_keep_names_and_numbers_at_every_width(tables: list[Table]) -> None:
    """front-door B1: at 80 and 100 columns names vanished and numbers read 1.9...; whatever the width, the cells of the
    columns that are shown stand whole, lines fit, and columns that leave are named."""
    assert tables
    for table in tables:
        before: set[str] | None = None
        for width in WIDTHS:
            layout = table.fitted().lay_out(width, table.bars is not None)
            lines = [line for line, _, _ in table.drawn(width)]
            body = [words + bar for words, bar, _ in table.drawn(width)][bool(table.title) :]
            assert all(cell_width(line) <= width for line in body), (width, lines)
            rows = list(zip(*(c for n, c in table.fitted().cells().items() if n not in layout.left_out), strict=True))
            for row, drawn in zip(rows, layout.rows, strict=True):
                flat = "".join("".join(drawn).split())
                assert sorted(flat) == sorted("".join("".join(row).split())), (width, row, drawn)
                for value in row:
                    if len(value) < 8:
                        assert any(value in line for line in drawn), (width, value, drawn)
            drawn_rows = ["\n".join(row) for row in layout.rows]
            assert len(set(drawn_rows)) == len(set(rows))
            for name in layout.left_out:
                assert name in " ".join(lines)
            assert before is None or set(layout.left_out) <= before
            before = set(layout.left_out)


def test_columns_leave_in_the_stated_order() -> None:
    order = [*SPARE, *(name for group in THEN for name in group)]
    columns: dict[str, Any] = {"rank": [1], "model": ["m" * 30], "score": [0.5], **{name: [0.5] for name in order}}
    last: list[str] = []
    for width in range(200, 20, -1):
        left_out = [name for name in order if name in Plain(columns).lay_out(width).left_out]
        assert left_out == order[: len(left_out)]
        assert len(left_out) >= len(last)
        last = left_out
    assert last == order
    layout = Plain(columns).lay_out(20)
    assert layout.head.split() == ["rank", "model", "score"]
    assert "".join(line[6:14].strip() for line in layout.rows[0]) == "m" * 30


def test_a_mean_leaves_where_it_is_not_what_is_ranked_by() -> None:
    """At 60 columns `jaxrank evaluate` kept a posterior mean and lost the interval; that of rubrics is of the mean."""
    ends = {"lower": [0.6], "upper": [0.8]}
    table = Table({"rank": [1], "model": ["m" * 30], "bayes": [0.7], "mean": [0.7], "sd": [0.1], **ends})
    spare = dataclasses.replace(table, bars=Bars("bayes", "lower", "upper"), spare=("mean",))
    assert spare.fitted().lay_out(60, bars=True).left_out == ("mean", "sd")
    assert spare.fitted().lay_out(30).left_out == ("mean", "sd", "lower", "upper")
    main = Table({"rank": [1], "model": ["m" * 30], "mean": [0.7], "sd": [0.1], **ends}, bars=Bars("mean", *ends))
    assert main.fitted().lay_out(30, bars=True).left_out == ("sd", "lower", "upper")


def test_columns_to_the_right_leave_where_no_order_says_which() -> None:
    """Ranks in 13 categories took 150 cells of a terminal of 60."""
    columns = {"rank": [1], "model": ["m" * 30], **{f"category {c}": [c] for c in range(13)}}
    for width, shown in ((60, 3), (100, 6), (400, 13)):
        layout = Plain(columns).lay_out(width)
        assert layout.left_out == tuple(f"category {c}" for c in range(shown, 13))
        assert layout.used <= width
    assert Plain(columns).lay_out(20).left_out == tuple(f"category {c}" for c in range(1, 13))


def test_numbers_of_a_column_share_their_decimals() -> None:
    """front-door B1: p_best 0.00025 and ess 10337.6 broke the columns."""
    assert column_text([0.00025, 0.5, 1.0]) == ["0.0003", "0.5000", "1.0000"]
    assert column_text([10337.6, 9.25]) == ["10337.6", "9.2"]
    assert column_text([0.00025, 0.000125]) == ["0.0002500", "0.0001250"]
    assert column_text([3e9, 1.5]) == ["3e+09", "1.5"]
    assert column_text([np.nan, np.inf, -0.5]) == ["-", "inf", "-0.5000"]
    values = [3, "name", True, None, np.float32(0.5)]
    assert column_text(values) == ["3", "name", "yes", "-", "0.5000"]
    assert column_text([]) == []


def test_numbers_with_intervals_are_rounded_to_what_these_give_sense_to() -> None:
    """Two digits of half the middle interval's width, the same for a score, its ends and its error."""
    columns = {
        "model": ["a", "b", "c"],
        "elo": [1234.5678, 1000.0, float("nan")],
        "se": [12.3, 11.1, 10.0],
        "lower": [1210.0, 978.2, float("nan")],
        "upper": [1259.0, 1021.8, float("inf")],
        "p_best": [0.75, 0.25, 0.0],
    }
    table = Plain(columns, unit=("elo",))
    assert table.cells()["elo"] == ["1235", "1000", "-"]
    assert table.cells()["upper"] == ["1259", "1022", "inf"]
    assert table.cells()["se"] == ["12", "11", "10"]
    assert table.cells()["p_best"] == ["0.7500", "0.2500", "0.0000"]
    narrow = {"score": [-0.00001, 0.5], "lower": [-0.004, 0.49], "upper": [0.004, 0.51]}
    assert Plain(narrow).cells()["score"] == ["0.0000", "0.5000"]
    assert Plain({**narrow, "upper": narrow["lower"]}).cells()["lower"] == ["-0.0040", "0.4900"]
    assert Plain({"lower": ["a"], "upper": ["b"]}).cells() == {"lower": ["a"], "upper": ["b"]}


@given(st.lists(st.text("ab-", min_size=1, max_size=70), unique=True, max_size=12))
def test_shortened_names_stay_apart(names: list[str]) -> None:
    told = shortened(names)
    assert len(set(told)) == len(names)
    for name, text in zip(names, told, strict=True):
        assert text == name or (len(text) == 40 and len(name) > 40 and text[0] == name[0] and text[-1] == name[-1])
        assert len(name) > 40 or text == name


def test_names_lose_their_middle() -> None:
    first, second = shortened([f"{LONG}-a", f"{LONG}-b"])
    assert first == "organisation/a-model…instruct-thinking-a"
    assert second == first[:-1] + "b"
    same_ends = ["x" * 30 + sign + "y" * 30 for sign in "ab"]
    assert shortened(same_ends) == ["x" * 30 + "a…" + "y" * 8, "x" * 30 + "b…" + "y" * 8]
    hopeless = ["x" * 60 + sign + "y" * 60 for sign in "ab"]
    assert shortened(hopeless) == hopeless
    assert cell_width(shortened(["模型" * 30])[0]) in (39, 40)


def test_text_folds_within_the_width() -> None:
    assert fold("one two three", 7) == ["one two", "three"]
    assert fold("a-very-long-name", 6) == ["a-very", "-long-", "name"]
    assert fold("org/a-model-of-2026", 12) == ["org/a-model-", "of-2026"]  # between the parts of a name
    assert fold("x-averyverylongpart", 8) == ["x-averyv", "erylongp", "art"]
    assert fold("模型三", 4) == ["模型", "三"]
    assert fold("", 4) == [""]


@pytest.mark.parametrize("format", ["text", "html", "latex"])
def test_control_characters_of_names_never_come_out_raw(format: str) -> None:
    """interface, section 2: names went raw to terminals and Markdown; those that differ still look different."""
    text = render(pd.DataFrame({"model": [EVIL, "b\u2028"], "score": [1.0, 0.5]}), format, title=EVIL, notes=[EVIL])
    assert not set(text) & set("\x1b\x07\u202e\u2028\u2029")
    assert text.count("x1b") == 3
    assert visible("a\tb") != visible("a b") != visible("a\u200fb")
    assert visible("naïve 模型 😀") == "naïve 模型 😀"


def test_a_row_of_latex_may_begin_with_a_bracket() -> None:
    """interface, section 2: the line break before it took "[x]" as its option."""
    frame = pd.DataFrame({"model": ["a", "[x]"], "score": [1.0, 0.5]})
    assert "{}[x] & 0.5000" in render(frame, "latex")
    assert latex_escape("50%_\\") == r"50\%\_\textbackslash{}"


def test_bars_share_one_axis() -> None:
    columns = {
        "model": ["a", "b", "c"],
        "score": [0.75, 0.25, np.nan],
        "lower": [0.5, 0.0, np.nan],
        "upper": [1.0, 0.5, np.nan],
    }
    left, right, drawn = draw_bars(Plain(columns), Bars("score", "lower", "upper"), 21)
    assert (left, right) == ("0.00", "1.00")
    assert drawn == [" " * 10 + "─" * 5 + "●" + "─" * 5, "─" * 5 + "●" + "─" * 5, ""]
    assert draw_bars(Plain(columns), Bars("score"), 11, unicode=False)[2] == [" " * 10 + "o", "o", ""]
    infinite = {"score": [np.inf, 0.0, 1.0]}
    assert draw_bars(Plain(infinite), Bars("score"), 11)[2] == ["", "●", " " * 10 + "●"]
    assert draw_bars(Plain({"score": [np.nan]}), Bars("score"), 11)[2] == [""]


def test_a_terminal_shows_the_drawing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    Table({"model": ["a", "b"], "score": [1.0, 2.0]}, title="two models", bars=Bars("score")).show()
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert lines[0].strip() == "two models"
    assert all(("●" in line or "o" in line) for line in lines[2:])
    assert max(map(len, lines)) <= 70


def test_the_first_of_a_table_in_a_sentence() -> None:
    columns = {"rank": [1, 2], "model": ["ada", "bob"], "mean": [0.51, 0.4], "lower": [0.4, 0.3], "upper": [0.6, 0.5]}
    table = Table(columns, bars=Bars("mean", "lower", "upper"))
    assert table.first("avg", "95 % interval") == "ada is first by avg with 0.51 (95 % interval 0.40 to 0.60)"
    assert (
        Table({**columns, "rank": [1, 1]}, bars=table.bars).first("avg", "")
        == "ada and bob share the first place by avg"
    )


def test_bars_are_left_out_where_their_axis_cannot_be_read() -> None:
    """Ends stood as "0.2120.567" in ten cells, and an axis from 1 to 1 had one dot in its middle."""
    columns = {"model": ["ada", "bob"], "mean": [0.21, 0.57], "lower": [0.11, 0.47], "upper": [0.31, 0.67]}
    table = Table(columns, bars=Bars("mean", "lower", "upper"))
    heads = {width: next(iter(table.drawn(width)))[1] for width in (30, 38, 60)}
    assert heads[30] == "" and heads[60].split() == ["0.11", "0.67"]
    assert all(len(head.split()) in (0, 2) for head in heads.values())
    same = Table({"model": ["ada", "bob"], "tau": [1.0, 1.0]}, bars=Bars("tau"))
    assert all(not bar for _, bar, _ in same.drawn(80))


def test_names_fold_for_the_sake_of_intervals_alone() -> None:
    """At 100 columns a name of 37 letters was broken while "status" and "p_best" stood."""
    columns = {"rank": [1], "model": ["m" * 37], "score": [0.5], "lower": [0.4], "upper": [0.6], "p_best": [0.5]}
    columns["status"] = ["ok"]
    for width in (64, 70, 80):
        layout = Plain(columns).lay_out(width)
        assert "m" * 37 in layout.rows[0][0] and "lower" in layout.head
    assert "lower" in Plain(columns).lay_out(58).head


def test_digits_that_say_nothing_are_not_written() -> None:
    """Effective sizes read 730.0757, and plain means beside a score of 3.84 had four decimals."""
    columns = {"score": [3.84, 1.2], "lower": [3.65, 1.0], "upper": [3.99, 1.4], "plain_mean": [3.89671, 1.23456]}
    columns |= {"ess_bulk": [730.0757, 12.2], "r_hat": [1.00321, 0.99934], "mean_used": [12.8, 9.66667]}
    cells = Plain(columns).cells()
    assert cells["plain_mean"] == ["3.90", "1.23"]
    assert cells["ess_bulk"] == ["730", "12"]
    assert cells["r_hat"] == ["1.003", "0.999"]
    assert cells["mean_used"] == ["12.8", "9.7"]


def test_a_terminal_breaks_no_word(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Sentences ran to the edge of the window, which broke their words."""
    sentence = "one two three https://example.org/an/address-that-is/longer-than-the-window four"
    runtime.say(sentence)
    assert capsys.readouterr().err == f"jaxrank: {sentence}\n"
    monkeypatch.setattr(runtime, "_width", lambda stream: 20)
    runtime.say(sentence)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["jaxrank: one two", "three", sentence.split()[3], "four"]
    assert runtime.wrapped("  a: one two three four", sys.stdout, "    ").splitlines() == [
        "  a: one two three",
        "    four",
    ]
    runtime.say("not so at 95 % yet")
    assert capsys.readouterr().err.splitlines() == ["jaxrank: not so at", "95 % yet"]
