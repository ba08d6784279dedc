"""Search a log for patterns: a program of its own, so that it can be stopped.

``python -I -S printed_search.py '{"patterns": […], "limit_s": 20, "line_bytes": 4194304}' < stdout.log``
prints a line of JSON for each line that a pattern fits: its number, the named groups as text, and null or the
name of a group that begins or ends inside a number (3.41 of 93.41, 5 of -5, 8.1 of 8.1e-05) with "begins" or
"ends"; null in place of groups for a line that is longer than ``line_bytes``. A bar that is drawn again by a
carriage return is a line each time; a pattern that begins with ``(?#final)``, a comment to ``re``, looks only
at lines that end with a line feed.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from typing import Any, NoReturn

TOO_SLOW = 9
FINAL = "(?#final)"
#: Of processor time, and three times as much by the clock: on a loaded machine it would take minutes else.
_LIMITS = ((signal.SIGPROF, signal.ITIMER_PROF, 1), (signal.SIGALRM, signal.ITIMER_REAL, 3))
_LINE_ENDS = re.compile(rb"[\r\n]+")
_GOES_ON = re.compile(r"\.\d|[eE][-+]?\d", re.ASCII)
_BEGAN = re.compile(r"(?:\d|\d\.|(?:^|[\s:=(\[{,|])-)$", re.ASCII)
#: How a pattern ends that names the digit, point or sign before its group.
_NAMES_IT = re.compile(r"(?:\d|\\d(?:[+*?]|\{\d+\})?\??|\.|\[\.\]|-\??|\[[^\]^]*-[^\]]*\]\??)$", re.ASCII)
_LONGEST_BEFORE = 2


def search(content: bytes, asked: dict[str, Any]) -> None:
    """Print what is found; ends the process with ``TOO_SLOW`` and the number of the line."""
    patterns = [(re.compile(pattern), pattern.startswith(FINAL)) for pattern in asked["patterns"]]
    number = end = 0

    def stop(_number: int, _frame: Any) -> NoReturn:
        sys.stderr.write(str(number))
        sys.stderr.flush()
        sys.exit(TOO_SLOW)

    for number_of, timer, times in _LIMITS:
        signal.signal(number_of, stop)
        signal.setitimer(timer, times * asked["limit_s"])
    for number, line in enumerate(_LINE_ENDS.split(content), start=1):
        begin = end
        ended = _LINE_ENDS.match(content, begin + len(line))
        end = ended.end() if ended else len(content)
        is_final = ended is None or b"\n" in ended[0]
        if len(line) > asked["line_bytes"]:
            sys.stdout.write(f"{json.dumps([number, None, None])}\n")
            continue
        text = line.decode("utf-8", errors="backslashreplace")
        tried = (pattern for pattern, is_of_final in patterns if is_final or not is_of_final)
        match = next((match for pattern in tried if (match := pattern.search(text))), None)
        if match:
            groups = {name: value for name, value in match.groupdict().items() if value is not None}
            sys.stdout.write(f"{json.dumps([number, groups, _cut(match)])}\n")


def _cut(match: re.Match[str]) -> tuple[str, str] | None:
    """The group that begins or ends inside a number; a pattern that names the rest of it was meant so."""
    groups = match.re.groupindex
    for name in groups:
        if _begins_inside(match, name):
            return name, "begins"
    if not match[0][-1:].isdigit() or not _GOES_ON.match(match.string, match.end()):
        return None
    return next(((name, "ends") for name in groups if match.end(name) == match.end()), None)


def _begins_inside(match: re.Match[str], name: str) -> bool:
    begin = match.start(name)
    if not (match[name] or "")[:1].isdigit() or begin in {match.end(other) for other in match.re.groupindex}:
        return False
    before = match.string[max(0, begin - _LONGEST_BEFORE) : begin]
    return bool(_BEGAN.search(before)) and not _NAMES_IT.search(match.re.pattern.partition(f"(?P<{name}>")[0])


if __name__ == "__main__":
    search(sys.stdin.buffer.read(), json.loads(sys.argv[1]))
