"""``jaxrank bootstrap`` and ``jaxrank converge``."""

from __future__ import annotations

import csv
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.cli.hosts import devices_of_task
from jaxrank.studies.convergence import convergence
from jaxrank.studies.replicates import bootstrap
from tests.cli.calling import call

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    R = (rng.random((3, 6, 5)) < np.array([0.2, 0.5, 0.8])[:, None, None]).astype(int)
    np.savez(tmp_path / "results.npz", R=R, models=np.array(["low", "middle", "high"]))
    return tmp_path / "results.npz"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_bootstrap_prints_intervals_and_saves_replicates(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    out, save = tmp_path / "table.csv", tmp_path / "rep.npz"
    assert call("bootstrap", results, "-m", "avg", "-B", 300, "--seed", 2, "--output", out, "--save", save) == 0
    rep = bootstrap(jr.read(results), "avg", n_replicates=300, seed=2)
    table = rows(out)
    assert [r["model"] for r in table] == [rep.models[i] for i in rep.estimate.order]
    assert "rank_lower" in capsys.readouterr().out
    with np.load(save) as stored:
        np.testing.assert_array_equal(stored["scores"], rep.replicate_scores)
    best = table[0]
    assert float(best["lower"]) <= float(best["score"]) <= float(best["upper"])


@pytest.mark.parametrize("command", [("fit",), ("bootstrap", "-B", "200")])
def test_uncertainty_by_clusters(command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Votes of one voter are alike: the intervals are as wide as those of Python."""
    rng = np.random.default_rng(1)
    lines = [f"m{a},m{b},m{min(a, b) if rng.random() < 0.7 else max(a, b)},v{i % 25}" for i in range(200)
             for a, b in [rng.permutation(4)[:2]]]  # fmt: skip
    path, out = tmp_path / "votes.csv", tmp_path / "table.csv"
    path.write_text("\n".join(["model_a,model_b,winner,voter", *lines]))
    name, *options = command
    asked = ("-m", "bradley_terry_map", "--cluster", "voter", *options)
    assert call(name, path, *asked, "-o", out) == 0
    assert "clusters drawn again" in capsys.readouterr().err
    data = jr.read(path)
    if name == "fit":
        expected = jr.fit(data, "bradley_terry_map", dtype="float64").clustered("voter").interval().lower
    else:
        expected = bootstrap(data, "bradley_terry_map", n_replicates=200, scheme=jr.clusters("voter")).interval().lower
    np.testing.assert_allclose(sorted(float(r["lower"]) for r in rows(out)), np.sort(expected), rtol=1e-3)
    assert call(name, path, "--cluster", "judge") == 2
    assert "the battles have no such column; there are 'voter'" in capsys.readouterr().err
    if name == "bootstrap":
        assert call(name, path, "--cluster", "voter", "--scheme", "trials") == 2
    else:
        assert call(name, path, "-m", "pagerank", "--cluster", "voter") == 2
        assert "`jaxrank bootstrap FILE -m pagerank --cluster voter`" in capsys.readouterr().err


def test_bootstrap_counts_failures(results: Path, capsys: pytest.CaptureFixture) -> None:
    assert call("bootstrap", results, "-m", "bradley_terry", "--scheme", "subsample(1)") == 0
    told = capsys.readouterr()
    assert "of 5 replicates: no finite optimum" in told.err
    assert call("bootstrap", results, "--scheme", "jackknife") == 2
    assert "the schemes are: trials" in capsys.readouterr().err


def test_converge_prints_means_and_writes_curves(results: Path, tmp_path: Path) -> None:
    out, curves = tmp_path / "table.csv", tmp_path / "curves.csv"
    assert (
        call("converge", results, "-m", "bayes", "-m", "pass_at_k:k=2", "-B", 200, "--output", out, "--save", curves)
        == 0
    )
    con = convergence(jr.read(results), "bayes", n_replicates=200)
    table = rows(out)
    assert [r["method"] for r in table] == ["bayes", "pass_at_k:k=2"]
    assert float(table[0]["mean"]) == pytest.approx(con.mean("bayes"))
    assert len(rows(curves)) == 2 * 5


def test_two_hosts_share_a_study(results: Path, tmp_path: Path) -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{s.getsockname()[1]}"
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    start = [
        sys.executable,
        "-m",
        "jaxrank",
        "bootstrap",
        str(results),
        "-m",
        "avg",
        "-B",
        "3000",
        "--chunk-size",
        "256",
    ]
    hosts = [
        subprocess.Popen(
            [*start, "--hosts", f"{address},2,{i}", "--save", str(tmp_path / f"{i}.npz")],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for i in range(2)
    ]  # fmt: skip
    told = [h.communicate(timeout=300)[0] for h in hosts]
    assert [h.returncode for h in hosts] == [0, 0], told
    for number, words in enumerate(told):
        assert f"host {number} of 2: 4 cpu devices" in words
    assert "rank_lower" in told[0]
    assert "rank_lower" not in told[1]
    with np.load(tmp_path / "0.npz") as stored:
        wanted = bootstrap(jr.read(results), "avg", n_replicates=3000, dtype="float64")
        np.testing.assert_array_equal(stored["scores"], wanted.replicate_scores)


LAYOUTS = {
    "no SLURM": ({"CUDA_VISIBLE_DEVICES": "0,1"}, None, ""),
    "no GPU": ({"SLURM_LOCALID": "0"}, None, ""),
    "one task takes all": ({"SLURM_LOCALID": "0", "CUDA_VISIBLE_DEVICES": "0,1,2,3"}, [0, 1, 2, 3], ""),
    "two tasks see all": (
        {"SLURM_LOCALID": "1", "CUDA_VISIBLE_DEVICES": "0,1,2,3", "SLURM_STEP_TASKS_PER_NODE": "2(x3)"},
        [2, 3],
        "",
    ),
    "each task sees its own": (
        {
            "SLURM_LOCALID": "1",
            "CUDA_VISIBLE_DEVICES": "2,3",
            "SLURM_STEP_TASKS_PER_NODE": "2",
            "SLURM_GPUS_ON_NODE": "4",
        },
        [0, 1],
        "",
    ),
    "GPUs left": (
        {"SLURM_LOCALID": "2", "CUDA_VISIBLE_DEVICES": "0,1,2,3", "SLURM_STEP_TASKS_PER_NODE": "3"},
        [2],
        "1 of 4 GPUs of this node stay idle",
    ),
    "tasks left": (
        {
            "SLURM_LOCALID": "2",
            "CUDA_VISIBLE_DEVICES": "0,1",
            "SLURM_STEP_TASKS_PER_NODE": "4,3(x2)",
            "SLURM_NODEID": "2",
        },
        [0],
        "3 tasks on this node share 2 GPUs",
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gpus_of_a_node_are_divided_among_its_tasks(layout: str) -> None:
    environment, ids, note = LAYOUTS[layout]
    found, said = devices_of_task(environment)
    assert found == ids and said.startswith(note) and bool(said) == bool(note)


@pytest.mark.parametrize("text", ["there", "host,2,0", "host:1,2,2", "host:1,two,0", "auto"])
def test_malformed_hosts_are_explained(text: str, results: Path, capsys: pytest.CaptureFixture) -> None:
    assert call("bootstrap", results, "--hosts", text) == 2
    assert "--hosts" in capsys.readouterr().err


def test_a_posterior_by_category_says_tau(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    won = lambda i: (i + (i % 5 > 2)) % 3
    lines = [f"m{i % 3},m{(i + 1) % 3},m{won(i)},{'en' if i % 4 else 'fr'}" for i in range(60)]
    (tmp_path / "votes.csv").write_text("\n".join(["model_a,model_b,winner,category", *lines]))
    asked = ("posterior", tmp_path / "votes.csv", "-m", "bradley_terry_davidson", "--warmup", 20, "--samples", 20)
    out, plot = tmp_path / "table.csv", tmp_path / "categories.svg"
    assert call(*asked, "--chains", 1, "--by", "category", "-o", out, "--plot", plot) == 0
    assert "tau, of strengths of a category" in capsys.readouterr().err and plot.stat().st_size > 1000
    assert {"en", "fr"} < set(rows(out)[0])
    assert call(*asked, "--by", "tongue") == 2
    assert "by='tongue'" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf"])
@pytest.mark.parametrize("command", ["bootstrap", "converge", "posterior"])
def test_a_grace_is_a_time(
    results: Path, tmp_path: Path, command: str, seconds: str, capsys: pytest.CaptureFixture
) -> None:
    """-1 was taken for no time at all, and dropped the chunk in hand without a word."""
    folder = tmp_path / "study"
    assert call(command, results, "--checkpoint", folder, "--grace", seconds) == 2
    assert f"--grace {seconds}; it is the seconds" in capsys.readouterr().err
    assert not folder.exists()


@pytest.mark.slow
@pytest.mark.rank_promotion("allow")
def test_chains_are_shared_and_merged(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """`jaxrank posterior` and `jaxrank judges` by two shards, and the merge of each: the table of one run."""
    table = tmp_path / "judged.csv"
    rng = np.random.default_rng(1)
    lines = [f"j{j},c{c},q{q},{rng.integers(0, 3)}" for j in range(2) for c in range(3) for q in range(8)]
    table.write_text("\n".join(["judge,candidate,question,score", *lines]) + "\n")
    for words in (
        ["posterior", results, "-m", "bradley_terry", "--chains", 2, "--warmup", 20, "--samples", 20],
        ["judges", table, "--samples", 20],
    ):
        folder, alone, merged = (tmp_path / f"{words[0]}{end}" for end in ("", "1.csv", "2.csv"))
        assert call(*words, "-o", alone) == 0
        assert call(*words, "--checkpoint", folder, "--shard", "1/2") == 0
        assert "shard 1/2 is done" in capsys.readouterr().err
        assert call(*words, "--checkpoint", folder, "--shard", "2/2") == 0
        assert call("merge", folder, "-o", merged) == 0
        assert merged.read_text() == alone.read_text()


def test_ordered_lists_with_a_covariate(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Lists in long form: the ranking and the coefficient are those of Python, and what lists do not have is said."""
    rng = np.random.default_rng(3)
    lines = []
    for k in range(40):
        price = rng.normal(size=3).round(2)
        places = np.argsort(np.argsort(price + rng.gumbel(size=3))) + 1
        lines += [f"q{k},m{i},{places[i]},{price[i]}" for i in range(3)]
    path, out = tmp_path / "lists.csv", tmp_path / "table.csv"
    path.write_text("\n".join(["query,model,rank,price", *lines]))
    asked = (path, "--order-column", "query", "-m", "plackett_luce", "--covariate", "price")
    assert call("fit", *asked, "--output", out) == 0
    data = jr.read(path, order="query")
    fit = jr.fit(data, "plackett_luce", covariates="price", dtype="float64")
    scores = {r["model"]: float(r["score"]) for r in rows(out)}
    np.testing.assert_allclose([scores[m] for m in fit.models], fit.scores, atol=1e-9)
    assert f"{fit.params['beta'][0]:.4f}" in capsys.readouterr().out
    assert call("fit", *asked, "--side") == 2
    assert "position" in capsys.readouterr().err
