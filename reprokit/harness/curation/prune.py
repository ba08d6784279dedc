"""Which run folders may go, and their removal: never one that a golden or a report depends on.

Where it is not known what a golden or a report depends on, whatever it might depend on is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from reprokit import file_tree, golden, workspace
from reprokit.errors import UsageError
from reprokit.layout import COMPARISON, COMPARISONS, MARKER, METRICS, read_json
from reprokit.project import Project
from reprokit.records import run_json
from reprokit.runs import listing
from reprokit.runs.reading import files_two_below

_BIN = ".pruned"

Reason = Callable[[listing.RunSummary], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneChoice:
    """Which runs to be rid of, by all that is said; ``keep`` spares the newest so many of each recipe."""

    recipe: str | None = None
    keep: int | None = None
    older_than_days: float | None = None
    incomplete: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunableRun:
    """A run that may go."""

    path: Path
    outcome: str
    started_at: str
    num_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A run that was chosen and stays, and why."""

    path: Path
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prune:
    """What pruning removes, and what it spares although it was chosen."""

    going: tuple[PrunableRun, ...]
    kept: tuple[Kept, ...]

    @property
    def num_bytes(self) -> int:
        return sum(run.num_bytes for run in self.going)


def plan_prune(project: Project, choice: PruneChoice, *, now: datetime) -> Prune:
    """Say what would go, else a ``UsageError``; a golden or report that lives elsewhere keeps nothing."""
    _refuse_vague(choice)
    now_ns = int(now.timestamp() * 1e9)
    found = listing.summaries(project.runs_dir, reports_dir=project.reports_dir, now_ns=now_ns)
    chosen = list(_chosen(found, choice, now=now))
    reasons = (
        _at_work,
        _link_out_of(project.runs_dir),
        _reported(project, now_ns),
        _compared(project),
        _golden(project),
    )
    going, kept = [], []
    for run in chosen:
        path = Path(run.path)
        because = next(filter(None, (reason(run) for reason in reasons)), "")
        if because:
            kept.append(Kept(path=path, because=because))
        else:
            going.append(
                PrunableRun(path=path, outcome=run.outcome, started_at=run.started_at, num_bytes=_size(path))
            )
    return Prune(going=tuple(going), kept=tuple(kept))


def prune(project: Project, choice: PruneChoice, *, now: datetime) -> Prune:
    """Remove what ``plan_prune`` says, with no run being made meanwhile.

    A run leaves the list at once, whole; an interruption leaves what is left of it in
    ``runs/.pruned``, which the next call empties.

    Raises:
        UsageError: See ``plan_prune``.
        WorkspaceError: A run is being made, or a folder cannot be removed.
    """
    _refuse_vague(choice)
    with workspace.exclusive(project.runs_dir):
        plan = plan_prune(project, choice, now=now)
        away = project.runs_dir / _BIN
        try:
            for run in plan.going:
                target = away / run.path.parent.name / run.path.name
                target.parent.mkdir(parents=True, exist_ok=True)
                if target.exists():
                    file_tree.remove(target)
                run.path.rename(target)
            if away.is_dir() and not away.is_symlink():
                file_tree.remove(away)
        except OSError as error:
            raise workspace.cannot_write(Path(error.filename or away), error) from error
    return plan


def _refuse_vague(choice: PruneChoice) -> None:
    if choice.keep is None and choice.older_than_days is None and not choice.incomplete:
        raise UsageError(
            "say which runs to remove", fix="add --keep N, --older-than DAYS or --incomplete, or several"
        )
    if (choice.keep or 0) < 0 or (choice.older_than_days or 0) < 0:
        raise UsageError("a number of runs or days cannot be negative")


def _chosen(
    found: Iterable[listing.RunSummary], choice: PruneChoice, *, now: datetime
) -> Iterator[listing.RunSummary]:
    """The runs that fit; a run without a time is never old."""
    runs_of: dict[str, list[listing.RunSummary]] = {}
    for run in found:
        runs_of.setdefault(run.recipe, []).append(run)
    limit = ""
    if choice.older_than_days is not None:
        limit = listing.moment_of((now - timedelta(days=choice.older_than_days)).isoformat())
    for recipe, newest_last in runs_of.items():
        if choice.recipe not in {None, recipe}:
            continue
        newest_last.sort(key=lambda run: (run.started_at, run.run_id))
        for run in newest_last[: len(newest_last) - (choice.keep or 0)] if choice.keep else newest_last:
            old = not limit or "" < run.started_at < limit
            if old and not (choice.incomplete and run.outcome == listing.COMPLETE):
                yield run


def _at_work(run: listing.RunSummary) -> str:
    at_work = workspace.is_alive(run_json.recorded(Path(run.path)).owner)
    return "the tool that made it is still running" if at_work else ""


def _link_out_of(runs_dir: Path) -> Reason:
    home = runs_dir.resolve()

    def reason(run: listing.RunSummary) -> str:
        inside = Path(run.path).resolve() == home / run.recipe / run.run_id
        return "" if inside else "it is a link to somewhere else"

    return reason


def _reported(project: Project, now_ns: int) -> Reason:
    notes = listing.report_notes(project.reports_dir, now_ns=now_ns)
    reports = {run: note.path for note in notes for run in note.stands_on}
    unreadable = {note.recipe: note for note in notes if note.problem}

    def reason(run: listing.RunSummary) -> str:
        report = reports.get(f"{run.recipe}/{run.run_id}")
        if report is not None:
            return f"{report} depends on it"
        if run.recipe in unreadable:
            note = unreadable[run.recipe]
            return f"{note.path} may depend on it: {note.problem}"
        return ""

    return reason


def _compared(project: Project) -> Reason:
    """A comparison of two sides stands on the runs that it names; of one that cannot be read, any may be."""
    depends: dict[str, str] = {}
    unreadable = ""
    for _, _, folder in files_two_below(project.reports_dir / COMPARISONS, COMPARISON):
        file = Path(folder) / COMPARISON
        try:
            for side in read_json(file)["answer"]["sides"].values():
                depends |= dict.fromkeys(map(listing.key_of, side["runs"]), str(file))
        except (KeyError, TypeError, AttributeError):
            unreadable = str(file)

    def reason(run: listing.RunSummary) -> str:
        file = depends.get(f"{run.recipe}/{run.run_id}")
        if file is not None:
            return f"{file} depends on it"
        return f"{unreadable} may depend on it: it cannot be read" if unreadable else ""

    return reason


def _golden(project: Project) -> Reason:
    """A golden stands on runs of its seed, made before it, whose metrics are its own, byte for byte.

    Its provenance does not name them, and a run that agrees may have been one of them. Of a golden
    that cannot be read, every finished run of its seed may.
    """
    rows = golden.list_all(project.golden_dir)
    blessed = {row.path: _blessed(row) for row in rows if not row.problem}

    def reason(run: listing.RunSummary) -> str:
        for row in rows:
            if row.recipe != run.recipe or row.seed not in {None, run.seed}:
                continue
            if row.problem and run.outcome == listing.COMPLETE:
                return f"{row.path} may depend on it: {row.problem}"
            if not row.problem and not _made_later(run, row) and _metrics_digest(run) == blessed[row.path]:
                return f"{row.path} depends on it"
        return ""

    return reason


def _blessed(row: golden.GoldenRow) -> str:
    return str(golden.load(row.path).provenance.digests["metrics"])


def _made_later(run: listing.RunSummary, row: golden.GoldenRow) -> bool:
    made = listing.moment_of(row.created_at)
    return bool(run.started_at and made) and run.started_at > made


def _metrics_digest(run: listing.RunSummary) -> str | None:
    listed = read_json(Path(run.path) / MARKER).get("files")
    entry = listed.get(METRICS) if isinstance(listed, dict) else None
    return entry.get("sha256") if isinstance(entry, dict) else None


def _size(folder: Path) -> int:
    return sum(entry.num_bytes for entry in file_tree.walk(folder) if not entry.because)
