"""What a report adds to REGRESSION and STALE_GOLDEN: what changed, whose fault, both files side by side.

NONDETERMINISTIC says what changed too: a line that seeds a generator may be gone.

No verdict depends on it: where git has no answer, the report says why.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import islice
from pathlib import Path

from reprokit import workspace
from reprokit.capture import git_history
from reprokit.compressed import open_stored, stored
from reprokit.core.checklist import Report, Verdict
from reprokit.core.report_parts import CodeChanges, FileChange
from reprokit.errors import ReprokitError
from reprokit.golden.promotion import thinned
from reprokit.harness.attribution.four_cells import attribute
from reprokit.harness.judging.differences.program_changes import changed_lines, unified_lines
from reprokit.harness.running.numbers import paths_of
from reprokit.layout import METRICS, TRACE
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.redaction import redact_text
from reprokit.request import Request
from reprokit.session import Session

_MOST_FILES, _MOST_LINES, _MOST_OF_DIFF = 20, 3, 80
_LONGEST_LINE = 400
_MISMATCH = (Verdict.REGRESSION, Verdict.STALE_GOLDEN)
_EXPLAINED = (*_MISMATCH, Verdict.NONDETERMINISTIC)


def explained(
    report: Report, recipe: Recipe | None, request: Request, *, session: Session, folder: Path
) -> Report:
    """The report with ``code_changes`` and, where it was asked for, ``attribution``."""
    if request.attribute and (recipe is None or report.golden is None or report.verdict not in _MISMATCH):
        session.progress.note("nothing to attribute: the runs do not differ from a golden")
    if recipe is None or report.golden is None or report.verdict not in _EXPLAINED:
        return report
    blessed, run = Path(report.golden), Path(report.runs[0])
    found = code_changes(recipe, blessed, project=session.project)
    if report.verdict is Verdict.NONDETERMINISTIC:
        return replace(report, code_changes=found) if found.files else report
    try:
        _lay_side_by_side(blessed, run, folder)
    except OSError as error:
        raise workspace.cannot_write(folder, error) from error
    attribution = None
    if request.attribute:
        with session.phase("attribute"):
            attribution = attribute(
                recipe,
                golden_path=blessed,
                run=run,
                request=request,
                session=session,
                keep=folder / "attribution",
            )
    return replace(report, code_changes=found, attribution=attribution)


def code_changes(recipe: Recipe, blessed: Path, *, project: Project) -> CodeChanges:
    """What changed of the files that a recipe stands on since its golden's commit.

    Of the first few files the first lines that changed are kept too.
    """
    try:
        commit = git_history.last_commit(blessed)
        files = git_history.changes_since(project.root, commit, paths_of(recipe, project))
    except (ReprokitError, OSError) as error:
        return CodeChanges(commit=None, why=str(error))
    with_lines = (_with_lines(file, commit, project=project) for file in files[:_MOST_FILES])
    return CodeChanges(commit=commit, files=(*with_lines, *files[_MOST_FILES:]))


def _with_lines(file: FileChange, commit: str, *, project: Project) -> FileChange:
    """The file with the first lines that changed; as it is, if it is new, gone or not text."""
    if not (file.added or file.removed) or file.added is None:
        return file
    try:
        old = git_history.file_at(project.root, commit, file.path)
        new = (project.root / file.path).read_bytes()
    except (ReprokitError, OSError):
        return file
    stretches = islice(changed_lines(file.path, old, new), _MOST_LINES)
    diff = (redact_text(line)[:_LONGEST_LINE] for line in islice(unified_lines(old, new), _MOST_OF_DIFF))
    return replace(file, lines=tuple(map(redact_text, stretches)), diff=tuple(diff))


def _lay_side_by_side(blessed: Path, run: Path, folder: Path) -> None:
    """``expected/`` and ``obtained/`` in the report's folder, alike in form, for any diff tool."""
    for name, source in (("expected", blessed), ("obtained", run)):
        target = folder / name
        target.mkdir(parents=True, exist_ok=True)
        with open_stored(source / METRICS) as lines, (target / METRICS).open("wb") as out:
            shutil.copyfileobj(lines, out)
        if stored(source / TRACE).is_file():
            with open_stored(source / TRACE) as lines, (target / TRACE).open("wb") as out:
                out.writelines(lines if source is blessed else thinned(lines))
