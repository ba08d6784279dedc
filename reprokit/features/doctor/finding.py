"""One line of the doctor's page, and how it is made."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FindingState(StrEnum):
    """What a finding means: fine, works with limits, does not work, or optional and not there."""

    OK = "ok"
    WARNING = "warning"
    LACK = "lack"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFinding:
    """One line of the doctor's page."""

    name: str  # what was looked at
    state: FindingState  # LACK keeps the host from being ready; WARNING and ABSENT do not
    detail: str  # what was found, one sentence without a full stop
    fix: str = ""  # the command or step that would help; empty when nothing is to be done
    notes: tuple[str, ...] = ()  # additional lines


def ok(name: str, detail: str) -> HostFinding:
    """It is as it should be."""
    return HostFinding(name=name, state=FindingState.OK, detail=detail)


def warning(name: str, detail: str, *, fix: str = "", notes: tuple[str, ...] = ()) -> HostFinding:
    """It works, with limits."""
    return HostFinding(name=name, state=FindingState.WARNING, detail=detail, fix=fix, notes=notes)


def lack(name: str, detail: str, *, fix: str) -> HostFinding:
    """Without it nothing can be reproduced here."""
    return HostFinding(name=name, state=FindingState.LACK, detail=detail, fix=fix)


def absent(name: str, detail: str, *, fix: str = "") -> HostFinding:
    """It is optional, and not there."""
    return HostFinding(name=name, state=FindingState.ABSENT, detail=detail, fix=fix)
