"""Results in files and back: JSON and arrays in one npz, no pickle.

A result is a tree of the library's own classes. Its shape goes to JSON under the name ``jaxrank``, its arrays stand
beside it; only the classes of `MODULES` and of the methods are made again, and no code is stored or run.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrank.data.files import as_path, check_target, reading_npz, replacing, write_text
from jaxrank.data.kind import Data
from jaxrank.errors import DataError, OptionError

MODULES = frozenset(
    f"jaxrank.{name}"
    for name in (
        *(
            "data.ballots",
            "data.battle_statistic",
            "data.comparisons",
            "data.covariates",
            "data.event_statistics",
            "data.order_statistic",
            "data.rankings",
            "data.slates",
        ),
        *("data.moments", "data.responses", "data.statistics"),
        *("data.weights", "numerics.interval", "numerics.separation", "numerics.status", "numerics.solve.fixed_point"),
        *("numerics.solve.lbfgs", "numerics.solve.newton", "numerics.solve.quadrature", "models.fit"),
        *("models.irt.joint", "models.irt.table", "models.pairs.likelihoods", "models.priors"),
        *(
            "models.setwise.likelihoods",
            "resampling.clusters",
            "resampling.prefixes",
            "resampling.schemes",
            "resampling.sources",
        ),
        *("resampling.tally", "resampling.uneven", "resampling.work", "results.agreement", "results.convergence"),
        *(
            "results.categories",
            "results.posterior_by_category",
            "results.coefficients",
            "results.over_time",
            "results.ratings",
        ),
        *("results.fit", "results.pools", "results.posterior", "results.replicates", "results.study", "results.tiers"),
        *("numerics.paired", "results.comparison", "results.comparison_table"),
        *("results.costs", "results.factors", "results.stops"),
        *("studies.diagnosis", "studies.diagnosis.finding"),
    )
)
"""The modules whose dataclasses and enumerations a file may name, beside those of `jaxrank.methods`."""

RECORD = "jaxrank"
TABLES = (".csv", ".json", ".parquet")


def save(
    source: Any, path: str | os.PathLike[str], record: Mapping[str, Any], named: Mapping[str, np.ndarray] | None = None
) -> Path:
    """Write ``source`` whole to an ``.npz``, with a ``record`` of how it was made. ``named``: arrays that the file
    holds under names of their own, for other programs."""
    path = check_target(path, (".npz",), "results")
    arrays: dict[str, Any] = dict(named or {})
    known = {id(value): name for name, value in arrays.items()}
    tree = encode(source, arrays, known, type(source).__name__)
    text = json.dumps({"record": {**versions(), **record}, "tree": tree}, ensure_ascii=False)
    contents: dict[str, Any] = {**arrays, RECORD: np.array(text)}
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **contents)
    return path


def save_table(
    frame: Any, path: str | os.PathLike[str], record: Mapping[str, Any], others: Sequence[str] = (".npz",)
) -> Path:
    """Write a frame as ``.parquet`` (the record in the file's metadata), ``.json`` (record and rows) or ``.csv``.
    ``others``: endings that hold all of the result, for the message."""
    path = check_target(path, (*others, *TABLES), "results")
    text = json.dumps({**versions(), **record}, ensure_ascii=False)
    if path.suffix == ".csv":
        write_text(path, frame.to_csv(index=False, lineterminator="\n"))
    elif path.suffix == ".json":
        names = list(map(str, frame.columns))
        rows = [dict(zip(names, map(plain_json, row), strict=True)) for row in frame.itertuples(index=False, name=None)]
        write_text(path, json.dumps({"record": json.loads(text), "rows": rows}, indent=1, ensure_ascii=False) + "\n")
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pandas(frame, preserve_index=False)
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), RECORD: text})
        with replacing(path) as temporary:
            pq.write_table(table, temporary)
    return path


def plain_json(value: Any) -> Any:
    """A cell as JSON has it, numbers to the last digit: None for NaN and infinities, which it lacks."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def load(path: str | os.PathLike[str]) -> Any:
    """The result that ``save`` of a result wrote to an npz file, or a posterior's ``save`` to any of its formats.

    Nothing in the file is executed: it names classes of results, of their data and of methods, and no others are made.
    `DataError` for other files and damaged ones; tables (csv, json, parquet) are for other programs and do not hold a
    whole result.
    """
    from jaxrank.results.posterior import load_posterior
    from jaxrank.results.returned import Returned

    path = as_path(path)
    if path.suffix in (".nc", ".zarr"):
        return load_posterior(path)
    with reading_npz(path, "a result of jaxrank") as file:
        if RECORD not in file:
            if "meta" not in file:
                raise DataError(f"{path} does not hold a result of jaxrank; read data with jaxrank.read")
        else:
            found = decode(json.loads(str(file[RECORD]))["tree"], file)
            if not isinstance(found, Returned):
                raise DataError(f"{path} holds {type(found).__name__}, which is no result of jaxrank")
            _check_whole(found)
            return found
    return load_posterior(path)


def load_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """How a saved result was made: versions, method, options, seed."""
    with reading_npz(Path(path), "a result of jaxrank") as file:
        if RECORD not in file:
            raise DataError(f"{path} does not hold a result of jaxrank")
        return dict(json.loads(str(file[RECORD]))["record"])


def _check_whole(found: Any) -> None:
    """Raises where what was read does not fit together, before anybody relies on it."""
    repr(found)
    if hasattr(type(found), "scores") and hasattr(found, "models") and np.shape(found.scores) != (len(found.models),):
        raise DataError(f"the file's {type(found).__name__} has scores of another number of models; save it again")


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


def encode(value: Any, arrays: dict[str, Any], known: dict[int, str], where: str) -> Any:
    if isinstance(value, enum.Enum):
        return _tagged("enum", [_class_name(type(value), where), value.value])
    if value is None or isinstance(value, str | bool | int | float):
        return value if not isinstance(value, float) or np.isfinite(value) else _tagged("float", repr(value))
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return _tagged("key", encode(np.asarray(jax.random.key_data(value)), arrays, known, where))
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return _tagged("objects", [encode(v, arrays, known, where) for v in value.tolist()])
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        name = known.get(id(value))
        if name is None:
            name = f"{where}#{len(arrays)}"
            arrays[name] = np.asarray(value)
        return _tagged("array", name)
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return _tagged(kind, [encode(v, arrays, known, where) for v in value])
    if isinstance(value, Mapping):
        pairs = [[encode(k, arrays, known, where), encode(v, arrays, known, f"{where}.{k}")] for k, v in value.items()]
        return _tagged("dict", pairs)
    if isinstance(value, type):
        return _tagged("class", _class_name(value, where))
    if not dataclasses.is_dataclass(value):
        raise OptionError(f"{where} is {type(value).__name__}, which cannot be stored; write to_frame() instead")
    fields = {
        f.name: encode(getattr(value, f.name), arrays, known, f"{where}.{f.name}") for f in dataclasses.fields(value)
    }
    return _tagged("object", [_class_name(type(value), where), fields])


def decode(tree: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """What `encode` made a tree of. Classes are looked up among `MODULES` and made field by field: no constructor
    runs."""
    if not isinstance(tree, dict):
        if isinstance(tree, list):
            raise DataError("the file's tree has a list where a value is wanted")
        return tree
    ((kind, content),) = tree.items()
    if kind == "array":
        return arrays[content]
    if kind == "float":
        return float(content)
    if kind == "key":
        return jax.random.wrap_key_data(jax.device_put(decode(content, arrays)))
    if kind in ("tuple", "list"):
        values = [decode(v, arrays) for v in content]
        return tuple(values) if kind == "tuple" else values
    if kind == "objects":
        values = np.empty(len(content), object)
        values[:] = [decode(v, arrays) for v in content]
        return values
    if kind == "dict":
        return {decode(k, arrays): decode(v, arrays) for k, v in content}
    if kind == "class":
        return class_of(content)
    if kind not in ("enum", "object"):
        raise DataError(f"the file's tree has a part of kind {kind!r}, which this version of jaxrank does not know")
    name, value = content
    cls = class_of(name)
    if issubclass(cls, enum.Enum) != (kind == "enum"):
        raise DataError(f"the file names {name!r} as {kind}, which it is not")
    if issubclass(cls, enum.Enum):
        return cls(value)
    found = {name: decode(part, arrays) for name, part in value.items()}
    fields = {f.name: str(f.type) for f in dataclasses.fields(cls)}
    if set(fields) != set(found):
        raise DataError(f"the file's {cls.__name__} is of another version of jaxrank; make the result again")
    made: Any = object.__new__(cls)
    for name, part in found.items():
        if not _fits(part, fields[name]):
            raise DataError(f"the file's {cls.__name__}.{name} is {type(part).__name__}, not {fields[name]}")
        for array in part.values() if isinstance(part, dict) else [part]:
            if isinstance(array, np.ndarray) and issubclass(cls, Data):
                array.setflags(write=False)
        object.__setattr__(made, name, part)
    return made


def _fits(value: Any, annotation: str) -> bool:
    """Whether a value is of a field's type, as far as simple types and the names of classes tell."""
    return any(_fits_one(value, part.strip()) for part in annotation.split("|"))


def _fits_one(value: Any, annotation: str) -> bool:
    if annotation in _PLAIN:
        return isinstance(value, _PLAIN[annotation])
    if annotation == "tuple[str, ...]":
        return isinstance(value, tuple) and all(isinstance(v, str) for v in value)
    outer = annotation.partition("[")[0]
    if outer in ("tuple", "list", "dict", "Mapping"):
        return isinstance(value, dict if outer == "Mapping" else {"tuple": tuple, "list": list, "dict": dict}[outer])
    if annotation.isidentifier() and annotation not in ("Any", "Array", "ArrayLike"):
        return not isinstance(value, str | int | float | tuple | list | dict | np.ndarray | None) and any(
            c.__name__ == annotation for c in type(value).__mro__
        )
    return True


_PLAIN: dict[str, Any] = {
    "str": str,
    "bool": bool,
    "int": int,
    "float": int | float,
    "np.ndarray": np.ndarray,
    "None": type(None),
    "Seed": int | np.integer | jax.Array,
}


def _tagged(kind: str, content: Any) -> dict[str, Any]:
    return {kind: content}


def _class_name(cls: type, where: str) -> str:
    name = f"{cls.__module__}:{cls.__qualname__}"
    try:
        known = class_of(name)
    except DataError:
        known = None
    if known is not cls:
        raise OptionError(f"{where} is a {cls.__name__}, which files do not hold; write to_frame() instead")
    return name


def class_of(name: Any) -> type:
    """A dataclass or an enumeration that files may hold, by ``module:name``; `DataError` for all else, which is not
    even imported."""
    module, _, cls = str(name).partition(":")
    if module not in MODULES and not re.fullmatch(r"jaxrank\.methods\.[a-z_]+", module):
        raise DataError(f"the file names {name!r}, which is no class of results of jaxrank")
    try:
        found = vars(importlib.import_module(module)).get(cls)
    except ImportError:
        found = None
    if not isinstance(found, type) or found.__module__ != module:
        raise DataError(f"the file names {name!r}, which this version of jaxrank does not have")
    if not (dataclasses.is_dataclass(found) or issubclass(found, enum.Enum)):
        raise DataError(f"the file names {name!r}, which does not hold results")
    return found
