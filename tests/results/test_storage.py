"""Results out: summaries in four formats, and files that are read back whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.results import storage
from tests.problems import graded

AWKWARD = ["<b>&amp;", "50% $x_1$ ~ {a}^\\b", "naïve, 模型"]


@pytest.fixture(scope="module")
def data() -> jr.Responses:
    R = np.random.default_rng(0).integers(0, 2, (3, 6, 4)).astype(float)
    R[0, 0, :] = np.nan
    return jr.Responses(R, AWKWARD)


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
@pytest.mark.parametrize("method", ["bayes", "bradley_terry_map", "rasch_map"])
def test_a_result_comes_back_whole(data: jr.Responses, method: str, tmp_path: Path) -> None:
    fit = jr.fit(data, method, seed=7)
    back = jr.load(fit.save(tmp_path / "fit.npz"))
    assert type(back) is jr.Result and back.models == tuple(AWKWARD) and back.seed == 7
    np.testing.assert_array_equal(back.scores, fit.scores)
    np.testing.assert_array_equal(back.ranks, fit.ranks)
    np.testing.assert_array_equal(back.interval(0.9), fit.interval(0.9))
    assert back.notes == fit.notes and back.summary() == fit.summary()
    record = storage.load_record(tmp_path / "fit.npz")
    assert record["method"] == method and record["seed"] == 7 and record["jaxrank"] == jr.__version__


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
def test_replicates_and_tables_come_back(data: jr.Responses, tmp_path: Path) -> None:
    rep = jr.bootstrap(data, "avg", n_replicates=50, seed=3)
    back = jr.load(rep.save(tmp_path / "rep.npz"))
    assert type(back) is jr.Replicates and back.n_replicates == 50
    np.testing.assert_array_equal(back.rank_probabilities(), rep.rank_probabilities())
    np.testing.assert_array_equal(back.interval().lower, rep.interval().lower)
    with np.load(tmp_path / "rep.npz") as file:
        np.testing.assert_array_equal(file["scores"], rep.replicate_scores)
    table = jr.fit_all(data, ["bayes", "avg", "borda"])
    again = jr.load(table.save(tmp_path / "all.npz"))
    assert again.to_frame().equals(table.to_frame())


@pytest.mark.parametrize("scheme", ["trials", "subsample(4)"])
def test_a_convergence_study_comes_back(data: jr.Responses, scheme: str, tmp_path: Path) -> None:
    R = np.nan_to_num(data.outcomes)
    study = jr.convergence(R, ["avg", "pass_at_k_2", "borda"], n_replicates=40, scheme=scheme, seed=3)
    back = jr.load(study.save(tmp_path / "study.npz"))
    assert type(back) is jr.Convergence and back.models == study.models and repr(back) == repr(study)
    assert back.to_frame().equals(study.to_frame())
    for method in study.methods:
        worst = study.worst(method, 3)
        np.testing.assert_array_equal(back.worst(method, 3), worst)
        np.testing.assert_array_equal(back.trajectory(method, worst[0]), study.trajectory(method, worst[0]))
    with np.load(tmp_path / "study.npz") as file:
        np.testing.assert_array_equal(file["avg/agreements"], study.curves["avg"].agreements)
    assert storage.load_record(tmp_path / "study.npz")["n_replicates"] == 40
    for format in ("text", "html", "latex", "csv"):
        assert back.summary(format) == study.summary(format=format)
    assert study.summary("csv").splitlines()[1].startswith("avg,")
    assert study.save(tmp_path / "study.csv").read_text().startswith("method,n,pmf")


def test_every_method_of_the_catalogue_can_be_stored() -> None:
    for name, entry in jr.entries().items():
        ranker, arrays = entry.ranker(), {}
        tree = json.loads(json.dumps(storage.encode(ranker, arrays, {}, name)))
        back = storage.decode(tree, arrays)
        assert eqx.tree_equal(back, ranker), name


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
def test_summaries(data: jr.Responses) -> None:
    fit = jr.fit(data)
    page, latex, csv = (fit.summary(format=f) for f in ("html", "latex", "csv"))
    assert "<b>" not in page and "&lt;b&gt;&amp;amp;" in page
    assert r"50\% \$x\_1\$ \textasciitilde{} \{a\}\textasciicircum{}\textbackslash{}b" in latex
    assert csv.splitlines()[0] == "rank,model,score,se,lower,upper" and len(csv.splitlines()) == 4
    assert fit.summary().splitlines()[1].split()[:2] == ["rank", "model"]
    with pytest.raises(jr.errors.OptionError, match="format"):
        fit.summary(format="pdf")


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
def test_tables_for_other_programs(data: jr.Responses, tmp_path: Path) -> None:
    import pandas as pd
    import pyarrow.parquet as pq

    fit = jr.fit(data)
    frame = fit.to_frame()
    fit.save(tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "a.parquet"), frame)
    assert json.loads(pq.read_schema(tmp_path / "a.parquet").metadata[b"jaxrank"])["method"] == "avg"
    fit.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["rows"][0]["model"] == frame["model"][0]
    with pytest.raises(jr.errors.OptionError, match="npz"):
        fit.save(tmp_path / "a.xlsx")


def test_other_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", R=np.zeros(3))
    with pytest.raises(jr.errors.DataError, match="does not hold a result"):
        jr.load(tmp_path / "x.npz")
    (tmp_path / "y.npz").write_text("nothing")
    with pytest.raises(jr.errors.DataError, match="or is damaged"):
        jr.load(tmp_path / "y.npz")
    tree = {"object": ["os:system", {}]}
    np.savez(tmp_path / "z.npz", jaxrank=np.array(json.dumps({"record": {}, "tree": tree})))
    with pytest.raises(jr.errors.DataError, match="no class of results of jaxrank"):
        jr.load(tmp_path / "z.npz")


def everything(tmp_path: Path) -> dict[str, Path]:
    """A file of every class that saves to npz."""
    R = graded()
    rep = jr.bootstrap(R, "avg", n_replicates=20, scheme="questions")
    pools = jr.model_pools(R, ["avg"], size=3, n_replicates=8)
    table = jr.fit_all(R, ["avg", "bayes"])
    draws = np.random.default_rng(0).normal(size=(2, 10, 5))
    posterior = jr.Posterior({"theta": draws}, jr.fit(R, "avg").models, "bayes", "exact")
    found = {
        "fit": jr.fit(R, "bradley_terry_map"),
        "replicates": rep,
        "summary": jr.bootstrap(R, "avg", n_replicates=20, scheme="questions", keep="summary"),
        "convergence": jr.convergence(R, ["avg", "borda"], n_replicates=20),
        "pools": pools,
        "table": table,
        "agreement": table.agreement(),
        "posterior": posterior,
    }
    return {name: Path(x.save(tmp_path / f"{name}.npz") or tmp_path / f"{name}.npz") for name, x in found.items()}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return everything(tmp_path_factory.mktemp("results"))


def test_every_kind_of_result_comes_back(files: dict[str, Path]) -> None:
    for name, path in files.items():
        back = jr.load(path)
        assert type(back).__name__.lower().startswith({"fit": "result", "table": "fittable"}.get(name, name)), name
        assert len(back.to_frame()) > 0


def opens(path: Path, content: bytes) -> bool:
    """Whether a changed file is read; False for one sentence. Anything else is raised."""
    path.write_bytes(content)
    try:
        repr(jr.load(path))
    except jr.errors.DataError as error:
        said = str(error)
    else:
        return True
    assert path.name in said and len(said.splitlines()) == 1
    return False


def test_files_with_bytes_changed_are_read_or_refused(files: dict[str, Path], tmp_path: Path) -> None:
    """interface 22: only one kind of error comes out of a damaged file."""
    rng = np.random.default_rng(1)
    refused = 0
    for path in files.values():
        whole = path.read_bytes()
        for _ in range(40):
            changed = bytearray(whole)
            for place in rng.integers(len(whole), size=rng.integers(1, 4)):
                changed[place] = rng.integers(256)
            refused += not opens(tmp_path / "x.npz", bytes(changed))
        for length in rng.integers(len(whole), size=5):
            refused += not opens(tmp_path / "x.npz", whole[:length])
    assert refused > 200


WRONG = [None, True, 3, -1, 2.5, "", "text", [], {}, [[]], {"array": "none"}, {"tuple": 3}, {"object": ["a", {}]}]


def mutated(tree: object, rng: np.random.Generator, donors: list) -> object:
    """A copy with one part changed: replaced, taken from elsewhere, left out, doubled or renamed."""
    places: list[tuple] = []

    def walk(node: object) -> None:
        if isinstance(node, dict | list):
            for key in node if isinstance(node, dict) else range(len(node)):
                places.append((node, key))
                walk(node[key])

    copy = json.loads(json.dumps(tree))
    walk(copy)
    node, key = places[rng.integers(len(places))]
    how = rng.integers(4)
    if how == 0:
        node[key] = WRONG[rng.integers(len(WRONG))]
    elif how == 1:
        node[key] = donors[rng.integers(len(donors))]
    elif how == 2:
        del node[key]
    elif isinstance(node, dict):
        node[f"{key}x"] = node.pop(key)
    else:
        node.insert(key, node[key])
    return copy


def test_files_with_trees_changed_are_read_or_refused(files: dict[str, Path], tmp_path: Path) -> None:
    """interface 22: KeyError, JSONDecodeError, and ``{"tree": 3}`` was a result."""
    rng = np.random.default_rng(2)
    loaded = {name: dict(np.load(path)) for name, path in files.items()}
    texts = {name: "jaxrank" if "jaxrank" in arrays else "meta" for name, arrays in loaded.items()}
    trees = {name: json.loads(str(arrays[texts[name]])) for name, arrays in loaded.items()}
    donors: list = [part for tree in trees.values() if "tree" in tree for part in tree["tree"]["object"][1].values()]
    refused = 0
    for name, tree in trees.items():
        for _ in range(60):
            changed = tree
            for _ in range(rng.integers(1, 3)):
                changed = mutated(changed, rng, donors)
            np.savez(tmp_path / "y.npz", **{**loaded[name], texts[name]: np.array(json.dumps(changed))})
            refused += not opens(tmp_path / "x.npz", (tmp_path / "y.npz").read_bytes())
    assert refused > 200


FOREIGN = [
    *("jaxrank.__main__:main", "jaxrank.cli:main", "jaxrank.cli.app:make_app", "jaxrank.results.storage:load"),
    *(
        "os:system",
        "builtins:eval",
        "jaxrank.studies.fit:fit",
        "jaxrank.methods.catalogue:make",
        "jaxrank:fit",
        "",
        ":",
    ),
    *(
        "jaxrank.results.fit:np",
        "jaxrank.results.fit:Fit",
        "jaxrank.methods...:x",
        "jaxrank.methods.none:X",
        "\x00:\x00",
    ),
]


@pytest.mark.parametrize("text", ["", "3", "[]", "{}", "null", '{"tree": 3}', '{"tree": {}}', "[" * 9999, "1" * 9999])
def test_other_trees_are_one_sentence(text: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", jaxrank=np.array(text))
    for read in (jr.load, storage.load_record):
        with pytest.raises(jr.errors.DataError, match=r"x\.npz"):
            read(tmp_path / "x.npz")


@pytest.mark.parametrize("kind", ["object", "enum", "class"])
@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_names_results_and_nothing_else(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """interface 22: a tree that named ``jaxrank.__main__`` ran the command line of the reader."""
    content = {"object": [name, {}], "enum": [name, 0], "class": name}[kind]
    tree = json.dumps({"record": {}, "tree": {kind: content}})
    np.savez(tmp_path / "x.npz", jaxrank=np.array(tree))
    imported, original, load = [], storage.importlib.import_module, jr.load  # which is imported when it is named
    monkeypatch.setattr(storage.importlib, "import_module", lambda m: imported.append(m) or original(m))
    with pytest.raises(jr.errors.DataError, match="the file names"):
        load(tmp_path / "x.npz")
    assert not set(imported) - storage.MODULES - {"jaxrank.methods.catalogue", "jaxrank.methods.none"}


def test_the_modules_that_files_may_name_define_things_only() -> None:
    """Importing one of them, or the command line's entry, starts nothing."""
    program = (
        "import jaxrank.__main__, sys\nimport jaxrank.results.storage as s\nassert 'jaxrank.cli.app' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
