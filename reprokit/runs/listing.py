"""Many runs at a glance: one summary a run folder, with the verdict of the newest report that names it.

It says what the files say, and looks at the names and sizes of a run's files only when something at the top
of its folder has changed. ``reading.read`` looks at every byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reprokit.core.records import Outcome
from reprokit.core.run_record import RunImage
from reprokit.layout import MARKER, RECORD, REPORT
from reprokit.regular_file import read_regular
from reprokit.runs.index_cache import Facts, facts_of
from reprokit.runs.reading import StoredRun, files_two_below, read
from reprokit.workspace import is_alive

CACHE = ".index.json"

COMPLETE = "complete"
NO_VERDICT = "-"

_VERSION = 7  # of what is remembered: raise it when a fact is added or means something else
_MAX_SENTENCE = 500
_MAX_REPORT_BYTES = 64 << 20
_NAMES_RUNS = {"unchanged_when_varied", "several_seeds"}  # rows that name the further runs they judge
_STAMP = re.compile(r"(\d{8}T\d{6})Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One line of a list of runs. Every text comes from a file that anyone may have written."""

    run_id: str  # the folder's name
    recipe: str  # the name of the folder above it
    seed: int | None  # as `run.json` says, or None
    outcome: str  # `complete`, `running`, the word for how it ended, or `damaged`
    because: str  # why it is not complete, or ""
    backend: str  # `docker`, `local`, or ""
    environment: str  # variant and kind of the pinned environment, or `own Python`
    digests: tuple[str, ...]  # of the image or environment, and of its lock
    started_at: str  # UTC, `YYYY-MM-DDTHH:MM:SSZ`, or "" when no one knows
    duration_s: float | None  # wall clock, seconds, or None
    modified: tuple[str, ...]  # overrides, `path=value`
    verdict: str  # of the newest report that names it, or `-`
    path: str  # the folder


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportNote:
    """What a report says of runs."""

    path: str  # its `report.json`
    recipe: str  # the name of the folder that it is filed under
    verdict: str  # as it says
    created_at: str  # UTC, as `started_at` of a summary
    # The runs that it rests on, as `<recipe>/<run id>`: those judged, and the run that they were compared
    # with, and those that were stopped and resumed
    stands_on: tuple[str, ...]
    judged: tuple[str, ...]  # those of them that it judges
    problem: str = ""  # why it cannot be read, or ""
    sentence: str = ""  # as it says, the beginning of a long one
    seed: int | None = None
    platform: str = ""


def summaries(runs_dir: Path, *, reports_dir: Path, now_ns: int) -> list[RunSummary]:
    """Every run folder, oldest first by its name; what is read is remembered in ``.index.json``."""
    found = sorted(files_two_below(runs_dir, RECORD), key=lambda one: (one[1], one[0]))
    folders = {f"{recipe}/{run}": path for recipe, run, path in found}
    facts = facts_of(
        {key: (path, f"{path}/{RECORD}", f"{path}/{MARKER}") for key, path in folders.items()},
        read=lambda key: _facts(Path(folders[key])),
        cache=runs_dir / CACHE,
        version=_VERSION,
        now_ns=now_ns,
    )
    verdicts = verdicts_of(report_notes(reports_dir, now_ns=now_ns)) if facts else {}
    return [
        _summary(facts[key], path, verdict=verdicts.get(key, NO_VERDICT)) for key, path in folders.items()
    ]


def summary_of(stored: StoredRun, *, verdict: str) -> RunSummary:
    """The summary of one run that has been read, every byte of it."""
    return _summary(_facts_of(stored), str(stored.path.resolve()), verdict=verdict)


def report_notes(reports_dir: Path, *, now_ns: int) -> list[ReportNote]:
    """What every report in a folder says of runs; one that cannot be read says so."""
    found = sorted(files_two_below(reports_dir, REPORT))
    files = {f"{recipe}/{name}": f"{path}/{REPORT}" for recipe, name, path in found}
    facts = facts_of(
        {key: (path,) for key, path in files.items()},
        read=lambda key: (_report_facts(Path(files[key])), True),
        cache=reports_dir / CACHE,
        version=_VERSION,
        now_ns=now_ns,
    )
    return [_note(files[key], facts[key]) for key in files]


def verdicts_of(notes: Iterable[ReportNote]) -> dict[str, str]:
    """Run, as ``<recipe>/<run id>`` → the verdict of the newest report that judges it."""
    ordered = sorted((note for note in notes if not note.problem), key=lambda note: note.created_at)
    return {run: note.verdict for note in ordered for run in note.judged}


def moment_of(text: Any) -> str:
    """A moment in ISO 8601 as ``YYYY-MM-DDTHH:MM:SSZ``, which sorts; "" when it is none."""
    try:
        moment = datetime.fromisoformat(text)
        aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return ""
    return f"{aware:%Y-%m-%dT%H:%M:%SZ}"


def key_of(path: str | Path) -> str:
    """How a run is named wherever its folder has been moved to: ``<recipe>/<run id>``."""
    return "/".join(str(path).rstrip("/").split("/")[-2:])


def _facts(run_dir: Path) -> tuple[Facts, bool]:
    """What a list shows of a run, and whether it stays so until a file changes."""
    stored = read(run_dir, verify=False)
    return _facts_of(stored), stored.record.state != "running"


def _facts_of(stored: StoredRun) -> Facts:
    record = stored.record
    image = record.image or RunImage()
    kind = f"{image.variant or ''} {image.kind or ''}".strip()
    return {
        "seed": record.seed if isinstance(record.seed, int) else None,
        "outcome": _outcome(stored),
        "because": stored.incomplete_because,
        "backend": record.backend or "",
        "environment": kind or ("own Python" if record.plain_command else ""),
        "digests": [text for text in (image.digest, image.lock_digest) if text],
        "started_at": moment_of(record.started_at) or _moment_in(stored.path.name),
        "duration_s": None if record.duration_s is None else float(record.duration_s),
        "modified": list(record.modified or ()),
    }


def _outcome(stored: StoredRun) -> str:
    """One word: ``complete``, ``running``, how it ended, or ``damaged`` if it ended well but is not whole."""
    record = stored.record
    if stored.complete:
        return COMPLETE
    if record.state == "running":
        return "running" if is_alive(record.owner) else str(Outcome.INTERRUPTED)
    outcome = record.outcome or ""
    return "damaged" if outcome in {"", Outcome.COMPLETED} else outcome


def _summary(facts: Mapping[str, Any], path: str, *, verdict: str) -> RunSummary:
    *_, recipe, run_id = path.split("/")
    values: dict[str, Any] = dict(facts)
    values.update(digests=tuple(values["digests"]), modified=tuple(values["modified"]))
    return RunSummary(run_id=run_id, recipe=recipe, verdict=verdict, path=path, **values)


def _report_facts(file: Path) -> Facts:
    """What of a report is worth remembering; ``reprokit report verify`` is for believing it."""
    try:
        if file.stat().st_size > _MAX_REPORT_BYTES:
            return {"problem": "it is too large to be a report"}
        report = json.loads(read_regular(file))
    except (OSError, ValueError, RecursionError) as error:
        return {"problem": f"it cannot be read: {type(error).__name__}"}
    judged = report.get("runs") if isinstance(report, dict) else None
    if not isinstance(judged, list) or not all(isinstance(run, str) for run in judged):
        return {"problem": "it does not name its runs"}
    golden = report.get("golden")
    against = [key_of(golden)] if isinstance(golden, str) else []
    against += [key_of(run) for run in _besides(report.get("checks"))]
    return {
        "verdict": _text(report.get("verdict")) or NO_VERDICT,
        "created_at": moment_of(report.get("created_at")),
        "judged": [key_of(run) for run in judged],
        "against": against,
        "sentence": _text(report.get("sentence"))[:_MAX_SENTENCE],
        "seed": seed if isinstance(seed := report.get("seed"), int) else None,
        "platform": _text(report.get("platform")),
    }


#: The runs that a place to be killed at, or the row of a single one, names.
_OF_RESUMING = ("stopped", "resumed", "counted")


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _besides(rows: Any) -> list[str]:
    """The stopped, resumed and varied runs of a report, and those with other and new seeds, if it has any."""
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    rows_of = (_mapping(row.get("evidence")) for row in found if row.get("id") == "resume_equal")
    resumed = [one for row in rows_of for one in (row, *_mappings(row.get("places")))]
    halves = [run for one in resumed for name in _OF_RESUMING if (run := _text(one.get(name)))]
    varied = (_mapping(row.get("evidence")).get("runs") for row in found if row.get("id") in _NAMES_RUNS)
    against = [_mapping(row.get("evidence")) for row in found if row.get("id") == "equals_golden"]
    halves += [run for one in against if (run := _text(one.get("other_seed")))]
    several = [*varied, *(one.get("new_seeds") for one in against)]
    return halves + [run for one in several if isinstance(one, list) for run in map(_text, one) if run]


def _note(file: str, facts: Mapping[str, Any]) -> ReportNote:
    judged = tuple(facts.get("judged", ()))
    return ReportNote(
        path=file,
        recipe=file.split("/")[-3],
        verdict=facts.get("verdict", NO_VERDICT),
        created_at=facts.get("created_at", ""),
        stands_on=(*judged, *facts.get("against", ())),
        judged=judged,
        problem=facts.get("problem", ""),
        sentence=facts.get("sentence", ""),
        seed=facts.get("seed"),
        platform=facts.get("platform", ""),
    )


def _moment_in(run_id: str) -> str:
    """The moment of planning, with which every run id begins."""
    begins = _STAMP.match(run_id)
    return moment_of(begins[1]) if begins else ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
