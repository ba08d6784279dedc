"""Which variable a resumed run lost: a loop's variables where it continues, against the whole run's."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit.diagnosis.traces import HookTrace

Round = Mapping[str, str]
Loops = Mapping[str, Sequence[Round]]
LATER, ANEW, UNKNOWN = "later", "anew", "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A lost variable, the line that sets it, and the round of the whole run where the resumed begins."""

    name: str
    file: str
    line: int
    function: str
    round: int


def lost_states(whole: HookTrace, resumed: HookTrace, *, again: HookTrace) -> tuple[Lost, ...]:
    """Variables that change from round to round and differ where the resumed run continues.

    ``again`` is a second uninterrupted run: what differs there, such as a clock, is no state.
    """
    for name, rounds, first in _common(whole, resumed, again):
        file, line, function = name.rsplit("|", 2)
        at = _same_round(rounds, first)
        missing = _missing(rounds, first, at) if at is not None else []
        if at is not None and missing:
            lines = [_assigned(file, one, before=int(line)) for one in missing]
            return tuple(
                Lost(name=one, file=file, line=assigned, function=function, round=at)
                for one, assigned in zip(missing, lines, strict=True)
            )
    return ()


def where_begun(whole: HookTrace, stopped: HookTrace | None, resumed: HookTrace, *, again: HookTrace) -> str:
    """Where a resumed run began: ``later`` than the whole run, ``anew``, or ``unknown``.

    Only loops that the stopped run cut short show it, or where none was stopped those of which the resumed
    run makes fewer rounds. Loops with too many rounds to be recorded do not.
    """
    later = _loops(resumed)
    cut = later if stopped is None else _loops(stopped)
    anew = False
    for name, rounds, first in _common(whole, resumed, again):
        if not 0 < len(cut.get(name, ())) < len(rounds):
            continue
        if _same_round(rounds, first) is not None:
            return LATER
        both = [one for one in _changing(rounds) if one in rounds[0] and one in first]
        alike = bool(both) and all(rounds[0][one] == first[one] for one in both)
        anew |= alike and len(later[name]) == len(rounds)
    return ANEW if anew else UNKNOWN


def _loops(trace: HookTrace) -> Loops:
    return trace.facts.get("loops") or {}


def _common(
    whole: HookTrace, resumed: HookTrace, again: HookTrace
) -> Iterator[tuple[str, list[Round], Round]]:
    """Loops of both: the whole run's rounds and the resumed one's first, without what differs anyway."""
    later, second = _loops(resumed), _loops(again)
    for name, rounds in _loops(whole).items():
        if rounds and later.get(name):
            noisy = {
                key
                for one, two in zip(rounds, second.get(name, ()), strict=False)
                for key in one
                if one[key] != two.get(key)
            }
            steady: list[Round] = [{key: one[key] for key in one if key not in noisy} for one in rounds]
            yield name, steady, later[name][0]


def _same_round(rounds: Sequence[Round], first: Round) -> int | None:
    """The round that a resumed run's first is most like: later than the first, in something that changes."""
    changing = _changing(rounds)
    alike = [
        sum(name in one and name in first and one[name] == first[name] for name in changing) for one in rounds
    ]
    best = max(alike, default=0)
    at = alike.index(best) if best else 0
    return at or None


def _missing(rounds: Sequence[Round], first: Round, at: int) -> list[str]:
    both = [name for name in _changing(rounds) if name in rounds[at] and name in first]
    return [name for name in both if rounds[at][name] != first[name]]


def _changing(rounds: Sequence[Round]) -> list[str]:
    names = dict.fromkeys(name for one in rounds for name in one)
    return [name for name in names if len({one[name] for one in rounds if name in one}) > 1]


def _assigned(file: str, name: str, *, before: int) -> int:
    """The last line before the loop that gives the variable a value; the loop's own where none does."""
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
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
