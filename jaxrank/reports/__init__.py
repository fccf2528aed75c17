"""``report``: one page about one data set: diagnosis, ranking, its uncertainty, and how it was made. ``leaderboard``:
a folder about the votes of an arena, for a web server."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxrank.data.accepted import DataLike
from jaxrank.data.files import check_target, check_writable, write_text
from jaxrank.errors import OptionError

if TYPE_CHECKING:
    from jaxrank.reports.blocks import Section

SUFFIXES = (".html", ".md", ".pdf")


def check_path(path: str | os.PathLike[str]) -> Path:
    """The path of a report; `OptionError` unless it ends in .html, .md or .pdf and can be written."""
    path = check_target(path, SUFFIXES, "reports")
    folder = figures_folder(path)
    if path.suffix == ".md" and folder.is_dir():
        check_writable(folder / "figure.png", "figures")
    elif path.suffix == ".md" and folder.exists():
        raise OptionError(f"{str(folder)!r} is a file where the figures of {path.name!r} go; choose another name")
    return path


def figures_folder(path: Path) -> Path:
    """Where the figures of a report in Markdown go: the folder ``NAME_files`` beside ``NAME.md``."""
    return path.with_name(f"{path.stem}_files")


def report(
    data: DataLike,
    path: str | os.PathLike[str],
    method: str | None = None,
    *,
    methods: Sequence[str] | None = None,
    all_methods: bool = False,
    n_replicates: int = 2000,
    level: float = 0.95,
    include_partial: bool = False,
    seed: int = 0,
    title: str | None = None,
    command: str = "",
    progress: bool | None = None,
    tell: Callable[[str], None] | None = None,
) -> Path:
    """Write a report: ``.html`` is one self-contained page, ``.md`` Markdown with figures in a folder beside it,
    ``.pdf`` the page printed by the Chromium, Chrome or Edge that is installed.

    **data**: anything that `jaxrank.fit` takes. **method**: that of the ranking; by default that of `jaxrank.fit`.
    **methods**: those whose agreement is shown; by default some that are quick to run, with ``all_methods`` the whole
    catalogue. **n_replicates**: of the bootstrap and the convergence study. **level**: of all intervals.
    **include_partial**: rank models with results on under half of the questions too, which are else left out and named.
    **command**: shown as what made the page. **progress**: a bar of the steps; by default on a terminal only. **tell**:
    called with the sentence that the page begins with, such as ``print``.
    """
    path = check_path(path)
    from jaxrank.reports.html import write_html
    from jaxrank.reports.markdown import write_markdown
    from jaxrank.reports.pdf import browser, print_pdf
    from jaxrank.reports.study import STEPS, study
    from jaxrank.resampling.progress import progress_bar

    if path.suffix == ".pdf":
        browser()  # or say at once that there is none
    asked = (data, method, methods, all_methods, n_replicates, level, include_partial, seed, title, command)
    with progress_bar("report", STEPS + 1, progress, "steps") as advance:
        found = study(*asked, lambda: advance(1))
        from jaxrank.reports.sections import sections

        made = sections(found)
        if path.suffix == ".pdf":
            with tempfile.TemporaryDirectory() as folder:
                page = Path(folder) / "report.html"
                write_html(found.title, made, page)
                print_pdf(page, path)
        else:
            (write_html if path.suffix == ".html" else write_markdown)(found.title, made, path)
        advance(1)
    if tell is not None:
        tell(_first_sentence(made))
    return path


def _first_sentence(made: Sequence[Section]) -> str:
    from jaxrank.reports.blocks import Text

    return next(block.words for section in made for block in section.blocks if isinstance(block, Text))


def leaderboard(
    data: DataLike,
    folder: str | os.PathLike[str],
    method: str | None = None,
    *,
    covariates: Sequence[str] = (),
    side: bool = False,
    cluster: str | None = None,
    category: str | None = None,
    period: str | float | None = None,
    anchor: tuple[str, float] | None = None,
    level: float = 0.95,
    title: str | None = None,
    command: str = "",
    tell: Callable[[str], None] | None = None,
) -> Path:
    """Write a leaderboard of battles into ``folder``: ``index.html``, a page that needs nothing else, and beside it the
    tables as csv and all of them as ``leaderboard.json``.

    **data**: battles, in any form that `jaxrank.fit` takes. **method**: of paired comparisons, by default that of
    `jaxrank.fit`. **covariates**, **side**: as its options. **cluster**: the column by whose clusters errors are, by
    default "voter" where there is one. **category**: the column of the ranks by category, by default "category".
    **period**: of the history, by default "30D" where battles have a "time" of dates, each value where it is a number.
    **anchor**: as of `jaxrank.ratings`. **level**: of all intervals. **command**: shown as what made the page.
    **tell**: called with the sentence that the page begins with, such as ``print``.

    Files of an earlier run are replaced, others left alone; returns the page. `OptionError` where ``folder`` is a file
    or is called as one.
    Needs matplotlib (``jaxrank[plot]``).
    """
    page = Path(folder) / "index.html"
    if page.parent.exists() and not page.parent.is_dir():
        raise OptionError(f"{str(folder)!r} is a file; give the folder that the page goes to")
    if page.parent.suffix in (".html", ".htm", ".pdf", ".md"):
        raise OptionError(
            f"{str(folder)!r} names a page; a leaderboard is a folder with index.html and tables: {page.parent.stem!r}"
        )
    from jaxrank.reports.board import json_of, make_board, tables_of

    board = make_board(data, method, covariates, side, cluster, category, period, anchor, level, title, command)
    from jaxrank.reports.board_sections import board_sections
    from jaxrank.reports.html import write_html

    tables = tables_of(board)
    page.parent.mkdir(parents=True, exist_ok=True)
    for name, frame in tables.items():
        write_text(page.with_name(f"{name}.csv"), frame.to_csv(index=False, lineterminator="\n"))
    write_text(page.with_name("leaderboard.json"), json_of(board, tables))
    made = board_sections(board, tables)
    write_html(board.title, made, page)
    if tell is not None:
        tell(_first_sentence(made))
    return page
