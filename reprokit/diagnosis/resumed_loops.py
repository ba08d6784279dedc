"""Where a resumed run began: a loop's variables in its first round, against the whole run's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reprokit.diagnosis.traces import HookTrace

Round = Mapping[str, str]
Loops = Mapping[str, Sequence[Round]]
LATER, ANEW, UNKNOWN = "later", "anew", "unknown"


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


def _changing(rounds: Sequence[Round]) -> list[str]:
    names = dict.fromkeys(name for one in rounds for name in one)
    return [name for name in names if len({one[name] for one in rounds if name in one}) > 1]
