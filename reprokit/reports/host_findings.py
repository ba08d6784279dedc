"""What `reprokit doctor` found on this host, as lines, with the command that would fix each lack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from reprokit.reports.tables import folded


class Finding(Protocol):
    """One thing that was looked at; ``doctor.Finding`` says what each part means."""

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def detail(self) -> str: ...
    @property
    def fix(self) -> str: ...
    @property
    def notes(self) -> Sequence[str]: ...


def finding_lines(findings: Sequence[Finding], *, ready: bool) -> Iterator[str]:
    """Every finding with its notes and its fix, then whether the host is ready."""
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        line = f"{finding.state:<8} {finding.name:<{width}}  {finding.detail}"
        yield folded(line, indent=width + 11)
        below = [*finding.notes, *([f"→ {finding.fix}"] if finding.fix else [])]
        yield from (folded(f"{'':<9}{text}", indent=11) for text in below)
    yield ""
    yield "Ready." if ready else "Not ready: see the lines that say lack."
