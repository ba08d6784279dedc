"""A file that is one JSON document: an object is a record, an array of objects a record each.

Several files of one folder that are called alike but for a number, such as ``metrics_epoch_0.json`` and so
on, are one source, a record each; where the record has no step, the number is its ``step``.

    >>> next(read(Path("results.json"))).record
    {'accuracy': 0.97, 'per_class/cat': 0.95}
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.adapters.jsonl.jsonl_line import flattened, read_line
from reprokit.adapters.reading import Note, Reading, open_file
from reprokit.core.comparing import steps

NAME = "json"
ORDER = 110
WHOLE_FOLDER = False
PATTERNS = ("metrics.json", "*.json")

MAX_BYTES = 32 << 20

#: Words in the names of documents that hold results; others hold settings.
_RESULTS = re.compile(
    r"metric|result|score|hist|eval|valid|test|log|loss|stat|summary|scalar|progress|epoch|perf|bench",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?P<begin>.*?)(?P<number>\d{1,12})(?P<end>\D*)\.json", re.ASCII | re.IGNORECASE)


def reads(_path: Path) -> bool:
    """Whatever has such a name is read."""
    return True


def read(path: Path) -> Iterator[Reading]:
    """The records of a document, or of each document of a series in a folder.

    Raises:
        MetricsError: A file cannot be opened.
    """
    if not path.is_dir():
        yield from _of_document(path)
        return
    series = numbered(names_in(path))
    for number, members in sorted(_by_number(series).items()):
        record: dict[str, Any] = {}
        notes: list[Note] = []
        for begin, name in members:
            prefix = f"{begin}:" if len(series) > 1 else ""
            found = list(_of_document(path / name))
            notes += [note for reading in found if reading.record is None for note in reading.notes]
            if len(found) != 1:
                notes.append(("not_an_object", f"'{name}' holds {len(found)} records"))
            for reading in found:
                record |= {f"{prefix}{one}": value for one, value in (reading.record or {}).items()}
        step = {} if steps.name_in(record) else {"step": number}
        yield Reading(line=number, record=None if notes else {**step, **record}, notes=tuple(notes))


def is_of_results(name: str) -> bool:
    """Whether a document is called like one with results."""
    return _RESULTS.search(name) is not None


def names_in(folder: Path) -> list[str]:
    """Names of the plain files of a folder, sorted; a link may lead anywhere."""
    return sorted(one.name for one in folder.iterdir() if one.is_file() and not one.is_symlink())


def numbered(names: Sequence[str]) -> Mapping[str, Mapping[int, str]]:
    """Of the documents of a folder that are called alike but for a number: the rest → number → name."""
    found: dict[str, dict[int, list[str]]] = {}
    for name in filter(is_of_results, names):
        match = _NUMBERED.fullmatch(name)
        if match:
            of_series = found.setdefault(f"{match['begin']}{match['end']}", {})
            of_series.setdefault(int(match["number"]), []).append(name)
    return {
        rest: {number: one for number, (one,) in members.items()}
        for rest, members in found.items()
        if len(members) > 1 and all(len(member) == 1 for member in members.values())
    }


def _by_number(series: Mapping[str, Mapping[int, str]]) -> dict[int, list[tuple[str, str]]]:
    found: dict[int, list[tuple[str, str]]] = {}
    for begin, members in series.items():
        for number, name in members.items():
            found.setdefault(number, []).append((begin, name))
    return found


def _of_document(path: Path) -> Iterator[Reading]:
    with os.fdopen(open_file(path), "rb") as file:
        data = file.read(MAX_BYTES + 1)
    problem = _problem(data)
    if problem is not None:
        yield Reading(line=None, record=None, notes=(problem,))
        return
    if not data.lstrip().startswith(b"["):
        whole = read_line(data.strip(), number=1)
        if whole.record is None:
            yield whole
            return
        for number, record in enumerate(_turned(flattened(whole.record)), start=1):
            yield Reading(line=number, record=record)
        return
    whole = read_line(b'{"list":' + data + b"}", number=1)
    if whole.record is None:
        yield whole
        return
    for number, entry in enumerate(whole.record["list"], start=1):
        if isinstance(entry, str):
            yield Reading(
                line=number, record=None, notes=(("not_an_object", f"entry {number} of the array"),)
            )
        else:
            yield Reading(
                line=number, record=flattened(entry) if isinstance(entry, dict) else {"value": entry}
            )


def _turned(record: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The records in an object of lists of one length, such as Keras's history; else the object."""
    columns = list(record.values())
    lengths = {len(one) if isinstance(one, list) else 0 for one in columns}
    is_table = len(lengths) == 1 and min(lengths) > 1
    if not is_table or any(isinstance(one, list | dict) for column in columns for one in column):
        return [record]
    return [dict(zip(record, row, strict=True)) for row in zip(*columns, strict=True)]


def _problem(data: bytes) -> Note | None:
    if not data:
        return "empty_file", ""
    if len(data) > MAX_BYTES:
        return "too_large", f"more than {MAX_BYTES >> 20} MiB"
    return None if data.strip() else ("blank_line", "")
