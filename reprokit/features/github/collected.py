"""What a CI job kept of a gate, read by a job that trusts none of it: ``gate.json`` and its reports.

It comes as the ZIP file of an artifact, or as a folder. Nothing is unpacked: names of members are only
looked up, so that one such as ``../../x`` leads nowhere, and no more is read than a report may hold.
"""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from reprokit.core.checklist import Report, Verdict
from reprokit.core.verdicts.rows import Status
from reprokit.errors import CannotJudgeError, ReportError
from reprokit.regular_file import read_regular
from reprokit.reports.comparison_record import COMPARISONS_FILE, ComparisonRecord, read_comparisons
from reprokit.reports.escaping import one_line
from reprokit.reports.formats import to_json
from reprokit.reports.gate_record import GATE_FILE, GateRecord, GateRow, read_gate

#: The largest ZIP file that is opened at all.
MAX_ARCHIVE_BYTES = 64 << 20

_MAX_MEMBERS = 10_000
_MAX_REPORT_BYTES = 16 << 20
_MAX_TOTAL_BYTES = 64 << 20
_FIX = "look at the log of the job that ran `reprokit verify --gate-file`"
_COMPRESSIONS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}

#: Reads at most so many bytes of a name; None where there is no such file.
_Opener = Callable[[str, int], bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """A gate's answers, the report of each row that has one, and what was compared with another commit."""

    gate: GateRecord
    reports: tuple[tuple[GateRow, Report | None], ...]
    comparisons: ComparisonRecord | None = None


def from_place(place: Path) -> Collected:
    """Read a folder, or a file as ``from_archive`` does."""
    if place.is_dir():
        return from_folder(place)
    try:
        return from_archive(read_regular(place, most_bytes=MAX_ARCHIVE_BYTES + 1))
    except OSError as error:
        raise _refused(f"cannot be read: {error.strerror}", where=str(place)) from error


def from_archive(content: bytes) -> Collected:
    """Read a ZIP file about which nothing is known.

    Raises:
        ReportError: It is no ZIP file, too large, or holds something else than a gate's answers.
        CannotJudgeError: ``gate.json`` or a report that it names is missing.
    """
    if len(content) > MAX_ARCHIVE_BYTES:
        raise _refused("the artifact is too large", expected=f"at most {MAX_ARCHIVE_BYTES >> 20} MiB")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _collect(_members(archive))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise _refused(f"the artifact is not a ZIP file that can be read: {error}") from error
    except (ValueError, OverflowError) as error:  # of zipfile, for headers that contradict themselves
        raise _refused(f"the artifact is damaged: {error}") from error


def from_folder(folder: Path) -> Collected:
    """Read a folder with ``gate.json``; links are not followed.

    Raises:
        ReportError: As for ``from_archive``.
        CannotJudgeError: As for ``from_archive``.
    """

    def read(name: str, limit: int) -> bytes | None:
        path = folder
        try:
            for part in PurePosixPath(name).parts:
                path /= part
                if path.is_symlink():
                    raise _refused("a link in the place of a file", where=name)
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(descriptor, "rb") as stream:  # noqa: PTH123  (an open descriptor)
                return stream.read(limit)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise _refused(f"cannot be read: {error}", where=name) from error

    return _collect(read)


def _members(archive: zipfile.ZipFile) -> _Opener:
    infos = archive.infolist()
    if len(infos) > _MAX_MEMBERS:
        raise _refused(f"the artifact has {len(infos):,} files", expected=f"at most {_MAX_MEMBERS:,}")
    by_name: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        if info.filename in by_name:
            raise _refused("the artifact has two files of one name", where=info.filename)
        by_name[info.filename] = info

    def read(name: str, limit: int) -> bytes | None:
        info = by_name.get(name)
        if info is None:
            return None
        if info.compress_type not in _COMPRESSIONS:
            raise _refused("not compressed as artifacts are", where=name)
        with archive.open(info) as stream:
            return stream.read(limit)

    return read


def _collect(read: _Opener) -> Collected:
    content = read(GATE_FILE, _MAX_REPORT_BYTES)
    if content is None:
        raise CannotJudgeError(f"there is no {GATE_FILE}: the gate did not come to its end", fix=_FIX)
    gate = read_gate(content)
    room = _MAX_TOTAL_BYTES
    found: list[tuple[GateRow, Report | None]] = []
    for row in gate.recipes:
        report = None
        if row.report:
            text = _report_text(row, read, room)
            room -= len(text)
            report = to_json.from_json(text, where=str(one_line(row.report)))
            _must_agree(row, report)
        found.append((row, report))
    told = read(COMPARISONS_FILE, _MAX_REPORT_BYTES)
    comparisons = None if told is None else read_comparisons(told)
    return Collected(gate=gate, reports=tuple(found), comparisons=comparisons)


def _report_text(row: GateRow, read: _Opener, room: int) -> bytes:
    name = PurePosixPath(row.report)
    if name.is_absolute() or ".." in name.parts or "\\" in row.report or "\0" in row.report:
        raise _refused("a report outside of the folder", where=row.report)
    limit = min(_MAX_REPORT_BYTES, room)
    text = read(row.report, limit + 1)
    if text is None:
        raise CannotJudgeError(f"{one_line(row.report)} is missing, which {GATE_FILE} names", fix=_FIX)
    if len(text) > limit:
        raise _refused("the reports are too large", where=row.report, expected=f"at most {limit:,} bytes")
    return text


def _must_agree(row: GateRow, report: Report) -> None:
    told = (row.recipe, row.seed, row.verdict)
    if told != (report.recipe, report.seed, report.verdict):
        raise _refused(
            f"{GATE_FILE} and the report contradict each other",
            where=row.report,
            expected=str(one_line(f"{row.recipe} seed {row.seed}: {row.verdict}")),
            actual=str(one_line(f"{report.recipe} seed {report.seed}: {report.verdict}")),
        )
    if report.exit_code == 0 and (why := _why_no_pass(report)):
        raise _refused(f"the report contradicts itself: {report.verdict}, but {why}", where=row.report)


def _why_no_pass(report: Report) -> str:
    """What in a report rules its good verdict out; "" where nothing does."""
    failed = [row.id for row in report.checks if row.required and row.status is Status.FAILED]
    if failed:
        return f"required rows failed: {', '.join(failed[:3])}"
    if len(set(report.runs)) < 2:
        return "it judges fewer than two runs"
    passed = {row.id for row in report.checks if row.status is Status.PASSED}
    if report.verdict is not Verdict.EQUIVALENT and "repeatable" not in passed:
        return "its row repeatable did not pass"
    return ""


def _refused(
    what: str, *, where: str | None = None, expected: str | None = None, actual: str | None = None
) -> ReportError:
    place = None if where is None else str(one_line(where, limit=200))
    return ReportError(one_line(what), where=place, expected=expected, actual=actual, fix=_FIX)
