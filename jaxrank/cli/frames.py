"""Tables of files for subcommands that read other columns than a model, a question and a score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jaxrank.errors import DataError


def read_frame(path: Path) -> Any:
    """A csv (plain or compressed), jsonl or parquet file as a pandas frame."""
    import pandas as pd

    suffixes = path.suffixes
    if ".csv" in suffixes:
        return pd.read_csv(path)
    if ".jsonl" in suffixes:
        return pd.read_json(path, lines=True)
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    raise DataError(f"{path}: not a csv, jsonl or parquet file by its name")
