"""Posteriors outside Python: ArviZ trees, NetCDF and zarr files through them, and npz."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np

from jaxrank.data.files import as_path, check_target, damage_named, left_aside, reading_npz, replacing
from jaxrank.errors import DataError, OptionError
from jaxrank.posteriors.checks import EXTRA, log_likelihood, replicate, spec_of
from jaxrank.posteriors.pooled import BY_CATEGORY
from jaxrank.posteriors.specs import Evidence

PREDICTIVE_DRAWS = 400
BY_QUESTION = ("b", "b_spread", "a", "c_share")
BY_MODEL = ("theta", "raw_theta", "unit_theta")
PARTS = {
    "posterior": "draws",
    "sample_stats": "extras",
    "constant_data": "design",
    "observed_data": "observed",
}
ENGINES = {".nc": "h5netcdf", ".zarr": "zarr"}
SUFFIXES = (".npz", *ENGINES)
DIMS = {"pair": ["pair", "outcome"], "cell": ["model", "question"], "event": ["event", "model"]}


def to_arviz(posterior: Any, checks: bool = True) -> Any:
    """An ArviZ ``DataTree``; see `Posterior.to_arviz`."""
    base = _base()
    groups: dict[str, dict[str, Any]] = {"posterior": dict(posterior.draws)}
    coords: dict[str, Any] = {"model": list(posterior.models)}
    dims: dict[str, list[str]] = {name: ["model"] for name in BY_MODEL if name in posterior.draws}
    if posterior.questions:
        coords["question"] = list(map(str, posterior.questions))
    if "b" in posterior.draws:
        dims |= {name: ["question"] for name in BY_QUESTION if name in posterior.draws}
    categories = getattr(posterior, "categories", ())
    if categories:
        coords["category"] = list(categories)
        dims[BY_CATEGORY] = ["category", "model"]
    if posterior.extras:
        groups["sample_stats"] = dict(posterior.extras)
    if posterior.evidence is not None:
        design, outcomes = posterior.evidence
        groups["constant_data"] = dict(design)
        unit = spec_of(posterior).family.unit
        groups["observed_data"] = {"outcomes": outcomes}
        dims["outcomes"] = DIMS[unit]
        if unit == "pair":
            names = posterior.models
            pairs = [f"{names[i]} : {names[j]}" for i, j in zip(design["a"], design["b"], strict=True)]
            if categories:
                pairs = [f"{pair} ({categories[k]})" for pair, k in zip(pairs, design["category"], strict=True)]
            coords["pair"] = pairs
            coords["outcome"] = ["won", "lost", "tied"]
        if checks:
            groups["log_likelihood"] = {"outcomes": log_likelihood(posterior)}
            if unit != "event":  # equal events are merged, and could come out differently
                groups["posterior_predictive"] = {"outcomes": replicate(posterior, PREDICTIVE_DRAWS)}
    tree = base.from_dict(groups, coords=coords, dims=dims)
    tree.attrs["jaxrank"] = json.dumps(_meta(posterior))
    return tree


def check_format(path: Any) -> Path:
    """The path of a posterior; `OptionError` where it cannot be written here. Call it before long work."""
    path = check_target(path, SUFFIXES, "posteriors")
    _need_engine(path)
    return path


def _need_engine(path: Path) -> None:
    engine = ENGINES.get(path.suffix)
    if engine is not None:
        _base()
        for module in (engine, *(["h5py"] if engine == "h5netcdf" else [])):
            if importlib.util.find_spec(module) is None:
                raise OptionError(f"{path.suffix} files need {module}: pip install {module}")


def save(posterior: Any, path: Any) -> None:
    """Write a posterior; the ending of ``path`` chooses npz, nc or zarr."""
    path = check_format(path)
    if path.suffix == ".nc":
        tree = to_arviz(posterior)
        with replacing(path) as temporary:
            tree.to_netcdf(temporary, engine=ENGINES[".nc"])
    elif path.suffix == ".zarr":
        tree = to_arviz(posterior)
        with replacing(path) as temporary:
            tree.to_zarr(temporary, mode="w")
    else:
        parts = {"draws": posterior.draws, "extras": posterior.extras}
        if posterior.evidence is not None:
            parts |= {"design": posterior.evidence.design, "observed": {"outcomes": posterior.evidence.outcomes}}
        arrays = {f"{part}/{name}": x for part, content in parts.items() for name, x in content.items()}
        contents: dict[str, Any] = {"meta": np.array(json.dumps(_meta(posterior))), **arrays}
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **contents)


def load_parts(path: Any) -> dict[str, Any]:
    """The fields of a posterior written by `save`; `DataError` for another file or a damaged one."""
    path = as_path(path)
    if aside := left_aside(path):
        raise DataError(f"{path} is gone: a process was killed while it replaced it; rename {aside} to it, the old one")
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    if path.suffix in ENGINES:
        with damage_named(path, "a posterior of jaxrank"):
            return _fields(*_from_tree(path))
    with reading_npz(path, "a posterior of jaxrank") as file:
        return _fields(*_from_npz(file))


def _fields(parts: dict[str, dict[str, np.ndarray]], text: str) -> dict[str, Any]:
    meta = json.loads(text)
    observed = parts.get("observed") or {}
    names = [*meta["models"], *meta.get("questions", ()), meta["model"], meta["sampler"]]
    names += [*meta.get("categories", ()), meta.get("by", "")]
    if not all(isinstance(name, str) for name in names) or not isinstance(meta["seconds"], int | float):
        raise DataError("the names in the file are no text; save the posterior again")
    if parts["draws"]["theta"].ndim != 3 or parts["draws"]["theta"].shape[2] != len(meta["models"]):
        raise DataError(f"the file names {len(meta['models'])} models, and has draws of another number; save it again")
    if "by" in meta and parts["draws"][BY_CATEGORY].shape[2:] != (len(meta["categories"]), len(meta["models"])):
        raise DataError("the file has strengths of another number of categories than it names; save it again")
    return {
        "draws": parts["draws"],
        "extras": parts.get("extras", {}),
        "evidence": Evidence(parts["design"], observed["outcomes"]) if observed else None,
        "models": tuple(meta["models"]),
        "questions": tuple(meta.get("questions", ())),
        **{name: meta[name] for name in ("model", "sampler", "seconds")},
        **({"categories": tuple(meta["categories"]), "by": meta["by"]} if "by" in meta else {}),
    }


def _from_npz(file: Any) -> tuple[dict[str, dict[str, np.ndarray]], str]:
    if "meta" not in file:
        raise DataError("it does not hold a posterior")
    parts: dict[str, dict[str, np.ndarray]] = {}
    for name in file:
        part, _, key = name.partition("/")
        if key:
            parts.setdefault(part, {})[key] = file[name]
    return parts, str(file["meta"])


def _from_tree(path: Path) -> tuple[dict[str, dict[str, np.ndarray]], str]:
    _need_engine(path)
    import xarray

    engine: Any = ENGINES[path.suffix]
    try:
        with xarray.open_datatree(path, engine=engine) as tree:
            if "jaxrank" not in tree.attrs:
                raise DataError(f"{path} does not hold a posterior of jaxrank")
            parts = {
                part: {str(name): np.asarray(x.values) for name, x in tree[group].data_vars.items()}
                for group, part in PARTS.items()
                if group in tree.children
            }
            return parts, str(tree.attrs["jaxrank"])
    except OSError as error:
        raise DataError(f"{path} cannot be read as {engine}: {error}") from None


def _meta(posterior: Any) -> dict[str, Any]:
    names = ("model", "sampler", "seconds")
    listed = {"models": list(posterior.models), "questions": list(map(str, posterior.questions))}
    categories = getattr(posterior, "categories", ())
    listed |= {"categories": list(categories), "by": posterior.by} if categories else {}
    return {**listed, **{name: getattr(posterior, name) for name in names}}


def _base() -> Any:
    try:
        import arviz_base
    except ImportError:
        raise OptionError(f"ArviZ trees and NetCDF files need ArviZ: {EXTRA}") from None
    return arviz_base
