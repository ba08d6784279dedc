"""The main job, from a name to a report: recipe, environment, plan, runs, evidence, report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from reprokit import golden, recipes, reports, runs, workspace
from reprokit.core.checklist import Report
from reprokit.core.run_record import RunRecord
from reprokit.errors import RecipeError, ReportError
from reprokit.harness.attribution.explain_mismatch import explained
from reprokit.harness.diagnosing.cause_in_report import with_cause
from reprokit.harness.diagnosing.same_under import claimed_recipes, run_claims, run_twins
from reprokit.harness.diagnosing.stressing import disturbing
from reprokit.harness.diagnosing.vary_recipe import vary
from reprokit.harness.judging import extension_evidence
from reprokit.harness.judging.build_report import report_of
from reprokit.harness.judging.compared_with.watched_golden import golden_to_watch
from reprokit.harness.judging.gather import gather
from reprokit.harness.judging.left_out_metrics import tell_idle_patterns
from reprokit.harness.judging.report_index import write_index
from reprokit.harness.judging.rounding_of_golden import with_rounding
from reprokit.harness.judging.runs_beside_pair import RunsBesidePair, runs_at_hand
from reprokit.harness.judging.seed_response import agree, find_other_seeds
from reprokit.harness.judging.sweep_evidence import runs_of_sweeps
from reprokit.harness.running import again
from reprokit.harness.running.clock import now, stamp
from reprokit.harness.running.environments.preflight import check_before_running
from reprokit.harness.running.plan import shell_line
from reprokit.harness.running.resuming.interrupted_run import interrupt, interrupt_at_places
from reprokit.harness.running.resuming.resume_program import must_say_how
from reprokit.harness.running.run_kinds import WholeRun
from reprokit.harness.running.sinks import close_sinks
from reprokit.harness.running.start_command import run_command
from reprokit.harness.running.start_runs import run_recipe
from reprokit.harness.sweeping.new_seeds import run_new_seeds
from reprokit.layout import RECORD, SOURCE
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.session import Session


def reproduce(name: str, request: Request, *, session: Session) -> tuple[Report, Path]:
    """Run a recipe ``request.repeats`` times and judge.

    Returns:
        The report, and the folder it was written to.

    Raises:
        ReprokitError: Nothing could be run at all, or the recipe or golden is unusable.
    """
    extension_evidence.must_be_there()
    _look_at_goldens(session)
    recipe = recipes.load(name, recipes_dir=session.project.recipes_dir, overrides=request.overrides)
    if request.vary and not recipe.immune_to:
        raise RecipeError(
            "the recipe names nothing that may be varied",
            where=recipe.where("immune_to"),
            expected="`immune_to: [hash_seed, ...]`",
            fix="add it, or leave out --vary",
        )
    if request.same_under:
        _must_claim(recipe, session=session)
    if request.resume:
        must_say_how(recipe)
    check_before_running(recipe, seed=request.seed_of(recipe.seeds), session=session)
    if request.stress:
        return _stressed_recipe(recipe, request, session=session)
    find_golden = None
    if request.watch_golden:
        find_golden = golden_to_watch(recipe, request, golden_dir=session.project.golden_dir)
    pair = WholeRun(repeats=request.repeats, beside_other_seed=True, find_golden=find_golden)
    folders = run_recipe(recipe, request, pair, session=session)
    tell_idle_patterns(recipe, folders, progress=session.progress)
    stopped = resumed = None
    places: tuple[tuple[Path, ...], ...] = ()
    if _is_resumed(recipe, folders, request) and request.stop_at is not None:
        places = interrupt_at_places(recipe, request, request.stop_at, whole=folders[0], session=session)
        if len(places) == 1:
            (stopped, resumed), places = (*places[0], None)[:2], ()
    elif _is_resumed(recipe, folders, request):
        stopped, resumed = interrupt(recipe, request, whole=folders[0], session=session)
    changed = vary(recipe, folders, request, session=session) if request.vary else ()
    claimed: tuple[Path, ...] = ()
    twins: Mapping[str, Mapping[str, Any]] = {}
    if request.same_under:
        claimed = run_claims(recipe, folders, request, varied=len(changed), session=session)
        taken = len(changed) + len(claimed)
        twins = run_twins(recipe, folders[0], claimed, request, taken=taken, session=session)
    other_seeds = find_other_seeds(recipe, folders, request, session=session)
    beside = RunsBesidePair(
        stopped=stopped,
        resumed=resumed,
        places=places,
        varied=changed,
        same_under=claimed,
        twins=twins,
        other_seeds=other_seeds,
        seeds=runs_of_sweeps(folders[0]),
        new_seeds=run_new_seeds(recipe, folders, request, session=session),
    )
    return _answer(recipe, folders, request, session=session, beside=beside)


def _stressed_recipe(recipe: Recipe, request: Request, *, session: Session) -> tuple[Report, Path]:
    """Disturbed runs in turn; beside them there is nothing to run, since nothing is passed."""
    with disturbing() as disturb:
        in_turn = replace(request, side_by_side=False)
        kind = WholeRun(repeats=request.repeats)
        folders = run_recipe(recipe, in_turn, kind, session=session, disturb=disturb)
    return _answer(recipe, folders, request, session=session)


def _look_at_goldens(session: Session) -> None:
    """Before the first run of the command: a program may write to the golden of another recipe, too."""
    folder = session.project.golden_dir
    if folder not in session.goldens:
        session.goldens[folder] = golden.states(folder)


def _must_claim(recipe: Recipe, *, session: Session) -> None:
    """Refuse before anything is run a recipe without claims, or with one that cannot be set."""
    if not recipe.same_under:
        raise RecipeError(
            "the recipe names nothing that must not matter",
            where=recipe.where("same_under"),
            expected="`same_under: [{set: training.NAME=VALUE}, ...]`",
            fix="add it, or leave out --same-under",
        )
    claimed_recipes(recipe, session=session)


def _is_resumed(recipe: Recipe, folders: Sequence[Path], request: Request) -> bool:
    """Whether a run is to be stopped and resumed: where it is asked for, or the recipe says how."""
    asked = request.resume and runs.read(folders[0], verify=False).complete
    return asked or (recipe.says_how_to_resume and agree(folders))


def reproduce_command(command: Sequence[str], request: Request, *, session: Session) -> tuple[Report, Path]:
    """Run a plain command twice and judge: one after the other, nothing pinned, nothing set.

    It is compared with a golden only where the request says so; then it is judged as a recipe.
    """
    extension_evidence.must_be_there()
    _look_at_goldens(session)
    if request.stress:
        with disturbing() as disturb:
            folders = run_command(command, request, session=session, disturb=disturb)
        return _answer(None, folders, request, session=session, command=tuple(command))
    folders = run_command(command, request, session=session)
    recipe = _recipe_of(folders, session.project)
    others: tuple[Path, ...] = ()
    if recipe is not None:
        again = partial(run_command, command, session=session)
        others = find_other_seeds(recipe, folders, request, session=session, run=again)
    beside = RunsBesidePair(other_seeds=others)
    return _answer(recipe, folders, request, session=session, beside=beside, command=tuple(command))


def judge_again(
    folders: Sequence[Path],
    request: Request,
    *,
    project: Project,
    beside: RunsBesidePair | None = None,
) -> Report:
    """The report that follows from run folders alone: no engine, nothing run, nothing written.

    Args:
        folders: The runs, in the order in which they were started.
        request: ``strict`` and ``ignore``.
        project: Where goldens live.
        beside: The runs that were compared with them; None for those that an unmodified program's rows need.

    Raises:
        ReportError: A newer version wrote a run.
    """
    for folder in folders:
        runs.must_not_be_newer(folder)
    recipe = _recipe_of(folders, project)
    beside = runs_at_hand(folders[0]) if beside is None else beside
    return _judge(recipe, folders, request, project=project, phases={}, beside=beside)


def _answer(
    recipe: Recipe | None,
    folders: Sequence[Path],
    request: Request,
    *,
    session: Session,
    beside: RunsBesidePair = RunsBesidePair(),  # noqa: B008 - frozen
    command: tuple[str, ...] = (),
) -> tuple[Report, Path]:
    with session.phase("judge"):
        golden_dir = session.project.golden_dir
        golden.must_be_unchanged(golden_dir, session.goldens[golden_dir])
        report = _judge(
            recipe, folders, request, project=session.project, phases=session.seconds, beside=beside
        )
    folder = session.project.reports_dir / folders[0].parent.name / stamp()
    recipe = None if command else recipe  # a plain command has no files that could be looked at
    report = explained(report, recipe, request, session=session, folder=folder)
    report = with_rounding(report, recipe, request, session=session)
    report = with_cause(report, recipe=recipe, command=command, request=request, session=session)
    workspace.make_results_folder(session.project.reports_dir)
    reports.render_all(report, folder)
    write_index(session.project.reports_dir)
    close_sinks(folders, session=session)
    return report, folder


def _judge(
    recipe: Recipe | None,
    folders: Sequence[Path],
    request: Request,
    *,
    project: Project,
    phases: Mapping[str, float],
    beside: RunsBesidePair,
) -> Report:
    killed = beside.stopped or next((place[0] for place in beside.places), None)
    stopped = runs.read(killed, verify=False).record if killed else None
    record = runs.read(folders[0], verify=False).record
    plain = bool(record.plain_command)
    ignore = tuple(name for name, _ in recipe.program.volatile) if plain and recipe and recipe.program else ()
    rerun = rerun_line(
        record,
        ignore=ignore or request.ignore,
        stopped=stopped,
        varied=bool(beside.varied),
        gate=request.gate,
        same_under=bool(beside.same_under),
        statistical=request.statistical or beside.new_seeds is not None,
        num_runs=len(folders),
    )
    evidence = gather(
        recipe,
        folders,
        golden_dir=project.golden_dir,
        seed=request.seed,
        ignore=() if recipe else request.ignore,
        beside=beside,
    )
    evidence = replace(evidence, rerun=rerun, strict=request.strict, options=again.places_of(record))
    file = recipe.file if recipe and not plain else None
    inside = file is not None and file.is_relative_to(project.root)
    return report_of(
        evidence,
        folders=folders,
        command=request.command,
        now=now(),
        phases=phases,
        recipe_file=str(file.relative_to(project.root) if inside else file) if file else None,
        recipe_lines=recipe.lines if recipe and not plain else None,
    )


def _recipe_of(folders: Sequence[Path], project: Project) -> Recipe | None:
    record = runs.read(folders[0], verify=False).record
    if record.plain_command and not record.golden_asked:
        return None
    name, snapshot = record.recipe, folders[0] / SOURCE
    if name is None:
        where, fix = str(folders[0] / RECORD), "name the folder of a run as it was written"
        raise ReportError("run.json does not say which recipe was run", where=where, fix=fix)
    overrides = recipes.asked_of(record)
    if snapshot.is_dir():
        return recipes.load(name, recipes_dir=snapshot, overrides=overrides)
    return recipes.load(name, recipes_dir=project.recipes_dir, overrides=overrides)


def rerun_line(
    record: RunRecord,
    *,
    ignore: Sequence[str] = (),
    stopped: RunRecord | None = None,
    varied: bool = False,
    gate: bool = False,
    same_under: bool = False,
    statistical: bool = False,
    num_runs: int = 2,
) -> str:
    """The line that anyone can type, in a checkout, to run the same again and judge it.

    Args:
        record: ``run.json``; it says which folders were asked for, and whether there was a Makefile.
        ignore: Patterns of metrics that were left out.
        stopped: ``run.json`` of the run that was killed on its way, where resuming was judged too.
        varied: Whether the conditions were varied too.
        gate: Whether `verify` was typed.
        same_under: Whether what must not matter was tried too.
        statistical: Whether an ensemble was asked.
        num_runs: How many runs with the one seed were compared.
    """
    seed, plain, options = record.seed, record.plain_command, again.places_of(record)
    if plain:
        left_out = [word for pattern in ignore for word in ("--ignore-metric", pattern)]
        left_out += [word for pattern in record.outputs or () for word in ("--output", pattern)]
        golden = record.golden_asked
        left_out += ["--golden", golden] if golden and "--golden" not in options else []
        left_out += again.repeats_words(num_runs) + (["--stress"] if record.stressed else [])
        return shell_line(["reprokit", "reproduce", "--seed", str(seed), *left_out, *options, "--", *plain])
    sets = [word for override in record.modified or () for word in ("--set", override)]
    asked, bundle = record.backend_asked, record.bundle
    if bundle:  # seed and settings are the bundle's
        file = str(bundle.get("path") or bundle.get("file"))  # as typed; older runs have its name alone
        words = ["reprokit", "reproduce", file, "--sha256", str(bundle.get("sha256"))]
        backend = again.backend_words(asked if asked == "local" else "")
        line = shell_line([*words, *backend, *again.repeats_words(num_runs)])
        return f"{line}  # {record.recipe}"
    further = [*sets, *again.backend_words(asked), *again.repeats_words(num_runs), *_resuming(stopped)]
    further += ["--stress"] if record.stressed else []
    further += [*(["--vary"] if varied else []), *(["--same-under"] if same_under else []), *options]
    if gate or statistical or same_under:
        verify = ["reprokit", "verify", str(record.recipe), "--seed", str(seed)]
        return shell_line([*verify, *(["--statistical"] if statistical else []), *further])
    if record.has_make is False:
        return shell_line(["reprokit", "reproduce", str(record.recipe), "--seed", str(seed), *further])
    words = ["make", "reproduce", f"RECIPE={record.recipe}", f"SEED={seed}"]
    for_make = shlex.join(further).replace("$", "$$")  # make reads it before the shell does
    return shell_line([*words, f"ARGS={for_make}"] if further else words)


def _resuming(stopped: RunRecord | None) -> list[str]:
    """The options that kill one more run at the same place, and resume it."""
    if stopped is None:
        return []
    asked = stopped.stop_place.asked if stopped.stop_place else ""
    stop_at = asked or stopped.stop_at
    return ["--resume", *([] if stop_at is None else ["--stop-at", str(stop_at)])]
