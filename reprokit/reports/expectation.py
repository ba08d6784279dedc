"""Check a report against what is expected of it: verdict, commit and age."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from reprokit.capture import git_history
from reprokit.core.checklist import Report, Status, Verdict

_FULL_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_CLOCKS_DISAGREE_BY = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What is expected of a report; None accepts anything."""

    verdict: Verdict | None = None  # this one, whether it is a success or not
    commit: str | None = None  # full name of the commit that all runs must be of, with nothing changed
    max_age: timedelta | None = None  # how long ago report and runs may have been made


def unmet(report: Report, expected: Expectation, *, now: datetime) -> tuple[str, ...]:
    """A sentence for each thing that is not as expected."""
    found = []
    if expected.verdict is not None and report.verdict is not expected.verdict:
        found.append(f"the verdict is {report.verdict}, not {expected.verdict}")
    if expected.commit is not None:
        found += _not_of_commit(report, expected.commit)
    if expected.max_age is not None:
        found += _not_of_age(report, expected.max_age, now)
    return tuple(found)


def exit_code(report: Report, expected: Expectation, *, audited: int, met: bool) -> int:
    """The exit code of verifying: a genuine report of a bad verdict is a success only if it was expected.

    ``audited`` is 0 where the report is genuine; ``met`` says whether everything is as expected.
    """
    if not met:
        return 1
    return audited or (0 if expected.verdict is not None else report.exit_code)


def full_name(revision: str, *, folder: Path) -> str:
    """The full name of a commit, looked up in a work tree: a short one could be made to match another commit.

    Raises:
        UsageError: There is no such commit, or no repository.
    """
    return revision if _FULL_NAME.fullmatch(revision) else git_history.resolve(folder, revision)


def commit_of(report: Report) -> tuple[str, bool | None]:
    """The commit that the first run's record names, or "", and whether files were changed since."""
    source = report.environment.get("source")
    source = source if isinstance(source, Mapping) else {}
    commit, dirty = source.get("commit"), source.get("dirty")
    return commit if isinstance(commit, str) else "", dirty if isinstance(dirty, bool) else None


def _not_of_commit(report: Report, wanted: str) -> Iterator[str]:
    """The row is about all runs; the environment in the report is only that of the first."""
    row = next((row for row in report.checks if row.id == "source_clean"), None)
    if row is None or row.status is not Status.PASSED:
        reason = f": {row.reason}" if row else ""
        yield f"the runs are not shown to be of commit {wanted} without changes{reason}"
    elif not row.evidence.get("commit") == commit_of(report)[0] == wanted:
        yield f"the commit is {row.evidence.get('commit')}, not {wanted}"


def _not_of_age(report: Report, most: timedelta, now: datetime) -> Iterator[str]:
    """The runs count as well: a new report of old runs is old."""
    for what, text in _dates(report):
        moment = _moment(text)
        if moment is None:
            yield f"the date of {what} cannot be read: {text!r}"
        elif moment - now > _CLOCKS_DISAGREE_BY:
            yield f"{what} is dated in the future: {text}"
        elif now - moment > most:
            yield f"{what} is from {text}, more than {_duration_text(most)} ago"


def _dates(report: Report) -> Iterator[tuple[str, Any]]:
    """The report's date, and when each run ended; of a run that did not finish that may be unknown."""
    yield "the report", report.created_at
    timed = report.timing.get("runs")
    timed = timed if isinstance(timed, list | tuple) else []
    rows = [row if isinstance(row, Mapping) else {} for row in timed]
    for at, name in enumerate(report.runs):
        ended = rows[at].get("ended_at") if at < len(rows) else None
        if ended is not None or report.verdict is not Verdict.NOT_RUN:
            yield f"the run {name}", ended


def _moment(text: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo is not None else None


def _duration_text(duration: timedelta) -> str:
    seconds = int(duration.total_seconds())
    for name, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds % size == 0:
            number = seconds // size
            return f"{number} {name}{'s' if number != 1 else ''}"
    return f"{seconds} s"
