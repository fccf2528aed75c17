"""jaxrank: rank models from repeated trials or battles, with honest uncertainty, one table or 100,000 replicates."""

from __future__ import annotations

import ast
import importlib
from typing import Any

__version__ = "0.1.0"


def _read_places() -> dict[str, str]:
    """The public names and the module or package that each is imported from, as the stub beside this file has them."""
    stub = __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi")  # from an archive too
    lines = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or __name__ for node in lines for alias in node.names}


# Each is imported when it is first asked for: what needs no arrays, as the help of the command line, need not wait for
# JAX.
_PLACES = _read_places()
__all__ = sorted(_PLACES)  # pyright: ignore[reportUnsupportedDunderAll]  (it reads the stub)
_MEANT = {
    **dict.fromkeys(("rank", "leaderboard", "Ranker", "run"), "jaxrank.fit(data)"),
    **{m: f'jaxrank.fit(data, "{m}")' for m in ("elo", "glicko", "trueskill", "bradley_terry", "borda", "rasch")},
    **{m: f"jaxrank.evaluation.{m}(data, k)" for m in ("pass_at_k", "pass_hat_k")},
    **dict.fromkeys(("load_dataset", "load_data", "data", "example"), 'jaxrank.datasets.load("misguided_attention")'),
    **dict.fromkeys(("read_csv", "load_csv", "from_csv", "open"), 'jaxrank.read("results.csv")'),
    **dict.fromkeys(("from_pandas", "from_dataframe", "from_df"), "jaxrank.from_frame(frame)"),
    **dict.fromkeys(("diff", "versus", "compare_models", "test"), "jaxrank.compare(data, new, old)"),
    **dict.fromkeys(("list_methods", "methods_list", "available"), "jaxrank.catalogue()"),
    **dict.fromkeys(("plot", "bar"), "jaxrank.fit(data).plot()"),
    **dict.fromkeys(("mcmc", "sample"), "jaxrank.posterior(data)"),
    **dict.fromkeys(("judge", "fit_judges"), "jaxrank.judges.infer(scores)"),
    **dict.fromkeys(("predict", "win_probability", "superiority"), "jaxrank.fit(data).superiority()"),
    **dict.fromkeys(("Battles", "battles", "matches"), "jaxrank.Comparisons(a, b, outcome)"),
}
"""What people look for here first, and where it is."""


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        hint = f"; did you mean {_MEANT[name]}?" if name in _MEANT else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name)
    place = _PLACES[name]
    if place == __name__ or not hasattr(module := importlib.import_module(place), name):
        return importlib.import_module(f"{place}.{name}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return list(__all__)
