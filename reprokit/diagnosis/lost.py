"""Which variable a resumed run lost: a loop's variables where it goes on, against the whole run's.

This module knows the hook's rounds and Python source; it refuses to know how a run is stopped.

    >>> lost_states(whole, resumed)[0].name
    'velocity'
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit.diagnosis.traces import Trace

Round = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A variable that did not come back.

    Attributes:
        name: Of the variable.
        file: Of the program.
        line: Where it gets its value before the loop, or of the loop.
        function: That the loop stands in.
        round: Of the whole run, from 0, at which the resumed run goes on.
    """

    name: str
    file: str
    line: int
    function: str
    round: int


def lost_states(whole: Trace, resumed: Trace) -> tuple[Lost, ...]:
    """Variables that change from round to round, and are not what they were where the resumed run goes on.

    Args:
        whole: The trace of an uninterrupted run, its loops remembered.
        resumed: That of a run that was stopped and resumed.
    """
    loops, later = whole.facts.get("loops") or {}, resumed.facts.get("loops") or {}
    for name, rounds in loops.items():
        file, line, function = name.rsplit("|", 2)
        if not later.get(name):
            continue
        at = _same_round(rounds, later[name][0])
        if at is None:
            continue
        missing = _missing(rounds, later[name][0], at)
        if missing:
            return tuple(
                Lost(
                    name=one,
                    file=file,
                    line=_assigned(file, one, before=int(line)),
                    function=function,
                    round=at,
                )
                for one in missing
            )
    return ()


def _same_round(rounds: Sequence[Round], first: Round) -> int | None:
    """The round that a resumed run's first is most like: later than the first, in something that changes."""
    changing = _changing(rounds)
    alike = [sum(one.get(name) == first.get(name) for name in changing) for one in rounds]
    best = max(alike, default=0)
    at = alike.index(best) if best else 0
    return at or None


def _missing(rounds: Sequence[Round], first: Round, at: int) -> list[str]:
    there = rounds[at]
    return [
        name for name in _changing(rounds) if name in there and name in first and there[name] != first[name]
    ]


def _changing(rounds: Sequence[Round]) -> list[str]:
    names = dict.fromkeys(name for one in rounds for name in one)
    return [name for name in names if len({one[name] for one in rounds if name in one}) > 1]


def _assigned(file: str, name: str, *, before: int) -> int:
    """The last line before the loop that gives the variable a value; the loop's own where none does."""
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return before
    lines = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Store)
        and node.lineno < before
    ]
    return max(lines, default=before)
