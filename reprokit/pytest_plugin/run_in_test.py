"""A recipe or a command run within a test: the tool runs next to pytest, whose other processes it never sees.

A run that did not finish, a log without metrics and a verdict that was not asked for are errors, so that no
test passes on an empty result.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from reprokit import adapters, runs
from reprokit.core.checklist import Report
from reprokit.errors import CannotJudgeError, CannotRunError, MetricsError, UsageError
from reprokit.layout import STDERR, STDOUT
from reprokit.reports.formats import to_json

_MOST_LINES = 30
#: The job's own summary is about the job, not about what its tests try out.
_NOT_PASSED_ON = {"GITHUB_STEP_SUMMARY"}


@dataclass(frozen=True, kw_only=True)
class FinishedRun:
    """A run that ended with exit code 0, whose files are what its COMPLETE says."""

    folder: Path
    record: Mapping[str, Any]  # run.json

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """Every record of every log, in order; with several logs a metric's name begins with its log's.

        Raises:
            MetricsError: There is no log with metrics, or one that cannot be read whole.
        """
        sources = adapters.find_all(self.folder)
        records = [
            _named(reading.record, f"{source.name}:" if len(sources) > 1 else "")
            for source in sources
            for reading in adapters.adapter_named(source.adapter).read(source.path)
            if _is_whole(reading, source)
        ]
        if not any(set(record) - {"step"} for record in records):
            raise MetricsError("the run logged no metric", where=str(self.folder))
        return records

    def series(self, metric: str) -> list[Any]:
        """All values of one metric, in order.

        Raises:
            MetricsError: No record has it.
        """
        found = [record[metric] for record in self.metrics if metric in record]
        if not found:
            names = sorted({name for record in self.metrics for name in record} - {"step"})
            raise MetricsError(f"no record has {metric!r}", where=str(self.folder), expected=", ".join(names))
        return found

    @property
    def output(self) -> str:
        """What the program printed to stdout."""
        return (self.folder / STDOUT).read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    """Runs that were compared, and the report on them."""

    report: Report
    runs: tuple[FinishedRun, ...]


def run_once(words: Sequence[str], *, project: Path) -> FinishedRun:
    """Run the tool's ``run`` with these words, from the project's folder.

    Raises:
        CannotRunError: The run did not finish, or could not start.
        UsageError: There is no such recipe or option.
    """
    code, out, err = _tool(["run", *words], project=project)
    folder = Path(out.strip().splitlines()[-1]) if out.strip() else None
    if code != 0 or folder is None:
        raise _failure(code, err, folder)
    return finished(folder)


def reproduce(words: Sequence[str], *, project: Path, expect: str) -> Reproduced:
    """Run the tool's ``reproduce``; the verdict must be ``expect``, or a good one where that is empty.

    Raises:
        CannotRunError: A run did not finish, or could not start.
        CannotJudgeError: It is another verdict.
    """
    code, out, err = _tool(["reproduce", "--json", *words], project=project)
    if not out.strip():
        raise _failure(code, err, None)
    report = to_json.from_json(out, where="reprokit reproduce --json")
    met = report.verdict == expect if expect else report.exit_code == 0
    if not met and report.verdict == "NOT_RUN":
        told = report.not_run or {}
        raise CannotRunError(f"{report.sentence}\n{told.get('log_tail') or ''}".rstrip())
    if not met:
        wanted = expect or "REPRODUCED or REPEATABLE"
        raise CannotJudgeError(
            report.sentence.removesuffix("."), expected=wanted, actual=report.verdict, fix=report.next_command
        )
    folders = (project / run for run in report.runs)  # an absolute path stays what it is
    done = tuple(finished(folder) for folder in folders if runs.read(folder).complete)
    return Reproduced(report=report, runs=done)


def finished(folder: Path) -> FinishedRun:
    """A run folder, checked against its COMPLETE.

    Raises:
        CannotRunError: It is of a run that did not finish.
    """
    stored = runs.read(folder)
    if not stored.complete:
        raise CannotRunError(stored.incomplete_because, where=str(folder))
    return FinishedRun(folder=folder, record=stored.document)


def _tool(words: Sequence[str], *, project: Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr; ``-P`` keeps the project's modules from standing in for the tool's."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "reprokit", *words],
        cwd=project,
        env={name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def _failure(code: int, err: str, folder: Path | None) -> CannotRunError | UsageError:
    lines = [line for line in err.splitlines() if not line.startswith(("phase:", "note:"))]
    if folder is not None and (folder / STDERR).is_file():
        log = (folder / STDERR).read_text(encoding="utf-8", errors="replace")
        lines += [f"The end of {folder / STDERR}:", *log.splitlines()[-_MOST_LINES:]]
    told = "\n".join(lines[-2 * _MOST_LINES :]).removeprefix("Error: ")
    told = told or f"reprokit ended with exit code {code} and said nothing"
    return UsageError(told) if code == 2 else CannotRunError(told)


def _is_whole(reading: adapters.Reading, source: adapters.MetricsSource) -> bool:
    if reading.record is None:
        kinds = ", ".join(kind for kind, _ in reading.notes)
        where = source.name if reading.line is None else f"{source.name}:{reading.line}"
        raise MetricsError(f"a record cannot be read: {kinds}", where=where)
    return True


def _named(record: Mapping[str, Any] | None, prefix: str) -> dict[str, Any]:
    return {name if name == "step" else f"{prefix}{name}": value for name, value in (record or {}).items()}
