"""Values that an argument may be given by mistake, by what they are called."""

from __future__ import annotations

from typing import Any

import numpy as np

WRONG: dict[str, Any] = {
    "None": None,
    "a word": "nonsense",
    "no word": "",
    "True": True,
    "0": 0,
    "-1": -1,
    "2.5": 2.5,
    "NaN": float("nan"),
    "infinite": float("inf"),
    "a huge integer": 10**400,
    "2**64": 2**64,
    "a list": [1, 2, 3],
    "an array": np.full(7, 0.5),
    "a mapping": {"a": 1},
    "an object": object(),
    "bytes": b"x",
    "subsample(-3)": "subsample(-3)",
    "subsample(abc)": "subsample(abc)",
    "subsample(1.5)": "subsample(1.5)",
    "subsample(size=2)": "subsample(size=2)",
    "trials)": "trials)",
    "complex": 1j,
    "empty": [],
    "words": ["a", "b"],
}
MORE: dict[str, Any] = {
    **WRONG,
    "an array of three axes": np.zeros((2, 2, 2)),
    "lists of lists": [[1, 2], [3]],
    "NaNs": [1.0, np.nan],
}
