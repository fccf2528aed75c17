"""A page as PDF, printed by a browser of the machine."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from jaxrank.data.files import replacing
from jaxrank.errors import OptionError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
SECONDS = 120


def browser() -> str:
    """The program that prints; `OptionError` where there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise OptionError(
            "a report as PDF is printed by Chromium, Chrome or Edge, and none of them is installed here; write a page "
            "(.html) and print that"
        )
    return found


def print_pdf(page: Path, path: Path) -> None:
    """Print an HTML page into a PDF file."""
    program = browser()
    with tempfile.TemporaryDirectory() as profile, replacing(path) as temporary:
        command = [
            *(program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"),
            *("--disable-background-networking", f"--user-data-dir={profile}", f"--print-to-pdf={temporary}"),
            page.resolve().as_uri(),
        ]
        try:
            done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise OptionError(f"{program} did not print the page within {SECONDS} seconds") from None
        if not temporary.exists():
            why = done.stderr.decode(errors="replace").strip().splitlines()
            raise OptionError(f"{program} could not print the page: {why[-1] if why else 'it gave no reason'}")
