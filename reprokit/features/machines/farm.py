"""A farm of machines: goldens recorded on every kind of CPU that an engine has, and verified there.

Nothing is trained in the calling process; two runs on each kind of CPU agree, or there is no golden.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit import capture, extensions, golden, recipes, reports
from reprokit.core import fingerprint
from reprokit.core.checklist import Report
from reprokit.core.fingerprint import PORTABLE
from reprokit.errors import CannotJudgeError, CannotRunError, GoldenError, UsageError
from reprokit.features.machines import place as where
from reprokit.features.machines.every_kind import MachineCell, run_on_every_kind
from reprokit.harness.curation.promote import promote
from reprokit.harness.judging import extension_evidence
from reprokit.harness.judging.report_index import write_index
from reprokit.harness.reproduce import judge_again
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.seeds import seeds_of
from reprokit.harness.running.start_command import among_others_in
from reprokit.harness.sweeping.asked import parse_seeds
from reprokit.harness.sweeping.carry_out import SweepSession
from reprokit.harness.sweeping.groups import SweepGroup, make_ready
from reprokit.harness.sweeping.what_was_asked import SweepAsked
from reprokit.layout import MACHINES, METRICS
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.workspace import make_results_folder, sha256_of

#: What a row says where no report was made.
RECORDED, DIFFER, NOT_RECORDED = "RECORDED", "DIFFER", "NOT_RECORDED"
NOT_RUN, NOT_ASKED = "NOT_RUN", "NOT_ASKED"


@dataclass(frozen=True, slots=True, kw_only=True)
class FarmRow:
    """What came of one recipe and seed on one kind of CPU.

    Attributes:
        recipe: Its recipe; "" for a machine about which nothing is known.
        seed: Its seed, or None.
        cpu: The kind of CPU, or the name of the machine about which nothing is known.
        machines: The engine's names of the machines of this kind.
        verdict: A verdict of a report, or one of this module's.
        sentence: Why, one sentence.
        exit_code: What it calls for.
        runs: The run folders.
        report: The report, where runs were judged.
        folder: Where it was written; of a golden that was recorded, the golden's folder.
    """

    recipe: str = ""
    seed: int | None = None
    cpu: str
    machines: tuple[str, ...]
    verdict: str
    sentence: str
    exit_code: int
    runs: tuple[Path, ...] = ()
    report: Report | None = None
    folder: Path | None = None


def record_goldens(
    asked: SweepAsked,
    request: Request,
    *,
    session: SweepSession,
    promotion: golden.Promotion,
) -> list[FarmRow]:
    """Record a golden of each recipe and seed on every kind of CPU of an engine, from two new runs each.

    Under the portable profile one golden holds everywhere: all runs, on all CPUs, must agree byte for byte.
    Else each kind of CPU has a golden of its own.

    Args:
        asked: The recipes, their seeds, and on what: ``ray`` or ``slurm``.
        request: How runs are made.
        session: The project, and the progress that is shown.
        promotion: Why, when, and what is allowed.

    Raises:
        GoldenError: There is no reason.
        CannotRunError: A recipe cannot be made ready, here or on a machine.
    """
    promotion.must_have_reason()
    project = session.project
    chosen = [recipes.load(name, recipes_dir=project.recipes_dir) for name in asked.names]
    for recipe in chosen:
        if recipe.is_watched:
            fix = f"`reprokit reproduce {recipe.name}`, `reprokit golden promote {recipe.name}`"
            raise UsageError(
                "a recipe with `instrument` needs a run without the watch", where=recipe.name, fix=fix
            )
    wanted = parse_seeds(asked.seeds)
    pairs = [(recipe, wanted(recipe.seeds)) for recipe in chosen]
    cells, busy = _made(pairs, asked, request, session=session)
    rows = []
    for together in _goldens(cells):
        promoted = _recorded(together, project=project, promotion=promotion)
        rows += [replace(_row(cell), **promoted) for cell in together]  # type: ignore[arg-type]
    return [*rows, *_not_asked(busy)]


def verify_on(
    asked: SweepAsked,
    request: Request,
    *,
    session: SweepSession,
) -> list[FarmRow]:
    """Hold two new runs of each recipe and seed, on every kind of CPU of an engine, against the goldens.

    Args:
        asked: The recipes, all that declare this platform where none is named; and on what: ``ray`` or
            ``slurm``.
        request: How runs are made and judged; a seed alone, where it names one.
        session: The project, and the progress that is shown.

    Raises:
        CannotJudgeError: There is no recipe to judge.
        CannotRunError: A recipe cannot be made ready, here or on a machine.
    """
    project = session.project
    platform = fingerprint.platform_of_host(capture.capture_host(project.root))
    every = asked.names or recipes.list_names(project.recipes_dir)
    chosen = [recipes.load(name, recipes_dir=project.recipes_dir) for name in every]
    chosen = [recipe for recipe in chosen if asked.names or platform in recipe.platforms]
    if not chosen:
        raise CannotJudgeError("no recipe declares this platform", actual=platform)
    pairs = [(recipe, tuple(seeds_of(recipe, request, project, platform))) for recipe in chosen]
    cells, busy = _made(pairs, asked, request, session=session)
    session.progress.phase("judge")
    return [*(_judged(cell, request, project) for cell in cells), *_not_asked(busy)]


def _made(
    pairs: Sequence[tuple[Recipe, tuple[int, ...]]],
    asked: SweepAsked,
    request: Request,
    *,
    session: SweepSession,
) -> tuple[list[MachineCell], list[str]]:
    """The runs on every kind of machine."""
    if asked.on not in where.places():
        expected = " or ".join(where.places())
        raise UsageError(
            f"{asked.on!r} has no machines to choose from",
            where="--on",
            expected=expected,
            fix=extensions.hint_of_unnamed() or None,
        )
    extension_evidence.must_be_there()
    project, progress = session.project, session.progress
    progress.phase("environment")
    host = capture.capture_host(project.root)
    groups: list[SweepGroup] = []
    for recipe, seeds in pairs:
        group = make_ready(
            recipe,
            request,
            seeds=lambda _declared, seeds=seeds: seeds,  # type: ignore[misc]
            host=host,
            session=session,
        )
        if group.inputs is None:
            raise CannotRunError(f"{recipe.name} cannot be run: {group.problem}")
        groups.append(group)
    folder = project.runs_dir / MACHINES
    with (
        among_others_in(project, note=progress.note),
        closing(where.open_place(asked.on, settings=asked.place_settings or {}, folder=folder)) as place,
    ):
        return run_on_every_kind(groups, place=place, project=project, progress=progress)


def _goldens(cells: Iterable[MachineCell]) -> list[list[MachineCell]]:
    """The cells whose runs make one golden together."""
    found: dict[tuple[str, int, str], list[MachineCell]] = {}
    for cell in cells:
        recipe = cell.group.recipe
        everywhere = recipe.numerics == PORTABLE or recipe.device != "cpu"
        found.setdefault((recipe.name, cell.seed, "" if everywhere else cell.kind.cpu), []).append(cell)
    return list(found.values())


def _recorded(
    cells: Sequence[MachineCell], *, project: Project, promotion: golden.Promotion
) -> dict[str, object]:
    """Make a golden of all runs of some cells; the keys of a row that say what came of it."""
    missing = [f"{cell.kind.name}: {cell.problem}" for cell in cells if len(cell.folders) < 2]
    if missing:
        sentence = f"not all runs finished, so nothing is recorded: {'; '.join(missing)}"
        return {"verdict": NOT_RUN, "sentence": sentence, "exit_code": CannotRunError.exit_code}
    folders = [folder for cell in cells for folder in cell.folders]
    told = [{"cpu": cell.kind.cpu, "is": cell.kind.words, "runs": len(cell.folders)} for cell in cells]
    try:
        made = promote(
            folders,
            project=project,
            promotion=promotion,
            of_cpu=True,
            told={"machines": told},
        )
    except GoldenError as error:
        differ = len({sha256_of(folder / METRICS) for folder in folders}) > 1
        return {
            "verdict": DIFFER if differ else NOT_RECORDED,
            "sentence": error.told(),
            "exit_code": 1 if differ else error.exit_code,
        }
    where_from = f"{len(folders)} runs on {len(cells)} kind(s) of CPU agree"
    return {"verdict": RECORDED, "sentence": where_from, "exit_code": 0, "folder": made.path}


def _row(cell: MachineCell) -> FarmRow:
    return FarmRow(
        recipe=cell.group.recipe.name,
        seed=cell.seed,
        cpu=cell.kind.name,
        machines=cell.kind.machines,
        verdict=NOT_RUN,
        sentence=cell.problem,
        exit_code=CannotRunError.exit_code,
        runs=cell.folders,
    )


def _judged(cell: MachineCell, request: Request, project: Project) -> FarmRow:
    """A cell whose runs were compared with each other and against the golden."""
    row = _row(cell)
    if len(cell.folders) < 2:
        return row
    report = judge_again(cell.folders, replace(request, seed=cell.seed), project=project)
    folder = project.reports_dir / row.recipe / stamp()
    make_results_folder(project.reports_dir)
    reports.render_all(report, folder)
    write_index(project.reports_dir)
    return replace(
        row,
        verdict=str(report.verdict),
        sentence=report.sentence,
        exit_code=report.exit_code,
        report=report,
        folder=folder,
    )


def _not_asked(busy: Iterable[str]) -> list[FarmRow]:
    return [
        FarmRow(
            cpu=name,
            machines=(name,),
            verdict=NOT_ASKED,
            sentence="it was busy, so nothing is known about it; give the command again",
            exit_code=CannotJudgeError.exit_code,
        )
        for name in busy
    ]
