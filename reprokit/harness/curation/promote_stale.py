"""Promotes every golden that another environment made stale, in one go: all of them, or none."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reprokit import capture, checks, golden, recipes, runs
from reprokit.core import fingerprint, inputs
from reprokit.core.checklist import Verdict, judgement
from reprokit.core.verdicts.rows import counted
from reprokit.errors import GoldenError, ReprokitError, UsageError
from reprokit.harness.curation.golden_diff import GoldenDiff, compare_goldens
from reprokit.harness.curation.promote import newest_pair, promote
from reprokit.harness.judging.gather import gather
from reprokit.harness.judging.rounding_of_golden import kept_in_provenance, rounding_again
from reprokit.harness.running.numbers import recipe_digests
from reprokit.project import Project
from reprokit.reports.formats import to_json
from reprokit.runs import listing
from reprokit.session import Progress
from reprokit.workspace import cannot_write

#: The inputs of a recipe's numbers that are its environment; all others are code.
_ENVIRONMENT = frozenset({"lock"})
#: What no reason of an environment explains.
_REFUSED = frozenset({Verdict.NOT_RUN, Verdict.NONDETERMINISTIC, Verdict.REGRESSION, Verdict.NO_GOLDEN})


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleGoldens:
    """What was promoted, and what was left as it is.

    Attributes:
        moved: What is new in each golden that was promoted, or would be.
        left: Golden → why it stays.
        written: Whether they were promoted.
    """

    moved: tuple[GoldenDiff, ...]
    left: tuple[tuple[str, str], ...]
    written: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stale:
    place: Path
    folders: tuple[Path, ...]
    rounding: Mapping[str, Any] | None = None


def promote_stale(
    project: Project,
    *,
    promotion: golden.Promotion,
    names: Sequence[str] = (),
    write: bool = True,
    progress: Progress | None = None,
) -> StaleGoldens:
    """Promote the newest two runs of every golden of this platform whose environment moved since.

    Nothing is trained: the runs are those of a ``verify`` after the move. A golden is replaced where its
    recipe's code is the golden's and its environment is not. ``write`` False only says what would be.

    Raises:
        GoldenError: Some golden cannot be judged, its runs disagree, or something else than the environment
            explains its numbers; nothing is written.
        UsageError: One of the names has no golden on this platform.
    """
    platform = fingerprint.platform_of_host(capture.capture_host(project.root))
    stale: list[_Stale] = []
    left: list[tuple[str, str]] = []
    faults: list[str] = []
    for row in _rows(project, names, platform):
        where = _name(row.path)
        if row.platform != platform or row.foreign or row.command:
            left.append((where, _why_not_ours(row)))
            continue
        try:
            found = _judged(row, project)
        except ReprokitError as error:
            faults.append(f"{where}: {error}")
            continue
        if found is None:
            left.append((where, "the environment of its newest runs is the golden's"))
        else:
            stale.append(found)
    if faults:
        raise _refused(faults)

    def promote_one(one: _Stale, into: Project) -> golden.Golden:
        told = {"rounding": one.rounding} if one.rounding else None
        return promote(one.folders, project=into, promotion=promotion, progress=progress, told=told)

    moved = _promoted(stale, project, promote_one, write=write) if stale else ()
    return StaleGoldens(moved=moved, left=tuple(left), written=write and bool(moved))


def _rows(project: Project, names: Sequence[str], platform: str) -> list[golden.GoldenRow]:
    rows = [row for row in golden.list_all(project.golden_dir) if not names or row.recipe in names]
    missing = [
        name for name in names if not any((row.recipe, row.platform) == (name, platform) for row in rows)
    ]
    if missing:
        raise UsageError(f"no golden of {', '.join(missing)} on {platform}", where=str(project.golden_dir))
    return rows


def _why_not_ours(row: golden.GoldenRow) -> str:
    if row.foreign:
        return "a foreign log"
    return "a plain command, which has no recipe" if row.command else "of another platform"


def _judged(row: golden.GoldenRow, project: Project) -> _Stale | None:
    """The golden with the runs to promote; None where its environment is still the same.

    Raises:
        ReprokitError: It cannot be said, or the environment does not explain what differs.
    """
    if row.problem or row.seed is None:
        raise GoldenError(row.problem or "its folder names no seed")
    recipe = recipes.load(row.recipe, recipes_dir=project.recipes_dir)
    recipe = recipes.load(
        row.recipe, recipes_dir=project.recipes_dir, overrides=recipe.asked_on(row.platform)
    )
    folders = newest_pair(
        project.runs_dir, row.recipe, seed=row.seed, platform=row.platform, as_it_stands=True
    )
    _must_be_newest(folders, row, project)
    record = runs.read(folders[0], verify=False).record
    digests = record.digests
    again = f"`reprokit verify {row.recipe}` runs it again"
    if outdated := inputs.changed(digests, {**digests, "parts": None, **recipe_digests(recipe)}):
        raise GoldenError(f"its newest runs are of another {' and '.join(outdated)}", fix=again)
    evidence = gather(recipe, folders, golden_dir=project.golden_dir, seed=row.seed)
    judged = judgement(evidence, checks.run_all(evidence), registry=checks.registry())
    blessed = evidence.golden
    if blessed is None or judged.verdict in _REFUSED:
        raise GoldenError(f"{judged.verdict}: {judged.because}", fix=f"`reprokit reproduce {row.recipe}`")
    if blessed.fingerprint_equal and not _ENVIRONMENT.intersection(blessed.changed):
        return None
    code = [inputs.INPUTS[name] for name in blessed.changed if name not in _ENVIRONMENT]
    if code and not blessed.comparison.identical:
        what = f"{', '.join(code)} changed too, so its environment alone does not explain its numbers"
        raise GoldenError(what, fix=f"`reprokit golden promote {row.recipe}` with a reason of its own")
    return _Stale(place=row.path, folders=folders, rounding=_rounding_of(folders, project))


def _rounding_of(folders: Sequence[Path], project: Project) -> Mapping[str, Any] | None:
    """What the newest report on these runs says of rounding, judged again; None where none was asked.

    Raises:
        GoldenError: It does not follow from its runs.
    """
    names = {f"{folder.parent.name}/{folder.name}" for folder in folders}
    notes = listing.report_notes(project.reports_dir, now_ns=time.time_ns())
    for note in sorted(notes, key=lambda note: note.created_at, reverse=True):
        if note.problem or set(note.judged) != names:
            continue
        report = to_json.load(Path(note.path))
        if report.rounding is None:
            continue
        again = to_json.to_dict(replace(report, rounding=rounding_again(report)))["rounding"]
        if again != to_json.to_dict(report)["rounding"]:
            raise GoldenError(
                "what its report says of rounding does not follow from its runs",
                where=note.path,
                fix="`reprokit verify --rounding` makes them again",
            )
        return kept_in_provenance(again)
    return None


def _must_be_newest(folders: Sequence[Path], row: golden.GoldenRow, project: Project) -> None:
    """Refuse a pair since which runs were begun that have no end: what moved may be in those alone.

    Raises:
        GoldenError: There is such a run, as ``verify`` leaves it where it stops runs at the golden.
    """
    began = folders[0].name.rpartition("-")[0]
    for folder in runs.list_all(project.runs_dir, recipe=row.recipe):
        stored = runs.read(folder, verify=False)
        asked = stored.record.seed == row.seed and not stored.record.modified
        newer = folder.name.rpartition("-")[0] > began and stored.record.is_whole
        if newer and asked and not stored.complete:
            stopped = runs.stopped_at_golden(stored)
            because = "it was stopped at the golden" if stopped else stored.incomplete_because
            raise GoldenError(
                f"its newest run {folder.name} has no end: {because}",
                fix=f"`reprokit verify {row.recipe} --no-watch-golden` makes whole runs",
            )


def _promoted(
    stale: Sequence[_Stale],
    project: Project,
    promote_one: Callable[[_Stale, Project], golden.Golden],
    *,
    write: bool,
) -> tuple[GoldenDiff, ...]:
    """Promote all next to the goldens' places; put them there once each of them could be."""
    try:
        staging = Path(tempfile.mkdtemp(dir=project.golden_dir, prefix=".stale."))
    except OSError as error:
        raise cannot_write(project.golden_dir, error) from error
    try:
        moved, faults, pairs = [], [], []
        for one in stale:
            place = staging / one.place.relative_to(project.golden_dir)
            shutil.copytree(one.place, place)  # so that the new one names the one that it replaces
            try:
                fresh = promote_one(one, replace(project, golden_dir=staging))
                moved.append(compare_goldens(golden.load(one.place), fresh))
            except ReprokitError as error:
                faults.append(f"{_name(one.place)}: {error}")
            pairs.append((place, one.place))
        if faults:
            raise _refused(faults)
        if write:
            golden.replace_folders(pairs)
    except OSError as error:
        raise cannot_write(project.golden_dir, error) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return tuple(moved)


def _name(place: Path) -> str:
    return "/".join(place.parts[-3:])


def _refused(faults: Sequence[str]) -> GoldenError:
    return GoldenError(
        f"no golden was promoted, because of {counted(len(faults), 'golden')}", actual="; ".join(faults)
    )
