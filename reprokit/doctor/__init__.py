"""Checks whether this host is ready: ``look`` reads the host, ``examine`` judges what was read.

>>> is_ready(examine(look(Path("."))))
True
"""

from __future__ import annotations

from reprokit.doctor.finding import FindingState, HostFinding
from reprokit.doctor.findings import examine, is_ready
from reprokit.doctor.host_facts import HostFacts, look

__all__ = ["FindingState", "HostFacts", "HostFinding", "examine", "is_ready", "look"]
