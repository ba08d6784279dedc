"""Earlier runs used again: one repeated and judged, several laid next to each other."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reprokit import adapters, capture, recipes, reports, runs, workspace
from reprokit.capture import environment_diff
from reprokit.core import comparison as comparing
from reprokit.core import fingerprint
from reprokit.core.checklist import Report
from reprokit.core.comparison import Comparison
from reprokit.core.environment_record import EnvironmentRecord
from reprokit.core.report_parts import DrawnCurve
from reprokit.core.run_record import RunRecord
from reprokit.errors import CannotJudgeError, ImageError, MetricsError, RecipeError, UsageError
from reprokit.harness.judging.compared_with.reference_run import (
    judge_against,
    platform_of,
    read_reference_run,
    recipe_of,
)
from reprokit.harness.judging.report_index import write_index
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.environments.environment import backend_of
from reprokit.harness.running.environments.preflight import tell_false_claims
from reprokit.harness.running.run_kinds import WholeRun
from reprokit.harness.running.start_runs import run_recipe
from reprokit.images import locks
from reprokit.layout import CONFIG, SOURCE
from reprokit.project import Project
from reprokit.recipes import NO_VARIANT
from reprokit.records import environment_json
from reprokit.request import Request
from reprokit.session import Session

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_MAX_SOURCE_BYTES = 1 << 20
_NOTHING: tuple[Any, ...] = (None, "", [], {}, ())
_FACTS = ("recipe", "seed", "device", "numerics", "backend", "modified", "command")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing in which runs may differ.

    Attributes:
        name: Dotted path.
        values: One a run; None where a run has none.
        can_change_numbers: ``yes``, ``maybe``, ``no``, or "" where no one knows.
    """

    name: str
    values: tuple[Any, ...]
    can_change_numbers: str = ""

    @property
    def differs(self) -> bool:
        first, *others = (None if value in _NOTHING else value for value in self.values)
        return any(type(other) is not type(first) or other != first for other in others)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsCompared:
    """Several runs, side by side.

    Attributes:
        folders: The run folders; the others are compared with the first.
        warnings: Why one of them proves nothing.
        configuration: What was asked for.
        source: Digests and commit of what was run.
        diffs: Unified diff of every file in ``source/`` that is not the first run's: lines.
        environment: Fields of the environment records that differ.
        metrics: Last value of every metric.
        comparisons: The first run's metrics with those of each other, exactly.
    """

    folders: tuple[Path, ...]
    warnings: tuple[str, ...]
    configuration: tuple[Field, ...]
    source: tuple[Field, ...]
    diffs: tuple[str, ...]
    environment: tuple[Field, ...]
    metrics: tuple[Field, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def exit_code(self) -> int:
        """0 all metrics are equal, 1 some differ, 2 some cannot be compared and none is known to differ."""
        codes = {comparing.exit_code(comparison) for comparison in self.comparisons}
        return next((code for code in (1, 2) if code in codes), 0)


def reproduce_run(folder: Path, request: Request, *, session: Session) -> tuple[Report, Path]:
    """Repeat a run from its own folder and judge the new runs with it in place of a golden.

    Args:
        folder: Anyone's run folder. What its ``source/`` holds is run: in a container, unless the
            request or this host wants otherwise.
        request: Repeats, backend, limits; seed and overrides are the run's own.
        session: The project, and the progress that is shown.

    Returns:
        The report, and the folder it was written to.

    Raises:
        ReprokitError: Nothing can be compared with the run, or its environment cannot be made here.
    """
    reference = read_reference_run(folder.resolve())
    recipe = recipe_of(reference)
    _refuse_other_platform(reference, session.project)
    _refuse_other_lock(reference, recipe.variant, session.project)
    if request.backend == "auto" and reference.record.backend == "local":
        request = replace(request, backend="local")
    backend = backend_of(recipe, request, progress=session.progress)
    tell_false_claims(recipe, session=session)
    if backend == "local":
        what = "trainer" if recipe.program is None else "program"
        session.progress.note(
            f"what runs now is the {what} in that run's folder, with no container around it"
        )
    asked = Request(
        seed=reference.record.seed,
        backend=backend,
        base=request.base,
        repeats=request.repeats,
        strict=request.strict,
        timeout_s=request.timeout_s,
        side_by_side=request.side_by_side and not _had_every_core(reference.record, recipe),
        command=request.command,
    )
    kind = WholeRun(repeats=asked.repeats, beside_other_seed=True)
    folders = run_recipe(recipe, asked, kind, session=session)
    with session.phase("judge"):
        report = judge_against(folders, reference, recipe, request=asked, phases=session.seconds)
        place = session.project.reports_dir / recipe.name / stamp()
        workspace.make_results_folder(session.project.reports_dir)
        reports.render_all(report, place)
        write_index(session.project.reports_dir)
    return report, place


def _had_every_core(record: RunRecord, recipe: recipes.Recipe) -> bool:
    """Whether a program ran alone: in a pair each run has one core, so that its threads may be others."""
    return recipe.program is not None and not (record.limits and record.limits.cpus)


def beside(folders: Sequence[Path]) -> RunsCompared:
    """Lay runs side by side.

    Args:
        folders: At least two run folders.

    Raises:
        UsageError: There are fewer, or one was stopped early at the golden.
        ReportError: One is no run folder.
    """
    if len(folders) < 2:
        raise UsageError("comparing takes two runs or more", actual=str(len(folders)))
    for folder in folders:
        runs.must_not_be_stopped(folder, what="it cannot be compared as a finished run")
    stored = [runs.read(folder) for folder in folders]
    environments = [environment_json.recorded(folder) for folder in folders]
    differing = _environment(environments)
    return RunsCompared(
        folders=tuple(folders),
        warnings=tuple(f"{run.path}: {run.incomplete_because}" for run in stored if not run.complete),
        configuration=_fields([_configuration(run) for run in stored]),
        source=(
            *_fields([_flat(run.record.digests, at="digests") for run in stored]),
            *(field for field in differing if field.name.startswith("source.")),
        ),
        diffs=tuple(_source_diffs(folders)),
        environment=tuple(field for field in differing if not field.name.startswith("source.")),
        metrics=_fields([_final_values(folder) for folder in folders]),
        comparisons=tuple(_compare(folders[0], other) for other in folders[1:]),
    )


def curves(folders: Sequence[Path], *, labels: Sequence[str], max_points: int) -> dict[str, list[DrawnCurve]]:
    """The curves of several runs, one over the other, for drawing.

    Returns:
        Metric → the curve of each run that has it.
    """
    found: dict[str, list[DrawnCurve]] = {}
    for folder, label in zip(folders, labels, strict=True):
        sources = adapters.find_all(folder)
        for source in sources:
            prefix = f"{source.name}:" if len(sources) > 1 else ""
            for name, series in adapters.read_series(source.path, max_points=max_points).items():
                entry = DrawnCurve(label=label, steps=series.steps, values=series.values)
                found.setdefault(prefix + name, []).append(entry)
    return found


def _refuse_other_platform(reference: runs.StoredRun, project: Project) -> None:
    theirs = platform_of(reference)
    ours = fingerprint.platforms_of_host(capture.capture_host(project.root))
    if theirs not in ours:
        raise CannotJudgeError(
            "the run was made on another platform, so its metrics cannot be compared here",
            where=str(reference.path),
            expected=theirs,
            actual=" or ".join(ours),
        )


def _refuse_other_lock(reference: runs.StoredRun, variant: str, project: Project) -> None:
    """Only the lock that the run's record names makes the environment that it names."""
    if variant == NO_VARIANT:
        return  # what this Python holds is told by the environments' differences
    image = reference.record.image
    recorded = image.lock_digest if image is not None else None
    path = locks.read_lock(project.root).variant(variant).packages_path
    actual = workspace.sha256_of(path) if path.is_file() else "no such file"
    if actual != recorded:
        source = environment_json.recorded(reference.path).get("source") or {}
        commit = str(source.get("commit"))
        known = _COMMIT.fullmatch(commit)  # a person is about to paste it
        raise ImageError(
            "the lock differs from the one that the run's environment was made from",
            where=str(path),
            expected=str(recorded),
            actual=actual,
            fix=f"`git worktree add ../then {commit}`, and reproduce the run there"
            if known
            else "restore the lock that it had",
        )


def _configuration(run: runs.StoredRun) -> dict[str, Any]:
    """What was asked for: facts of ``run.json``, then ``config.yaml`` as it was used."""
    record = run.record
    told = {name: getattr(record, name) for name in _FACTS}
    facts = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in told.items()
        if value not in (None, ())
    }
    path = run.path / CONFIG
    try:
        config = recipes.read_mapping(path) if path.is_file() else {}
    except RecipeError:
        config = {CONFIG: "cannot be read"}
    return {**facts, **_flat(config)}


def _flat(value: Any, *, at: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {at: value} if at else {}
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        flat.update(_flat(inner, at=f"{at}.{name}" if at else str(name)))
    return flat


def _fields(found: Sequence[Mapping[str, Any]]) -> tuple[Field, ...]:
    names = dict.fromkeys(name for one in found for name in one)
    return tuple(Field(name=name, values=tuple(one.get(name) for one in found)) for name in names)


def _environment(records: Sequence[EnvironmentRecord]) -> list[Field]:
    """Every field in which some record differs from the first, as that comparison tells it."""
    entries = [
        {entry["field"]: entry for entry in environment_diff.diff(records[0], other)} for other in records[1:]
    ]
    fields = []
    for name in dict.fromkeys(name for one in entries for name in one):
        known = next(one[name] for one in entries if name in one)
        values = [one[name]["actual"] if name in one else known["expected"] for one in entries]
        fields.append(
            Field(
                name=name,
                values=(known["expected"], *values),
                can_change_numbers=known["can_change_numbers"],
            )
        )
    return fields


def _source_diffs(folders: Sequence[Path]) -> Iterator[str]:
    first = _source_files(folders[0])
    for other in folders[1:]:
        theirs = _source_files(other)
        for name in sorted(set(first) | set(theirs)):
            yield from difflib.unified_diff(
                first.get(name, []),
                theirs.get(name, []),
                n=1,
                lineterm="",
                fromfile=f"{folders[0].name}/{name}",
                tofile=f"{other.name}/{name}",
            )


def _source_files(folder: Path) -> dict[str, list[str]]:
    files = {}
    for path in sorted((folder / SOURCE).rglob("*")):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= _MAX_SOURCE_BYTES:
            text = path.read_bytes().decode("utf-8", errors="backslashreplace")
            files[path.relative_to(folder).as_posix()] = text.splitlines()
    return files


def _final_values(folder: Path) -> dict[str, Any]:
    try:
        sources = adapters.find_all(folder)
        found = [(source, adapters.summarise(source.path).final_values) for source in sources]
    except MetricsError:
        return {}
    return {
        f"{source.name}:{name}" if len(found) > 1 else name: value
        for source, values in found
        for name, value in values.items()
    }


def _compare(first: Path, other: Path) -> Comparison:
    try:
        return adapters.compare_paths(first, other)[0]
    except MetricsError as error:
        return comparing.unreadable(error, side="both")
