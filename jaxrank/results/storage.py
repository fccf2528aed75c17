"""Results in files and back: JSON and arrays in one npz, no pickle.

A result is a tree of the library's own classes. Its shape goes to JSON under the name ``jaxrank``, its arrays stand
beside it; only classes of this package are made again, and no code is stored.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import json
import os
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.data.files import check_target, replacing, write_text
from jaxrank.errors import DataError, OptionError

RECORD = "jaxrank"
TABLES = (".csv", ".json", ".parquet")


def save(
    source: Any, path: str | os.PathLike, record: Mapping[str, Any], named: Mapping[str, np.ndarray] | None = None
) -> Path:
    """Write ``source`` whole to an ``.npz``, with a ``record`` of how it was made. ``named``: arrays that the file
    holds under names of their own, for other programs."""
    path = check_target(path, (".npz",), "results")
    arrays: dict[str, Any] = dict(named or {})
    known = {id(value): name for name, value in arrays.items()}
    tree = _encode(source, arrays, known, type(source).__name__)
    text = json.dumps({"record": {**versions(), **record}, "tree": tree}, ensure_ascii=False)
    contents: dict[str, Any] = {**arrays, RECORD: np.array(text)}
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **contents)
    return path


def save_table(
    frame: Any, path: str | os.PathLike, record: Mapping[str, Any], others: Sequence[str] = (".npz",)
) -> Path:
    """Write a frame as ``.parquet`` (the record in the file's metadata), ``.json`` (record and rows) or ``.csv``.
    ``others``: endings that hold all of the result, for the message."""
    path = check_target(path, (*others, *TABLES), "results")
    text = json.dumps({**versions(), **record}, ensure_ascii=False)
    if path.suffix == ".csv":
        write_text(path, frame.to_csv(index=False, lineterminator="\n"))
    elif path.suffix == ".json":
        names = list(map(str, frame.columns))
        rows = [dict(zip(names, map(_json, row), strict=True)) for row in frame.itertuples(index=False, name=None)]
        write_text(path, json.dumps({"record": json.loads(text), "rows": rows}, indent=1, ensure_ascii=False) + "\n")
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pandas(frame, preserve_index=False)
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), RECORD: text})
        with replacing(path) as temporary:
            pq.write_table(table, temporary)
    return path


def _json(value: Any) -> Any:
    """A cell as JSON has it, numbers to the last digit: None for NaN and infinities, which it lacks."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def load(path: str | os.PathLike) -> Any:
    """The result that `save` of `Result`, `Replicates`, `Convergence`, `FitTable` or `Posterior` wrote to an npz file.

    `DataError` for other files; tables (csv, json, parquet) are for other programs and do not hold a whole result.
    """
    text, arrays = _read(Path(path))
    if text is None:
        if "meta" in arrays:
            from jaxrank.results.posterior import load_posterior

            return load_posterior(path)
        raise DataError(f"{path} does not hold a result of jaxrank; read data with jaxrank.read")
    return _decode(json.loads(text)["tree"], arrays)


def load_record(path: str | os.PathLike) -> dict[str, Any]:
    """How a saved result was made: versions, method, options, seed."""
    text, _ = _read(Path(path))
    if text is None:
        raise DataError(f"{path} does not hold a result of jaxrank")
    return json.loads(text)["record"]


def versions() -> dict[str, str]:
    return {"jaxrank": sys.modules["jaxrank"].__version__, "jax": jax.__version__, "numpy": np.__version__}


def record_of(method: str, ranker: Any, seed: Any, status: Any) -> dict[str, Any]:
    """What is to be known of a fit: method, options, seed, status."""
    options = {f.name: _plain(getattr(ranker, f.name)) for f in dataclasses.fields(ranker)}
    return {"method": method, "options": options, "seed": _plain(seed), "status": str(status)}


def _plain(value: Any) -> Any:
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return str(jax.random.key_data(value).tolist())
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return np.asarray(value).tolist()
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def _read(path: Path) -> tuple[str | None, dict[str, np.ndarray]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, EOFError, KeyError, AttributeError, TypeError, zipfile.BadZipFile):
        raise DataError(f"{path} is not an npz file with a result of jaxrank") from None
    text = arrays.pop(RECORD, None)
    return (None if text is None else str(text)), arrays


def _encode(value: Any, arrays: dict[str, Any], known: dict[int, str], where: str) -> Any:
    if isinstance(value, enum.Enum):
        return _tagged("enum", [_class_name(type(value), where), value.value])
    if value is None or isinstance(value, str | bool | int | float):
        return value if not isinstance(value, float) or np.isfinite(value) else _tagged("float", repr(value))
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return _tagged("key", _encode(np.asarray(jax.random.key_data(value)), arrays, known, where))
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        name = known.get(id(value))
        if name is None:
            name = f"{where}#{len(arrays)}"
            arrays[name] = np.asarray(value)
        return _tagged("array", name)
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return _tagged(kind, [_encode(v, arrays, known, where) for v in value])
    if isinstance(value, Mapping):
        pairs = [
            [_encode(k, arrays, known, where), _encode(v, arrays, known, f"{where}.{k}")] for k, v in value.items()
        ]
        return _tagged("dict", pairs)
    if isinstance(value, type):
        return _tagged("class", _class_name(value, where))
    if not dataclasses.is_dataclass(value):
        raise OptionError(f"{where} is {type(value).__name__}, which cannot be stored; write to_frame() instead")
    fields = {
        f.name: _encode(getattr(value, f.name), arrays, known, f"{where}.{f.name}") for f in dataclasses.fields(value)
    }
    return _tagged("object", [_class_name(type(value), where), fields])


def _decode(tree: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind == "array":
        return arrays[content]
    if kind == "float":
        return float(content)
    if kind == "key":
        return jax.random.wrap_key_data(jnp.asarray(_decode(content, arrays)))
    if kind in ("tuple", "list"):
        values = [_decode(v, arrays) for v in content]
        return tuple(values) if kind == "tuple" else values
    if kind == "dict":
        return {_decode(k, arrays): _decode(v, arrays) for k, v in content}
    if kind == "class":
        return _class_of(content)
    cls: Any = _class_of(content[0])
    if kind == "enum":
        return cls(content[1])
    found = {name: _decode(value, arrays) for name, value in content[1].items()}
    wanted = _field_names(cls)
    if wanted != set(found):
        raise DataError(f"the file's {cls.__name__} is of another version of jaxrank; make the result again")
    made: Any = object.__new__(cls)
    for name, value in found.items():
        object.__setattr__(made, name, value)
    return made


def _field_names(cls: Any) -> set[str]:
    return {f.name for f in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()


def _tagged(kind: str, content: Any) -> dict[str, Any]:
    return {kind: content}


def _class_name(cls: type, where: str) -> str:
    if cls.__module__.partition(".")[0] != "jaxrank" or "." in cls.__qualname__:
        raise OptionError(f"{where} is a {cls.__name__}, not a class of jaxrank; write to_frame() instead")
    return f"{cls.__module__}:{cls.__qualname__}"


def _class_of(name: str) -> Any:
    module, _, cls = name.partition(":")
    if module.partition(".")[0] != "jaxrank":
        raise DataError(f"the file names {name!r}, which is no class of jaxrank")
    try:
        found = getattr(importlib.import_module(module), cls)
    except (ImportError, AttributeError):
        raise DataError(f"the file names {name!r}, which this version of jaxrank does not have") from None
    if not isinstance(found, type) or not (dataclasses.is_dataclass(found) or issubclass(found, enum.Enum)):
        raise DataError(f"the file names {name!r}, which does not hold results")
    return found
