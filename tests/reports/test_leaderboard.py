"""``leaderboard``: a page and tables in a folder, names escaped, what the votes lack said."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib")

import jaxrank as jr
from jaxrank.errors import OptionError, UnsupportedDataError

pytestmark = pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
NAMES = ["<b>bold</b>", "b|c", "plain"]


def votes(n: int = 90, **columns) -> jr.Comparisons:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 3, n)
    b = (a + rng.integers(1, 3, n)) % 3
    return jr.Comparisons(a, b, rng.choice([0, 0.5, 1], n), models=NAMES, columns=columns)


def test_a_folder_with_everything(tmp_path):
    rng = np.random.default_rng(4)
    data = votes(
        voter=[f"v{i}" for i in rng.integers(0, 25, 90)],
        category=rng.choice(["<i>", "es"], 90),
        time=rng.integers(0, 3, 90),
        length_a=rng.integers(1, 9, 90),
        length_b=rng.integers(1, 9, 90),
    )
    folder = tmp_path / "site"
    options = {"covariates": ["length"], "side": True, "anchor": ("plain", 1000)}
    page = jr.leaderboard(data, folder, "bradley_terry_map", title="<T>", command="jaxrank <x>", **options)
    text = page.read_text(encoding="utf-8")
    HTMLParser().feed(text)
    assert page == folder / "index.html" and "<b>bold" not in text and "<i>" not in text and "<T>" not in text
    assert "with a rating of" in text and "=..)" not in text
    tables = {"ranking", "coefficients", "categories", "history", "findings"}
    assert {p.name for p in folder.iterdir()} == {"index.html", "leaderboard.json", *(f"{t}.csv" for t in tables)}
    ranking = pd.read_csv(folder / "ranking.csv")
    assert dict(zip(ranking["model"], ranking["rating"], strict=True))["plain"] == pytest.approx(1000)
    assert ranking["battles"].sum() == 180
    stored = json.loads((folder / "leaderboard.json").read_text(encoding="utf-8"))
    assert tables < set(stored) and stored["jaxrank"]["cluster"] == "voter"


def test_what_votes_do_not_have_is_said(tmp_path):
    said: list[str] = []
    page = jr.leaderboard(votes(), tmp_path, "bradley_terry_map", tell=said.append)
    text = page.read_text(encoding="utf-8")
    assert len(said) == 1 and "by bradley_terry_map with a rating of" in said[0]
    assert "no column &#x27;category&#x27;" in text and "no column &#x27;time&#x27;" in text
    assert not (tmp_path / "history.csv").exists()
    with pytest.raises(OptionError, match="no such column"):
        jr.leaderboard(votes(), tmp_path, category="language")
    with pytest.raises(OptionError, match="is a file"):
        jr.leaderboard(votes(), tmp_path / "ranking.csv")
    with pytest.raises(UnsupportedDataError, match="leaderboard reads battles"):
        jr.leaderboard([[1, 0], [0, 1]], tmp_path)


def test_times_in_seconds_are_dates(tmp_path):
    """A file of the Arena has them, and every vote was a period of its own."""
    days = np.random.default_rng(5).integers(0, 80, 90)
    page = jr.leaderboard(votes(time=1.7e9 + 86400.0 * days), tmp_path, "bradley_terry_map", side=True)
    periods = pd.read_csv(tmp_path / "history.csv")["period"].unique()
    assert 2 <= len(periods) <= 4 and all(str(p).startswith("202") for p in periods)
    text = page.read_text(encoding="utf-8")
    assert text.index("In short") < text.index("Ranking") and "is first by" in text
    assert "f64[]" not in text and "side bias" not in text
