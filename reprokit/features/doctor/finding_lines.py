"""What `reprokit doctor` found on this host, as lines, with the command that fixes each problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reprokit.reports.tables import folded

_BY_WEIGHT = ("lack", "warning", "absent", "ok")
_MARGIN = 9


def finding_lines(findings: Sequence[Any], *, ready: bool, verbose: bool = False) -> Iterator[str]:
    """Whether the host is ready, then every ``doctor.Finding``, what blocks first.

    What is fine or optional is only named, and notes are counted, unless ``verbose``.
    """
    found = sorted(findings, key=lambda finding: _BY_WEIGHT.index(finding.state))
    blocking = [finding.name for finding in found if finding.state == "lack"]
    yield "Ready." if ready else f"Not ready: see {', '.join(blocking)}."
    shown = [finding for finding in found if verbose or finding.state in ("lack", "warning")]
    width = max((len(finding.name) for finding in shown), default=0)
    for finding in shown:
        line = f"{finding.state:<8} {finding.name:<{width}}  {finding.detail}"
        yield folded(line, indent=width + 11)
        notes = finding.notes if verbose else _counted(finding.notes)
        below = [*notes, *([f"→ {finding.fix}"] if finding.fix else [])]
        yield from (folded(f"{'':<{_MARGIN}}{text}", indent=_MARGIN + 2) for text in below)
    if not verbose:
        yield from _named(found)


def _counted(notes: Sequence[str]) -> list[str]:
    return [f"{len(notes)} advisories (-v shows them)"] if len(notes) > 1 else list(notes)


def _named(findings: Sequence[Any]) -> Iterator[str]:
    """The names of what is optional and not there, and of what is fine."""
    for state in ("absent", "ok"):
        names = [finding.name for finding in findings if finding.state == state]
        if names:
            more = " (optional; -v says more)" if state == "absent" else ""
            yield folded(f"{state:<{_MARGIN}}{', '.join(names)}{more}", indent=_MARGIN)
