"""``report``: one page about one data set: diagnosis, ranking, its uncertainty, and how it was made."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from jaxrank.data.accepted import DataLike
from jaxrank.data.files import check_target, check_writable
from jaxrank.errors import OptionError

SUFFIXES = (".html", ".md")


def check_path(path: str | os.PathLike[str]) -> Path:
    """The path of a report; `OptionError` unless it ends in .html or .md and can be written."""
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
) -> Path:
    """Write a report: ``.html`` is one self-contained page, ``.md`` Markdown with figures in a folder beside it.

    **data**: anything that `jaxrank.fit` takes. **method**: that of the ranking; by default that of `jaxrank.fit`.
    **methods**: those whose agreement is shown; by default some that are quick to run, with ``all_methods`` the whole
    catalogue. **n_replicates**: of the bootstrap and the convergence study. **level**: of all intervals.
    **include_partial**: rank models with results on under half of the questions too, which are else left out and named.
    **command**: shown as what made the page. Needs matplotlib (``jaxrank[plot]``).
    """
    path = check_path(path)
    from jaxrank.reports.html import write_html
    from jaxrank.reports.markdown import write_markdown
    from jaxrank.reports.study import study

    found = study(data, method, methods, all_methods, n_replicates, level, include_partial, seed, title, command)
    from jaxrank.reports.sections import sections

    (write_html if path.suffix == ".html" else write_markdown)(found.title, sections(found), path)
    return path
