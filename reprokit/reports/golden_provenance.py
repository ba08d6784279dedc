"""Where a golden comes from, as lines: when, why, from what, on what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reprokit.reports.escaping import one_line

_KEYS = ("recipe", "platform", "seed", "created_at", "reason", "runs_agreed", "previous", "fingerprint")


def provenance_lines(provenance: Mapping[str, Any]) -> Iterator[str]:
    """The lines of ``provenance.json`` that people ask for."""
    for key in _KEYS:
        value = provenance[key]
        yield f"{key:<12} {one_line(value if value is not None else 'none: the first golden')}"
    for name, value in provenance["digests"].items():
        yield f"  {one_line(name):<10} {one_line(value)}"
    for name, value in provenance["image"].items():
        yield f"  {one_line('image ' + name):<12} {one_line(value)}"
