"""The lab's log: lines such as ``@step 3 loss=0.5 phase=warmup``; comments begin with ``#``."""

import re

from reprokit.api import MetricsError
from reprokit.api.extensions import LogFormat, Reading

INTEGER = re.compile(r"[-+]?[0-9]+")
FLOAT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?(nan|inf)")


def read(path):
    """Yield a reading for each line that is no comment."""
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.startswith(b"#"):
                    yield reading(number, line)
    except OSError as error:
        raise MetricsError("the log cannot be read", where=str(path)) from error


def reading(number, line):
    """One line: its record, or a note that says why it has none."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return Reading(line=number, record=None, notes=(("invalid_utf8", ""),))
    try:
        return Reading(line=number, record=record(text))
    except ValueError:
        return Reading(line=number, record=None, notes=(("torn_line", text[:40]),))


def record(text):
    """Names and values of a whole line; a `ValueError` where it is not one."""
    if not text.endswith("\n"):
        raise ValueError("the line has no end")
    mark, step, *pairs = text[:-1].split(" ")
    if mark != "@step" or not INTEGER.fullmatch(step):
        raise ValueError("the line does not begin with @step and a number")
    values = {"step": int(step)}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals or not value or name in values:
            raise ValueError(f"{pair} is no pair, or comes twice")
        values[name] = number_or_text(value)
    return values


def number_or_text(word):
    """A number or the word itself; a `ValueError` where an integer has more digits than Python reads."""
    if INTEGER.fullmatch(word):
        return int(word)
    return float(word) if FLOAT.fullmatch(word) else word


FORMAT = LogFormat(patterns=("*.lab",), read=read)
