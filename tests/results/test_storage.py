"""Results out: summaries in four formats, and files that are read back whole."""

from __future__ import annotations

import json
from pathlib import Path

import equinox as eqx
import numpy as np
import pytest

import jaxrank as jr
from jaxrank.results import storage

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
        tree = json.loads(json.dumps(storage._encode(ranker, arrays, {}, name)))
        back = storage._decode(tree, arrays)
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
    assert json.loads(pq.read_schema(tmp_path / "a.parquet").metadata[b"jaxrank"])["method"] == "bayes"
    fit.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["rows"][0]["model"] == frame["model"][0]
    with pytest.raises(jr.errors.OptionError, match="npz"):
        fit.save(tmp_path / "a.xlsx")


def test_other_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", R=np.zeros(3))
    with pytest.raises(jr.errors.DataError, match="does not hold a result"):
        jr.load(tmp_path / "x.npz")
    (tmp_path / "y.npz").write_text("nothing")
    with pytest.raises(jr.errors.DataError, match="not an npz"):
        jr.load(tmp_path / "y.npz")
    tree = {"object": ["os:system", {}]}
    np.savez(tmp_path / "z.npz", jaxrank=np.array(json.dumps({"record": {}, "tree": tree})))
    with pytest.raises(jr.errors.DataError, match="no class of jaxrank"):
        jr.load(tmp_path / "z.npz")
