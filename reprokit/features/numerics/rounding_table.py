"""How operations round in an environment, and which round differently in another, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from reprokit.core.rounding import RoundingComparison
from reprokit.reports.tables import shown, table

_SHOWN = 5


def page_lines(
    found: Mapping[str, Any], *, compared: RoundingComparison | None, theirs: Mapping[str, Any] | None
) -> Iterator[str]:
    """One line for each operation with the digest of its result, and how many agree with another probe's.

    ``found`` is what ``rounding.check`` returns here, ``theirs`` the other probe's
    answer.
    """
    held = found["numerics"] or {}
    where = f"{found['variant']} ({found['backend']}), CPU {found['cpu'] or 'unknown'}"
    yield shown(f"profile {held.get('profile')} version {held.get('version')}, {where}")
    digests = found["probe"]["digests"]
    other = {} if theirs is None else theirs["digests"]
    yield from table(
        [
            {"operation": name, "digest": digests[name]} | ({"other": other[name]} if compared else {})
            for name in (digests if compared is None else compared.differing)
        ]
    )
    if compared is None:
        yield f"{len(digests)} operations"
    elif compared.because:
        yield f"nothing can be compared: {shown(compared.because)}"
    else:
        same = compared.compared - len(compared.differing)
        yield f"{same} of {compared.compared} operations round alike, {len(compared.differing)} differently"
        if compared.only_one:
            names = ", ".join(map(shown, compared.only_one[:_SHOWN]))
            more = f" and {len(compared.only_one) - _SHOWN} more" if compared.only_one[_SHOWN:] else ""
            yield f"on one side only, so not compared: {names}{more}"


def warning_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Settings that are not in force, and operations that were not run."""
    for lack in (found["numerics"] or {}).get("missing") or ():
        yield f"warning: {shown(lack['name'])} is not in force: {shown(lack['why'])}"
    for name, why in (found["probe"].get("missing") or {}).items():
        yield f"not run: {shown(name)}: {shown(why)}"


def to_data(found: Mapping[str, Any], *, compared: RoundingComparison | None) -> dict[str, Any]:
    """The same for ``--json``."""
    return {**found, "comparison": None if compared is None else asdict(compared)}
