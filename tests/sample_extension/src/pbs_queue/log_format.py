"""Logs of the form ``step=10|loss=0.25``, one record a line, in files called ``*.pbslog``."""

from collections.abc import Iterator
from pathlib import Path

from reprokit.api import MetricsError
from reprokit.api.extensions import LogFormat, Reading


def read(path: Path) -> Iterator[Reading]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MetricsError("the log cannot be read", where=str(path)) from error
    if not text:
        yield Reading(line=None, record=None, notes=(("empty_file", ""),))
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        try:
            record = dict(_pair(word) for word in _whole(line).split("|"))
        except ValueError:
            yield Reading(line=number, record=None, notes=(("torn_line", line[:40]),))
            continue
        yield Reading(line=number, record=record)


def _whole(line: str) -> str:
    if not line.endswith("\n"):
        raise ValueError("the last line may be cut off")
    return line[:-1]


def _pair(word: str) -> tuple[str, int | float]:
    name, _, value = word.partition("=")
    return name, int(value) if value.lstrip("-").isdigit() else float(value)


FORMAT = LogFormat(patterns=("*.pbslog",), read=read)
