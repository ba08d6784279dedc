"""Why a run has no result: its kind of failure, what to do about it, and the end of its log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reprokit import runs
from reprokit.core import fingerprint
from reprokit.core.records import Outcome
from reprokit.core.run_record import RunRecord
from reprokit.layout import STDERR, STDOUT
from reprokit.records import environment_json

_TAIL_BYTES = 16_384


def failure_of(folders: Sequence[Path], stored: Sequence[runs.StoredRun]) -> dict[str, Any] | None:
    """Why a run has no result, for the report: the first run that is not complete."""
    for folder, run in zip(folders, stored, strict=True):
        if not run.complete:
            record = run.record
            outcome = record.outcome or Outcome.INTERRUPTED
            return {
                "run": str(folder),
                "outcome": Outcome.INTERRUPTED if outcome == Outcome.COMPLETED else outcome,
                "exit_code": record.exit_code,
                "signal": record.signal,
                "message": record.message or run.incomplete_because,
                "remedy": _remedy(folder, record),
                "log": str(log) if (log := _log_of(folder)) else None,
                "log_tail": _log_tail(folder),
            }
    return None


def _remedy(folder: Path, record: RunRecord) -> str:
    """What to do next; where the CPU lacks an instruction, which platform it is."""
    told = record.remedy or "run it again"
    if record.signal != "SIGILL":
        return told
    found = fingerprint.platform_of(environment_json.recorded(folder))
    return f"{told}: this CPU is {found}, and portable recipes need AVX2 with FMA (cpu-x86_64)"


def _log_of(folder: Path) -> Path | None:
    """The log that says most: what a program printed of its end stands in the first."""
    logs = (folder / name for name in (STDERR, STDOUT))
    return next((path for path in logs if path.is_file() and path.stat().st_size), None)


def _log_tail(folder: Path, *, lines: int = 20) -> str:
    path = _log_of(folder)
    if path is None:
        return ""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return "\n".join(stream.read().decode("utf-8", errors="replace").splitlines()[-lines:])
