"""``report``: one page about one data set: diagnosis, ranking, its uncertainty, and how it was made."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from jaxrank.data.accepted import DataLike
from jaxrank.data.files import check_target, check_writable
from jaxrank.errors import OptionError

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
) -> Path:
    """Write a report: ``.html`` is one self-contained page, ``.md`` Markdown with figures in a folder beside it,
    ``.pdf`` the page printed by the Chromium, Chrome or Edge that is installed.

    **data**: anything that `jaxrank.fit` takes. **method**: that of the ranking; by default that of `jaxrank.fit`.
    **methods**: those whose agreement is shown; by default some that are quick to run, with ``all_methods`` the whole
    catalogue. **n_replicates**: of the bootstrap and the convergence study. **level**: of all intervals.
    **include_partial**: rank models with results on under half of the questions too, which are else left out and named.
    **command**: shown as what made the page. **progress**: a bar of the steps; by default on a terminal only.
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

        if path.suffix == ".pdf":
            with tempfile.TemporaryDirectory() as folder:
                page = Path(folder) / "report.html"
                write_html(found.title, sections(found), page)
                print_pdf(page, path)
        else:
            (write_html if path.suffix == ".html" else write_markdown)(found.title, sections(found), path)
        advance(1)
    return path
