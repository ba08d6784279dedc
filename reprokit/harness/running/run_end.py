"""How a run ended: by its program's end, what it left, and whether all that it stood on is as it was.

Nothing is loaded here that only recipes need: a run of a moment would be waiting for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprokit.core.records import Outcome, RunResult, RunSpec
from reprokit.errors import WorkspaceError
from reprokit.harness.running.numbers import mounted_digest, mounted_package
from reprokit.harness.running.plan import RunPlan

if TYPE_CHECKING:
    from reprokit.core.environment_record import InsideFacts
    from reprokit.harness.running.environments.recipe_data import FetchedData

_HOOK = "REPROKIT_HOOK"  # set where instrumentation watches the program
_SHOWN = 3


def why_not_to_be_watched(result: RunResult, spec: RunSpec) -> str:
    """Why a program of nothing pinned is started again and not watched, where it ended badly; else ""."""
    if not result.needs_privileges or result.outcome is not Outcome.CRASHED or spec.realisation is not None:
        return ""
    return f"{result.needs_privileges} got no privileges where the files that the program opens are watched"


def unless_data_changed(result: RunResult, fetched: Sequence[FetchedData]) -> RunResult:
    """The result; never one that is judged where data of the cache is not as it was before the runs."""
    if not fetched:
        return result
    from reprokit.harness.running.environments.recipe_data import unless_changed

    return unless_changed(result, fetched)


def unless_package_changed(result: RunResult, spec: RunSpec, *, recorded: str | None) -> RunResult:
    """The result; never one that is judged where other code could be imported than ``run.json`` records."""
    package = mounted_package(spec)
    if not result.is_judged or package is None or mounted_digest(package) == recorded:
        return result
    return replace(
        result,
        outcome=Outcome.MOUNTS_CHANGED,
        message=f"the mounted package changed while the run was under way: {package}",
        remedy="run it again, and leave the package as it is until the run has ended",
    )


def unless_environment_changed(
    result: RunResult, spec: RunSpec, *, installed: Mapping[str, Any] | None
) -> RunResult:
    """The result; never one that is judged where its environment is not as it was before the runs."""
    if not result.is_judged or not installed or spec.realisation is None:
        return result
    from reprokit import images

    changed = images.changed_since(installed, spec.realisation)
    if not changed:
        return result
    more = f" and {len(changed) - _SHOWN} more" if changed[_SHOWN:] else ""
    return replace(
        result,
        outcome=Outcome.MOUNTS_CHANGED,
        message=f"the environment {spec.realisation.reference} changed while the run was under way: "
        f"{'; '.join(changed[:_SHOWN])}{more}",
        remedy="have the program write to {run_dir} only and add what it installs to the lock; then "
        f"`rm -r {spec.realisation.reference}` and run again: it is made again from its lock",
    )


def unless_cut_short(result: RunResult, inside: InsideFacts) -> RunResult:
    """The result; never a completed one of a trainer that ended its process before it was done.

    How operations round is added to the record of the numerics after the training (``runtime.launch``).
    """
    numerics = inside.get("numerics")
    if not result.completed or not isinstance(numerics, Mapping) or "probe" in numerics:
        return result
    return replace(
        result,
        outcome=Outcome.CRASHED,
        message="the trainer ended the process, with exit code 0, before `train` returned",
        remedy="return from `train` once it is done",
    )


def with_what_was_watched(result: RunResult, spec: RunSpec, folder: Path) -> RunResult:
    """The result, with what the watch saw brought home; never a completed one where that failed."""
    if _HOOK not in spec.environment:
        return result
    from reprokit.harness.running.programs import instrumented

    try:
        instrumented.collect_records(spec, folder)
    except WorkspaceError as error:
        outcome = Outcome(error.outcome) if result.completed else result.outcome
        return replace(result, outcome=outcome, message=error.told(), remedy=error.fix or "")
    return result


def _with_outputs_asked(result: RunResult, folder: Path, plan: RunPlan) -> tuple[RunResult, dict[str, Any]]:
    """What a plain command left: the output files that were asked for."""
    if not result.completed:
        return _explained(result, plan), {}
    if not plan.outputs:
        return result, {}
    from reprokit.harness.running.programs import program_output

    return result, program_output.digests_asked(folder, plan.outputs)


def _explained(result: RunResult, plan: RunPlan) -> RunResult:
    """The result of a run that did not end well, with why a module was not found."""
    from reprokit.harness.running.programs import unseen_module

    if plan.program is not None:
        seen = plan.facts["program"]["files"]
        explained = unseen_module.explained(result, project=plan.project, seen=seen)
        if explained != result:
            return explained
    return unseen_module.in_own_python(result, plan.specs[0])


def with_output(result: RunResult, folder: Path, plan: RunPlan) -> tuple[RunResult, dict[str, Any]]:
    """What an unmodified program left, read and brought home; never of one that changed its own files."""
    if plan.program is None:
        return _with_outputs_asked(result, folder, plan)
    from reprokit.harness.running.programs import program_output
    from reprokit.harness.running.resuming import counted_program

    counted_program.take_places(folder)
    problem = program_output.collect(folder, plan.program)
    is_killed = "stop_place" in plan.facts and result.signal in counted_program.SIGNALS
    if is_killed:  # what it logged before counts, too
        return result, problem or program_output.write_metrics(folder, plan.program)
    if not result.completed:
        return _explained(result, plan), {}
    changed = program_output.changed_files(folder, plan.facts["program"]["files"])
    if not changed:
        return result, problem or program_output.write_metrics(folder, plan.program)
    shown = ", ".join(changed[:_SHOWN]) + (f" and {len(changed) - _SHOWN} more" if changed[_SHOWN:] else "")
    where = sorted({f"{name.partition('/')[0]}{'/' if '/' in name else ''}" for name in changed})
    return replace(
        result,
        outcome=Outcome.MOUNTS_CHANGED,
        message=f"the program wrote into the folder of its own files: {shown}",
        remedy=f"let it write to {{run_dir}}, or add `collect: [{', '.join(where[:_SHOWN])}]` to its recipe",
    ), {}
