"""Earlier outcomes R0 from a file, matched to the data by the names of models and questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.data.names import name_list
from jaxrank.data.responses import responses_of
from jaxrank.errors import DataError


def read_prior(path: Path, data: Any) -> np.ndarray:
    """R0 as ints (M, D), shared by all models, from a file with one model that ``data`` does not have; otherwise
    (L, M, D) with a row for every model of ``data``. Raises `DataError` where names do not match."""
    from jaxrank.data.readers import read

    data = responses_of(data, "a prior of outcomes on questions", "leave --prior-file out")
    earlier = responses_of(read(path), f"--prior-file {path}")
    if earlier.outcomes is None:
        raise DataError(f"{path}: a prior file needs outcomes by model, question and trial")
    if earlier.levels != data.levels:
        raise DataError(f"{path} has scores {earlier.levels}, the data {data.levels}; they must agree")
    columns = _places(earlier.questions, data.questions, path, "question")
    shared = len(earlier.models) == 1 and earlier.models[0] not in data.models
    rows = [0] if shared else _places(earlier.models, data.models, path, "model")
    outcomes = earlier.outcomes[np.ix_(rows, columns)]
    return outcomes[0] if shared else outcomes


def _places(names: tuple[str, ...], wanted: tuple[str, ...], path: Path, kind: str) -> list[int]:
    at = {name: i for i, name in enumerate(names)}
    absent = [i for i, name in enumerate(wanted) if name not in at]
    if absent:
        raise DataError(f"{path} has no {kind} {name_list(wanted, absent)}; it needs every {kind} of the data")
    return [at[name] for name in wanted]
