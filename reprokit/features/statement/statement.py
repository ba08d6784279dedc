"""The reproducibility statement that conferences ask for, filled from a report and from nothing else.

A question is answered "yes" only where every row that judges it PASSED. A row that was skipped or could not
be judged is said to be not judged, one that FAILED to have failed; nor is a question that no row judges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reprokit.core.checklist import CheckResult, Report, Status, Verdict
from reprokit.reports.escaping import Visible, one_line
from reprokit.reports.format_values import spelt
from reprokit.reports.formats.report_content import meaning_of
from reprokit.reports.shorten import from_root, short_digests

_GOOD = {Verdict.REPRODUCED, Verdict.REPEATABLE}
#: What conferences ask, and the rows of the checklist that judge it.
_QUESTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Is the code that was run recorded, and was it run as it stands?", ("source_clean", "unmodified")),
    ("Are the versions of all packages locked?", ("versions_locked",)),
    ("Was the pinned container image used?", ("pinned_image",)),
    ("Are the data, and the steps that prepare them, recorded?", ("data_recorded",)),
    ("Are all settings saved with the results?", ("config_saved",)),
    ("Is every source of randomness seeded?", ("seeded",)),
    ("Does a repetition with the same seed give the same numbers?", ("repeatable",)),
    ("Does the result equal the recorded one?", ("equals_golden",)),
    ("Are known sources of nondeterminism declared?", ("nondeterminism_declared",)),
    ("Were several seeds run, and statistics over them made?", ("several_seeds", "statistics")),
    ("Is the hardware recorded?", ("hardware_recorded",)),
    ("Is there a command that checks the result?", ("verification_available",)),
)
#: What is said of the environment of the first run.
_FACTS: tuple[tuple[str, str], ...] = (
    ("Commit", "source.commit"),
    ("Image", "image.digest"),
    ("Package lock", "image.lock_digest"),
    ("Python", "inside.python.version"),
    ("PyTorch", "inside.torch.version"),
    ("NumPy", "inside.numpy.version"),
    ("Numerics profile", "inside.numerics.profile"),
    ("Operating system", "inside.os.name"),
    ("CPU", "host.cpu.model"),
    ("GPU", "inside.device.name"),
)
_NO_ROW = Visible("no check of this report judges it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line: what it is of, what is said of it, and why."""

    label: Visible
    answer: Visible = Visible("")  # noqa: RUF009 - an empty text
    reasons: tuple[Visible, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementPart:
    """A heading, sentences under it, a command to type, and a list."""

    title: str
    sentences: tuple[Visible, ...] = ()
    command: Visible = Visible("")  # noqa: RUF009 - an empty text
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement, ready to be drawn; every text in it is escaped for a reader, not yet for a format."""

    title: Visible
    parts: tuple[StatementPart, ...]


def statement_of(report: Report, *, sha256: str) -> Statement:
    """The statement that a report gives.

    Args:
        report: The report.
        sha256: The digest of its ``report.json``, so that no one takes another for it.
    """
    report = from_root(report)
    found = (
        _claim(report),
        StatementPart(title="Checklist", items=tuple(_answers(report.checks))),
        _rows("What failed", report.checks, {Status.FAILED}),
        _rows("What was not judged", report.checks, {Status.SKIPPED, Status.ERROR}),
        StatementPart(title="Environment of the runs", items=tuple(_facts(report))),
        _how_to_check(report, sha256=sha256),
    )
    parts = tuple(part for part in found if part.sentences or part.items)
    return Statement(title=one_line(f"Reproducibility statement: {report.recipe}"), parts=parts)


def _claim(report: Report) -> StatementPart:
    runs = f"{len(report.runs)} run{'' if len(report.runs) == 1 else 's'}"
    made = f"{runs} of {report.recipe} with the seed {report.seed}, on {report.platform}."
    verdict = f"The verdict is {report.verdict.value}: {meaning_of(report)}."
    none = () if report.verdict in _GOOD else ("It is not claimed that the result was reproduced.",)
    return StatementPart(
        title="Result",
        sentences=tuple(one_line(short_digests(text)) for text in (made, verdict, report.sentence, *none)),
    )


def _answers(rows: Iterable[CheckResult]) -> Iterator[Item]:
    by_id: dict[str, list[CheckResult]] = {}
    for row in rows:
        by_id.setdefault(row.id, []).append(row)
    for question, names in _QUESTIONS:
        judging = [row for name in names for row in by_id.get(name, ())]
        whole = all(name in by_id for name in names)
        answer, reasons = _answer(judging, whole=whole), tuple(map(_reason, judging))
        yield Item(label=Visible(question), answer=answer, reasons=reasons or (_NO_ROW,))


def _answer(rows: Iterable[CheckResult], *, whole: bool) -> Visible:
    """Yes only where every row is there and PASSED."""
    statuses = {row.status for row in rows}
    if Status.FAILED in statuses:
        return Visible("No")
    return Visible("Yes" if whole and statuses == {Status.PASSED} else "Not judged")


def _reason(row: CheckResult) -> Visible:
    return one_line(short_digests(row.reason or "no reason given"))


def _rows(title: str, rows: Iterable[CheckResult], statuses: set[Status]) -> StatementPart:
    return StatementPart(
        title=title,
        items=tuple(
            Item(label=one_line(row.title), answer=_status(row.status), reasons=(_reason(row),))
            for row in rows
            if row.status in statuses
        ),
    )


def _status(status: Status) -> Visible:
    words = {Status.SKIPPED: "not judged", Status.ERROR: "could not be judged", Status.FAILED: "failed"}
    return Visible(words[status])


def _facts(report: Report) -> Iterator[Item]:
    for label, path in _FACTS:
        value: Any = report.environment
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if value not in (None, "", [], {}):
            yield Item(label=Visible(label), answer=one_line(spelt(value)))
    durations = [one.get("duration_s") for one in report.timing.get("runs") or () if isinstance(one, Mapping)]
    seconds = [
        duration
        for duration in durations
        if isinstance(duration, int | float) and not isinstance(duration, bool)
    ]
    if seconds:
        told = ", ".join(f"{second:,.1f} s" for second in seconds)
        yield Item(label=Visible("Duration of each run"), answer=one_line(told))


def _how_to_check(report: Report, *, sha256: str) -> StatementPart:
    sentences = [f"Drawn from report.json of {report.created_at}, {sha256}."]
    if (origin := report.bundle) is not None:
        told = f"{origin.get('file')}, {origin.get('sha256')}"
        sentences.append(f"Code and golden are those of the bundle {told}.")
    known, unknown = "This command runs it again:", "No command that runs it again is recorded."
    sentences.append(known if report.rerun else unknown)
    return StatementPart(
        title="How to check it",
        sentences=tuple(map(one_line, sentences)),
        command=one_line(report.rerun.strip(), limit=20_000),
    )
