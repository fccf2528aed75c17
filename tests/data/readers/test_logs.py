"""Logs of evaluation tools: their own fixtures against independent truths, small logs written here, cut files."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.data.readers import read
from jaxrank.data.readers.formats import FORMATS
from jaxrank.errors import DataError, JaxrankError, OptionError
from tests.oracles import shared

FIXTURES = ("eco", "fixtures")
RAW = ("data", "raw_formats")
ZSTD = pytest.mark.skipif(find_spec("pyarrow") is None, reason="logs packed with Zstandard need pyarrow")


def by_cell(r: jr.Responses) -> dict[tuple[str, str], list[int]]:
    """(model, question) -> outcomes in order; names without their organisation and benchmark."""
    assert r.outcomes is not None
    return {
        (m.rpartition("/")[2], q.rpartition("/")[2]): r.outcomes[i, j].tolist()
        for i, m in enumerate(r.models)
        for j, q in enumerate(r.questions)
    }


def truth_of_the_synthetic_logs() -> dict[tuple[str, str], list[int]]:
    rows = json.loads(shared(*FIXTURES, "synthetic", "truth.json").read_text())
    truth: dict[tuple[str, str], list[int]] = {}
    for model, question, _, right in rows:
        truth.setdefault((model.rpartition("/")[2], question), []).append(int(right))
    return truth


SYNTHETIC = {
    "livecodebench": "livecodebench/output/*/*.json",
    "bigcodebench": "bigcodebench/*.json",
    "swebench_experiments": "swebench_experiments/evaluation/verified/*/results/results.json",
    "tau_bench": "tau_bench/*.json",
    "tau2_bench": "tau2_bench/*.json",
    "every_eval_ever_style.jsonl": "every_eval_ever*.jsonl",
    "long/long.csv": "long/*.csv",
    "long/long.jsonl": "long/*.jsonl",
    "long/long.parquet": "long/*.parquet",
}


@pytest.mark.parametrize("name", SYNTHETIC)
@pytest.mark.parametrize("way", ["path", "pattern"])
def test_synthetic_logs_equal_their_truth(name, way):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    root = shared(*FIXTURES, "synthetic")
    r = read(root / name if way == "path" else str(root / SYNTHETIC[name]))
    truth = truth_of_the_synthetic_logs()
    found = by_cell(r)
    if name == "bigcodebench":
        found = {(m, f"q{q}"): v for (m, q), v in found.items()}
    if name == "tau_bench":
        found = {(m, f"q{q}"): v for (m, q), v in found.items()}
    if name == "tau2_bench":
        # The simulations of q3, trial 3 ended in an infrastructure error: they are missing, all else is equal.
        assert [values.pop() for key, values in found.items() if key[1] == "q3"] == [-1, -1]
        truth = {key: values[:3] if key[1] == "q3" else values for key, values in truth.items()}
    assert found == truth


def test_tau2_infrastructure_errors_count_where_asked():
    r = read(shared(*FIXTURES, "synthetic", "tau2_bench"), errors="zero")
    assert [by_cell(r)[model, "q3"][3] for model in ("strong", "weak")] == [0, 0]
    assert r.complete


def test_arena_logs_agree():
    root = shared(*FIXTURES, "synthetic", "arena")
    names = ("clean_battle_20261127.json", "arena140k_style.jsonl", "kaggle55k_style.csv")
    totals = []
    for c in (read(root / name) for name in names):
        assert isinstance(c, jr.Comparisons)
        order = np.argsort(c.models)
        assert [c.models[i] for i in order] == ["a", "b", "c", "d"]
        totals.append((c.wins[np.ix_(order, order)], c.ties[np.ix_(order, order)]))
    for wins, ties in totals[1:]:
        np.testing.assert_array_equal(wins, totals[0][0])
        np.testing.assert_array_equal(ties, totals[0][1])


@ZSTD
@pytest.mark.parametrize("folder", ["logs_eval", "logs_json"])
@pytest.mark.parametrize("scorer", ["match", "includes", None])
def test_inspect_logs_give_the_accuracy_of_their_header(folder, scorer):
    root = shared(*FIXTURES, "inspect", folder)
    r = read(root, scorer=scorer)
    assert r.shape == (2, 6, 4)
    means = {}
    for path in shared(*FIXTURES, "inspect", "logs_json").glob("*.json"):
        log = json.loads(path.read_text())
        for score in log["results"]["scores"]:
            if score["scorer"] == (scorer or "match") and score["reducer"] == "mean":
                means[log["eval"]["model"]] = score["metrics"]["accuracy"]["value"]
    for model, mean in zip(r.models, r.outcomes.mean(axis=(1, 2)), strict=True):
        assert mean == pytest.approx(means[model], abs=1e-12)


@ZSTD
def test_inspect_zip_and_json_are_one_tensor():
    root = shared(*FIXTURES, "inspect")
    assert by_cell(read(root / "logs_eval")) == by_cell(read(root / "logs_json"))
    both = read(root)
    assert both.shape == (2, 6, 8)
    assert any("further trials" in note for note in both.notes)


def test_inspect_deflate_log_of_popularity():
    a, b = (read(shared(*RAW, f"inspect_popularity_gpt5_trimmed.{kind}")) for kind in ("eval", "json"))
    assert a.shape == (1, 2, 5)
    assert by_cell(a) == by_cell(b)
    full = read(shared("data", "inspect_popularity_2025.npz"))
    i = full.models.index("openai/gpt-5")
    for q in a.questions:
        np.testing.assert_array_equal(a.outcomes[0, a.questions.index(q)], full.outcomes[i, full.questions.index(q)])


def test_lm_eval_list_metric():
    root = shared(*FIXTURES, "lm_eval", "out_tiny_all")
    r = read(root)
    assert r.models == ("org/middle", "org/strong", "org/weak")
    means = {}
    for path in root.rglob("results_*.json"):
        results = json.loads(path.read_text())
        means[results["model_name"]] = results["results"]["tiny_all"]["exact_match,all"]
    for model, mean in zip(r.models, r.outcomes.mean(axis=(1, 2)), strict=True):
        assert mean == pytest.approx(means[model], abs=1e-12)
    assert any("3 other files were left out" in note for note in r.notes)


def test_lm_eval_rescoring_finds_the_same_trials():
    root = shared(*FIXTURES, "lm_eval")
    logged = read(root / "out_tiny_all")
    pattern = r"The answer is (-?\d+)"
    rescored = read(root / "out_tiny_all", rescore=pattern)
    np.testing.assert_array_equal(rescored.outcomes, logged.outcomes)

    def judge(response, target, doc):
        found = re.search(pattern, response)
        return bool(found) and found[1] == doc["answer"] == target

    np.testing.assert_array_equal(read(root / "out_noisy", rescore=judge).outcomes, logged.outcomes)


def test_lm_eval_repeats_without_scores_are_refused():
    root = shared(*FIXTURES, "lm_eval", "out_noisy")
    with pytest.raises(DataError, match="several filters, score-first, maj@4; choose one with filter="):
        read(root)
    with pytest.raises(DataError, match="repeats: 4, but 'exact_match' scores only one of them; pass rescore="):
        read(root, filter="score-first")
    with pytest.raises(DataError, match="no filter 'none'"):
        read(root, filter="none")
    with pytest.raises(DataError, match="repeats: 4"):
        read(shared(*RAW, "lm_eval_samples_repeats4.jsonl"))
    with pytest.raises(DataError, match="'f1' is a list that is not one score a trial"):
        read(shared(*RAW, "lm_eval_samples_masakhaner.jsonl"))
    with pytest.raises(DataError, match="no generated texts"):
        read(next(shared(*FIXTURES, "lm_eval", "out_dummy").rglob("samples_tiny_mc*")), rescore="x")
    with pytest.raises(DataError, match="read the samples_"):
        read(next(root.rglob("results_*.json")))


def test_evalplus():
    root = shared(*FIXTURES, "evalplus")
    r = read(root)
    # Statuses of the tool, read off its files by hand.
    assert by_cell(r) == {
        ("strong_vllm_temp_0.8", "0"): [0, 1, 1, 1],
        ("strong_vllm_temp_0.8", "1"): [1, 1, 1, 1],
        ("strong_vllm_temp_0.8", "2"): [1, 1, 0, 1],
        ("weak_vllm_temp_0.8", "0"): [1, 0, 0, 1],
        ("weak_vllm_temp_0.8", "1"): [0, 0, 0, 0],
        ("weak_vllm_temp_0.8", "2"): [1, 0, 0, 0],
    }
    base = by_cell(read(str(root / "*_eval_results.json"), tests="base"))
    assert base["weak_vllm_temp_0.8", "1"] == [1, 1, 1, 1]


def test_swebench_reports():
    root = shared(*FIXTURES, "swebench")
    r = read(root)
    assert r.models == ("strong", "weak")
    resolved = {p.stem: json.loads(p.read_text())["resolved_instances"] for p in root.glob("*.json")}
    for i, model in enumerate(r.models):
        for t in range(3):
            assert (r.outcomes[i, :, t] == 1).sum() == resolved[f"{model}.t{t}"]
    zero = read(root, errors="zero")
    missing = read(root, errors="missing")
    assert zero.shape == (2, 9, 3)
    assert zero.complete
    assert (missing.outcomes == -1).sum() > (r.outcomes == -1).sum()


def test_swebench_experiments_need_the_whole_split(tmp_path):
    path = shared(*RAW, "swebench_experiments_results.json")
    lists = json.loads(path.read_text())
    split = sorted({*lists["resolved"], *lists["no_logs"], *lists["no_generation"]})
    split += [f"unlisted-{k}" for k in range(500 - len(split))]
    r = read(path, questions=split)
    assert r.shape == (1, 500, 1)
    assert r.outcomes.sum() == 168
    (tmp_path / "ids.txt").write_text("\n".join(split))
    (tmp_path / "ids.json").write_text(json.dumps(split))
    for name in ("ids.txt", "ids.json"):
        np.testing.assert_array_equal(read(path, questions=tmp_path / name).outcomes, r.outcomes)
    lost = set(lists["no_logs"]) - set(lists["resolved"])
    assert lost
    assert not lost & set(read(path, questions=split, errors="missing").questions)
    with pytest.raises(DataError, match="not among questions"):
        read(path, questions=["other"])
    with pytest.raises(OptionError, match="no such file"):
        read(path, questions="nowhere.txt")


def test_swebench_leaderboards():
    r = read(shared(*RAW, "swebench_leaderboards_trimmed.json"))
    assert r.shape == (2, 3, 1)
    full = read(shared("data", "swebench_verified_bashonly_2026feb.npz"))
    rows = [full.models.index(m) for m in r.models if m in full.models]
    columns = [full.questions.index(q) for q in r.questions]
    assert rows
    for m, row in zip([m for m in r.models if m in full.models], rows, strict=True):
        np.testing.assert_array_equal(r.outcomes[r.models.index(m)], full.outcomes[row][columns])
    with pytest.raises(DataError, match="no leaderboard 'Lite'"):
        read(shared(*RAW, "swebench_leaderboards_trimmed.json"), metric="Lite")


def test_tau_bench_trajectories():
    r = read(shared(*RAW, "tau_bench_trajectories_trimmed.json"), model="gpt-4o")
    assert r.models == ("gpt-4o",)
    full = read(shared("data", "tau_bench_gpt4o_airline.npz"))
    for q in r.questions:
        np.testing.assert_array_equal(r.outcomes[0, r.questions.index(q)], full.outcomes[0, full.questions.index(q)])


def test_tau2_results():
    r = read(shared(*RAW, "tau2_results_trimmed.json"))
    assert r.models == ("gpt-4o",)
    assert r.shape == (1, 2, 1)


def test_openai_evals_give_the_accuracy_of_their_reports():
    root = shared(*FIXTURES, "openai_evals")
    r = read(root)
    assert r.shape == (2, 5, 2)
    reports = sorted(
        (lines[0]["spec"]["created_at"], lines[0]["spec"]["completion_fns"][0], lines[-1]["final_report"]["accuracy"])
        for lines in ([json.loads(line) for line in p.read_text().splitlines()] for p in root.glob("*.jsonl"))
    )
    for i, model in enumerate(r.models):
        expected = [accuracy for _, name, accuracy in reports if name == model]
        seeds = r.outcomes[i].mean(axis=0)
        assert len(expected) == len(seeds) == 2
        if all(e != 0.5 for e in expected):
            np.testing.assert_allclose(seeds, expected)


def test_lighteval_gives_counts():
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    root = shared(*FIXTURES, "lighteval", "out")
    r = read(root)
    assert r.outcomes is None
    assert r.models == ("org/strong", "org/weak")
    np.testing.assert_array_equal(r.trials, 4)
    for i, name in enumerate(("strong", "weak")):
        (path,) = (root / "details" / "org" / name).rglob("*.parquet")
        means = [row["metric"]["avg@n:n=4"] for row in parquet.read_table(path).to_pylist()]
        np.testing.assert_allclose(r.counts[i, :, 1] / 4, means)
    with pytest.raises(DataError, match="no metric 'f1'"):
        read(root, metric="f1")


def test_livecodebench_site_gives_counts():
    r = read(shared(*RAW, "livecodebench_performances_generation_trimmed.json"))
    full = read(shared("data", "lcb_codegen_2024apr.npz"), array="k")
    for i, model in enumerate(r.models):
        for j, question in enumerate(r.questions):
            if r.trials[i, j]:
                there = full.models.index(model), full.questions.index(question)
                assert r.counts[i, j, 1] == full.counts[there][1]


def test_livecodebench_submission():
    r = read(shared(*RAW, "livecodebench_submission_eval_all_trimmed.json"), model=lambda path: "O1-Preview")
    assert r.models == ("O1-Preview",)
    assert r.shape == (1, 3, 1)


def test_aggregated_battles_of_leaderbot():
    c = read(shared(*RAW, "leaderbot_chatbotarena_trimmed.json"))
    full = read(shared("data", "chatbot_arena_20240814.npz"))
    place = [full.models.index(m) for m in c.models]
    met = (c.wins + c.wins.T + c.ties) > 0
    np.testing.assert_array_equal(c.wins[met], full.wins[np.ix_(place, place)][met])
    np.testing.assert_array_equal(c.ties[met], full.ties[np.ix_(place, place)][met])


def test_mt_bench_winners_by_name():
    c = read(shared(*RAW, "mtbench_pairwise.jsonl"))
    rows = [
        json.loads(line) for line in shared(*RAW, "mtbench_pairwise.jsonl").read_text().splitlines() if line.strip()
    ]
    assert c.wins.sum() == sum(row["winner"] in (row["model_a"], row["model_b"]) for row in rows)
    assert c.ties.sum() / 2 == sum(row["winner"] == "inconsistent" for row in rows)


def test_metr_runs_by_column_names():
    r = read(shared(*RAW, "metr_runs.jsonl"), model="alias", score="score_binarized")
    assert r.models == ("Claude 3 Opus",)


def test_lrm_token_economy_by_column_names():
    r = read(shared(*RAW, "lrm_evaluation_stats_head.csv"), score="success_rate", threshold=0.5)
    assert "run_number" in r.notes[0]


# Small logs written here, so that the readers are tested where the fixtures are absent.


def dump(path: Path, value) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(map(json.dumps, value)) if path.suffix == ".jsonl" else json.dumps(value, indent=1)
    path.write_text(text)
    return path


def inspect_log(model: str, values, eval_id: str, **header):
    samples = [
        {"id": f"q{q}", "epoch": t + 1, "scores": None if v is None else {"match": {"value": v}}}
        for q, row in enumerate(values)
        for t, v in enumerate(row)
    ]
    log = {"version": 2, "status": "success", "eval": {"eval_id": eval_id, "task": "tiny", "model": model}, **header}
    return log, samples


def write_eval(path: Path, log, samples) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(log))
        archive.writestr("summaries.json", json.dumps(samples))
    return path


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
    with pytest.raises(DataError, match=r"1.eval: model 'a', question 'q0', column 'score': 0.5 is not a whole number"):
        read(path)
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


@ZSTD
def test_zstandard_without_pyarrow_says_how_to_install(monkeypatch):
    path = next(shared(*FIXTURES, "inspect", "logs_eval").glob("*.eval"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    if sys.version_info < (3, 14):
        with pytest.raises(DataError, match="pip install pyarrow"):
            read(path)


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
    with pytest.raises(DataError, match=r"no match events; its events are \{'metrics': 1\}"):
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
    assert by_cell(read(path)) == {("m", q): [v] for q, v in zip("abcd", [1, 0, 0, 0], strict=True)}
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


def refusal(path: Path) -> str:
    """The error that reading raises, or "" where the file can be read; other exceptions pass."""
    try:
        read(path)
    except JaxrankError as error:
        return str(error)
    return ""


def fixture_files() -> list[Path]:
    root = shared(*FIXTURES)
    endings = (".json", ".jsonl", ".eval", ".parquet", ".csv")
    return sorted(p for p in root.rglob("*") if p.is_file() and p.suffix in endings)


def test_every_fixture_cut_at_ten_places_gives_one_line(tmp_path):
    """A table or jsonl that is cut between two rows is whole; everything else is refused, in one line."""
    files = fixture_files()
    refused = 0
    for file in files:
        whole = file.read_bytes()
        path = tmp_path / file.name
        for k in range(10):
            path.write_bytes(whole[: len(whole) * k // 10])
            text = refusal(path)
            assert "\n" not in text
            if text:
                refused += 1
                assert file.name in text or "no observed trial" in text
            elif file.suffix in (".eval", ".parquet", ".json"):
                pytest.fail(f"{file.name} cut at {k}/10 was read as if it were whole")
        path.unlink()
    assert refused > 8 * len(files)


VALUES = (None, True, -1, 3, 1e9, "", "x", [], {}, [[]], [None], {"a": 1})


def changed(value, rng, share: float):
    """A JSON value with entries removed or replaced at random."""
    if rng.random() < share:
        return VALUES[rng.integers(len(VALUES))]
    if isinstance(value, dict):
        return {k: changed(v, rng, share) for k, v in value.items() if rng.random() > share}
    if isinstance(value, list):
        return [changed(v, rng, share) for v in value if rng.random() > share]
    return value


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
def test_logs_with_changed_entries_are_read_or_refused_in_one_line(tmp_path):
    rng = np.random.default_rng(0)
    seen = {"read": 0, "refused": 0}
    for file in fixture_files():
        if file.suffix not in (".json", ".jsonl"):
            continue
        text = file.read_text()
        rows = [json.loads(line) for line in text.splitlines()] if file.suffix == ".jsonl" else json.loads(text)
        for share in (0.001, 0.01, 0.03, 0.2):
            value = changed(rows, rng, share)
            value = value if file.suffix == ".json" or isinstance(value, list) else [value]
            said = refusal(dump(tmp_path / file.name, value))
            assert "\n" not in said
            seen["refused" if said else "read"] += 1
        (tmp_path / file.name).unlink()
    assert min(seen.values()) > 20
