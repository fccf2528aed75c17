"""Pages of the documentation that are written from the library itself, so that they cannot go stale."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

import jaxrank
from jaxrank.cli.commands.list import GROUPS, place_of
from jaxrank.data.readers.formats import FORMATS
from jaxrank.data.readers.shapes import SHAPES
from jaxrank.methods.catalogue import entries
from jaxrank.models.ranker import Entry

PARITY = Path(__file__).resolve().parent / "parity.toml"
BIB = Path(jaxrank.__file__).parent / "methods" / "references.bib"
READS = {
    "Counts": "counts of outcomes",
    "Ballots": "orders of the models by every question or list",
    "Pairs": "pairwise wins and ties",
    "Events": "winners and losers of every trial",
    "Sequence": "outcomes in order",
    "Orders": "ordered lists",
}


def write(folder: Path) -> None:
    """All pages, into ``folder``; a page that has not changed is left alone, so that Sphinx does not read it again."""
    texts = {"catalogue.md": catalogue(), "parity.md": parity(), "references.md": references()}
    texts |= {f"methods/{family}.md": family_page(family, members) for family, members in families().items()}
    texts |= {f"api/{name}.md": text for name, text in api_pages(API.read_text(encoding="utf-8")).items()}
    texts |= {f"notebooks/{path.name}": path.read_text(encoding="utf-8") for path in NOTEBOOKS}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.rglob("*.*"):  # of what there is no more
        if path.relative_to(folder).as_posix() not in texts:
            path.unlink()


API = Path(__file__).resolve().parent / "api.md"
NOTEBOOKS = sorted((API.parent.parent / "notebooks").glob("*.ipynb"))
_BLOCK = re.compile(r"^```\{eval-rst\}\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_DIRECTIVE = re.compile(r"^\.\. auto(\w+):: (\S+)\n((?:   .*\n)*)", flags=re.MULTILINE)


def _objects(text: str) -> list[tuple[str, str, str]]:
    """The objects that directives document: kind, name and options; in place of a module those that it holds."""
    found = []
    for kind, name, options in _DIRECTIVE.findall(text):
        if kind != "module":
            found.append((kind, name, options))
            continue
        module = _object(name)
        named = re.search(r":members: (.+)", options)
        left_out = re.search(r":exclude-members: (.+)", options)
        members = re.split(r",\s*", named[1]) if named else _public(module)
        members = [member for member in members if not left_out or member not in re.split(r",\s*", left_out[1])]
        special = "".join(line for line in options.splitlines(keepends=True) if "special" in line)
        for member in members:
            held = getattr(module, member)
            if inspect.ismodule(held) and f"automodule:: {name}.{member}\n" in API.read_text(encoding="utf-8"):
                continue  # it has a place of its own
            if inspect.ismodule(held):
                found.append(("module", f"{name}.{member}", "   :members:\n"))
            elif isinstance(held, type) and issubclass(held, Exception):
                found.append(("exception", f"{name}.{member}", ""))
            elif isinstance(held, type):
                found.append(("class", f"{name}.{member}", f"   :members:\n{special}"))
            elif callable(held):
                found.append(("function", f"{name}.{member}", ""))
            else:
                found.append(("data", f"{name}.{member}", "   :no-value:\n"))
    return found


def _public(module: Any) -> list[str]:
    own = [name for name, held in vars(module).items() if getattr(held, "__module__", "") == module.__name__]
    return list(getattr(module, "__all__", [name for name in own if not name.startswith("_")]))


def _api_name(kind: str, name: str) -> str:
    """The page of an object; its kind keeps apart names that differ in their capitals only."""
    return f"{kind}.{name.removeprefix('jaxrank.')}"


def api_pages(text: str) -> dict[str, str]:
    """A page for every object that docs/api.md names."""
    found = {}
    for kind, name, options in _objects(text):
        title = name.removeprefix("jaxrank.")
        found[_api_name(kind, name)] = f"# {title}\n\n```{{eval-rst}}\n.. auto{kind}:: {name}\n{options}```\n"
    return found


def api_tables(text: str) -> str:
    """docs/api.md with a line for every object in place of its documentation, which has a page."""

    def table(block: re.Match[str]) -> str:
        rows = ["| name | what it is |", "| --- | --- |"]
        for kind, name, _ in _objects(block[1]):
            rows.append(f"| [`{name}`](generated/api/{_api_name(kind, name)}.md) | {_first_sentence(name)} |")
        return "\n".join(rows)

    pages = "\n".join(f"generated/api/{name}" for name in sorted(api_pages(text), key=str.lower))
    return f"{_BLOCK.sub(table, text)}\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"


def _object(name: str) -> Any:
    found = jaxrank
    for attribute in name.split(".")[1:]:
        try:
            found = getattr(found, attribute)
        except AttributeError:  # a module that nothing has imported
            found = importlib.import_module(f"{found.__name__}.{attribute}")
    return found


def _first_sentence(name: str) -> str:
    """The first sentence of what an object says of itself."""
    found = _object(name)
    doc = " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())
    if not isinstance(found, type) and not callable(found) and not inspect.ismodule(found):
        doc = ""
    sentence = re.match(r".*?[.:](?=\s|$)", doc)
    return (sentence[0] if sentence else doc).rstrip(".:").replace("``", "`").replace("|", "\\|").replace("<", "&lt;")


FORMATS_BEGIN, FORMATS_END = "<!-- formats: written by docs/pages.py -->", "<!-- end of formats -->"


def formats() -> str:
    """The tables of docs/tools/formats.md: what `read` understands, and the formats of tools by name."""
    rows = ["| table | its first lines | read as | said with |", "| --- | --- | --- | --- |"]
    for shape in SHAPES:
        lines = "<br>".join(f"`{line}`" for line in shape.text.splitlines()[:2])
        rows.append(f"| {shape.what} | {lines} | {shape.reads} | {f'`{shape.options}`' if shape.options else ''} |")
    tools = ["| `--file-format` | files | trials | options |", "| --- | --- | --- | --- |"]
    tools += [f"| `{f.name}` | {f.files} | {f.trials} | {f.options} |" for f in FORMATS]
    return "\n".join([*rows, "", *tools])


def refresh_formats(page: Path) -> bool:
    """Write the tables between the marks of the page; whether anything changed."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(FORMATS_BEGIN)
    after = rest.split(FORMATS_END)[1]
    new = f"{before}{FORMATS_BEGIN}\n\n{formats()}\n\n{FORMATS_END}{after}"
    if new != text:
        page.write_text(new, encoding="utf-8")
    return new != text


def catalogue() -> str:
    """The methods by family: a table of identifiers, then the docstring of every class."""
    out = [
        "# All methods",
        f"{len(entries())} identifiers in {len(families())} families, as `jaxrank.catalogue()` and `jaxrank list` give "
        "them. *Reads* says what part of the data a method sees; identifiers with a star are configurations of the "
        "source papers. Each family has a page with its models, options and sources. [Which one to take]"
        "(../choose.md) is another page.",
    ]
    group = {name: title for title, names in GROUPS.items() for name in names}
    last = ""
    for family, members in families().items():
        if group.get(family, "Others") != last:
            last = group.get(family, "Others")
            out.append(f"## {last}")
        out += [f"### [{_title(family)}](methods/{family}.md)", _about(family), _table(members)]
    pages = "\n".join(f"methods/{family}" for family in families())
    out.append(f"```{{toctree}}\n:hidden:\n\n{pages}\n```")
    return "\n\n".join(out) + "\n"


def families() -> dict[str, list[Entry]]:
    """The methods by family, in the order of ``jaxrank list``."""
    found: dict[str, list[Entry]] = {}
    for entry in entries().values():
        found.setdefault(entry.family, []).append(entry)
    return dict(sorted(found.items(), key=lambda item: place_of(item[0])))


def family_page(family: str, members: list[Entry]) -> str:
    """What the methods of a family are: a table of identifiers, then the docstring of every class."""
    classes = dict.fromkeys(entry.make.__name__ for entry in members)
    directives = "\n\n".join(f".. autoclass:: jaxrank.methods.{family}.{name}" for name in classes)
    parts = [f"# {_title(family)}", _about(family), _table(members), f"```{{eval-rst}}\n{directives}\n```"]
    return "\n\n".join(parts) + "\n"


def _title(family: str) -> str:
    return family.replace("_", " ").capitalize()


def _about(family: str) -> str:
    return (importlib.import_module(f"jaxrank.methods.{family}").__doc__ or "").strip()


def _table(members: list[Entry]) -> str:
    rows = ["| identifier | what it is | reads | options set | source |", "| --- | --- | --- | --- | --- |"]
    for entry in members:
        statistic = entry.ranker().statistic.__name__
        options = ", ".join(f"`{name}={value}`" for name, value in entry.options.items())
        star = " *" if entry.published else ""
        cells = [
            f"`{entry.name}`{star}",
            entry.summary.replace("|", "\\|"),
            READS.get(statistic, statistic),
            options,
            cite(entry.source),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


# Functions of scorio.rank whose name is not the identifier itself, or a part of it that ends before its options.
_SCORIO = {"bayes_greedy": "bayes", "bayes_ci": "bayes"}
_SCORIO_FAMILIES = (
    *("dynamic_irt", "rank_centrality", "schulze", "ranked_pairs", "nanson", "baldwin", "elo", "glicko", "hodge_rank"),
    *("kemeny_young", "nash", "pass_at_k", "pass_hat_k", "mg_pass_at_k", "serial_rank", "minimax"),
)
_SCORIO_OPTIONS = {"ties": "tie_handling", "stat": "pairwise_stat", "weights": "weight_method", "score": "score_type"}
_SCORIO_DEFAULTS = ("prior", "per_event")  # options of ours whose value here is scorio's only behaviour


def scorio_call(entry: Entry) -> tuple[str, dict[str, Any]]:
    """The function of scorio.rank for a published identifier, and its options beside R."""
    name = next((f for f in _SCORIO_FAMILIES if entry.name.startswith(f"{f}_")), entry.name)
    options = {_SCORIO_OPTIONS.get(k, k): v for k, v in entry.options.items() if k not in _SCORIO_DEFAULTS}
    if options.pop("needs_R0", False):
        options["R0"] = "R0"
    if "quadrature" in options:
        options["n_quadrature"] = int(options.pop("quadrature").removeprefix("fixed:"))
    if entry.name == "dynamic_irt_growth":
        options |= {"variant": "growth", "assume_time_axis": True, "score_target": "initial"}
    return _SCORIO.get(entry.name, name), options


def parity() -> str:
    """Every published identifier beside scorio's call, with the **Departs** paragraph of its docstring."""
    out = [
        "# Parity with scorio",
        "[scorio](https://pypi.org/project/scorio/) 0.2.3 is the program of the papers that jaxrank's identifiers come "
        "from [](#ref-hariri2026ranking) [](#ref-hariri2026dont). Each published identifier is one of its calls, "
        "below with `rank` for `scorio.rank`; *departs* says where jaxrank differs from that code or from the source "
        "of the method, on purpose. The tests run scorio's own test data: every ranking is the same at the defaults, "
        "or stands in a table with its reason.",
        "The metrics of `scorio.eval` are `jaxrank.evaluation`: `avg`, `bayes`, `pass_at_k`, `pass_hat_k`, "
        "`g_pass_at_k_tau`, `mg_pass_at_k` and their later relatives, each with the interval that scorio's `..._ci` "
        'returns as `method="normal"`. Missing cells, '
        "which scorio refuses, are read by nearly all methods.",
        "| identifier | scorio | departs |\n| --- | --- | --- |",
    ]
    for entry in entries().values():
        if entry.published:
            function, options = scorio_call(entry)
            text = ", ".join(["R", *(f"{k}={v if k == 'R0' else repr(v)}" for k, v in options.items())])
            out[-1] += f"\n| `{entry.name}` | `rank.{function}({text})` | {_departs(entry)} |"
    rows = counterparts()
    counts = {status: sum(found == status for *_, found in rows) for status in STATUSES}
    told = ", ".join(f"{n} {status}" for status, n in counts.items())
    out += ["## Every public name", f"scorio 0.2.3 has {len(rows)} public names in six modules: {told}."]
    out.append("| scorio | jaxrank | |\n| --- | --- | --- |")
    out[-1] += "".join(f"\n| `{name}` | {place} | {status} |" for name, place, status in rows)
    return "\n\n".join(out) + "\n"


STATUSES = ("here", "decided otherwise", "not here")
_OTHERWISE = {"no": "decided otherwise", "missing": "not here"}


def counterparts() -> list[tuple[str, str, str]]:
    """Of every public name of scorio 0.2.3 what it is here, or why it is not, and its status."""
    methods = {scorio_call(entry)[0]: entry.name for entry in entries().values() if entry.published}
    named = tomllib.loads(PARITY.read_text(encoding="utf-8"))
    named["rank"] = {name: f"fit: {method}" for name, method in methods.items()} | named["rank"]
    rows = []
    for module, names in named.items():
        for name, told in names.items():
            kind, _, rest = told.partition(": ")
            if kind in _OTHERWISE:
                rows.append((f"{module}.{name}", rest, _OTHERWISE[kind]))
            else:
                call = f'jaxrank.fit(data, "{rest}")' if kind == "fit" else f"jaxrank.{told}"
                rows.append((f"{module}.{name}", f"`{call}`", "here"))
    return rows


def _departs(entry: Entry) -> str:
    doc = inspect.getdoc(entry.make) or ""
    found = re.search(r"\*\*Departs\*\*(.*?)(?=\n\*\*|\Z)", doc, flags=re.DOTALL)
    text = " ".join(found[1].split()) if found else ""
    return "" if text == "in nothing." else text.replace("``", "`").replace("|", "\\|")


def references() -> str:
    """The bibliography; every entry is a target that pages link to as ``[...](#ref-key)``."""
    out = ["# References", "The sources that docstrings and pages name, from `jaxrank/methods/references.bib`."]
    for key, fields in sorted(bibliography().items(), key=lambda item: (item[1].get("author", ""), item[0])):
        journal = (
            fields.get("journal") or fields.get("booktitle") or fields.get("publisher") or fields.get("institution")
        )
        volume = " ".join(filter(None, (journal, fields.get("volume"))))
        pages = f", {fields['pages'].replace('--', '-')}" if "pages" in fields else ""
        authors = fields["author"].replace(" and others", " et al.").replace(" and ", "; ")
        out.append(f"(ref-{key})=\n**{key}**: {authors} ({fields['year']}). *{fields['title']}*. {volume}{pages}.")
    return "\n\n".join(out) + "\n"


@functools.cache
def bibliography() -> dict[str, dict[str, str]]:
    """The fields of every entry of ``references.bib`` by its key, in plain text."""
    found: dict[str, dict[str, str]] = {}
    text = BIB.read_text(encoding="utf-8")
    for body in re.split(r"^@\w+\s*", text, flags=re.MULTILINE)[1:]:
        key, _, rest = body.strip().removeprefix("{").partition(",")
        fields = re.findall(r"(\w+)\s*=\s*\{((?:[^{}]|\{[^{}]*\})*)\}", rest)
        found[key.strip()] = {name.lower(): _plain(value) for name, value in fields}
    return found


_ACCENTS = {"'": "\u0301", '"': "\u0308", "`": "\u0300", "^": "\u0302", "~": "\u0303"}


def _plain(text: str) -> str:
    """Without TeX: accents as letters, no braces."""
    text = re.sub(r"\\(['\"`^~])\{?([A-Za-z])\}?", lambda m: m[2] + _ACCENTS[m[1]], text)
    return " ".join(text.replace("{", "").replace("}", "").replace("\\&", "&").split())


def cite(key: str, *, brackets: bool = False) -> str:
    """A link to a reference, as "Bradley and Terry 1952"."""
    fields = bibliography()[key]
    names = [name.split(",")[0].strip() for name in fields["author"].split(" and ") if name != "others"]
    more = len(names) > 2 or "others" in fields["author"]
    who = f"{names[0]} et al." if more else " and ".join(names)
    label = f"{who} {fields['year']}"
    return f"[{f'({label})' if brackets else label}](#ref-{key})"


_CODE = re.compile(r"(``.+?``|`[^`]+`)")


def docstring_lines(lines: list[str]) -> list[str]:
    """A docstring of the library, whose markup is a few bold words and code in backticks, as reStructuredText."""
    out: list[str] = []
    literal = False
    for line in lines:
        indented = line.startswith(" ")
        if line.startswith(">>>") or (literal and line.strip() and (indented or out[-1].startswith((">>>", "...")))):
            literal = True
            out.append(line)
            continue
        literal = literal and not line.strip() and out and out[-1].endswith("::")
        if line.startswith("**") and out and out[-1]:
            out.append("")  # each field is a paragraph of its own
        out.append(_escape(line.strip()))
        literal = literal or line.rstrip().endswith("::")
    return out


_KEY = re.compile(r"\b[a-z]+\d{4}[a-z]*\b")


def _reference(found: re.Match[str]) -> str:
    key = found[0]
    return f":ref:`{key} <ref-{key}>`" if key in bibliography() else key


def _escape(line: str) -> str:
    parts = _CODE.split(line)
    for i in range(0, len(parts), 2):
        bold = [re.sub(r"([|*\\]|(?<=\w)_(?!\w))", r"\\\1", piece) for piece in parts[i].split("**")]
        parts[i] = _KEY.sub(_reference, "**".join(bold))
    for i in range(1, len(parts), 2):
        # "\\ " keeps markup apart from a letter that it touches
        before = "\\ " if re.search(r"[^\s(\[{]$", parts[i - 1]) else ""
        after = "\\ " if re.match(r"\w", parts[i + 1]) else ""
        parts[i] = before + _code(parts[i]) + after
    return "".join(parts)


def _code(text: str) -> str:
    """Code in backticks; names of the public interface as links."""
    name = text.strip("`")
    public = name.removeprefix("jaxrank.")
    if not text.startswith("``") and public.split(".")[0] in jaxrank.__all__:
        return f":py:obj:`{name} <jaxrank.{public}>`"
    return f"``{name}``"
