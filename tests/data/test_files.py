"""Files that are written: the old one or the new one, whole, at every moment; targets are looked at before the work."""

from __future__ import annotations

import ast
import contextlib
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import jaxrank as jr
from jaxrank.cli.app import make_app
from jaxrank.data import files
from jaxrank.errors import DataError, OptionError
from jaxrank.posteriors.files import check_format
from tests.problems import graded

PACKAGE = Path(jr.__file__).parent


class Stopped(BaseException):
    """As a signal: no handler for errors catches it."""


STEPS = ("open", "write", "link", "fsync", "replace", "chmod")


def interrupted(call: Callable[[], object], k: int, error: BaseException) -> bool:
    """Make a call in which the k-th step on the disk raises; False where it takes fewer steps.

    Steps are functions of ``os``, and the opening and writing of files, which do not go through them."""
    steps = 0

    def counted(original: Callable) -> Callable:
        def wrapped(*args: object, **kwargs: object) -> object:
            nonlocal steps
            steps += 1
            if steps == k:
                raise error
            return original(*args, **kwargs)

        return wrapped

    with pytest.MonkeyPatch.context() as patch:
        for name in STEPS:
            patch.setattr(os, name, counted(getattr(os, name)))
        for name in ("open", "write_bytes", "write_text"):
            patch.setattr(Path, name, counted(getattr(Path, name)))
        with contextlib.suppress(type(error)):
            call()
    return steps >= k


@pytest.fixture(scope="module")
def fit() -> jr.Result:
    return jr.fit(graded(), "avg")


@pytest.fixture(scope="module")
def other() -> jr.Result:
    return jr.fit(1 - graded(), "avg")


@pytest.mark.parametrize("error", [Stopped(), OSError(28, "No space left on device")], ids=["stopped", "full disk"])
@pytest.mark.parametrize("suffix", [".npz", ".csv", ".json", ".parquet"])
def test_a_save_that_is_interrupted_at_any_step_leaves_a_whole_file(
    fit: jr.Result, other: jr.Result, suffix: str, error: BaseException, tmp_path: Path
) -> None:
    """interface 20: 7 bytes stood where 3,561 were."""
    path = fit.save(tmp_path / f"fit{suffix}")
    old = path.read_bytes()
    other.save(path)
    size = len(path.read_bytes())
    k = 0
    while True:
        k += 1
        path.write_bytes(old)
        reached = interrupted(lambda: other.save(path), k, error)
        found = path.read_bytes()
        assert found == old or abs(len(found) - size) < 20
        if suffix == ".npz":
            assert jr.load(path).method == "avg"
        assert [p.name for p in tmp_path.iterdir()] == [path.name]
        if not reached:
            break
    assert found != old and k > 4


CHILD = """
import sys, types
from pathlib import Path
import numpy as np
for name in ("jaxrank", "jaxrank.data"):  # the writer alone: a process that is killed two hundred times starts quickly
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(Path(sys.argv[3], *name.split(".")))]
from jaxrank.data.files import replacing
path, n = Path(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
k = 0
while True:
    k += 1
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, values=np.full(n, k))
"""


def kill_saves(folder: Path, times: int, seed: int = 0) -> int:
    """Saves killed at random moments; the number after which the file was not whole."""
    rng = np.random.default_rng(seed)
    path = folder / "values.npz"
    with files.replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, values=np.zeros(200_000))
    lost = 0
    for _ in range(times):
        arguments = [sys.executable, "-c", CHILD, str(path), "200000", str(PACKAGE.parent)]
        job = subprocess.Popen(arguments, stdout=subprocess.PIPE)
        assert job.stdout is not None and job.stdout.readline() == b"ready\n"
        time.sleep(rng.uniform(0, 0.1))
        job.send_signal(signal.SIGKILL)
        job.wait()
        job.stdout.close()
        try:
            with np.load(path) as stored:
                lost += len(np.unique(stored["values"])) != 1
        except Exception:
            lost += 1
    return lost


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_saves_of_a_killed_process_leave_a_whole_file(tmp_path: Path) -> None:
    """interface 20, with a real kill."""
    assert kill_saves(tmp_path, 10) == 0


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    """zarr stores are folders."""
    store = tmp_path / "a.zarr"
    for text in ("old", "new"):
        with files.replacing(store) as temporary:
            temporary.mkdir()
            (temporary / "part").write_text(text, encoding="utf-8")
    with contextlib.suppress(Stopped), files.replacing(store) as temporary:
        temporary.mkdir()
        raise Stopped
    assert [p.name for p in tmp_path.iterdir()] == ["a.zarr"]
    assert (store / "part").read_text(encoding="utf-8") == "new"


def stale(path: Path) -> Path:
    """Two days old."""
    os.utime(path, (time.time() - 2 * 86_400,) * 2)
    return path


@pytest.fixture
def ctime_is_mtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of the last renaming cannot be set back."""
    monkeypatch.setattr(files, "_last_touched", lambda path: path.stat().st_mtime)


@pytest.mark.usefixtures("ctime_is_mtime")
def test_what_killed_processes_left_is_swept_after_a_day(tmp_path: Path) -> None:
    """interface 20: files of killed saves stayed for ever; those of saves that go on elsewhere stay."""
    left = {name: files._beside(tmp_path / target, "part") for name, target in (("own", "a.csv"), ("other", "b.csv"))}
    young = files._beside(tmp_path / "a.csv", "part")
    for path in (*left.values(), young):
        path.write_text("text", encoding="utf-8")
        stale(path) if path != young else None
    files.write_text(tmp_path / "a.csv", "text")
    assert {p.name for p in tmp_path.iterdir()} == {"a.csv", left["other"].name, young.name}
    files.sweep(tmp_path)  # as a checkpoint does
    assert {p.name for p in tmp_path.iterdir()} == {"a.csv", young.name}


@pytest.mark.usefixtures("ctime_is_mtime")
def test_a_kill_between_two_renames_loses_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """interface 20, for zarr stores: the old one stands aside, loading says where, and nothing sweeps it."""
    store = tmp_path / "a.zarr"

    def save(text: str) -> None:
        with files.replacing(store) as temporary:
            temporary.mkdir()
            (temporary / "part").write_text(text, encoding="utf-8")

    save("old")
    assert files.left_aside(store) is None
    replace, calls = os.replace, []

    def killed(*paths: Path) -> None:
        calls.append(paths)
        if len(calls) > 1:  # as after a kill, what cleans up does not run either
            raise Stopped
        replace(*paths)

    monkeypatch.setattr(os, "replace", killed)
    with contextlib.suppress(Stopped):
        save("new")
    monkeypatch.setattr(os, "replace", replace)
    aside = files.left_aside(store)
    assert aside is not None and not store.exists()
    with pytest.raises(DataError, match=rf"a\.zarr is gone.*{aside.name}"):
        jr.load(store)
    stale(aside)
    save("third")
    assert (store / "part").read_text(encoding="utf-8") == "third" and aside.exists()
    save("fourth")
    assert [p.name for p in tmp_path.iterdir()] == ["a.zarr"]


def test_a_file_keeps_its_permissions_and_links_are_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    link.symlink_to(target)
    files.write_text(link, "naïve 模型\n")
    assert link.is_symlink() and target.read_bytes() == "naïve 模型\n".encode()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    umask = os.umask(0)
    os.umask(umask)
    files.write_text(tmp_path / "new.csv", "")
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o666 & ~umask


def test_create_makes_a_file_once(tmp_path: Path) -> None:
    assert files.create(tmp_path / "a", b"first") and not files.create(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first" and len(list(tmp_path.iterdir())) == 1


TARGETS = {
    "another ending": ("a.xlsx", "choose a name with one of these endings"),
    "no ending": ("a", "choose a name with one of these endings"),
    "no folder": ("none/a{}", "does not exist; make it first"),
    "a file for a folder": ("file/a{}", "is no folder"),
    "a folder for a file": ("folder{}", "is a folder"),
    "a file that may not be written": ("locked{}", "no permission"),
}


@pytest.mark.parametrize("case", TARGETS)
@pytest.mark.parametrize("kind", ["result", "replicates", "convergence", "all", "report", "posterior"])
def test_a_target_that_cannot_be_written_is_one_sentence_before_the_work(
    kind: str, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, studies: dict[str, Callable]
) -> None:
    """interface 19 and 25."""
    name, message = TARGETS[case]
    suffix = ".html" if kind == "report" else ".npz"
    (tmp_path / "file").touch()
    (tmp_path / f"folder{suffix}").mkdir()
    locked = tmp_path / f"locked{suffix}"
    locked.touch()
    access = os.access  # the superuser may write anywhere
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != locked and access(path, mode))
    path = tmp_path / name.format(suffix)
    before = sorted(p.name for p in tmp_path.rglob("*"))
    with pytest.raises(OptionError, match=message):
        studies[kind](path)
    assert sorted(p.name for p in tmp_path.rglob("*")) == before


@pytest.fixture(scope="module")
def studies(fit: jr.Result) -> dict[str, Callable]:
    R = graded()
    found = {
        "result": fit,
        "replicates": jr.bootstrap(R, "avg", n_replicates=20, scheme="questions"),
        "convergence": jr.convergence(R, "avg", n_replicates=20),
        "all": jr.fit_all(R, ["avg"]),
    }

    def report(path: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("jaxrank.reports.study.study", None)  # not reached
            jr.report(R, path)

    return {**{name: x.save for name, x in found.items()}, "report": report, "posterior": check_format}


def test_the_command_line_looks_at_its_targets_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """interface 19: ``bootstrap --save rep.csv`` failed after the study."""
    data = tmp_path / "r.csv"
    rows = [f"m{i},q{j},{(i + j) % 2}" for i in range(2) for j in range(4)]
    data.write_text("\n".join(["model,question,score", *rows]), encoding="utf-8")
    monkeypatch.setattr("jaxrank.studies.replicates.bootstrap", None)
    for target in ("rep.csv", "none/rep.npz"):
        with pytest.raises(SystemExit) as end:
            make_app()(["bootstrap", str(data), "--save", str(tmp_path / target)], prog_name="jaxrank")
        said = [line for line in capsys.readouterr().err.splitlines() if "error" in line]
        assert end.value.code == 2 and len(said) == 1 and target in said[0]


def test_text_is_written_and_read_as_utf_8_everywhere() -> None:
    """interface 20: in an ASCII locale an old file was cut to nothing and UnicodeEncodeError raised."""
    missing = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = {k.arg for k in node.keywords}
            modes = [a.value for a in [*node.args, *(k.value for k in node.keywords)] if isinstance(a, ast.Constant)]
            binary = any(isinstance(m, str) and "b" in m and len(m) <= 3 for m in modes)
            other = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in ("os", "archive")
            text = name in ("open", "fdopen") and not binary and not other
            text |= name == "read_text" or (name == "write_text" and ast.unparse(node.func) != "write_text")
            if text and "encoding" not in given:
                missing.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)[:80]}")
    assert not missing, "\n".join(missing)
