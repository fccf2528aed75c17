"""Logs of evaluation tools: every format written by the tests against the truth that it was written from."""

from __future__ import annotations

import gc
import gzip
import json
import re
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import jaxrank as jr
from jaxrank.data.readers import read
from jaxrank.data.readers.formats import FORMATS
from jaxrank.errors import DataError, JaxrankError, OptionError
from tests.data.readers.written import (
    EVALPLUS,
    MIDDLE,
    REPORTS,
    TRUTH,
    dump,
    inspect_log,
    swebench_report,
    write_all,
    write_zip,
)


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    return write_all(tmp_path_factory.mktemp("logs"))


def by_cell(r: jr.Responses) -> dict[tuple[str, str], list[int]]:
    """(model, question) -> outcomes in order; names without their organisation and benchmark."""
    assert r.outcomes is not None
    return {
        (m.rpartition("/")[2], q.rpartition("/")[2]): r.outcomes[i, j].tolist()
        for i, m in enumerate(r.models)
        for j, q in enumerate(r.questions)
    }


WRITTEN = {
    "bigcodebench": "bigcodebench/*.json",
    "every_eval_ever": "every_eval_ever/*.jsonl",
    "inspect/eval": "inspect/eval/*.eval",
    "inspect/deflate": "inspect/deflate/*.eval",
    "inspect/json": "inspect/json/*.json",
    "livecodebench/output": "livecodebench/output/*/*.json",
    "long/long.csv": "long/*.csv",
    "long/long.jsonl": "long/*.jsonl",
    "long/long.parquet": "long/*.parquet",
    "swebench/experiments": "swebench/experiments/evaluation/verified/*/results/results.json",
    "tau2_bench": "tau2_bench/*.json",
    "tau_bench": "tau_bench/*.json",
}


WAYS = [(name, way) for name in WRITTEN for way in ("path", "pattern")]
PACKED = [(name, "packed") for name in WRITTEN if not name.endswith(("eval", "deflate", "parquet"))]


@pytest.mark.parametrize(("name", "way"), WAYS + PACKED)
def test_logs_equal_what_was_written(logs, tmp_path, name, way):
    """As a folder or file, as a pattern, and with every file packed (but zip and parquet, which are)."""
    path = logs / name if way == "path" else str(logs / WRITTEN[name])
    if way == "packed":
        path = packed(logs, name, tmp_path)
    found = {(m, q if q.startswith("q") else f"q{q}"): v for (m, q), v in by_cell(read(path)).items()}
    truth = TRUTH
    if name == "tau2_bench":
        # The simulations of q3, trial 3 ended in an infrastructure error: they are missing, all else is equal.
        assert [values.pop() for key, values in found.items() if key[1] == "q3"] == [-1, -1]
        truth = {key: values[:3] if key[1] == "q3" else values for key, values in truth.items()}
    assert found == truth


def packed(logs: Path, name: str, folder: Path) -> Path:
    """A copy of a folder or file, packed with gzip and Zstandard by turns."""
    source = logs / name
    files = [source] if source.is_file() else sorted(p for p in source.rglob("*") if p.is_file())
    for k, file in enumerate(files):
        target = folder / file.relative_to(logs)
        target.parent.mkdir(parents=True, exist_ok=True)
        if k % 2:
            target.with_name(target.name + ".gz").write_bytes(gzip.compress(file.read_bytes()))
        else:
            with pa.output_stream(str(target) + ".zst", compression="zstd") as out:
                out.write(file.read_bytes())
    return folder


def test_tau2_infrastructure_errors_count_where_asked(logs):
    r = read(logs / "tau2_bench", errors="zero")
    assert [by_cell(r)[model, "q3"][3] for model in ("strong", "weak")] == [0, 0]
    assert r.complete


def test_arena_logs_agree(logs):
    """One set of battles in five layouts; where "both bad" has no word of its own it is a tie."""
    totals = []
    names = ("clean_battle_20260301.json", "arena140k.jsonl", "arena55k.csv", "mt_bench_pairs.jsonl", "pairs.json")
    for c in (read(logs / "arena" / name) for name in names):
        assert isinstance(c, jr.Comparisons)
        order = np.argsort(c.models)
        assert [c.models[i] for i in order] == ["a", "b", "c", "d"]
        totals.append((c.wins[np.ix_(order, order)], c.ties[np.ix_(order, order)]))
        assert any("2 of 9 battles are ties" in note for note in c.notes)
    np.testing.assert_array_equal(totals[0][0], [[0, 1, 1, 1], [1, 0, 1, 1], [0, 0, 0, 0], [0, 0, 1, 0]])
    for wins, ties in totals[1:]:
        np.testing.assert_array_equal(wins, totals[0][0])
        np.testing.assert_array_equal(ties, totals[0][1])


@pytest.mark.parametrize("folder", ["eval", "json", "deflate"])
@pytest.mark.parametrize("scorer", ["match", "includes", None])
def test_inspect_logs_give_the_accuracy_of_their_header(logs, folder, scorer):
    r = read(logs / "inspect" / folder, scorer=scorer)
    assert r.shape == (2, 4, 4)
    means = {}
    for path in (logs / "inspect" / "json").glob("*.json"):
        log = json.loads(path.read_text())
        for score in log["results"]["scores"]:
            if score["scorer"] == (scorer or "match"):
                means[log["eval"]["model"]] = score["metrics"]["accuracy"]["value"]
    for model, mean in zip(r.models, r.outcomes.mean(axis=(1, 2)), strict=True):
        assert mean == pytest.approx(means[model], abs=1e-12)


def test_copies_of_an_inspect_log_in_other_layouts_are_left_out(logs):
    r = read(logs / "inspect")
    assert r.shape == (2, 4, 4)
    assert "4 logs are copies of another log and were left out" in r.notes


def test_lm_eval_list_metric(logs):
    """front-door B13: the results files, from which the models' names come, are not said to be left out."""
    root = logs / "lm_eval" / "list"
    r = read(root)
    assert r.models == ("org/middle", "org/strong", "org/weak")
    for model, rows in MIDDLE.items():
        np.testing.assert_array_equal(r.outcomes[r.models.index(f"org/{model}")], rows)
    assert r.notes == ("read 36 trials of 3 files (lm-eval samples)",)


def test_names_of_packed_lm_eval_logs(logs, tmp_path):
    """The results file that tells the model may be packed like the samples."""
    folder = packed(logs, "lm_eval/list", tmp_path) / "lm_eval" / "list"
    for k, path in enumerate(sorted(folder.iterdir())):
        path.rename(folder / f"run{k}")
    assert read(folder).models == ("org/middle", "org/strong", "org/weak")
    for path in folder.rglob("results_*"):
        path.unlink()
    assert read(folder).models == ("run0", "run1", "run2")


def test_lm_eval_rescoring_finds_the_same_trials(logs):
    logged = read(logs / "lm_eval" / "list")
    pattern = r"The answer is (-?\d+)"
    np.testing.assert_array_equal(read(logs / "lm_eval" / "list", rescore=pattern).outcomes, logged.outcomes)

    def judge(response, target, doc):
        found = re.search(pattern, response)
        return bool(found) and found[1] == doc["answer"] == target

    np.testing.assert_array_equal(read(logs / "lm_eval" / "filters", rescore=judge).outcomes, logged.outcomes)


@pytest.mark.parametrize("collects", [True, False])
def test_reading_leaves_the_garbage_collector_as_it_was(logs, collects):
    """Logs are read without its passes, whether reading succeeds or not."""
    try:
        (gc.enable if collects else gc.disable)()
        read(logs / "lm_eval" / "list")
        assert gc.isenabled() == collects
        with pytest.raises(JaxrankError):
            read(logs / "lm_eval" / "filters")
        assert gc.isenabled() == collects
    finally:
        gc.enable()


def test_lm_eval_repeats_without_scores_are_refused(logs):
    root = logs / "lm_eval" / "filters"
    with pytest.raises(DataError, match="several filters, score-first, maj@4; choose one with filter="):
        read(root)
    with pytest.raises(DataError, match="repeats: 4, but 'exact_match' scores only one of them; pass rescore="):
        read(root, filter="score-first")
    with pytest.raises(DataError, match="no filter 'none'"):
        read(root, filter="none")
    with pytest.raises(DataError, match="'f1' is a list that is not one score a trial"):
        read(logs / "lm_eval" / "spans")
    with pytest.raises(DataError, match="no generated texts"):
        read(logs / "lm_eval" / "choice", rescore="x")
    with pytest.raises(DataError, match="read the samples_"):
        read(next(root.rglob("results_*.json")))


def test_evalplus(logs):
    """A sample passes where base and plus tests pass; the solutions beside the results are said to be left out."""
    r = read(logs / "evalplus")
    plus = {
        (f"{model}_vllm_temp_0.8", str(q)): [int(s == "pp") for s in samples]
        for model, rows in EVALPLUS.items()
        for q, samples in enumerate(rows)
    }
    assert by_cell(r) == plus
    assert any("2 other files were left out (strong_vllm_temp_0.8.jsonl" in note for note in r.notes)
    base = by_cell(read(str(logs / "evalplus" / "*_eval_results.json"), tests="base"))
    assert base["weak_vllm_temp_0.8", "1"] == [1, 1, 1, 1]


def test_swebench_reports(logs):
    r = read(logs / "swebench" / "reports")
    assert r.models == ("strong", "weak")
    for i, model in enumerate(r.models):
        for t, states in enumerate(REPORTS[model]):
            assert (r.outcomes[i, :, t] == 1).sum() == states.count("r")
    assert (r.outcomes == -1).sum() == 1
    for note in ("2 instances were not submitted and are not solved", "1 instances ended in an error and are missing"):
        assert note in r.notes
    zero = read(logs / "swebench" / "reports", errors="zero")
    missing = read(logs / "swebench" / "reports", errors="missing")
    assert zero.shape == (2, 8, 3)
    assert zero.complete
    assert (missing.outcomes == -1).sum() == sum(
        states.count(s) for m in REPORTS.values() for states in m for s in "ei."
    )


def test_instances_that_were_not_submitted_are_not_solved(tmp_path):
    """Untried case N64: a report of 1 of 1 submitted instance is behind one of 3 solved of 8."""
    dump(tmp_path / "one.run.json", swebench_report("r......."))
    dump(tmp_path / "three.run.json", swebench_report("rrruuuuu"))
    r = read(tmp_path)
    np.testing.assert_array_equal(r.outcomes.sum(axis=(1, 2)), [1, 3])
    assert r.complete


def test_reports_of_one_name_are_told_apart_by_their_folders(logs, tmp_path):
    """Untried case F12: five files called results.json are no five trials of a model called "results"."""
    r = read(logs / "swebench" / "multi")
    assert r.models == ("20260301_strong", "20260301_weak")
    np.testing.assert_array_equal(r.outcomes.clip(0).sum(axis=(1, 2)), [REPORTS[m][0].count("r") for m in REPORTS])
    assert any("their folders name the models" in note for note in r.notes)
    trials = read(logs / "swebench" / "multi", model="m")
    assert trials.shape == (1, 8, 2)
    for run in "12":
        for model in "ab":
            dump(tmp_path / f"run{run}" / f"{model}_eval_results.json", {"eval": {"T": [{"base_status": "pass"}]}})
    runs = read(tmp_path)
    assert runs.shape == (2, 1, 2)
    assert "several files of one model were read as further trials: 'a', 'b'" in runs.notes


def test_one_name_for_several_models_is_refused(logs):
    """``model=`` names the model of files that do not; it merges no models that their files tell apart."""
    for name in ("inspect/json", "lm_eval/list", "openai_evals", "tau2_bench"):
        with pytest.raises(OptionError, match=r"model='m' would make one model of .* and .*pass a function"):
            read(logs / name, model="m")
    renamed = read(logs / "tau2_bench", model=lambda path: path.name[0])
    assert renamed.models == ("s", "w")
    stated = read(logs / "bigcodebench", model="m")
    assert "several files of one model were read as further trials: 'm'" in stated.notes


def test_swebench_experiments_need_the_whole_split(tmp_path):
    lists = {"no_generation": ["n1"], "no_logs": ["l1", "l2"], "resolved": ["r1", "r2", "l2"]}
    path = dump(tmp_path / "20260301_system" / "results" / "results.json", lists)
    split = [*("r1", "r2", "l1", "l2", "n1"), *(f"unlisted-{k}" for k in range(5))]
    r = read(path, questions=split)
    assert r.models == ("system",)
    assert r.shape == (1, 10, 1)
    assert r.outcomes.sum() == 3
    (tmp_path / "ids.txt").write_text("\n".join(split))
    (tmp_path / "ids.json").write_text(json.dumps(split))
    for name in ("ids.txt", "ids.json"):
        np.testing.assert_array_equal(read(path, questions=tmp_path / name).outcomes, r.outcomes)
    assert set(split) - set(read(path, questions=split, errors="missing").questions) == {"l1"}
    assert any("pass questions=" in note for note in read(path).notes)
    with pytest.raises(DataError, match="not among questions"):
        read(path, questions=["other"])
    with pytest.raises(OptionError, match="no such file"):
        read(path, questions="nowhere.txt")


def test_swebench_leaderboards(logs):
    path = logs / "swebench" / "leaderboards.json"
    r = read(path)
    assert by_cell(r) == {key: values[:1] for key, values in TRUTH.items() if key[1] != "q3"}
    assert "1 entries have no results by instance and were left out" in r.notes
    with pytest.raises(DataError, match="no leaderboard 'Lite'"):
        read(path, metric="Lite")


def test_openai_evals_give_the_accuracy_of_their_reports(logs):
    root = logs / "openai_evals"
    r = read(root)
    assert r.shape == (2, 4, 2)
    lines = [[json.loads(line) for line in p.read_text().splitlines()] for p in root.glob("*.jsonl")]
    reports = sorted(
        (x[0]["spec"]["created_at"], x[0]["spec"]["completion_fns"][0], x[-1]["final_report"]["accuracy"])
        for x in lines
    )
    for i, model in enumerate(r.models):
        expected = [accuracy for _, name, accuracy in reports if name == model]
        np.testing.assert_allclose(r.outcomes[i].mean(axis=0), expected)


def test_lighteval_gives_counts(logs):
    r = read(logs / "lighteval")
    assert r.outcomes is None
    assert r.models == ("org/strong", "org/weak")
    np.testing.assert_array_equal(r.trials, 4)
    np.testing.assert_array_equal(r.counts[..., 1].ravel(), [sum(values) for values in TRUTH.values()])
    with pytest.raises(DataError, match="no metric 'f1'"):
        read(logs / "lighteval", metric="f1")


def test_livecodebench_site_gives_counts(logs):
    r = read(logs / "livecodebench" / "site.json")
    assert r.models == ("A-Ins", "B (n=1)")
    np.testing.assert_array_equal(r.trials, [[10, 10], [1, 0]])
    np.testing.assert_array_equal(r.counts[..., 1], [[0, 7], [1, 0]])


def test_livecodebench_submission(logs):
    path = logs / "livecodebench" / "submission" / "Model-A-2026-03-01"
    r = read(path)
    assert r.models == ("Model-A-2026-03-01",)
    assert by_cell(r) == {("Model-A-2026-03-01", "1873_A"): [1], ("Model-A-2026-03-01", "abc343_d"): [0]}
    assert read(path, model=lambda path: "mine").models == ("mine",)


def test_runs_by_column_names(tmp_path):
    """Layouts of METR's runs and of a table with further columns, named by the caller."""
    rows = [
        {"run_id": str(k), "task_id": "f/main", "alias": "A 3", "model": "a3", "score_binarized": k % 2}
        for k in range(3)
    ]
    r = read(dump(tmp_path / "runs.jsonl", rows), model="alias", score="score_binarized")
    assert r.models == ("A 3",)
    np.testing.assert_array_equal(r.outcomes[0, 0], [0, 1, 0])
    path = tmp_path / "stats.csv"
    path.write_text("prompt_id,title,model_name,run_number,success_rate,note\np,One,m,1,0.75,\np,One,m,2,0.25,x\n")
    r = read(path, score="success_rate", threshold=0.5)
    np.testing.assert_array_equal(r.outcomes[0, 0], [1, 0])
    assert "run_number" in r.notes[0]


# Small logs with one thing that is odd.


def write_eval(path: Path, log, samples) -> Path:
    return write_zip(path, {"header.json": log, "summaries.json": samples})


def test_inspect_values_runs_copies_and_errors(tmp_path):
    log, samples = inspect_log("a", [["C", "I"], [True, 0.0]], "1")
    write_eval(tmp_path / "1.eval", log, samples)
    dump(tmp_path / "1_copy.json", {**log, "samples": samples})
    write_eval(tmp_path / "2.eval", *inspect_log("a", [["I", None], ["N", 1]], "2", status="error"))
    write_eval(tmp_path / "3.eval", *inspect_log("b", [["C", "C"], ["I", "I"]], "3"))
    r = read(tmp_path)
    assert by_cell(r) == {
        ("a", "q0"): [1, 0, 0, -1],
        ("a", "q1"): [1, 0, 0, 1],
        ("b", "q0"): [1, 1, -1, -1],
        ("b", "q1"): [0, 0, -1, -1],
    }
    notes = " | ".join(r.notes)
    assert "1 logs are copies of another log and were left out" in notes
    assert "2.eval has status 'error'" in notes
    assert "1 samples have no score" in notes
    assert by_cell(read(tmp_path, errors="zero"))["a", "q0"] == [1, 0, 0, 0]


def test_inspect_partial_credit_and_scorers(tmp_path):
    path = write_eval(tmp_path / "1.eval", *inspect_log("a", [["P", "C"]], "1"))
    assert read(path).kind == "real"
    np.testing.assert_array_equal(read(path, levels=(0, 0.5, 1)).outcomes[0, 0], [1, 2])
    with pytest.raises(DataError, match="no scorer 'other'; it has match"):
        read(path, scorer="other")
    log, samples = inspect_log("a", [[{"exact": 1, "style": 0}]], "1")
    write_eval(path, log, samples)
    with pytest.raises(DataError, match=r"several values \(exact, style\)"):
        read(path)
    assert read(path, scorer="match/exact").outcomes[0, 0, 0] == 1
    assert read(path, scorer="match/style").outcomes[0, 0, 0] == 0
    samples[0]["scores"]["second"] = {"value": 1}
    write_eval(path, log, samples)
    with pytest.raises(DataError, match="scorers match, second; choose one with scorer="):
        read(path)


def test_inspect_tasks_keep_their_questions_apart(tmp_path):
    log, samples = inspect_log("a", [["C"]], "1")
    write_eval(tmp_path / "1.eval", log, samples)
    log["eval"] = {**log["eval"], "task": "other", "eval_id": "2"}
    write_eval(tmp_path / "2.eval", log, samples)
    assert read(tmp_path).questions == ("tiny/q0", "other/q0")


def test_an_unfinished_inspect_log(tmp_path):
    with zipfile.ZipFile(tmp_path / "1.eval", "w") as archive:
        archive.writestr("_journal/start.json", "{}")
    with pytest.raises(DataError, match="has not finished"):
        read(tmp_path / "1.eval")


def sample(doc_id: int, score, repeats: int = 1, **more):
    return {
        "doc_id": doc_id,
        "target": "1",
        "resps": [[f"Answer: {k}" for k in range(repeats)]],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": f"h{doc_id}",
        "acc": score,
        **more,
    }


def test_lm_eval_runs_are_trials_and_documents_are_checked(tmp_path):
    first = tmp_path / "org__a" / "samples_t_2026-01-01T00-00-00.000000.jsonl"
    second = tmp_path / "org__a" / "samples_t_2026-01-02T00-00-00.000000.jsonl"
    dump(first, [sample(0, 1.0), sample(1, 0.0)])
    dump(second, [sample(0, 0.0), sample(1, 0.0)])
    r = read(tmp_path)
    assert r.models == ("org/a",)
    np.testing.assert_array_equal(r.outcomes[0], [[1, 0], [0, 0]])
    dump(first.with_name("results_2026-01-01T00-00-00.000000.json"), {"results": {}, "configs": {}, "model_name": "A"})
    assert read(first).models == ("A",)
    assert read(first, model="mine").models == ("mine",)
    dump(second, [sample(0, 0.0, doc_hash="another")])
    with pytest.raises(DataError, match="doc_id 0 of 't' is another document"):
        read(tmp_path)


def test_copies_of_an_lm_eval_run_are_left_out(logs, tmp_path):
    """A run that was copied into another folder is no further trial; another run with equal scores is one."""
    for name in ("one", "two"):
        shutil.copytree(logs / "lm_eval" / "list", tmp_path / name)
    r = read(tmp_path)
    assert r.shape == (3, 3, 4)
    assert "3 files are copies of another run and were left out" in r.notes
    for path in (tmp_path / "two").rglob("samples_*"):
        path.rename(path.with_name(path.name.replace("2026", "2027")))
        results = next(path.parent.glob("results_*"))
        results.rename(results.with_name(results.name.replace("2026", "2027")))
    assert read(tmp_path).shape == (3, 3, 8)


def test_lm_eval_rescore(tmp_path):
    path = dump(tmp_path / "m" / "samples_t.jsonl", [sample(0, 0.0, repeats=3)])
    np.testing.assert_array_equal(read(path, rescore=r"(\d)").outcomes[0, 0], [0, 1, 0])
    with pytest.raises(OptionError, match="regular expression"):
        read(path, rescore="(")
    with pytest.raises(OptionError, match="rescore must be"):
        read(path, rescore=3)


def test_lm_eval_metrics(tmp_path):
    path = dump(tmp_path / "m" / "samples_t.jsonl", [sample(0, 1.0, metrics=["acc", "acc_norm"], acc_norm=0.0)])
    with pytest.raises(DataError, match="metrics acc, acc_norm; choose one with metric="):
        read(path)
    assert read(path, metric="acc_norm").outcomes[0, 0, 0] == 0
    with pytest.raises(DataError, match="no metric 'f1'; it has acc, acc_norm"):
        read(path, metric="f1")


def test_tau_bench_errors_and_domains(tmp_path):
    def entry(task, trial, reward, **info):
        return {"task_id": task, "reward": reward, "info": info, "traj": [], "trial": trial}

    dump(tmp_path / "m-airline.json", [entry(0, 0, 1.0), entry(0, 1, 0.0, error="boom"), entry(1, 0, 0.9999999)])
    dump(tmp_path / "m-retail.json", [entry(0, 0, 0.5)])
    r = read(tmp_path)
    assert r.models == ("m",)
    assert r.questions == ("airline/0", "airline/1", "retail/0")
    np.testing.assert_array_equal(r.outcomes[0], [[1, 0], [1, -1], [0, -1]])
    assert read(tmp_path, errors="missing").trials.sum() == 3
    with pytest.raises(OptionError, match="errors='ignore'"):
        read(tmp_path, errors="ignore")


def test_tau2_with_simulations_in_a_folder(tmp_path):
    info = {"agent_info": {"llm": "m"}, "environment_info": {"domain_name": "telecom"}}
    path = dump(tmp_path / "results.json", {"info": info, "simulation_index": []})
    with pytest.raises(DataError, match="simulations/ beside it has no files"):
        read(path)
    for k, reward in enumerate((1.0, 0.0, None)):
        simulation = {"task_id": "t", "trial": k, "reward_info": None if reward is None else {"reward": reward}}
        dump(tmp_path / "simulations" / f"{k}.json", simulation)
    np.testing.assert_array_equal(read(path).outcomes[0, 0], [1, 0, -1])


def test_openai_evals_events(tmp_path):
    spec = {"spec": {"completion_fns": ["m"], "base_eval": "e", "run_id": "r", "created_at": "1"}}
    events = [{"sample_id": "s", "type": "match", "data": {"correct": v}} for v in (True, False)]
    path = dump(tmp_path / "1.jsonl", [spec, *events])
    r = read(path)
    assert r.outcomes[0, 0, 0] == 0
    notes = " | ".join(r.notes)
    assert "no final report" in notes
    assert "right when all are" in notes
    dump(path, [spec, {"sample_id": "s", "type": "metrics", "data": {"accuracy": 1.0}}])
    with pytest.raises(DataError, match=r"no match events; its events are 1 metrics"):
        read(path)
    assert read(path, metric="accuracy").outcomes[0, 0, 0] == 1
    dump(tmp_path / "copy.jsonl", [spec, {"sample_id": "s", "type": "metrics", "data": {"accuracy": 1.0}}])
    assert read(tmp_path, metric="accuracy").shape == (1, 1, 1)


def test_every_eval_ever_runs_of_one_model_each(tmp_path):
    rows = [
        {"model_id": m, "sample_id": q, "evaluation_id": f"{m}-{t}", "evaluation": {"is_correct": None, "score": t % 2}}
        for m in ("a", "b")
        for q in ("p", "q")
        for t in range(3)
    ]
    r = read(dump(tmp_path / "e.jsonl", rows))
    np.testing.assert_array_equal(r.outcomes, np.tile([0, 1, 0], (2, 2, 1)))


def test_evalplus_base_only_and_bigcodebench_timeouts(tmp_path):
    plus = {
        "eval": {"T/0": [{"base_status": "pass", "plus_status": None}, {"base_status": "fail", "plus_status": "fail"}]}
    }
    r = read(dump(tmp_path / "m_eval_results.json", plus))
    np.testing.assert_array_equal(r.outcomes[0, 0], [1, 0])
    assert "1 samples have base tests only, which decide" in r.notes
    big = {"eval": {"B/0": [{"status": "pass"}, {"status": "timeout"}]}}
    path = dump(tmp_path / "big" / "m--bigcodebench-full_eval_results.json", big)
    np.testing.assert_array_equal(read(path).outcomes[0, 0], [1, 0])
    np.testing.assert_array_equal(read(path, errors="missing").outcomes[0, 0], [1, -1])
    with pytest.raises(OptionError, match="tests='all'"):
        read(path, tests="all")


def test_swebench_report_groups(tmp_path):
    report = {
        "total_instances": 6,
        "resolved_ids": ["a"],
        "unresolved_ids": ["b"],
        "empty_patch_ids": ["c"],
        "error_ids": ["d", "e"],
        "infra_failure_ids": ["e"],
        "incomplete_ids": ["f"],
    }
    path = dump(tmp_path / "m.run1.json", report)
    assert by_cell(read(path)) == {("m", q): [v] for q, v in zip("abcdf", [1, 0, 0, 0, 0], strict=True)}
    assert read(path, errors="zero").outcomes.ravel().tolist() == [1, 0, 0, 0, 0, 0]
    assert read(path, errors="missing").questions == ("a", "b", "c")


def test_livecodebench_scenarios_and_counts(tmp_path):
    folder = tmp_path / "m"
    dump(folder / "codegeneration_2_0.2_eval_all.json", [{"question_id": "q", "graded_list": [True, False]}])
    dump(folder / "codeexecution_2_0.2_eval_all.json", [{"question_id": "q", "graded_list": [True, True]}])
    r = read(tmp_path)
    assert set(r.questions) == {"codegeneration/q", "codeexecution/q"}
    site = {"models": [], "performances": [{"model": "m", "question_id": "q", "pass@1": 25.0}]}
    path = dump(tmp_path / "site.json", site)
    with pytest.raises(DataError, match=r"0\.25 is not a number of successes out of 10"):
        read(path)
    np.testing.assert_array_equal(read(path, n=4).counts[0, 0], [3, 1])


def test_files_that_are_no_results(tmp_path):
    dump(tmp_path / "one.json", {"answer": 42})
    with pytest.raises(DataError, match="one object with keys 'answer'"):
        read(tmp_path / "one.json")
    (tmp_path / "notes.md").write_text("text")
    with pytest.raises(DataError, match="no known ending"):
        read(tmp_path / "notes.md")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no files"):
        read(tmp_path / "empty")
    with pytest.raises(DataError, match="several formats"):
        read(
            [
                dump(tmp_path / "a.jsonl", [sample(0, 1.0)]),
                dump(tmp_path / "m_eval_results.json", {"eval": {"T": [{"status": "pass"}]}}),
            ]
        )


@pytest.mark.parametrize("name", [f.name for f in FORMATS])
def test_a_format_named_for_another_file_is_an_error(tmp_path, name):
    for k, value in enumerate(([{"model": "a", "question": "q", "score": 1}], {"a": 1}, [], [1], "x", {"eval": 1})):
        path = dump(tmp_path / f"{k}.json", value)
        with pytest.raises(JaxrankError) as error:
            read(path, name)
        assert "\n" not in str(error.value)
