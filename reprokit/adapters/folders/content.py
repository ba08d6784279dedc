"""Who reads a file whose name many programs use for many things, such as ``log.txt`` or ``results.json``.

The first bytes of the file say it.

    >>> form_of(Path("log.txt"))
    'jsonl'
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePath

from reprokit.adapters import from_csv, from_json, from_jsonl, from_printed
from reprokit.adapters.folders import held_numbers
from reprokit.adapters.jsonl.jsonl_line import read_line
from reprokit.adapters.reading import open_file
from reprokit.errors import MetricsError

#: Endings of names that say little about what is inside.
ENDINGS = frozenset({".json", ".txt", ".log", ".out", ".dat"})

_LOOKED_AT_BYTES = 1 << 18
#: So many files of such names are samples, not logs.
MOST_FILES = 1_000
_NAME = re.compile(r"[^\W\d][\w ./()%@#:-]{0,80}")


def form_of(path: Path) -> str:
    """The adapter of a file with one of the ``ENDINGS``; "" where it holds nothing like a log of numbers."""
    try:
        with os.fdopen(open_file(path), "rb") as file:
            begun = file.read(_LOOKED_AT_BYTES)
    except MetricsError:
        return ""
    lines = [line for line in begun.split(b"\n")[:20] if line.strip()]
    if path.suffix.lower() == ".json":
        return from_jsonl.NAME if _are_records(lines, at_least=2) else from_json.NAME
    num_objects = sum(line.lstrip().startswith(b"{") for line in lines)
    if _are_records(lines, at_least=1) and 2 * num_objects > len(lines):  # else a log with an object in it
        return from_jsonl.NAME
    return from_csv.NAME if _is_table(lines) else ""


def holds_numbers(path: Path) -> bool:
    """Whether a file would be read as metrics, if it were a log of the run."""
    return bool(form_of(path)) or from_printed.reads(path)


def forms_in(folder: Path, places: Sequence[PurePath], *, printed: bool) -> dict[PurePath, str]:
    """Of files of a folder with such names, each that holds numbers → its adapter.

    Documents that are numbered are their folder together. Logs with ``printed`` lines come only where asked
    for, then alone, or where there is nothing else. Of very many files there are none: they are samples.
    """
    if len(places) > MOST_FILES:
        return {}
    found = {} if printed else {place: form_of(folder / place) for place in places}
    documents = {place for place, form in found.items() if form == from_json.NAME}
    taken = {place: form for place, form in found.items() if form and place not in documents}
    for parent in {place.parent for place in documents}:
        names = [
            document.name
            for document in documents
            if document.parent == parent and from_json.is_of_results(document.name)
        ]
        in_series = from_json.numbered(names)
        if in_series:
            taken[parent] = from_json.NAME
        single = {*names} - {name for series in in_series.values() for name in series.values()}
        taken |= {parent / name: from_json.NAME for name in single}
    return taken or {
        place: from_printed.NAME
        for place in places
        if place.suffix.lower() != ".json" and from_printed.reads(folder / place)
    }


def _are_records(lines: Sequence[bytes], *, at_least: int) -> bool:
    """Whether the first lines are objects with a number in them."""
    records = [read_line(line.rstrip(b"\r"), number=1).record for line in lines[:at_least]]
    return len(records) == at_least and all(record and held_numbers.in_value(record) for record in records)


def _is_table(lines: Sequence[bytes]) -> bool:
    """Whether there is a header of names above two rows of as many cells with a number among them."""
    texts = [line.decode("utf-8", "replace").rstrip("\r") for line in lines if not line.startswith(b"#")][:3]
    for delimiter in ",;\t":
        try:
            rows = list(csv.reader(texts, delimiter=delimiter))
        except csv.Error:
            return False
        if len(rows) < 2 or len(rows[0]) < 2 or len({*map(len, rows)}) > 1:
            continue
        return all(_NAME.fullmatch(name.strip()) for name in rows[0]) and all(
            any(from_csv.is_number(cell) for cell in row) for row in rows[1:]
        )
    return False
