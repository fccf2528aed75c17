"""Studies that many processes share: the bits of one run, whoever did which chunk, died, or looked too early."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.cli.app import make_app
from jaxrank.errors import OptionError, StoppedError, UnfinishedError
from jaxrank.resampling import sharing
from jaxrank.resampling.checkpoint import Checkpoint
from jaxrank.resampling.sharing import Claims, Share
from jaxrank.resampling.store import Address, Folder, open_store
from tests.problems import graded

R = graded()
QUICK = Share.of("steal", 0.2)


def study(folder: Any, shard: Any = None, **options: Any) -> Any:
    how = {"n_replicates": 6000, "scheme": "trials", "seed": 1, "chunk_size": 1024, "progress": False}
    return jr.bootstrap(R, "avg", checkpoint=folder, shard=shard, **{**how, **options})


ALONE = study(None).replicate_scores


def claims_in(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*.claim"))


def test_shards_are_parts_of_one_study(tmp_path: Path) -> None:
    """Every shard does its own chunks; the last one, and a merge, have the bits of one run."""
    with pytest.raises(UnfinishedError, match=r"shard 2/3 is done, 2 of 6 chunks .* are finished"):
        study(tmp_path, "2/3")
    assert [p.name[:9] for p in sorted(tmp_path.glob("0*.npz"))] == ["000001024", "000004096"]
    with pytest.raises(UnfinishedError, match=r"2 of 6 .*without a file is that of replicates 0 to 1023"):
        study(tmp_path, "merge")
    with pytest.raises(UnfinishedError, match="shard 3/3 is done, 4 of 6"):
        study(tmp_path, "3/3")
    np.testing.assert_array_equal(study(tmp_path, "1/3").replicate_scores, ALONE)
    stamps = {p: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
    for again in ("2/3", "merge", "steal", None):
        np.testing.assert_array_equal(study(tmp_path, again).replicate_scores, ALONE)
    assert stamps == {p: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
    summary = study(tmp_path / "summary", "1/1", keep="summary")
    assert summary.to_frame().equals(study(None, keep="summary").to_frame())


CALLS: dict[str, Callable[..., Any]] = {
    "convergence": lambda **o: jr.convergence(R, ["avg", "borda"], n_replicates=200, chunk_size=64, **o).to_frame(),
    "model_pools": lambda **o: jr.model_pools(
        R, ["avg", "borda"], size=3, n_replicates=200, chunk_size=8, **o
    ).to_frame(),
}


def test_a_merge_of_pools_sizes_no_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To know how many replicates a block can hold a program is compiled: minutes, for many methods of no use here."""
    alone, run = CALLS["model_pools"](), CALLS["model_pools"]
    run(checkpoint=tmp_path, shard="1/1")
    monkeypatch.setattr("jaxrank.studies.pools.within_memory", lambda work: pytest.fail("a block was sized"))
    assert run(checkpoint=tmp_path, shard="merge").equals(alone)


@pytest.mark.parametrize("call", CALLS)
def test_studies_of_several_methods_are_shared(tmp_path: Path, call: str) -> None:
    """A shard does its part of every method before it says that others are missing."""
    alone, run = CALLS[call](), CALLS[call]
    with pytest.raises(UnfinishedError, match="shard 1/2 is done"):
        run(checkpoint=tmp_path, shard="1/2")
    first = {p.parent.name for p in tmp_path.rglob("0*.npz")}
    assert first == {"avg", "borda"}
    assert run(checkpoint=tmp_path, shard="2/2").equals(alone)
    assert run(checkpoint=tmp_path / "steal", shard=QUICK).equals(alone)
    assert claims_in(tmp_path) == []


def test_chunks_of_processes_that_died_are_done_by_others(tmp_path: Path) -> None:
    """Claims that nobody renews are taken after the timeout, not before; the result is that of one run."""
    size = 1024
    with pytest.raises(UnfinishedError):
        study(tmp_path, "1/3")
    for start in range(0, 6000, size):
        (tmp_path / f"{start:09d}-{min(start + size, 6000):09d}.claim").write_text("another 1 0\n", encoding="utf-8")
    begun = time.monotonic()
    np.testing.assert_array_equal(study(tmp_path, Share.of("steal", 1.0)).replicate_scores, ALONE)
    assert time.monotonic() - begun > 1.0 and claims_in(tmp_path) == []


def test_a_claim_that_is_renewed_stands(tmp_path: Path) -> None:
    """Of two processes one has a chunk in hand for five timeouts: the other waits, and takes it when it is let go."""
    store = Folder(tmp_path)
    mine, others = Claims(store, 0.2, 20), Claims(store, 0.2, 20)
    with mine.kept_fresh():
        assert mine.take((0, 10)) and not mine.take((0, 10))
        ended = time.monotonic() + 1.0
        while time.monotonic() < ended:
            assert not others.take((0, 10))
            time.sleep(0.02)
        assert others.take((10, 20))
    others.release_all()
    assert others.take((0, 10)) and claims_in(tmp_path) == ["000000000-000000010.claim"]


class Liar(Folder):
    """A folder of a network that hands out every claim twice and shows files late."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.turn = 0

    def create(self, name: str, content: bytes) -> bool:
        return super().create(name, content) or name.endswith(".claim")

    def has(self, name: str) -> bool:
        self.turn += 1
        return self.turn % 3 == 0 and super().has(name)

    def names(self) -> list[str]:
        self.turn += 1
        return super().names() if self.turn % 3 == 0 else [n for n in super().names() if not n.endswith(".npz")]


def test_a_claim_that_is_handed_out_twice_is_one_process_s(tmp_path: Path) -> None:
    store = Liar(tmp_path)
    mine, others = Claims(store, 60.0, 20), Claims(store, 60.0, 20)
    assert mine.take((0, 10)) and not others.take((0, 10))
    others.release_all()
    assert not others.take((0, 10)) and mine.take((10, 20))


def test_the_claim_of_a_finished_chunk_stands_for_the_timeout(tmp_path: Path) -> None:
    """A file that others see late is not made again; then nothing of the claim is left, nor after a failure."""
    store = Folder(tmp_path)
    mine, others = Claims(store, 0.4, 20), Claims(store, 60.0, 20)
    with mine.kept_fresh():
        assert mine.take((0, 10))
        mine.finish((0, 10))
        begun = time.monotonic()
        while not others.take((0, 10)):
            time.sleep(0.01)
        assert 0.4 < time.monotonic() - begun < 10
        others.release_all()
    with contextlib.suppress(StoppedError), mine.kept_fresh():
        assert mine.take((0, 10))
        mine.finish((0, 10))
        raise StoppedError("")
    assert claims_in(tmp_path) == []


def test_the_end_of_a_chunk_is_written_into_its_claim(tmp_path: Path) -> None:
    """Others wait the timeout from then on, not from the last time that it was renewed."""
    store = Folder(tmp_path)
    mine, others = Claims(store, 60.0, 20), Claims(store, 0.4, 20)
    assert mine.take((0, 10)) and not others.take((0, 10))
    time.sleep(0.3)
    mine.finish((0, 10))
    begun = time.monotonic()
    while not others.take((0, 10)):
        time.sleep(0.01)
    assert 0.4 < time.monotonic() - begun < 10


def test_a_chunk_seen_late_is_not_done_again_when_claims_are_gone(tmp_path: Path) -> None:
    """Whoever sees all chunks removes the claims, and says so to the others; what is lost is done after the timeout."""
    study(tmp_path, QUICK)
    said = (tmp_path / "complete").read_text(encoding="utf-8")
    assert said.split()[0] == "6000" and claims_in(tmp_path) == []
    others = Claims(Folder(tmp_path), 0.4, 6000)
    (tmp_path / "000000000-000001024.npz").unlink()
    begun = time.monotonic()
    while not others.is_open((0, 1024)):
        time.sleep(0.01)
    assert 0.4 < time.monotonic() - begun < 10
    assert Claims(Folder(tmp_path), 60.0, 7000).is_open((0, 1024)), "another study's end"
    np.testing.assert_array_equal(study(tmp_path, QUICK).replicate_scores, ALONE)
    assert (tmp_path / "complete").read_text(encoding="utf-8") != said


def test_a_folder_that_lies_costs_time_and_no_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxrank.resampling.checkpoint.open_store", lambda directory: Liar(Path(directory)))
    tmp_path.joinpath("study").mkdir()
    found: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: found.append(study(tmp_path / "study", QUICK).replicate_scores))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    for scores in found:
        np.testing.assert_array_equal(scores, ALONE)


def test_an_address_serves_as_a_folder() -> None:
    """Object stores through fsspec: manifest, chunks and claims, shards and stealing."""
    pytest.importorskip("fsspec")
    for place in ("memory://bucket/study", "memory://bucket/other/"):
        with pytest.raises(UnfinishedError):
            study(place, "1/2")
        np.testing.assert_array_equal(study(place, QUICK).replicate_scores, ALONE)
        names = open_store(place).names()
        assert len(names) == 8 and "complete" in names and not any(name.endswith(".claim") for name in names)
        with pytest.raises(OptionError, match=r"memory://bucket/\w+' holds another study"):
            study(place, seed=2)
    assert jr.convergence(R, "avg", n_replicates=100, checkpoint="memory://bucket/many").n_replicates == 100
    assert "manifest.json" in open_store("memory://bucket/many/avg").names()


def test_a_store_without_creation_is_refused_where_it_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Address("memory://plain")

    def plain(path: str, value: bytes) -> None:
        store.system.store[path] = value

    monkeypatch.setattr(store.system, "pipe_file", plain)
    with pytest.raises(OptionError, match="cannot make a file only where there is none"):
        store.create("a", b"")
    with pytest.raises(OptionError, match="checkpoint 'nowhere://x'"):
        open_store("nowhere://x")


ENVIRONMENTS: dict[str, tuple[dict[str, str], tuple[int, int]]] = {
    "array": ({"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_MIN": "5"}, (2, 4)),
    "array by twos": (
        {
            "SLURM_ARRAY_TASK_ID": "4",
            "SLURM_ARRAY_TASK_COUNT": "3",
            "SLURM_ARRAY_TASK_MIN": "0",
            "SLURM_ARRAY_TASK_STEP": "2",
        },
        (2, 3),
    ),
    "indexed job": ({"JOB_COMPLETION_INDEX": "0", "JOB_COMPLETIONS": "16"}, (0, 16)),
    "srun": ({"SLURM_PROCID": "3", "SLURM_NTASKS": "4"}, (3, 4)),
}


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in {n for layout in sharing.LAYOUTS for n in layout if n}:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("layout", ENVIRONMENTS)
@pytest.mark.usefixtures("bare")
def test_the_environment_numbers_the_shards(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words, found = ENVIRONMENTS[layout]
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    assert Share.of("auto")[:2] == found


@pytest.mark.usefixtures("bare")
def test_what_is_missing_in_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="none is set; name the shard"):
        Share.of("auto")
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "2")
    with pytest.raises(OptionError, match="JOB_COMPLETION_INDEX is set, but not JOB_COMPLETIONS"):
        Share.of("auto")
    for count in ("2", "none"):
        monkeypatch.setenv("JOB_COMPLETIONS", count)
        with pytest.raises(OptionError, match="no number of a job among"):
            Share.of("auto")


@pytest.mark.parametrize("shard", ["0/2", "3/2", "2", "", "a/b", "1/2/3", "-1/2", 3, 2.5, ["1/2"]])
def test_shards_that_are_none(tmp_path: Path, shard: Any) -> None:
    with pytest.raises(OptionError, match="shard="):
        study(tmp_path, shard)


def test_a_study_is_shared_through_files_and_has_work_for_all(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="name a folder: checkpoint"):
        study(None, "1/2")
    with pytest.raises(OptionError, match="6 in all, which leave some of 7 shards without work"):
        study(tmp_path, "1/7")
    with pytest.raises(OptionError, match="claim_timeout"):
        Share.of("steal", -1.0)


def test_a_study_that_is_told_to_stop_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first chunk no other one is begun, claims are given back, and the same call goes on."""
    save = Checkpoint.save

    def then_stop(self: Checkpoint, *args: Any) -> None:
        save(self, *args)
        sharing.request_stop()

    monkeypatch.setattr(Checkpoint, "save", then_stop)
    try:
        with pytest.raises(StoppedError, match="the same call goes on"):
            study(tmp_path, "steal")
    finally:
        sharing.allow_work()
        monkeypatch.undo()
    assert 0 < len(list(tmp_path.glob("0*.npz"))) < 6 and claims_in(tmp_path) == []
    np.testing.assert_array_equal(study(tmp_path).replicate_scores, ALONE)


def command(*words: str) -> int:
    return make_app()(args=list(words), standalone_mode=False) or 0


def test_shards_and_merge_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two shards leave their chunks and a line each; a merge prints and saves what one command would."""
    words = ["bootstrap", "misguided_attention", "-m", "avg", "-B", "200", "--chunk-size", "64"]
    folder = str(tmp_path / "study")
    command(*words, "-o", str(tmp_path / "alone.csv"))
    alone = capsys.readouterr().out
    command(*words, "--checkpoint", folder, "--shard", "1/2")
    assert "shard 1/2 is done" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        command("merge", folder)
    assert ended.value.code == 2 and "without a file" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)
    command(*words, "--checkpoint", "study", "--shard=2/2")
    capsys.readouterr()
    command("merge", "study", "--output", "merged.csv")
    assert capsys.readouterr().out == alone
    assert (tmp_path / "merged.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()
    assert json.loads((tmp_path / "study" / "command.json").read_text())["command"][:2] == words[:2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("bootstrap", "misguided_attention", "--shard", "1/2"), "--checkpoint FOLDER"),
        (("bootstrap", "misguided_attention", "--shard", "1/2", "--steal", "--checkpoint", "x"), "leave one out"),
        (("merge", "nowhere"), "no folder 'nowhere'"),
        (("merge", "."), "no study of the command line began there"),
    ],
)
def test_commands_that_cannot_share(
    tmp_path: Path,
    words: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        command(*words)
    assert ended.value.code == 2 and message in capsys.readouterr().err


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    """The command line on a study that takes minutes, once it has begun to work."""
    job = subprocess.Popen(
        [sys.executable, "-m", "jaxrank", "bootstrap", "misguided_attention", "--checkpoint", str(folder), *words],
        stderr=subprocess.PIPE,
        text=True,
    )
    ended = time.monotonic() + 120
    while not (list(folder.glob("0*.npz")) or list(folder.glob("*.claim"))):
        assert job.poll() is None and time.monotonic() < ended
        time.sleep(0.05)
    return job


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.slow
def test_a_signal_ends_a_study_after_the_chunk_in_hand(tmp_path: Path, number: signal.Signals) -> None:
    """Exit code 75, try again; no claim and no half-written file is left."""
    job = started(tmp_path, "-m", "borda", "-B", "2000000", "--chunk-size", "256", "--steal")
    job.send_signal(number)
    _, said = job.communicate(timeout=60)
    assert job.returncode == 75, said
    assert "the same call goes on" in said and "Traceback" not in said
    names = [p.name for p in tmp_path.iterdir()]
    assert not [n for n in names if n.endswith((".claim", ".part"))] and [n for n in names if n.startswith("0")]


@pytest.mark.slow
def test_a_chunk_that_takes_longer_than_the_grace_is_dropped(tmp_path: Path) -> None:
    job = started(tmp_path, "-m", "rasch_mml", "-B", "400000", "--chunk-size", "200000", "--steal", "--grace", "0.5")
    begun = time.monotonic()
    job.send_signal(signal.SIGTERM)
    _, said = job.communicate(timeout=60)
    assert job.returncode == 75 and "the chunk in hand is dropped" in said, said
    assert time.monotonic() - begun < 10 and not list(tmp_path.glob("*.npz")) and not claims_in(tmp_path)
