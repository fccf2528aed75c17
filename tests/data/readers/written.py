"""Small logs of every format, written by the tests themselves from the truths below: nothing is copied from anywhere.

The contents are invented; the layouts are those that the tools document: lm-evaluation-harness (``--log_samples``),
Inspect (``EvalLog``, as .json and as the zip of .eval), OpenAI evals (``LocalRecorder``), EvalPlus and BigCodeBench
(``evaluate``), LiveCodeBench (``runner`` and the site's ``performances``), SWE-bench (the experiments repository,
``run_evaluation`` reports of schema 2, Multi-SWE-bench, ``leaderboards.json``), tau-bench and tau2-bench (``run``),
lighteval (``EvaluationTracker``), Every Eval Ever (instance level, 0.2.1), and the battle logs of FastChat, LMArena and
leaderbot.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

MODELS = ("strong", "weak")
TRUTH: dict[tuple[str, str], list[int]] = {
    ("strong", "q0"): [0, 1, 1, 1],
    ("strong", "q1"): [1, 1, 1, 1],
    ("strong", "q2"): [1, 1, 0, 1],
    ("strong", "q3"): [1, 1, 1, 1],
    ("weak", "q0"): [0, 0, 0, 0],
    ("weak", "q1"): [1, 0, 0, 0],
    ("weak", "q2"): [0, 1, 0, 0],
    ("weak", "q3"): [0, 0, 0, 0],
}
"""(model, question) -> outcomes of four trials: means 14/16 and 2/16."""
MIDDLE = {
    "strong": [[1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 1]],
    "middle": [[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 1, 1]],
    "weak": [[0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 1]],
}
"""Outcomes of three models on three questions, for lm-eval: means 10/12, 7/12 and 3/12."""
QUESTIONS = ("q0", "q1", "q2", "q3")
BATTLES = (
    *(("a", "b", "model_a"), ("b", "a", "tie"), ("a", "c", "model_a"), ("c", "b", "model_b"), ("d", "a", "model_b")),
    *(("b", "d", "model_a"), ("c", "d", "tie (bothbad)"), ("d", "c", "model_a"), ("a", "b", "model_b")),
)
TIME = "2026-03-0{}T10-20-30.40506{}"


def dump(path: Path, value: Any) -> Path:
    """``value`` as JSON, or as JSON lines where the ending says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(map(json.dumps, value)) if path.suffix == ".jsonl" else json.dumps(value, indent=1)
    path.write_text(text)
    return path


def lm_eval(root: Path) -> None:
    """``list``: a metric with one score a repeat. ``filters``: four repeats of which the metric scores one, under two
    filters. ``choice``: likelihoods. ``runs``: one repeat, two runs. ``spans``: a metric that is no number."""
    for k, (model, rows) in enumerate(MIDDLE.items()):
        for kind in ("list", "filters"):
            folder, time = root / kind / f"org__{model}", TIME.format(k + 1, k)
            samples = [s for q, outcomes in enumerate(rows) for s in _lm_samples(q, outcomes, kind)]
            dump(folder / f"samples_sums_{time}.jsonl", samples)
            mean = sum(map(sum, rows)) / 12
            results = {"sums": {"alias": "sums", "exact_match,all": mean, "exact_match_stderr,all": "N/A"}}
            configs = {"sums": {"task": "sums", "repeats": 4, "metadata": {"version": 1.0}}}
            dump(
                folder / f"results_{time}.json",
                {"results": results, "configs": configs, "model_name": f"org/{model}", "model_source": "hf"},
            )
    choice = [
        {
            **_lm_sample(q, [[["-0.5", "False"]] * 4, [["-1.5", "False"]] * 4], "none", ["acc"], acc=float(q == 0)),
            "target": "0",
        }
        for q in range(3)
    ]
    dump(root / "choice" / "org__any" / f"samples_choice_{TIME.format(1, 1)}.jsonl", choice)
    spans = [_lm_sample(0, [["PER: Ada"]], "flexible-extract", ["f1"], f1=["PER: Ada", ["PER: Bob"]])]
    dump(root / "spans" / "org__any" / f"samples_spans_{TIME.format(1, 1)}.jsonl", spans)


def _lm_sample(q: int, resps: Any, name: str, metrics: list[str], **scores: Any) -> dict[str, Any]:
    return {
        "doc_id": q,
        "doc": {"id": f"q{q}", "question": f"What is {q}+1?", "answer": str(q + 1)},
        "target": str(q + 1),
        "arguments": {"gen_args_0": {"arg_0": f"Q: What is {q}+1?\nA:", "arg_1": {"until": ["\n"]}}},
        "resps": resps,
        "filtered_resps": [resps[0][0]],
        "filter": name,
        "metrics": metrics,
        "doc_hash": f"{q:064x}",
        "prompt_hash": f"{q + 16:064x}",
        "target_hash": f"{q + 32:064x}",
        **scores,
    }


def _lm_samples(q: int, outcomes: list[int], kind: str) -> list[dict[str, Any]]:
    texts = [[f"The answer is {q + 1 if right else q + 7}" for right in outcomes]]
    right = [float(v) for v in outcomes]
    if kind == "list":
        return [_lm_sample(q, texts, "all", ["exact_match", "trials"], exact_match=sum(right) / 4, trials=right)]
    first = _lm_sample(q, texts, "score-first", ["exact_match"], exact_match=right[0])
    return [first, _lm_sample(q, texts, "maj@4", ["exact_match"], exact_match=float(sum(right) > 2))]


def inspect_log(model: str, values: Any, eval_id: str, **header: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A log and its samples from one score a question and epoch (None for a sample that failed)."""
    samples = [
        {"id": f"q{q}", "epoch": t + 1, "scores": None if v is None else {"match": {"value": v}}}
        for q, row in enumerate(values)
        for t, v in enumerate(row)
    ]
    log = {"version": 2, "status": "success", "eval": {"eval_id": eval_id, "task": "tiny", "model": model}, **header}
    return log, samples


def inspect(root: Path) -> None:
    """``eval`` (members packed with Zstandard), ``deflate`` and ``json``: two scorers, the first is the headline."""
    for model in MODELS:
        values = [["C" if v else "I" for v in TRUTH[model, q]] for q in QUESTIONS]
        log, samples = inspect_log(f"mockllm/{model}", values, f"id-{model}")
        for sample in samples:
            sample["target"], sample["metadata"] = "1", {"topic": "sums"}
            sample["scores"]["match"]["answer"] = "1"
            sample["scores"]["includes"] = {"value": "C", "answer": "1"}
        metrics = {"accuracy": {"name": "accuracy", "value": sum(sum(TRUTH[model, q]) for q in QUESTIONS) / 16}}
        one = {"accuracy": {"name": "accuracy", "value": 1.0}}
        log["eval"] |= {"run_id": f"run-{model}", "created": "2026-03-01T10:20:30+00:00", "config": {"epochs": 4}}
        log["results"] = {
            "total_samples": 16,
            "completed_samples": 16,
            "scores": [
                {"name": "match", "scorer": "match", "reducer": "mean", "metrics": metrics},
                {"name": "includes", "scorer": "includes", "reducer": "mean", "metrics": one},
            ],
            "headline": {"scorer": "match", "score": "match", "metric": "accuracy", "reducer": "mean"},
        }
        name = f"2026-03-01T10-20-30-00-00_tiny_{model}"
        dump(root / "json" / f"{name}.json", {**log, "samples": samples})
        members = {
            "_journal/start.json": {"version": 2, "eval": log["eval"]},
            "samples/q0_epoch_1.json": samples[0],
            "summaries.json": samples,
            "header.json": log,
        }
        for kind, method in (("eval", 93), ("deflate", 8)):
            write_zip(root / kind / f"{name}.eval", members, method)


def write_zip(path: Path, members: dict[str, Any], method: int = 8) -> Path:
    """A zip file of JSON members, packed by method 8 (deflate) or 93 (Zstandard, which Python writes from 3.14 on)."""
    body, directory = b"", b""
    for name, value in members.items():
        raw = json.dumps(value).encode()
        if method == 93:
            sink = pa.BufferOutputStream()
            with pa.CompressedOutputStream(sink, "zstd") as out:
                out.write(raw)
            packed = sink.getvalue().to_pybytes()
        else:
            packer = zlib.compressobj(wbits=-15)
            packed = packer.compress(raw) + packer.flush()
        fields = struct.pack("<HHHHHIII", 20, 0, method, 0, 33, zlib.crc32(raw), len(packed), len(raw))
        local = b"PK\3\4" + fields + struct.pack("<HH", len(name), 0) + name.encode() + packed
        entry = struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, len(body)) + name.encode()
        directory += b"PK\1\2" + struct.pack("<H", 20) + fields + entry
        body += local
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(body), 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body + directory + b"PK\5\6" + end)
    return path


EVALPLUS = {
    "strong": [["pf", "pp", "pp", "pp"], ["pp", "pp", "pp", "pp"], ["pp", "pp", "ff", "pp"]],
    "weak": [["pp", "ff", "ff", "pp"], ["pf", "pf", "pf", "pf"], ["pp", "ff", "ff", "ff"]],
}
"""Base and plus status of each sample."""


def evalplus(root: Path) -> None:
    word = {"p": "pass", "f": "fail"}
    for model, rows in EVALPLUS.items():
        tasks = {
            f"HumanEval/{q}": [
                {
                    "task_id": f"HumanEval/{q}",
                    "solution": "def f():\n    return 1\n",
                    "base_status": word[base],
                    "plus_status": word[plus],
                    "base_fail_tests": [],
                    "plus_fail_tests": [] if plus == "p" else [[1, 2]],
                }
                for base, plus in samples
            ]
            for q, samples in enumerate(rows)
        }
        dump(
            root / f"{model}_vllm_temp_0.8_eval_results.json", {"date": "2026-03-01 10:20", "hash": "0", "eval": tasks}
        )
        lines = [{"task_id": task, "solution": s["solution"]} for task, samples in tasks.items() for s in samples]
        dump(root / f"{model}_vllm_temp_0.8.jsonl", lines)


def bigcodebench(root: Path) -> None:
    for model in MODELS:
        tasks = {
            f"BigCodeBench/{q[1:]}": [
                {"task_id": f"BigCodeBench/{q[1:]}", "solution": "", "status": "pass" if v else "fail", "details": {}}
                for v in TRUTH[model, q]
            ]
            for q in QUESTIONS
        }
        name = f"{model}--bigcodebench-instruct--vllm-0.8-4-sanitized_calibrated_eval_results.json"
        dump(root / name, {"date": "2026-03-01 10:20", "eval": tasks})


def livecodebench(root: Path) -> None:
    """``output``: the runner's files. ``submission``: a file without an ending. ``site.json``: percentages."""
    for model in MODELS:
        entries = [_graded(q, [bool(v) for v in TRUTH[model, q]]) for q in QUESTIONS]
        dump(root / "output" / model / "codegeneration_4_0.2_eval_all.json", entries)
    dump(root / "submission" / "Model-A-2026-03-01", [_graded("1873_A", [True]), _graded("abc343_d", [False])])
    performances = [
        {"question_id": q, "model": m, "date": 1, "difficulty": "easy", "pass@1": p, "platform": "atcoder"}
        for m, q, p in (("A-Ins", "x", 0.0), ("A-Ins", "y", 70.0), ("B (n=1)", "x", 100.0))
    ]
    dump(root / "site.json", {"performances": performances, "models": [{"model_name": "org/a", "model_repr": "A-Ins"}]})


def _graded(question: str, grades: Sequence[bool]) -> dict[str, Any]:
    return {
        "question_title": question,
        "question_content": "",
        "platform": "atcoder",
        "question_id": question,
        "contest_id": "c",
        "contest_date": "2026-01-01T00:00:00",
        "starter_code": "",
        "difficulty": "easy",
        "output_list": [""] * len(grades),
        "code_list": [""] * len(grades),
        "graded_list": list(grades),
        "pass@1": sum(grades) / len(grades),
        "metadata": ["{}"] * len(grades),
    }


REPORTS = {
    "strong": ("rrrrurr.", "rrurrrre", "rrrrrrru"),
    "weak": ("uuruuue.", "uuuuupuu", "ruuuuuui"),
}
"""Instances of three runs: r resolved, u unresolved, p empty patch, e error, i infrastructure, . not submitted."""


def swebench(root: Path) -> None:
    """``experiments``: four submissions a system. ``reports``: three runs a model. ``leaderboards.json``. ``multi``:
    reports that are all called results.json, as Multi-SWE-bench keeps them."""
    for model in MODELS:
        for t in range(4):
            folder = root / "experiments" / "evaluation" / "verified" / f"2026030{t}_{model}" / "results"
            resolved = [q for q in QUESTIONS if TRUTH[model, q][t]]
            dump(folder / "results.json", {"no_generation": [], "no_logs": [], "resolved": resolved})
        for t, states in enumerate(REPORTS[model]):
            report = swebench_report(states)
            dump(root / "reports" / f"{model}.t{t}.json", report)
            if t == 0:
                report["resolved"] = report.pop("resolved_ids")
                dump(root / "multi" / f"20260301_{model}" / "results" / "results.json", report)
    boards = [
        {
            "name": "bash-only",
            "results": [
                {
                    "name": model,
                    "date": "2026-03-01",
                    "per_instance_details": {
                        q: {"resolved": bool(TRUTH[model, q][0]), "cost": 0.1, "api_calls": 3} for q in QUESTIONS[:3]
                    },
                }
                for model in MODELS
            ],
        },
        {"name": "Test", "results": [{"name": "other", "resolved": 12.5, "per_instance_details": None}]},
    ]
    dump(root / "leaderboards.json", {"leaderboards": boards})


def swebench_report(states: str) -> dict[str, Any]:
    ids = {s: [f"org__repo-{1000 + k}" for k, state in enumerate(states) if state == s] for s in "rupei."}
    done = [*ids["r"], *ids["u"]]
    sent = [*done, *ids["p"], *ids["e"], *ids["i"]]
    report: dict[str, Any] = {
        "total_instances": len(states),
        "submitted_instances": len(sent),
        "completed_instances": len(done),
        "resolved_instances": len(ids["r"]),
        "unresolved_instances": len(ids["u"]),
        "infra_failure_instances": len(ids["i"]),
        "empty_patch_instances": len(ids["p"]),
        "error_instances": len(ids["e"]) + len(ids["i"]),
    }
    return report | {
        "completed_ids": done,
        "incomplete_ids": ids["."],
        "empty_patch_ids": ids["p"],
        "submitted_ids": sent,
        "resolved_ids": ids["r"],
        "unresolved_ids": ids["u"],
        "infra_failure_ids": ids["i"],
        "error_ids": [*ids["e"], *ids["i"]],
        "schema_version": 2,
    }


def tau_bench(root: Path) -> None:
    for model in MODELS:
        entries = [
            {"task_id": int(q[1:]), "reward": float(TRUTH[model, q][t]), "info": {}, "traj": [], "trial": t}
            for t in range(4)
            for q in QUESTIONS
        ]
        dump(root / f"tool-calling-{model}-0.0_range_0--1_user-gpt-4o-llm_0301102030.json", entries)


def tau2_bench(root: Path) -> None:
    """The simulations of q3, trial 3, ended in an infrastructure error."""
    for model in MODELS:
        simulations = [
            {
                "id": f"{q}-{t}",
                "task_id": q,
                "duration": 1.0,
                "termination_reason": "infrastructure_error" if (q, t) == ("q3", 3) else "user_stop",
                "reward_info": None if (q, t) == ("q3", 3) else {"reward": float(TRUTH[model, q][t])},
                "trial": t,
                "seed": 300 + t,
            }
            for q in QUESTIONS
            for t in range(4)
        ]
        info = {
            "num_trials": 4,
            "agent_info": {"implementation": "llm_agent", "llm": f"org/{model}"},
            "user_info": {"implementation": "user_simulator", "llm": "u"},
            "environment_info": {"domain_name": "airline"},
        }
        tasks = [{"id": q} for q in QUESTIONS]
        dump(root / f"{model}_airline.json", {"info": info, "tasks": tasks, "simulations": simulations})


def openai_evals(root: Path) -> None:
    for k, model in enumerate(MODELS):
        for t in range(2):
            run = f"26030110203{k}RUN{t}"
            spec = {
                "completion_fns": [model],
                "eval_name": "tiny.dev.v0",
                "base_eval": "tiny",
                "split": "dev",
                "run_config": {"seed": t},
                "run_id": run,
                "created_at": f"2026-03-01 10:20:3{t}.{k}",
            }
            events = []
            for q in QUESTIONS:
                right = bool(TRUTH[model, q][t])
                common = {"run_id": run, "event_id": len(events), "sample_id": f"tiny.dev.{q[1:]}"}
                events.append({**common, "type": "sampling", "data": {"prompt": "Q", "sampled": ["A"]}})
                events.append({**common, "type": "match", "data": {"correct": right, "expected": "A", "picked": "A"}})
            mean = sum(TRUTH[model, q][t] for q in QUESTIONS) / 4
            lines = [{"spec": spec}, *events, {"final_report": {"accuracy": mean}, "run_id": run}]
            dump(root / f"{run}_{model}_tiny.jsonl", lines)


def lighteval(root: Path) -> None:
    for model in MODELS:
        rows = [
            {
                "doc": {"query": "What is 0+1?", "choices": ["1"], "gold_index": 0, "id": q[1:], "task_name": "tiny|0"},
                "metric": {"avg@n:n=4": sum(TRUTH[model, q]) / 4, "pass@k:k=1&n=4": sum(TRUTH[model, q]) / 4},
                "model_response": {"input": "Q", "text": ["1"] * 4},
            }
            for q in QUESTIONS
        ]
        time = "2026-03-01T10-20-30.405060"
        path = root / "details" / "org" / model / time / f"details_tiny|0_{time}.parquet"
        path.parent.mkdir(parents=True)
        parquet.write_table(pa.Table.from_pylist(rows), path)
        results = {"config_general": {"model_name": f"org/{model}"}, "results": {"tiny|0": {"avg@n:n=4": 0.5}}}
        dump(root / "results" / "org" / model / f"results_{time}.json", results)


def every_eval_ever(root: Path) -> None:
    rows = [
        {
            "schema_version": "instance_level_eval_0.2.1",
            "evaluation_id": f"e{t}",
            "model_id": f"org/{model}",
            "evaluation_name": "tiny",
            "sample_id": q,
            "interaction_type": "single_turn",
            "input": {"raw": "", "reference": ["1"]},
            "output": {"raw": ["1"]},
            "evaluation": {"score": float(v), "is_correct": bool(v)},
        }
        for (model, q), values in TRUTH.items()
        for t, v in enumerate(values)
    ]
    dump(root / "every.jsonl", rows)


def long(root: Path) -> None:
    rows = [
        {"model": f"org/{model}", "question": q, "trial": t, "correct": bool(v)}
        for (model, q), values in TRUTH.items()
        for t, v in enumerate(values)
    ]
    dump(root / "long.jsonl", rows)
    lines = [",".join(rows[0]), *(f"{r['model']},{r['question']},{r['trial']},{int(r['correct'])}" for r in rows)]
    (root / "long.csv").write_text("\n".join(lines) + "\n")
    parquet.write_table(pa.Table.from_pylist(rows), root / "long.parquet")


def arena(root: Path) -> None:
    """One set of battles as FastChat, LMArena (140k and 55k), MT-Bench (winners by name) and leaderbot keep it."""
    sides = [{"model_a": a, "model_b": b} for a, b, _ in BATTLES]
    words = [w for _, _, w in BATTLES]
    modern = {"tie (bothbad)": "both_bad"}
    chat = [
        {**s, "winner": w, "judge": "u1", "turn": 1, "tstamp": 1.7e9 + k}
        for k, (s, w) in enumerate(zip(sides, words, strict=True))
    ]
    dump(root / "clean_battle_20260301.json", chat)
    human = [
        {**s, "id": str(k), "winner": modern.get(w, w), "evaluation_order": 1, "language": "en", "is_code": False}
        for k, (s, w) in enumerate(zip(sides, words, strict=True))
    ]
    dump(root / "arena140k.jsonl", human)
    hot = [
        f'{k},{s["model_a"]},{s["model_b"]},"[""hi, you""]",{_hot(w)}'
        for k, (s, w) in enumerate(zip(sides, words, strict=True))
    ]
    header = "id,model_a,model_b,prompt,winner_model_a,winner_model_b,winner_tie"
    (root / "arena55k.csv").write_text("\n".join([header, *hot]) + "\n")
    named = [
        {"question_id": k, **s, "winner": s.get(w, "inconsistent"), "winner_ab": "A", "turn": 1}
        for k, (s, w) in enumerate(zip(sides, words, strict=True))
    ]
    dump(root / "mt_bench_pairs.jsonl", named)
    names = ["a", "b", "c", "d"]
    totals: dict[tuple[int, int], list[int]] = {}
    for a, b, w in BATTLES:
        i, j = names.index(a), names.index(b)
        cell = totals.setdefault((min(i, j), max(i, j)), [0, 0, 0, 0])
        cell[
            ("model_a", "model_b", "tie", "tie (bothbad)").index(w) if i < j or "tie" in w else int(w == "model_a")
        ] += 1
    pairs = {"models": names, "X": [list(k) for k in totals], "Y": list(totals.values())}
    dump(root / "pairs.json", pairs)


def _hot(word: str) -> str:
    return {"model_a": "1,0,0", "model_b": "0,1,0"}.get(word, "0,0,1")


WRITERS = {
    f.__name__: f
    for f in (
        *(lm_eval, inspect, evalplus, bigcodebench, livecodebench, swebench, tau_bench, tau2_bench, openai_evals),
        *(lighteval, every_eval_ever, long, arena),
    )
}


def write_all(root: Path) -> Path:
    """Every format in a folder of its own."""
    for name, writer in WRITERS.items():
        (root / name).mkdir(parents=True)
        writer(root / name)
    return root
