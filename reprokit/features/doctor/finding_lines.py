"""What `reprokit doctor` found on this host, as lines, with the command that fixes each problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reprokit.reports.tables import folded


def finding_lines(findings: Sequence[Any], *, ready: bool) -> Iterator[str]:
    """Every ``doctor.Finding`` with its notes and its fix, then whether the host is ready."""
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        line = f"{finding.state:<8} {finding.name:<{width}}  {finding.detail}"
        yield folded(line, indent=width + 11)
        below = [*finding.notes, *([f"→ {finding.fix}"] if finding.fix else [])]
        yield from (folded(f"{'':<9}{text}", indent=11) for text in below)
    yield ""
    yield "Ready." if ready else "Not ready: see the lines marked lack."
