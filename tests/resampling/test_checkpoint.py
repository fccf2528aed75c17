"""Checkpoints: replicates of two studies never mix, and nothing is done before the folder is known to do."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.errors import OptionError
from jaxrank.resampling import engine
from jaxrank.resampling.checkpoint import MANIFEST, Checkpoint, folder_of
from tests.problems import graded

R = graded()
B = 3000  # three chunks of 1,024, the block of the short way of avg


def study(folder: Path, seed: int = 1, n: int = B, **options):
    return jr.bootstrap(
        R,
        "avg",
        n_replicates=n,
        scheme="trials",
        seed=seed,
        checkpoint=folder,
        chunk_size=1024,
        progress=False,
        **options,
    )


def chunks(folder: Path) -> list[Path]:
    return sorted(folder.glob("0*.npz"))


def rewritten(path: Path, change: Callable[[dict], None]) -> None:
    with np.load(path) as stored:
        arrays = dict(stored)
    change(arrays)
    np.savez(path.with_suffix(""), **arrays)


WORKER = """
import sys, time
from pathlib import Path
import numpy as np
import jaxrank as jr
from tests.problems import graded
base, seed, turns = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
how = dict(n_replicates=3000, scheme="trials", seed=seed, chunk_size=1024, progress=False)
run = lambda **o: jr.bootstrap(graded(), "avg", **how, **o)
run()  # compiled before the first race
for turn in range(turns):
    place = base / str(turn)
    (place / f"{seed}.ready").touch()
    while not (place / "go").exists():
        pass
    try:
        np.save(place / f"{seed}.npy", run(checkpoint=place / "study").replicate_scores)
    except jr.errors.OptionError as error:
        (place / f"{seed}.refused").write_text(str(error), encoding="utf-8")
"""


def race(base: Path, turns: int) -> list[str]:
    """Two processes with seeds 1 and 2 begin at one moment in one folder, again and again; what went wrong."""
    plain = {
        seed: jr.bootstrap(R, "avg", n_replicates=B, scheme="trials", seed=seed).replicate_scores for seed in (1, 2)
    }
    for turn in range(turns):
        (base / str(turn)).mkdir()
    jobs = [subprocess.Popen([sys.executable, "-c", WORKER, str(base), str(seed), str(turns)]) for seed in plain]
    faults = []
    for place in (base / str(turn) for turn in range(turns)):
        while not all((place / f"{seed}.ready").exists() for seed in plain):
            assert not any(job.poll() for job in jobs), "a process ended with an error"
        (place / "go").touch()
        while not all((place / f"{s}.npy").exists() or (place / f"{s}.refused").exists() for s in plain):
            assert not any(job.poll() for job in jobs), "a process ended with an error"
    assert [job.wait(timeout=60) for job in jobs] == [0, 0]
    for turn in range(turns):
        found = {s: base / str(turn) / f"{s}.npy" for s in plain}
        done = [s for s, path in found.items() if path.exists()]
        if len(done) != 1:
            faults.append(f"run {turn}: {len(done)} of two studies ended in one folder")
        for s, path in found.items():
            if s in done and (mixed := int(np.any(np.load(path) != plain[s], axis=1).sum())):
                faults.append(f"run {turn}: {mixed} replicates of seed {s} are another's")
            if s not in done and "another study" not in path.with_suffix(".refused").read_text(encoding="utf-8"):
                faults.append(f"run {turn}: seed {s} was refused without the reason")
    return faults


@pytest.mark.slow
def test_two_studies_that_begin_together_in_one_folder_do_not_mix(tmp_path: Path) -> None:
    """interface 5: one of them ends with its own replicates, the other is refused."""
    assert race(tmp_path, 5) == []


def test_a_study_that_lost_its_manifest_goes_on_only_with_its_own_chunks(tmp_path: Path) -> None:
    """interface 5: without the manifest, chunks of seed 1 were taken for those of seed 2."""
    first = study(tmp_path)
    (tmp_path / MANIFEST).unlink()
    stamps = {p: p.stat().st_mtime_ns for p in chunks(tmp_path)}
    with pytest.raises(OptionError, match=r"lost its manifest.json, and .*no chunk of this study"):
        study(tmp_path, seed=2)
    assert not (tmp_path / MANIFEST).exists()
    np.testing.assert_array_equal(study(tmp_path).replicate_scores, first.replicate_scores)
    assert len(stamps) > 1 and stamps == {p: p.stat().st_mtime_ns for p in chunks(tmp_path)}
    assert json.loads((tmp_path / MANIFEST).read_text(encoding="utf-8"))["chunk"] == 1024


FAULTS: dict[str, tuple[Callable[[dict], None], str]] = {
    "three rows": (lambda a: a.update(scores=a["scores"][:3]), "arrays of shapes"),
    "a missing array": (lambda a: a.pop("status"), "arrays of shapes"),
    "fewer models": (lambda a: a.update(scores=a["scores"][:, :2]), "arrays of shapes"),
    "no study": (lambda a: a.pop("study"), "another study"),
    "another hash": (lambda a: a.update(study=np.array(str(a["study"]).replace('"hash": "', '"hash": "0'))), "another"),
    "other bounds": (
        lambda a: a.update(study=np.array(str(a["study"]).replace('"start": 0', '"start": 1024'))),
        "1024",
    ),
    "a study that is no JSON": (lambda a: a.update(study=np.array("nothing")), "cannot be read"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_chunk_that_is_not_of_this_study_is_refused_by_name(tmp_path: Path, fault: str) -> None:
    """interface 5: scores (3, 3) beside status (256,) were accepted."""
    study(tmp_path)
    change, message = FAULTS[fault]
    rewritten(chunks(tmp_path)[0], change)
    with pytest.raises(OptionError, match=rf"000000000-000001024\.npz.*{message}"):
        study(tmp_path)


def test_every_byte_of_a_chunk_counts(tmp_path: Path) -> None:
    """A chunk with one byte changed is read as it was or refused with one sentence; nothing else is raised."""
    first = study(tmp_path)
    path = chunks(tmp_path)[0]
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.choice(len(whole), 60, replace=False):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << rng.integers(8))]) + whole[place + 1 :])
        said = ""
        try:
            np.testing.assert_array_equal(study(tmp_path).replicate_scores, first.replicate_scores)
        except OptionError as error:
            said = str(error)
        assert not said or path.name in said
        refused += bool(said)
    assert refused > 20


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "null", '{"name": "an app"}', '{"hash": "x", "chunk": 0, "configuration": {"a": 1}}', "\x00"],
)
def test_the_manifest_of_something_else_is_refused_before_the_work(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """interface 21: KeyError."""
    (tmp_path / MANIFEST).write_text(text, encoding="utf-8")
    no_work(monkeypatch)
    with pytest.raises(OptionError, match="no manifest of a study"):
        study(tmp_path)
    with pytest.raises(OptionError, match="no manifest of a study"):
        jr.convergence(R, "avg", n_replicates=10, checkpoint=tmp_path)
    assert (tmp_path / MANIFEST).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("call", [jr.bootstrap, jr.convergence, jr.model_pools, jr.subsample])
def test_the_folder_is_looked_at_before_the_work(
    tmp_path: Path, call: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """interface 19: work done, then thrown away."""
    (tmp_path / "file").write_text("text", encoding="utf-8")
    no_work(monkeypatch)
    for bad in (tmp_path / "file", tmp_path / "file" / "below", "a\0b", 3):
        with pytest.raises(OptionError, match="checkpoint"):
            call(R, "avg", checkpoint=bad)


def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("the study began")

    for module in ("replicates", "convergence", "pools"):
        monkeypatch.setattr(f"jaxrank.studies.{module}.whole_fit", fail)


LABELS = [
    *(
        "..",
        ".",
        "",
        "con",
        "CON",
        "con.txt",
        "nul",
        "com1",
        "x" * 300,
        "a/b",
        "a_b",
        "a b",
        "../up",
        "/root",
        "~",
        "-",
    ),
    *(
        "bayes",
        "Bayes",
        "bayes ",
        "bayes.",
        "naïve",
        "nai\u0308ve",
        "模型",
        "a\0b",
        "a\nb",
        "*?<>|",
        "bayes@10",
        "\ud800",
    ),
]


def test_every_label_has_a_folder_of_its_own_inside_the_checkpoint(tmp_path: Path) -> None:
    """interface 23: a label ".." wrote beside the folder; labels that one file name stands for shared it."""
    hashed = [folder_of(tmp_path, label).name for label in LABELS]
    every = [*LABELS, *hashed]  # a label that looks like the folder of another one
    names = [folder_of(tmp_path, label).name for label in every]
    assert len({n.lower() for n in names}) == len(set(every))
    for name in names:
        assert name.isascii() and len(name) < 100 and name == name.lower().strip(". ")
        (tmp_path / name).mkdir(exist_ok=True)
        assert (tmp_path / name).resolve().parent == tmp_path.resolve()
    assert folder_of(tmp_path, "bradley_terry_map").name == "bradley_terry_map"


def test_a_study_with_such_labels_is_resumed(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    methods = {"..": "avg", "a b": "avg", "a_b": "bayes"}
    first = jr.convergence(R, methods, n_replicates=100, checkpoint=inside)
    assert [p.name for p in tmp_path.iterdir()] == ["inside"] and len(list(inside.iterdir())) == 3
    again = jr.convergence(R, methods, n_replicates=100, checkpoint=inside)
    assert again.to_frame().equals(first.to_frame())


def test_shapes_of_every_kind_of_chunk_are_known(tmp_path: Path) -> None:
    """What a chunk must hold is told before one is made: for fits, prefixes with and without tau, and pools."""
    for _ in range(2):  # the second time every chunk is read
        jr.bootstrap(R, "avg", n_replicates=40, scheme="questions", checkpoint=tmp_path / "fits")
        jr.convergence(R, ["avg"], n_replicates=40, checkpoint=tmp_path / "tau")
        jr.convergence(R, ["avg"], n_replicates=40, tau=False, checkpoint=tmp_path / "plain")
        jr.model_pools(R, ["avg"], size=3, n_replicates=10, checkpoint=tmp_path / "pools")
        jr.bootstrap(R, "kemeny_young", n_replicates=3, scheme="questions", checkpoint=tmp_path / "host")
    assert len(list(tmp_path.rglob("0*.npz"))) >= 5


def test_a_manifest_is_made_once(tmp_path: Path) -> None:
    """Of two makers one wins, on file systems without hard links too; the other reads what is there."""
    assert Checkpoint(tmp_path, {"seed": "1"}, 8).chunk == 8
    assert Checkpoint(tmp_path, {"seed": "1"}, 16).chunk == 8
    with pytest.raises(OptionError, match="seed: '1' there, '2' here"):
        Checkpoint(tmp_path, {"seed": "2"}, 8)
    assert [p.name for p in tmp_path.iterdir()] == [MANIFEST]


def test_a_manifest_is_made_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", link)
    test_a_manifest_is_made_once(tmp_path)


def test_chunks_are_parsed_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 64 processes with two threads each some died of a SystemError: CPython 3.11 parses in one thread only."""
    study(tmp_path)
    load, inside, most = np.load, [], []

    def slow(*args: object, **options: object) -> object:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.02)
        found = load(*args, **options)
        inside.pop()
        return found

    monkeypatch.setattr("jaxrank.resampling.checkpoint.np.load", slow)
    disk = Checkpoint(tmp_path, json.loads((tmp_path / MANIFEST).read_text())["configuration"], 1024)
    threads = [threading.Thread(target=disk.load, args=(0, 1024, None)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]


def test_a_broken_trace_does_not_reach_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that dies in its second chunk leaves the first whole, and goes on from it."""
    original, calls = engine._run_on_device, []

    def die(*args: object) -> object:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(engine, "_run_on_device", die)
    with pytest.raises(KeyboardInterrupt):
        study(tmp_path)
    monkeypatch.setattr(engine, "_run_on_device", original)
    assert 0 < len(chunks(tmp_path)) < 3
    np.testing.assert_array_equal(
        study(tmp_path).replicate_scores,
        jr.bootstrap(R, "avg", n_replicates=B, scheme="trials", seed=1).replicate_scores,
    )
