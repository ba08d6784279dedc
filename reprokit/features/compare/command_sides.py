"""Two plain commands, each run twice: in turn, in place, with nothing pinned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from reprokit import capture, runs
from reprokit.errors import CannotRunError, EngineError, UsageError
from reprokit.execution.local import LocalBackend
from reprokit.execution.placeholders import unused
from reprokit.features.compare.answer import SIDES
from reprokit.features.compare.left_behind import LeftBehind, watched_for
from reprokit.features.compare.printed_only import only_prints
from reprokit.features.compare.rounding.twin_runs import MakeRun
from reprokit.features.compare.seals import Seals
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.engine import Engine, with_shared_places
from reprokit.harness.running.plan import RunPlan, plan_command
from reprokit.harness.running.programs import program_output
from reprokit.harness.running.programs.tree_changes import Tree, work_tree_of
from reprokit.harness.running.run_kinds import VariedRun
from reprokit.harness.running.start_command import among_others_in, asked_in, captured, not_started
from reprokit.harness.running.varying.varied_run import varied
from reprokit.request import Request
from reprokit.session import Session
from reprokit.variations import Variation


def run_commands(
    commands: Mapping[str, Sequence[str]],
    request: Request,
    *,
    seals: Seals,
    session: Session,
    and_then: Callable[[Mapping[str, tuple[Path, ...]], Mapping[str, MakeRun]], None] | None = None,
) -> dict[str, tuple[Path, ...]]:
    """The run folders of both sides; of the second none where the first did not run.

    Raises:
        UsageError: The commands are equal, or a pattern of output files fits nothing.
        CannotRunError: Nothing could start, and not even that can be written.
    """
    if list(commands["a"]) == list(commands["b"]):
        raise UsageError("the two commands are the same", fix="`reprokit reproduce -- COMMAND` repeats one")
    if request.backend == "docker":
        raise EngineError(
            "a plain command runs in your own Python", fix="write a recipe to run in a container"
        )
    here, project = Path.cwd(), session.project
    plans = {name: _plan(commands[name], request, session=session) for name in SIDES}
    for sentence in dict.fromkeys(line for name in SIDES for line in unused(commands[name])):
        session.progress.note(sentence)
    shared = with_shared_places(
        replace(plans["a"], specs=(*plans["a"].specs, *plans["b"].specs)),
        runs_dir=project.runs_dir,
        reports_dir=project.reports_dir,
    ).shared
    kept = (project.runs_dir, project.reports_dir)
    trees = [Tree.of(commands[name], working_dir=here, kept=kept) for name in SIDES]
    tree = Tree(roots=tuple(dict.fromkeys(root for one in trees for root in one.roots)), kept=trees[0].kept)
    try:
        with among_others_in(project, note=session.progress.note), session.phase("train"):
            made: dict[str, tuple[Path, ...]] = dict.fromkeys(SIDES, ())
            before = tree.look()
            behind = LeftBehind(shared=shared)
            for name in SIDES:
                plan = watched_for(plans[name], behind, runs_dir=project.runs_dir)
                engine = Engine(
                    backend=LocalBackend(),
                    runs_dir=project.runs_dir,
                    host=captured(commands[name], project),
                    progress=session.progress,
                )
                session.progress.note(f"side {name}")
                for spec in plan.specs:
                    left = tree.changes(before) if any(made.values()) else {}
                    facts = {**plan.facts, **left}
                    made[name] += engine.make(replace(plan, specs=(spec,), facts=facts))
                    seals.close(made[name][-1])
                    if not runs.read(made[name][-1], verify=False).complete:
                        return made
                    if only_prints(made[name][-1]):
                        break  # another run would show as little
                    _must_fit(made, request)
                written = behind.for_other_side
                written = replace(written, files=written.files | tree.written(before))
                behind = replace(behind, written=written)
            if and_then is not None:
                makers = {side: _makes_runs(replace(plans[side], shared=shared), session) for side in SIDES}
                and_then(made, makers)
            return made
    except CannotRunError as error:
        spec = plans["a"].specs[0]
        folder = not_started(error, name=spec.recipe, seed=spec.seed, project=project, facts=plans["a"].facts)
        return {"a": (folder,), "b": ()}


def _makes_runs(plan: RunPlan, session: Session) -> MakeRun:
    """Further runs of a command under a variation."""
    engine = Engine(
        backend=LocalBackend(),
        runs_dir=session.project.runs_dir,
        host=captured(plan.specs[0].command, session.project),
        progress=session.progress,
    )

    def make(variation: Variation, number: int) -> Path:
        kind = VariedRun(number=number, chosen=(variation,))
        spec = replace(plan.specs[0], run_id=f"{plan.specs[0].run_id}-varied{number}")
        spec, files = varied(spec, kind, runs_dir=session.project.runs_dir)
        facts = {**plan.facts, "varied": kind.as_fact()}
        return engine.make(replace(plan, specs=(spec,), facts=facts, files={**plan.files, **files}))[0]

    return make


def _plan(command: Sequence[str], request: Request, *, session: Session) -> RunPlan:
    here = Path.cwd()
    plan = plan_command(
        command,
        seed=request.seed if request.seed is not None else 0,
        repeats=request.repeats,
        stamp=stamp(),
        working_dir=here,
        timeout_s=request.timeout_s,
    )
    facts = {
        **plan.facts,
        **asked_in(session.project),
        "outputs": list(request.outputs),
        "outside_code": capture.outside_code(command, root=work_tree_of(here), working_dir=here),
    }
    return replace(plan, facts=facts, outputs=tuple(request.outputs))


def _must_fit(made: Mapping[str, Sequence[Path]], request: Request) -> None:
    """Refuse patterns of output files that fit nothing on either side; on one side it is a difference."""
    if request.outputs and made["b"]:
        left = (program_output.left_by(runs.read(folders[0])) for folders in made.values())
        program_output.must_leave([name for names in left for name in names], request.outputs)
