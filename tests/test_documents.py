"""Every code block of the README and of the documentation runs, and what they link to and name is there."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import itertools
import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
import yaml

import jaxrank
from jaxrank.cli import runtime
from jaxrank.cli.app import make_app
from jaxrank.cli.tables import Table
from jaxrank.methods.catalogue import entries
from tests.methods.test_scorio_fixtures import METHODS
from tests.oracles import golden

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md") if not {"generated", "logs"} & {*p.parts})]
QUICK = {
    *("README.md", "new_method.md"),
    "theory/judges.md",
    *("tools/lm_eval.md", "tools/inspect.md", "tools/formats.md", "tools/table.md"),
}
"""Pages whose code runs in the quick suite; that of the others is marked slow."""
KINDS = {"python", "bash", "yaml", "bibtex", "text", "{eval-rst}", "{toctree}", "{image}", "{include}"}
OTHER_COMMANDS = {"make", "pip", "git", "cd", "source"}

FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", flags=re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: its language, the value of its ``:name:`` option, its text without options."""

    language: str
    name: str
    body: str


def blocks(page: Path) -> list[Block]:
    found = []
    for fence in FENCE.finditer(page.read_text(encoding="utf-8")):
        directive = re.match(r"\{code-(?:cell|block)\}\s*(\w*)", fence["info"])
        language = (directive[1] or "python") if directive else fence["info"].partition(" ")[0]
        options = re.match(r"(?::\w+:[^\n]*\n)*\n?", fence["body"] if directive else "")
        assert options
        name = re.search(r":name: (\w+)", options[0])
        found.append(Block(language, name[1] if name else "", fence["body"][options.end() :]))
    return found


def title(page: Path) -> str:
    return page.name if page.parent == ROOT else page.relative_to(DOCS).as_posix()


def commands(page: Path) -> list[str]:
    """The lines of the shell blocks without comments; those of a named block have a test of their own."""
    lines = [
        line
        for block in blocks(page)
        if block.language == "bash" and not block.name
        for line in block.body.replace("\\\n", " ").splitlines()
    ]
    return [command for line in lines if (command := re.split(r"(?:^|\s)#", line)[0].strip())]


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent != ROOT], ids=title)
def test_code_is_no_wider_than_the_page(page: Path) -> None:
    """Lines of code of more than 112 letters ended at the edge of the built page."""
    wide = [line for block in blocks(page) for line in block.body.splitlines() if len(line) > 113]
    assert not wide


def page_params(having: Any) -> list[Any]:
    chosen = [page for page in PAGES if having(page)]
    return [pytest.param(p, id=title(p), marks=_marks(title(p))) for p in chosen]


def _marks(page: str) -> list[Any]:
    broadcasts = [pytest.mark.rank_promotion("allow")] if page == "judges.md" else []  # NumPyro's Dirichlet does
    return broadcasts if page in QUICK else [pytest.mark.slow, *broadcasts]


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Enter an empty folder in which the files that a page reads lie where they lie beside the page."""

    def enter(page: Path) -> Path:
        for name in ("logs", "tools", "figures", "docs"):
            if (page.parent / name).is_dir():
                (tmp_path / name).symlink_to(page.parent / name)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return enter


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
@pytest.mark.parametrize("page", page_params(lambda p: any(b.language == "python" for b in blocks(p))))
def test_python_blocks_run_in_order(page: Path, beside: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    beside(page)
    module = ModuleType("page")  # classes look for the module that they are defined in
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names = vars(module)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for number, block in enumerate(b for b in blocks(page) if b.language == "python"):
        exec(compile(block.body, f"{title(page)}, block {number}", "exec"), names)
        if "matplotlib.pyplot" in sys.modules:  # pages show each figure below its block
            sys.modules["matplotlib.pyplot"].close("all")
    if title(page) == "README.md":
        assert len(names["fit"].ranks) == 58
        assert (names["low"] < names["high"]).all()


@pytest.mark.filterwarnings("ignore::jaxrank.JaxrankWarning")
@pytest.mark.parametrize("page", page_params(lambda p: any(c.startswith("jaxrank ") for c in commands(p))))
def test_commands_run_in_order(page: Path, beside: Any) -> None:
    folder = beside(page)
    for command in commands(page):
        if not command.startswith("jaxrank "):
            continue
        words = shlex.split(command)[1:]
        with jax.enable_x64(True), pytest.raises(SystemExit) as end:
            make_app()(words, prog_name="jaxrank")
        assert not end.value.code, command
        for option, file in itertools.pairwise(words):
            if option in ("--output", "-o", "--save", "--checkpoint"):
                assert (folder / file).exists(), command


def test_what_the_readme_shows_of_a_terminal_is_what_comes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that a terminal of 100 columns shows, in its order."""
    (shown,) = (block.body for block in blocks(ROOT / "README.md") if block.language == "text")
    command, *lines = shown.rstrip().splitlines()
    drawn = lambda table: [(words + bar).rstrip() for words, bar, _ in table.drawn(100)]
    monkeypatch.setattr(Table, "show", lambda table: print(*drawn(table), sep="\n", file=sys.stderr))
    monkeypatch.setattr(runtime, "_width", lambda stream: 100)
    with jax.enable_x64(True), pytest.raises(SystemExit) as end:
        make_app()(shlex.split(command)[2:], prog_name="jaxrank")
    assert not end.value.code
    assert lines == capsys.readouterr().err.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["slurm", "hosts"])
def test_many_hosts(kind: str, tmp_path: Path) -> None:
    """The blocks for clusters, as two processes of this machine: with the variables that SLURM sets, and by address."""
    block = next(b for b in blocks(DOCS / "clusters.md") if b.name == kind)
    lines = [line.removeprefix("srun ") for line in block.body.splitlines() if "jaxrank" in line]
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    if kind == "slurm":
        assert len(lines) == 1
        lines *= 2
    address = f"127.0.0.1:{port}"
    running = []
    for number, line in enumerate(lines):
        words = shlex.split(line.replace("10.0.0.1:4321", address))
        assert words[0] == "jaxrank"
        slurm = {"SLURM_JOB_ID": str(port), "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": "2"}
        slurm |= {"SLURM_PROCID": str(number), "SLURM_LOCALID": str(number), "SLURM_STEP_NUM_TASKS": "2"}
        env = {**os.environ, **(slurm if kind == "slurm" else {}), "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
        start = [sys.executable, "-m", "jaxrank", *words[1:]]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        running.append(subprocess.Popen(start, env=env, cwd=tmp_path, **pipes))
    said = [process.communicate(timeout=240)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    assert "p_best" in said[0]
    assert "p_best" not in said[1]
    assert (tmp_path / "replicates.npz").exists()


def command_of(file: str) -> tuple[str, int]:
    """What a file for clusters runs, and how many run it; its variables are set by the test."""
    text = (DOCS / "clusters" / file).read_text(encoding="utf-8")
    if file.endswith(".yaml"):
        job = yaml.safe_load(text)["spec"]
        job = job["replicatedJobs"][0]["template"]["spec"] if "replicatedJobs" in job else job
        box = job["template"]["spec"]["containers"][0]
        set_ = "".join(f"export {pair['name']}={pair['value']}; " for pair in box.get("env", ()))
        return set_ + shlex.join([*box["command"], *box["args"]]), job["completions"]
    jobs = re.search(r"--array=1-(\d+)|--nodes=(\d+)", text)
    return text, int(jobs[1] or jobs[2]) if jobs else 2


CLUSTER_FILES = sorted(p.name for p in (DOCS / "clusters").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("file", CLUSTER_FILES)
def test_files_for_clusters(file: str, tmp_path: Path) -> None:
    """Each as it stands, by processes of this machine with the variables that its scheduler sets; ``srun`` and
    ``gcloud`` run what they are given, and addresses and folders are those of the test."""
    rng = np.random.default_rng(0)
    rows = [f"m{i},q{q},{int(rng.random() < 0.3 + i / 10)}" for i in range(5) for q in range(30)]
    (tmp_path / "results.csv").write_text("model,question,score\n" + "\n".join(rows), encoding="utf-8")
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    shims = {"srun": '"$@"', "gcloud": 'eval "${@: -1}"', "jaxrank": f'{sys.executable} -m jaxrank "$@"'}
    for name, body in shims.items():
        (bin_ / name).write_text(f"#!/bin/bash\nexec bash -c '{body}' x \"$@\"\n", encoding="utf-8")
        (bin_ / name).chmod(0o755)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    text, jobs = command_of(file)
    text = text.replace("/study/", f"{tmp_path}/").replace("rank-hosts-0-0.rank:4321", f"127.0.0.1:{port}")
    text = text.replace("JAX_PLATFORMS=tpu", "JAX_PLATFORMS=cpu").replace("JAX_ENABLE_X64=0", "")
    running = []
    for number in range(jobs):
        env = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
        env |= {"JOB_COMPLETION_INDEX": str(number)} if file.endswith(".yaml") else {}
        if file == "array.sbatch":
            env |= {"SLURM_ARRAY_TASK_ID": str(number + 1), "SLURM_ARRAY_TASK_COUNT": str(jobs)}
            env |= {"SLURM_ARRAY_TASK_MIN": "1"}
        elif file in ("nodes.sbatch", "tpu.sh"):  # a slice finds its hosts as a step of SLURM does here
            env |= {"SLURM_JOB_ID": str(port), "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": str(jobs)}
            env |= {"SLURM_PROCID": str(number), "SLURM_LOCALID": "0", "SLURM_STEP_NUM_TASKS": str(jobs)}
        env |= {"STUDY": str(tmp_path / "spot")}
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        running.append(subprocess.Popen(["bash", "-c", text], env=env, cwd=tmp_path, **pipes))
    said = [process.communicate(timeout=240)[0] for process in running]
    assert [process.returncode for process in running] == [0] * jobs, said
    assert sum("p_best" in words for words in said) >= 1, said
    if "--shard" in text:
        with jax.enable_x64(True):
            make_app()(["merge", str(next(tmp_path.rglob("command.json")).parent)], standalone_mode=False)
    alone = jaxrank.bootstrap(tmp_path / "results.csv", "borda", n_replicates=2000, dtype="float64")
    for path in tmp_path.glob("replicates.npz"):
        np.testing.assert_array_equal(jaxrank.load(path).replicate_scores, alone.replicate_scores)


@pytest.mark.parametrize("page", [pytest.param(p, id=title(p)) for p in PAGES])
def test_every_block_is_of_a_kind_that_is_run(page: Path) -> None:
    """Data and file listings aside, no block is left out by the tests above."""
    assert {block.language for block in blocks(page)} <= KINDS
    assert {command.split()[0] for command in commands(page)} <= OTHER_COMMANDS | {"jaxrank"}


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r"^make ([a-z-]+)", text, flags=re.MULTILINE)) | set(re.findall(r"`make ([a-z-]+)", text))
    assert {"demo", "test"} <= named <= targets


@pytest.mark.parametrize("page", [pytest.param(p, id=title(p)) for p in PAGES])
def test_links_lead_to_files(page: Path) -> None:
    """Links to other files; Sphinx checks anchors, and makes the pages of docs/generated."""
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert "generated/" in target or (page.parent / target).exists(), target


@pytest.fixture(scope="module")
def written() -> ModuleType:
    """docs/pages.py, which writes the pages of docs/generated."""
    spec = importlib.util.spec_from_file_location("pages", DOCS / "pages.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_catalogue_page_has_every_method(written: ModuleType) -> None:
    page = written.catalogue()
    for entry in entries().values():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{entry.name}`"))
        assert entry.summary.replace("|", "\\|") in row
        assert f"(#ref-{entry.source})" in row
        own = written.family_page(entry.family, written.families()[entry.family])
        assert f".. autoclass:: {entry.make.__module__}.{entry.make.__name__}\n" in own
        assert f"](methods/{entry.family}.md)" in page


def test_every_reference_is_written(written: ModuleType) -> None:
    page = written.references()
    keys = re.findall(
        r"^@\w+\{(\w+),", (Path(jaxrank.__file__).parent / "methods" / "references.bib").read_text(), re.MULTILINE
    )
    assert len(set(keys)) == len(keys) > 50
    for key in keys:
        assert f"(ref-{key})=\n**{key}**: " in page
    assert not re.search(r"[{}\\]", page)


def test_every_source_that_docstrings_name_is_a_reference(written: ModuleType) -> None:
    for path in (ROOT / "jaxrank").rglob("*.py"):
        named = re.findall(r"\[([a-z]+(?:17|18|19|20)\d\d[a-z]*)\b", path.read_text(encoding="utf-8"))
        assert set(named) <= set(written.bibliography()), path


def test_the_parity_page_has_every_published_identifier(written: ModuleType) -> None:
    rows = re.findall(r"^\| `(\w+)` \| `rank\.(\w+)\(R", written.parity(), flags=re.MULTILINE)
    published = [entry.name for entry in entries().values() if entry.published]
    assert [name for name, _ in rows] == published
    assert len(published) == 72
    assert {function for _, function in rows} <= set(METHODS.split()) | {"bayes"}


def test_the_parity_page_has_every_public_name_of_scorio(written: ModuleType) -> None:
    """Names of scorio 0.2.3 as they were listed from it, and from itself where it is installed; ours are there."""
    names = {f"{module}.{name}" for module, found in golden("scorio_names").items() for name in found}
    rows = written.counterparts()
    assert len(rows) == len(names) == 144 and {name for name, *_ in rows} == names
    counts = Counter(status for *_, status in rows)
    print("functions of scorio 0.2.3:", dict(counts))
    assert sum(counts.values()) == 144 and not set(counts) - set(written.STATUSES)
    for _, place, status in rows:
        if status != "here":
            assert len(place.split()) > 2
        elif method := re.match(r"`jaxrank\.fit\(data, \"(\w+)\"", place):
            assert method[1] in entries()
        else:
            functools.reduce(getattr, place.strip("`").split(".")[1:], jaxrank)
    try:
        version = importlib.metadata.version("scorio")
    except importlib.metadata.PackageNotFoundError:
        return
    for module, found in golden("scorio_names").items() if version == "0.2.3" else ():
        assert sorted(importlib.import_module(f"scorio.{module}").__all__) == sorted(found)


def test_the_api_page_has_every_public_name() -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\.\. auto\w+:: jaxrank\.(\w+)", text, flags=re.MULTILINE))
    named |= set(re.findall(r"`jaxrank\.(\w+)[.`]", text))
    assert set(jaxrank.__all__) <= named


def test_every_object_of_the_api_has_a_page_and_a_line(written: ModuleType) -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    objects, tables = written.api_pages(text), written.api_tables(text)
    assert len({name.lower() for name in objects}) == len(objects) > 150
    for name, page in objects.items():
        assert page.startswith("# ") and page.count(".. auto") == 1, name
        line = next(line for line in tables.splitlines() if f"](generated/api/{name}.md)" in line)
        assert name.startswith("data.") or re.search(r"\) \| \S.+ \|$", line), line


def test_the_citation_is_of_this_version() -> None:
    said = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {jaxrank.__version__}\n" in said
    assert f"version = {{{jaxrank.__version__}}}" in (DOCS / "cite.md").read_text(encoding="utf-8")


def test_notebooks_are_numbered_and_stored_with_what_they_show() -> None:
    for number, path in enumerate(sorted((ROOT / "notebooks").glob("*.ipynb")), start=1):
        assert path.name.startswith(f"{number:02d}_")
        book = json.loads(path.read_text(encoding="utf-8"))
        assert "os.environ" not in str(book)
        shown = [cell["outputs"] for cell in book["cells"] if cell["cell_type"] == "code"]
        assert sum(map(bool, shown)) >= len(shown) - 2
        assert any("image/svg+xml" in out.get("data", {}) for outputs in shown for out in outputs)


def test_the_chooser_names_methods_that_exist() -> None:
    text = (DOCS / "choose.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")][2:]
    chosen = {name for row in rows for name in re.findall(r"`(\w+)`", row.strip("| ").split(" | ")[-1])}
    assert chosen - {"R0", "curl", "harmonic"} <= set(entries())
    assert len(chosen) > 30


def test_pictures_of_the_gallery_are_vectors(gallery: ModuleType) -> None:
    """front-door D: stored with 64 colours, the blue of the first tier was green."""
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    stored = {path.name for path in (DOCS / "figures" / "gallery").iterdir()}
    assert stored == {f"{name}.svg" for name in gallery.RECIPES}
    for name, (title, code) in gallery.RECIPES.items():
        assert f"![{title}](figures/gallery/{name}.svg)" in page and f"```python\n{code}\n```" in page
        text = (DOCS / "figures" / "gallery" / f"{name}.svg").read_text(encoding="utf-8")
        assert "<svg" in text and "<text" in text and len(text) < 400_000, name


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery", DOCS / "gallery.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_formats_is_what_the_readers_say(written, tmp_path):
    """`refresh_formats` of docs/pages.py writes it anew."""
    page = tmp_path / "formats.md"
    page.write_text((DOCS / "tools" / "formats.md").read_text(encoding="utf-8"), encoding="utf-8")
    assert not written.refresh_formats(page)
