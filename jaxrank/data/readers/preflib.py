"""PrefLib: ordered lists with counts: ``.soc`` complete, ``.soi`` incomplete, ``.toc`` and ``.toi`` with ties."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxrank.data.rankings import Rankings
from jaxrank.data.readers.columns import shown
from jaxrank.data.readers.files import suffixes_of, text_of
from jaxrank.data.readers.logs import Format, LogOptions
from jaxrank.data.readers.source import Source
from jaxrank.errors import DataError

SUFFIXES = (".soc", ".soi", ".toc", ".toi")
_NAME = re.compile(r"#\s*ALTERNATIVE NAME (\d+):\s*(.*)", re.IGNORECASE)
_VOTERS = re.compile(r"#\s*NUMBER VOTERS:\s*(\d+)", re.IGNORECASE)
_ORDER = re.compile(r"(\d+)\s*:\s*(.+)")
_GROUP = re.compile(r"\{([\d,\s]*)\}|(\d+)")


def sniff(source: Source) -> bool:
    return suffixes_of(source.path)[1] in SUFFIXES


def read(sources: list[Source], options: LogOptions) -> Rankings:
    """Orders with their counts and the names of the alternatives; alternatives that an order leaves out took no part.

    Files of several elections with the same names are one set of orders."""
    orders: list[list[list[str]]] = []
    counts: list[int] = []
    names: dict[str, None] = {}
    notes = []
    for source in sources:
        known = {}
        voters = None
        found = 0
        for number, line in enumerate(text_of(source.path).splitlines(), 1):
            if match := _NAME.match(line):
                known[match[1]] = match[2].strip() or match[1]
            elif match := _VOTERS.match(line):
                voters = int(match[1])
            elif line.strip() and not line.startswith("#"):
                count, order = _order(line, known, f"{source.name}: line {number}")
                orders.append(order)
                counts.append(count)
                found += count
        if not found:
            raise DataError(f"{source.name} holds no orders")
        if voters is not None and voters != found:
            raise DataError(
                f"{source.name} says {voters} voters, and its orders are those of {found}: the file is cut off"
            )
        names |= dict.fromkeys(known.values())
    listed = {name for order in orders for group in order for name in group}
    if never := [name for name in names if name not in listed]:
        notes.append(f"{len(never)} alternatives are in no order and were left out ({', '.join(never[:3])})")
    models = [name for name in names if name in listed]
    files = sources[0].path.name if len(sources) == 1 else f"{len(sources)} files"
    notes.insert(0, f"read {len(orders)} distinct orders of {sum(counts)} voters of {files} (PrefLib)")
    return Rankings(orders, models, counts, notes=notes)


def _order(line: str, known: dict[str, str], where: str) -> tuple[int, list[list[str]]]:
    match = _ORDER.fullmatch(line.strip())
    if match is None:
        raise DataError(f"{where}: {shown(line)} is not an order; it must be a count, a colon and alternatives")
    order = [_members(group, known, where) for group in _groups(match[2], where)]
    flat = [name for group in order for name in group]
    if len(set(flat)) < len(flat):
        raise DataError(f"{where} lists {next(n for n in flat if flat.count(n) > 1)!r} twice")
    return int(match[1]), [group for group in order if group]


def _groups(text: str, where: str) -> Iterator[list[str]]:
    end = 0
    for match in _GROUP.finditer(text):
        if text[end : match.start()].strip(" ,"):
            break
        end = match.end()
        yield [match[2]] if match[2] else [number.strip() for number in match[1].split(",") if number.strip()]
    if text[end:].strip(" ,"):
        raise DataError(f"{where}: {shown(text[end:])} is not a list of alternatives; ties stand in braces")


def _members(group: list[str], known: dict[str, str], where: str) -> list[str]:
    if unknown := [number for number in group if number not in known]:
        raise DataError(f"{where}: alternative {unknown[0]} has no name in the header")
    return [known[number] for number in group]


FORMAT = Format(
    "preflib",
    sniff,
    read,
    files="`.soc`, `.soi`, `.toc`, `.toi`: ordered lists with counts",
    trials="orders",
    options="",
    suffixes=SUFFIXES,
)
