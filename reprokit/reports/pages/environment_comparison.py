"""How two environments differ, and how a run on this host would differ from an earlier one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprokit.core.environment_record import DifferingFact

if TYPE_CHECKING:
    from reprokit.capture.forecast import Forecast

_SHOWN = 12
_NAMES = {"cpu": "CPU", "libc": "C library", "numerics": "numerics profile", "python": "Python"}
_SIGNS = {"yes": "can change numbers", "maybe": "may change numbers", "no": "cannot change numbers"}

Entries = Sequence[DifferingFact]


def headline(entries: Entries, *, same: bool) -> str:
    """Whether two records are the same in everything that can change numbers."""
    counts = {level: sum(entry["can_change_numbers"] == level for entry in entries) for level in _SIGNS}
    if not entries:
        return "The records are equal."
    if same:
        return f"Same numerics fingerprint; {counts['no']} differences that cannot change numbers."
    return f"Differs in {counts['yes'] + counts['maybe']} facts that can or may change numbers."


def difference_lines(entries: Entries, *, show_all: bool) -> Iterator[str]:
    """Differences in three groups; consecutive differences share one line with their reason."""
    for level, title in _SIGNS.items():
        rows = [entry for entry in entries if entry["can_change_numbers"] == level]
        cut = rows if show_all else rows[:_SHOWN]
        if rows:
            yield f"{title} ({len(rows)})"
        why = None
        for entry in cut:
            if entry["why"] != why:
                why = entry["why"]
                yield f"  {why}:"
            yield f"    {entry['field']}: {_value_text(entry['expected'])} → {_value_text(entry['actual'])}"
        if len(rows) > len(cut):
            yield f"    … and {len(rows) - len(cut)} more (--all)"


def forecast_lines(found: Forecast, *, record: Path, environment: str, show_all: bool) -> Iterator[str]:
    """What a run here will share with a record, what not, and what follows."""
    yield f"{'Record':<15} {record}, of {found.platform}"
    yield f"{'This host':<15} {', '.join(found.host_platforms)}"
    yield f"{'Environment':<15} {environment}"
    yield ""
    yield f"{'Will match':<15} {_counted_names(found.matches)}"
    yield f"{'After a run':<15} {_counted_names(found.open)}"
    if found.differences:
        yield "Will not match"
        yield from (f"  {line}" for line in difference_lines(found.differences, show_all=show_all))
    else:
        yield "Will not match  nothing known before a run"
    yield ""
    yield _outlook(found)


def _outlook(found: Forecast) -> str:
    """What follows, in one line."""
    if not found.same_platform:
        return "Another platform: the numbers are not comparable; this one needs a golden of its own."
    if found.differences:
        return "Another environment: if the numbers differ here, the verdict is STALE_GOLDEN, not REGRESSION."
    return "No known difference can change the numbers."


def _counted_names(fields: Sequence[str]) -> str:
    """``inside.packages.numpy``, ``inside.packages.torch`` → ``packages (2)``."""
    names: dict[str, int] = {}
    for field in fields:
        parts = field.split(".")
        name = parts[1] if parts[0] in {"inside", "host"} and len(parts) > 1 else parts[0]
        name = _NAMES.get(name, name)
        names[name] = names.get(name, 0) + 1
    return ", ".join(f"{name} ({count})" if count > 1 else name for name, count in names.items()) or "nothing"


def _value_text(value: Any) -> str:
    if value is None:
        return "absent"
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return (text if len(text) <= 60 else f"{text[:57]}…") or "(none)"
