"""Whether a variation was in force in the run that was made for it: what the run's own processes recorded.

What the hook records is in ``reprokit_hook/conditions.py``; what a variation must show is its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reprokit.variations import Variation

CONDITIONS = "conditions "
#: Process → what it recorded when it started.
Seen = Mapping[str, Mapping[str, Any]]
_NO_RECORD = (
    "no process of it recorded its conditions: the hook was not loaded (python -I, -E or -S, or no Python)"
)


def expected_of(one: Variation) -> dict[str, Any]:
    """What a run under a variation must show, as data."""
    return {
        "varies": list(one.vary),
        "variables": dict(one.environment),
        "shows": {name: list(values) for name, values in one.shows.items()},
        "differs": list(one.differs),
        "everywhere": bool(one.cpu),
    }


def conditions_of(facts: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What each process of a run recorded, from the facts of its trace."""
    return {
        name.removeprefix(CONDITIONS): told
        for name, told in facts.items()
        if name.startswith(CONDITIONS) and isinstance(told, Mapping)
    }


def why_not_in_force(expected: Mapping[str, Any], seen: Seen, *, before: Seen) -> str:
    """Why a variation does not count as made, without a full stop; "" where it was in force.

    Args:
        expected: Of ``expected_of``.
        seen: What the processes of the varied run recorded.
        before: What those of the run recorded of which nothing is varied; empty where that is not known.

    What a program starts may choose conditions of its own; only an emulator must be everywhere, since it does
    not follow by itself.
    """
    started = {name: one for name, one in seen.items() if expected.get("everywhere") or "." not in name}
    if not started:
        return _NO_RECORD
    for name, one in sorted(started.items()):
        why = next(_faults(expected, one, before.get(name) or before.get("0") or {}), "")
        if why:
            whose = "the program" if name == "0" else f"process {name} of the program"
            return f"it was not in force in {whose}: {why}"
    return ""


def _faults(expected: Mapping[str, Any], seen: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[str]:
    if not set(expected.get("varies") or ()) <= set(seen.get("varies") or ()):
        yield "the hook had no orders for it"
    variables = seen.get("variables") or {}
    for name, value in (expected.get("variables") or {}).items():
        if not str(variables.get(name) or "").endswith(value.rpartition("}")[2]):  # behind a placeholder
            yield f"the variable {name} was {variables.get(name)!r}, not {value!r}"
    for name, values in (expected.get("shows") or {}).items():
        found = variables.get(name) if name in variables else seen.get(name)
        if found not in values:
            wanted = " or ".join(map(str, values))
            yield f"{_words(name)} was {'not known' if found is None else found}, not {wanted}"
    for name in expected.get("differs") or ():
        if seen.get(name) is None:
            yield f"{_words(name)} could not be read there"
        elif seen.get(name) == before.get(name):
            yield f"{_words(name)} was the same as without it: {_shown(seen[name])}"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
