"""The library's own parquet: data of every form, written and read back without loss."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from jaxrank.data.comparisons import Comparisons
from jaxrank.data.files import check_target, replacing
from jaxrank.data.kind import Data, concat
from jaxrank.data.rankings import Rankings
from jaxrank.data.readers.logs import Format, LogOptions
from jaxrank.data.readers.parquet import open_parquet
from jaxrank.data.readers.source import Source
from jaxrank.data.responses import Responses
from jaxrank.data.row_columns import absent
from jaxrank.errors import DataError

KEY = b"jaxrank"
VERSION = 1


def write_parquet(data: Data, path: str | os.PathLike[str]) -> None:
    """Write data to a parquet file that `jaxrank.read` reads back whole: names, columns, weights, directions and notes.

    The file is a table that other programs read too: a row a trial, a battle, or a model of an order.
    `OptionError` for another ending and for places that cannot be written.
    """
    import pyarrow as pa
    from pyarrow import parquet

    target = check_target(path, (".parquet",), "converted data")
    if isinstance(data, Responses):
        columns, about = _of_responses(data)
    elif isinstance(data, Comparisons):
        columns, about = _of_comparisons(data)
    elif isinstance(data, Rankings):
        columns, about = _of_rankings(data)
    else:
        raise DataError(f"{type(data).__name__} cannot be written; it must be Responses, Comparisons or Rankings")
    head = {"version": VERSION, "form": data.form, "models": data.models, "notes": data.notes, **about}
    table = pa.table({name: pa.array(values, from_pandas=False) for name, values in columns.items()})
    table = table.replace_schema_metadata({KEY: json.dumps(head).encode()})
    with replacing(target) as temporary:
        parquet.write_table(table, temporary)


def _named(names: Any, codes: np.ndarray) -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(list(names), pa.string()))


def _of_responses(data: Responses) -> tuple[dict[str, Any], dict[str, Any]]:
    fields = data._fields()
    about = {
        "questions": data.questions,
        "levels": fields["levels"],
        "tie_within": fields["tie_within"],
        "missing": fields["missing"],
        "balance": fields["balance"],
        **{
            k: {name: _plain(column) for name, column in fields[k].items()}
            for k in ("question_columns", "model_columns")
        },
    }
    if data.counts_only:
        i, m, c = np.nonzero(fields["counts"])
        values = {"level": c, "count": fields["counts"][i, m, c]}
        about["shape"] = fields["counts"].shape
    else:
        table = fields["outcomes"] if fields["real"] is None else fields["real"]
        i, m, n = np.nonzero(table >= 0 if fields["real"] is None else ~np.isnan(table))
        name = "outcome" if fields["real"] is None else "real"
        values = {"trial": n, "score": data.values[i, m, n], name: table[i, m, n]}
        about["shape"] = table.shape
    return {"model": _named(data.models, i), "question": _named(data.questions, m), **values}, about


def _of_comparisons(data: Comparisons) -> tuple[dict[str, Any], dict[str, Any]]:
    won = np.array([1.0, 0.0, 0.5])[data.outcome]
    own = {"model_a": _named(data.models, data.a), "model_b": _named(data.models, data.b)}
    own |= {"outcome": won, "count": data.count}
    kept = {f"column {name}": values for name, values in data.columns.items()}
    return {**own, **{name: _typed(values) for name, values in kept.items()}}, {}


def _of_rankings(data: Rankings) -> tuple[dict[str, Any], dict[str, Any]]:
    order, i = np.nonzero(data.places)
    columns = {"order": order, "model": _named(data.models, i), "place": data.places[order, i]}
    columns |= {"count": data.count[order], "open_end": data.open_end[order]}
    for name, values in data.columns.items():
        columns[f"column {name}"] = _typed(values[order] if values.ndim == 1 else values[order, i])
    return columns, {"orders": len(data.places), "of_models": [k for k, v in data.columns.items() if v.ndim == 2]}


def _typed(values: np.ndarray) -> Any:
    """Texts as texts; values of several types as the JSON of each, marked so."""
    import pyarrow as pa

    if values.dtype.kind == "f":
        return values
    entries = values.tolist()
    if all(v is None or isinstance(v, str) for v in entries):
        return pa.array(entries, pa.string())
    return pa.array([None if v is None else str(v) for v in entries], pa.string())


def _plain(column: np.ndarray) -> dict[str, Any]:
    return {"kind": column.dtype.kind, "values": column.tolist()}


def _array(column: dict[str, Any]) -> np.ndarray:
    kinds = {"f": np.float64, "b": bool}
    out = np.empty(len(column["values"]), kinds.get(column["kind"], object))
    out[:] = column["values"]
    return out


def sniff(source: Source) -> bool:
    if source.suffix not in (".parquet", ".pq"):
        return False
    with open_parquet(source.path) as file:
        return KEY in (file.schema_arrow.metadata or {})


def read(sources: list[Source], options: LogOptions) -> Data:
    """What `write_parquet` wrote; several files are joined as `jaxrank.concat` joins data."""
    return concat([_read(source) for source in sources])


def _read(source: Source) -> Data:
    with open_parquet(source.path) as file:
        table = file.read()
        head = json.loads(file.schema_arrow.metadata[KEY])
    if head.get("version") != VERSION:
        raise DataError(f"{source.name} was written by another version of the library ({head.get('version')})")
    column = lambda name: table.column(name).to_numpy()
    codes = lambda name: table.column(name).combine_chunks().indices.to_numpy()
    models, notes = tuple(head["models"]), tuple(head["notes"])
    extra = {n.removeprefix("column "): _column(table.column(n)) for n in table.column_names if n.startswith("column ")}
    if head["form"] == "comparisons":
        a, b = codes("model_a"), codes("model_b")
        return Comparisons(a, b, column("outcome"), column("count"), models, columns=extra, notes=notes)
    if head["form"] == "rankings":
        places = np.zeros((head["orders"], len(models)), np.int16)
        count, open_end = np.ones(len(places)), np.zeros(len(places), bool)
        order = column("order")
        places[order, codes("model")] = column("place")
        count[order], open_end[order] = column("count"), column("open_end")
        whole = {}
        for name, values in extra.items():
            of_models = name in head["of_models"]
            whole[name] = absent(len(places), [values]) if not of_models else np.full(places.shape, np.nan)
            whole[name][(order, codes("model")) if of_models else order] = values
        return Rankings._made(places, count, open_end, models, notes, whole)
    i, m = codes("model"), codes("question")
    fields: dict[str, Any] = {"counts": None, "outcomes": None, "real": None}
    if "level" in table.column_names:
        fields["counts"] = np.zeros(head["shape"], np.int64)
        fields["counts"][i, m, column("level")] = column("count")
    elif "real" in table.column_names:
        fields["real"] = np.full(head["shape"], np.nan)
        fields["real"][i, m, column("trial")] = column("real")
    else:
        fields["outcomes"] = np.full(head["shape"], -1, np.int16)
        fields["outcomes"][i, m, column("trial")] = column("outcome")
    tables = {k: {n: _array(c) for n, c in head[k].items()} for k in ("question_columns", "model_columns")}
    same = {k: head[k] for k in ("levels", "tie_within", "missing", "balance")}
    return Responses._made(**fields, **tables, **same, models=models, questions=tuple(head["questions"]), notes=notes)


def _column(column: Any) -> np.ndarray:
    return column.to_numpy() if str(column.type) == "double" else np.array(column.to_pylist(), object)


FORMAT = Format(
    "jaxrank", sniff, read, files="`.parquet` that `jaxrank convert` wrote", trials="as written", options=""
)
