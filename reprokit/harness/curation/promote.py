"""From run folders to a golden: this gathers; ``reprokit.golden`` decides and writes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import checks, golden, runs
from reprokit.core import fingerprint
from reprokit.core.checklist import Status
from reprokit.core.environment_record import sections
from reprokit.core.provenance import OtherSeeds
from reprokit.core.verdicts.agreement import takes_seed
from reprokit.core.verdicts.comparability import why_not_its_own
from reprokit.core.verdicts.same_under import PREFIX
from reprokit.errors import GoldenError
from reprokit.harness.curation.plain_run import plain_run
from reprokit.harness.judging.build_report import evidence_digests
from reprokit.harness.judging.compared_with.reference_run import platform_of, recipe_of
from reprokit.harness.judging.gather import gather
from reprokit.harness.judging.seed_response import (
    response_of,
    runs_with_other_seeds,
    shown_by_other_goldens,
)
from reprokit.harness.running.plan import shell_line
from reprokit.harness.running.run_inputs import MIXED, whole_run, whole_runs
from reprokit.layout import MARKER, METRICS, TRACE
from reprokit.project import Project, settings_of
from reprokit.records import environment_json
from reprokit.reports.formats import to_json
from reprokit.runs import listing
from reprokit.session import Progress, Session
from reprokit.workspace import sha256_of

_OF_RUNS_BESIDE = {"resume_equal", "unchanged_when_varied"}
_RESPONDS = "responds_to_seed"
_REPEATABLE = "repeatable"


def promote(
    folders: Sequence[Path],
    *,
    project: Project,
    promotion: golden.Promotion,
    progress: Progress | None = None,
    of_cpu: bool = False,
    told: Mapping[str, Any] | None = None,
) -> golden.Golden:
    """Promote two or more agreeing runs to the golden of their recipe, platform and seed.

    ``progress`` is told of the run that is made without the watch, where the recipe says ``instrument``;
    ``of_cpu`` makes it a golden of
    the runs' kind of CPU alone, where that can change numbers; ``told`` are further keys of its provenance.

    Raises:
        CannotRunError: That run did not finish.
        GoldenError: The runs are not worthy, or that run has other metrics.
        ReportError: One of the folders is not a run folder.
    """
    if not folders:
        raise GoldenError("a golden needs two runs that agree", actual="none")
    recipe_data = runs.read(folders[0], verify=False).record.recipe_data or {}
    candidates = [candidate_of(folder) for folder in folders]
    if of_cpu:
        kinds = [fingerprint.cpu_that_counts(environment_json.recorded(folder)) for folder in folders]
        candidates = [replace(run, cpu=kind) for run, kind in zip(candidates, kinds, strict=True)]
    failed: tuple[golden.FailedCheck, ...] = ()
    if all(run.complete for run in candidates):
        responds, silent = _response(candidates[0], recipe_data, project)
        candidates[0] = replace(candidates[0], responds=responds)
        failed = (*_failed_checks(folders, project), *silent, *_left_out(folders))

    def confirm() -> dict[str, Any]:
        if not recipe_data.get("instrument"):
            return dict(told or {})
        watched = runs.read(folders[0])
        return {
            **(told or {}),
            "plain_run": plain_run(watched, session=Session(project=project, progress=progress or _Silent())),
        }

    return golden.promote(
        project.golden_dir,
        runs=candidates,
        promotion=promotion,
        tolerances=recipe_data.get("tolerances") or {},
        failed=failed,
        limit_bytes=settings_of(project.root).golden_limit_mb * 1e6,
        confirm=confirm,
    )


def _response(
    run: golden.GoldenCandidate, recipe: Mapping[str, Any], project: Project
) -> tuple[OtherSeeds | None, tuple[golden.FailedCheck, ...]]:
    """What shows that metrics respond to the seed, to be recorded; and that none does, where that is known.

    Where no one looked, nothing is recorded, and the next ``reproduce`` looks.
    """
    place = golden.locate(
        project.golden_dir, recipe=run.recipe, platform=run.platform, seed=run.seed, cpu=run.cpu
    )
    others = runs_with_other_seeds(run.path) if "command" in recipe else ()
    if not others and shown_by_other_goldens(place, run.path):
        return None, ()
    seen = response_of(recipe, run.path, golden_folder=None, others=others)
    if seen is None:
        return None, ()
    if seen.shown_by and seen.seed is not None:
        return OtherSeeds(seed=seen.seed, metrics=tuple(seen.metrics), third_seed=seen.third_seed), ()
    if (not others or seen.needs_third) and takes_seed(recipe):
        return None, ()
    fix = "say why in recipe.yaml (`unresponsive: {because: …}`) if that is meant"
    return None, (golden.FailedCheck(id=_RESPONDS, status="FAILED", reason=f"{seen.why_not}; {fix}"),)


def _left_out(folders: Sequence[Path]) -> tuple[golden.FailedCheck, ...]:
    """A finished run of the same with the same seed that has other metrics: those that agree were chosen."""
    own = whole_run(folders[0])
    digest = sha256_of(folders[0] / METRICS) if own and (folders[0] / METRICS).is_file() else ""
    if own is None or not digest:
        return ()
    code = runs.read(own.path, verify=False).document.get("outside_code")
    for other in whole_runs(own.path.parent.parent, recipe=own.path.parent.name):
        if other.seed != own.seed or other.inputs != own.inputs or other.is_of_mixed:
            continue
        stored = runs.read(other.path)
        there = stored.complete and (other.path / METRICS).is_file()
        if not there or stored.document.get("outside_code") != code:
            continue
        if sha256_of(other.path / METRICS) != digest:
            reason = (
                f"{other.path} is another run of the same recipe and seed, and has different metrics: "
                "the program does not repeat, or reads what is not recorded"
            )
            return (golden.FailedCheck(id=_REPEATABLE, status="FAILED", reason=reason),)
    return ()


class _Silent:
    """No one follows."""

    def phase(self, name: str) -> None: ...

    def update(
        self, run_label: str, step: int, total: int | None, *, steps_per_s: float | None, eta_s: float | None
    ) -> None: ...

    def alive(self, run_label: str, seen: str, *, expected_s: float | None = None) -> None: ...
    def ended(self, run_label: str) -> None: ...

    def note(self, text: str) -> None: ...


def _failed_checks(folders: Sequence[Path], project: Project) -> tuple[golden.FailedCheck, ...]:
    """Every required row that the runs failed: judged again without a golden, and as their reports say.

    A report alone knows of a run that was resumed or varied next to them; of it only those rows count,
    because all others are judged again here, and those about the golden that is to be replaced do not matter.
    """
    stored = runs.read(folders[0], verify=False)
    recipe, plain = recipe_of(stored), stored.record.plain_command
    line = shell_line(["reprokit", "reproduce", *(["--", *plain] if plain else [recipe.name])])
    rows = list(checks.run_all(replace(gather(recipe, folders), rerun=line)))
    names = {f"{folder.parent.name}/{folder.name}" for folder in folders}
    for note in listing.report_notes(project.reports_dir, now_ns=time.time_ns()):
        if names.intersection(note.judged):
            rows += [row for row in to_json.load(Path(note.path)).checks if _is_of_runs_beside(row.id)]
    failed = {row.id: row for row in rows if row.required and row.status in {Status.FAILED, Status.ERROR}}
    return tuple(
        golden.FailedCheck(id=row.id, status=str(row.status), reason=row.reason) for row in failed.values()
    )


def _is_of_runs_beside(row: str) -> bool:
    return row in _OF_RUNS_BESIDE or row.startswith(PREFIX)


def runs_of_report(path: Path) -> tuple[Path, ...]:
    """The run folders that a report judged, as they were when it was made.

    Raises:
        ReportError: It is no report.
        GoldenError: A run is gone, or was changed since.
    """
    report = to_json.load(path)
    folders = tuple(Path(folder) for folder in report.runs)
    for folder in folders:
        runs.must_not_be_stopped(folder, what="it cannot be promoted")
    today = evidence_digests(folders, None)
    for folder in folders:
        marker = str(folder / MARKER)
        if marker not in today or today[marker] != report.evidence_digests.get(marker):
            raise GoldenError(
                "the run differs from the one that the report judged",
                where=str(folder),
                expected="a finished run, unchanged since the report",
                fix="run the recipe again",
            )
    return folders


def newest_pair(
    runs_dir: Path, recipe: str, *, seed: int | None, platform: str | None = None, as_it_stands: bool = False
) -> tuple[Path, ...]:
    """The runs of a recipe's newest finished ``reproduce``; ``as_it_stands``: whatever was stopped since.

    Raises:
        GoldenError: There is none; or several platforms have some, and neither ``platform`` nor
            ``as_it_stands`` says which counts.
        UsageError: Newer runs were stopped at the golden, so these are not the ones that a person has seen.
    """
    by_stamp: dict[str, list[Path]] = {}
    stopped: dict[str, Path] = {}
    for folder in runs.list_all(runs_dir, recipe=recipe):
        stored = runs.read(folder, verify=False)
        fits = seed is None or stored.record.seed == seed
        fits = fits and stored.record.is_whole and (platform is None or platform == platform_of(stored))
        began = folder.name.rpartition("-")[0]
        if stored.complete and fits and not (as_it_stands and stored.record.modified):
            by_stamp.setdefault(began, []).append(folder)
        elif fits and runs.stopped_at_golden(stored):
            stopped[began] = folder
    pairs = {began: folders for began, folders in by_stamp.items() if len(folders) >= 2}
    newest = max(pairs, default="")
    if not as_it_stands and max(stopped, default="") > newest:
        runs.must_not_be_stopped(stopped[max(stopped)], what="the newest runs cannot be promoted")
    if not pairs:
        raise GoldenError(
            f"{recipe} has no two finished runs that one `reproduce` made",
            where=str(runs_dir),
            fix=f"run `reprokit reproduce {recipe}{f' --platform {platform}' if platform else ''}` first",
        )
    there = {platform_of(runs.read(folders[0], verify=False)) for folders in pairs.values()}
    if len(there) > 1 and not as_it_stands:
        raise GoldenError(
            f"{recipe} has pairs of runs on several platforms, and a golden is of one of them",
            where=str(runs_dir),
            expected=" or ".join(f"--platform {name}" for name in sorted(there)),
            actual="none was named",
        )
    return tuple(pairs[newest])


def candidate_of(folder: Path) -> golden.GoldenCandidate:
    """A run folder as a run that may become a golden.

    Raises:
        GoldenError: It is of a plain command, or was resumed, stopped, varied or disturbed.
        UsageError: It was stopped at the golden.
    """
    stored = runs.read(folder)
    record = stored.record
    runs.must_not_be_stopped(folder, what="it cannot be promoted")
    if record.plain_command and not record.golden_asked:
        fix = "run it with --golden DIR, the folder of goldens, or write a recipe for it"
        raise GoldenError("a plain command has no golden", where=str(folder), fix=fix)
    if record.resumed_from is not None:
        what = "a resumed run holds only the later steps of a training"
        raise GoldenError(what, where=str(folder), fix="promote runs that were never stopped")
    if record.machine.set == MIXED:
        what = "this run was made for a sweep over machines of several kinds (`machines: mark`)"
        raise GoldenError(what, where=str(folder), fix="promote runs of machines of one kind")
    if record.stopped_by is not None:
        what = "this run was stopped early on purpose"
        raise GoldenError(what, where=str(folder), fix="promote runs that were never stopped")
    if record.varied is not None:
        what = "the conditions of this run were varied on purpose"
        raise GoldenError(what, where=str(folder), fix="promote runs of a plain reproduce")
    if record.stressed is not None:
        what = "this run was disturbed on purpose (--stress)"
        raise GoldenError(what, where=str(folder), fix="promote runs of a plain reproduce")
    if objection := why_not_its_own(record):
        fix = "have the program compute its numbers, and run it again"
        raise GoldenError(objection.reason, where=str(folder), fix=fix)
    environment = environment_json.recorded(folder)
    image = environment.get("image") or {}
    source = environment.get("source") or {}
    return golden.GoldenCandidate(
        path=folder,
        complete=stored.complete,
        recipe=str(record.recipe),
        seed=record.seed or 0,
        platform=fingerprint.platform_of(environment),
        modified=record.modified or (),
        dirty=source.get("unrecorded"),
        metrics=folder / METRICS,
        trace=None if record.program and not (folder / TRACE).is_file() else folder / TRACE,
        digests=record.digests,
        image={"kind": image.get("kind"), "digest": image.get("digest"), "base": image.get("base")},
        fingerprint=fingerprint.fingerprint(environment),
        fingerprint_facts=fingerprint.facts(environment),
        environment=sections(environment, ("schema", "inside", "host", "image")),
        config=record.training_config,
        program=record.program.files if record.program else {},
        sources=record.sources,
        outside_code=stored.document.get("outside_code"),
        command=record.plain_command or (),
        extensions=record.extensions,
    )
