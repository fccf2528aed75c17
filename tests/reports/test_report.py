"""The report: one page that needs nothing else, with everything escaped."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib")

import jaxrank as jr
from jaxrank.reports.blocks import Code, Items, Section, Table, Text
from jaxrank.reports.html import write_html
from jaxrank.reports.markdown import write_markdown
from jaxrank.reports.sections import sections
from jaxrank.reports.study import study

pytestmark = pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
EVIL = ["<script>alert(1)</script>", "b|c_d*", "plain"]
FEW = ["bayes", "avg", "borda"]


@pytest.fixture(scope="module")
def data() -> jr.Responses:
    skill = np.array([0.8, 0.5, 0.3])[:, None, None]
    return jr.Responses((np.random.default_rng(3).random((3, 8, 4)) < skill).astype(int), EVIL)


class Tags(HTMLParser):
    """Open tags, and whether each that must be closed is."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.depth: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.ids += [v for k, v in attrs if k == "id" and v]
        if tag not in ("meta", "br", "wbr", "image", "use", "path"):
            self.depth.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("meta", "br", "wbr", "image", "use", "path"):
            assert self.depth.pop() == tag


def test_page(data: jr.Responses, tmp_path: Path) -> None:
    page = jr.report(data, tmp_path / "r.html", methods=FEW, n_replicates=40, command="jaxrank report <x>").read_text()
    tags = Tags()
    tags.feed(page)
    assert not tags.depth and "script" not in tags.seen and len(tags.ids) == len(set(tags.ids))
    # no agreement is drawn of methods that give one order
    assert tags.seen.count("svg") == 5 + len(EVIL) and tags.seen.count("section") == 8
    assert "&lt;script&gt;alert(1)" in page and "jaxrank report &lt;x&gt;" in page
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', page), "the page loads nothing"
    figures = re.findall(r'<div class="box"><svg.*?</svg>', page, flags=re.DOTALL)
    assert all("currentColor" in f and "#ffffff" not in f.split("</g>")[0] for f in figures), (
        "ink and paper of the page"
    )
    page = page.replace("<wbr>", "")
    for words in ("rank_set", "p_best", "Tier 1", "tau_b", "not_converged", jr.__version__, "seed", "viewport"):
        assert words in page


def test_markdown(data: jr.Responses, tmp_path: Path) -> None:
    text = jr.report(data, tmp_path / "r.md", methods=FEW, n_replicates=40).read_text()
    figures = re.findall(r"\]\(r_files/(\w+\.png)\)", text)
    assert len(figures) == 6 and all((tmp_path / "r_files" / name).stat().st_size > 1000 for name in figures)
    assert "<script>" not in text and r"b\|c\_d\*" in text


def test_battles(tmp_path: Path) -> None:
    a, b = ["x", "x", "y", "z"] * 5, ["y", "z", "z", "x"] * 5
    battles = jr.Comparisons(a, b, [1, 0.5, 1, 0] * 5)
    page = jr.report(battles, tmp_path / "b.html", methods=["bradley_terry_map"], n_replicates=40).read_text()
    assert "bradley_terry_davidson_wide" in page and "these data have none" in page
    assert "How soon the ranking settles" not in page, (
        "a section without an answer is left out; its reason stands at the end"
    )


def test_a_method_without_errors_has_intervals_of_its_replicates() -> None:
    """front-door B12: Elo's table had no interval, and no table said how often a model had played."""
    battles = jr.Comparisons(["x", "x", "y", "z"] * 5, ["y", "z", "z", "x"] * 5, [1, 0.5, 1, 0] * 5)
    more = jr.Comparisons(["x"] * 4, ["y"] * 4, [0] * 4)
    found = study(battles + more, "elo", ["elo"], False, 40, 0.95, False, 0, None, "")
    (page,) = (section for section in sections(found) if section.title == "Ranking")
    table = next(block.frame for block in page.blocks if isinstance(block, Table)).set_index("model")
    assert np.all((table["lower"] <= table["score"]) & (table["score"] <= table["upper"]))
    assert table["battles"].to_dict() == {"x": 19, "y": 14, "z": 15}


def test_ordered_lists(tmp_path: Path) -> None:
    """interface 16: report took no ordered lists."""
    orders = jr.Rankings([["x", "y", "z"], ["y", "x", "z"], ["z", "x", "y"]] * 4)
    page = jr.report(orders, tmp_path / "o.html", methods=["bradley_terry_map"], n_replicates=20).read_text()
    assert "Share of ordered lists" in page and "plackett_luce_rankings_wide" in page


@pytest.mark.parametrize("suffix", ["html", "md"])
def test_control_characters_never_come_out_raw(tmp_path: Path, suffix: str) -> None:
    """interface, section 2: control characters of names went raw to Markdown."""
    evil = "a\x1b[31mred\x07\u202eevil\u2028"
    frame = pd.DataFrame({"model": [evil, "b"], "score": [1.0, np.nan]})
    blocks = [Text(evil), Items([(evil, evil)]), Table(frame), Table(frame, folded=evil), Code(f"{evil}\nnext line")]
    path = tmp_path / f"page.{suffix}"
    {"html": write_html, "md": write_markdown}[suffix](evil, [Section(evil, blocks)], path)
    text = path.read_text(encoding="utf-8")
    assert not set(text) & set("\x1b\x07\u202e\u2028") and text.count("x1b") >= 7
    assert "next line" in text and text.count("1.0000") == 2


def test_other_names_are_refused(data: jr.Responses, tmp_path: Path) -> None:
    with pytest.raises(jr.errors.OptionError, match=r"\.html, \.md or \.pdf"):
        jr.report(data, tmp_path / "r.txt")
    with pytest.raises(jr.errors.OptionError, match="exclude"):
        jr.report(data, tmp_path / "r.html", methods=FEW, all_methods=True)


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from jaxrank.cli import main

    monkeypatch.setattr("jaxrank.cli.runtime.configure", lambda: None)
    path = tmp_path / "r.html"
    with pytest.raises(SystemExit) as end:
        main(["report", "inspect_popularity", "-o", str(path), "--methods", "avg,borda", "--replicates", "30"])
    said = capsys.readouterr().err
    assert end.value.code == 0 and "wrote" in said
    assert "jaxrank: google/gemini-2.5-pro is first by avg with 0.70" in said  # the sentence that the page begins with
    assert "google/gemini-2.5-pro is first by avg with 0.70" in path.read_text()


def test_pdf(data: jr.Responses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the browser prints what it is given; without one the report says so before its work."""
    program = tmp_path / "chromium"
    program.write_text(
        "#!/bin/sh\nfor word; do case $word in --print-to-pdf=*) out=${word#*=};; file://*) page=${word#file://};;"
        " esac; done\n"
        'grep -q "In short" "$page" && printf "%%PDF-1.4" > "$out"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert jr.report(data, tmp_path / "r.pdf", methods=FEW, n_replicates=20).read_bytes().startswith(b"%PDF")
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    monkeypatch.setattr("jaxrank.reports.study.study", lambda *_: pytest.fail("the work began"))
    with pytest.raises(jr.errors.OptionError, match="none of them is installed"):
        jr.report(data, tmp_path / "s.pdf")


def test_tasks_stand_side_by_side(data: jr.Responses, tmp_path: Path) -> None:
    tasks = data.grouped(["sums"] * 4 + ["words"] * 4)
    page = jr.report(tasks, tmp_path / "tasks.md", methods=FEW, n_replicates=20).read_text()
    assert (
        "## By task" in page
        and "- **sums**:" in page
        and " is first by avg with " in page
        and "| model | sums | words |" in page
    )
    first = jr.fit(tasks.select(questions=range(4)), dtype="float64")
    low, high = first.interval()
    row = next(line for line in page.splitlines() if line.startswith("| plain |") and "±" in line)
    assert f"{first['plain'].score:.2f} ± {(high - low)[2] / 2:.2f}" in row
    assert "## By task" not in jr.report(data, tmp_path / "one.md", methods=FEW, n_replicates=20).read_text()


def test_two_models_are_compared(data: jr.Responses, tmp_path: Path) -> None:
    two = jr.runs(old=data.select(models=[1]), new=data.select(models=[0]))
    page = jr.report(two, tmp_path / "two.md", methods=FEW, n_replicates=20).read_text()
    assert "## Is the new one better?" in page and "new is better than old" in page
    assert (tmp_path / "two_files" / "questions.png").exists()


def test_steps_of_tiers_stand_out_from_pages_of_either_colour() -> None:
    """The first tier was navy on a dark page."""
    from matplotlib.colors import to_rgb

    from jaxrank.results.plots.canvas import shade

    def light(ink: object) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(ink)]  # pyright: ignore
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722])) + 0.05

    white, dark = 1.05, light("#17191c")
    for i in range(5):
        assert white / light(shade(i, 5)) > 2 and light(shade(i, 5)) / dark > 3


def test_a_ranking_that_never_settles_has_no_table_of_when() -> None:
    """The section held a table of dashes and an axis without a curve."""
    rng = np.random.default_rng(0)
    near = rng.integers(0, 2, (12, 4, 3))
    apart = np.stack([np.ones((4, 3)), np.repeat([[1], [1], [0], [0]], 3, 1), np.zeros((4, 3))])
    for R, kinds in ((near, ["Text", "Figure"]), (apart, ["Text", "Table", "Figure", "Figure"])):
        found = study(jr.Responses(R.astype(int)), None, FEW, False, 20, 0.95, False, 0, None, "")
        made = {section.title: section.blocks for section in sections(found)}["How soon the ranking settles"]
        assert [type(block).__name__ for block in made] == kinds
    assert "No ranking by bayes" not in str(made[0])


def test_spare_columns_leave_narrow_screens_and_stay_on_paper() -> None:
    """At 500 px the rating of a leaderboard was cut; a printed page is 700 px wide and keeps its intervals."""
    style = (files("jaxrank.reports") / "style.css").read_text(encoding="utf-8")
    kinds = {kind for kind, body in re.findall(r"@media ([^{]+)\{(.*?)\n\}", style, re.DOTALL) if ".spare" in body}
    assert kinds == {"screen and (max-width: 48rem) "}
