"""Carrying out a plan: folders made, programs run side by side or in turn, folders closed."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprokit import capture, file_tree, runs
from reprokit.core.records import Outcome, RunResult, RunSpec, to_json
from reprokit.errors import WorkspaceError
from reprokit.execution import Backend
from reprokit.execution.outcome import Explanation, StopRunError
from reprokit.harness.running.numbers import mounted_digest, mounted_package
from reprokit.harness.running.plan import RunPlan
from reprokit.harness.running.shared_places import SharedPlaces
from reprokit.harness.running.threads_of_runs import in_threads
from reprokit.harness.running.tree_changes import work_tree_of
from reprokit.layout import OUTPUT, STDERR, STDOUT, TIMING
from reprokit.session import Progress

if TYPE_CHECKING:
    from reprokit.harness.running.watch_golden import FindGolden, GoldenWatch

_HOOK = "REPROKIT_HOOK"  # set where instrumentation watches the program
_TAIL_BYTES = 4096
_MAX_WATCHED = 200
_SHOWN = 3


#: From a run's folder to why the run is to be stopped; None where it goes on.
WhyStop = Callable[[Path], Explanation | None]
#: From a run's folder and how it ended, before it is closed, to how it is closed.
BeforeClose = Callable[[Path, RunResult], RunResult]
_WORTH_A_LINE_BYTES = 4 << 30  # takes several seconds to be read


def as_it_ended(_folder: Path, result: RunResult) -> RunResult:
    """The ``BeforeClose`` that changes nothing."""
    return result


def execute(
    plan: RunPlan,
    *,
    backend: Backend,
    runs_dir: Path,
    host: Mapping[str, Any],
    progress: Progress,
    side_by_side: int = 1,
    find_golden: FindGolden | None = None,
    stop: threading.Event | None = None,
    why_stop: WhyStop | None = None,
    before_close: BeforeClose = as_it_ended,
) -> tuple[Path, ...]:
    """Run every specification of a plan and close its folder.

    Args:
        plan: What to run.
        backend: How to run it.
        runs_dir: Where the run folders go.
        host: What ``capture.capture_host`` found; merged into every environment record.
        progress: Told about twice a second how far the runs are.
        side_by_side: How many runs at one time.
        find_golden: Finds the golden at whose first difference all runs are stopped; None to let them end.
        stop: Stops them as Ctrl-C does, once it is set: of a caller that is not in the main thread.
        why_stop: Looks into the folder of a run about twice a second; why it is to be stopped, or None.
        before_close: Asked of each run that completed, with its metrics written; its answer counts.

    Returns:
        The run folders, in the plan's order. A run that failed has its folder too. Without
        ``side_by_side`` the runs after a failed one are not started.

    Raises:
        KeyboardInterrupt: All programs have been stopped and their folders closed.
    """
    stop = stop or threading.Event()
    folders: list[Path] = []
    plan = with_shared_places(plan, runs_dir=runs_dir)
    watch = None
    if find_golden is not None:
        from reprokit.harness.running.watch_golden import GoldenWatch

        watch = GoldenWatch([spec.run_id for spec in plan.specs], find=find_golden, note=progress.note)

    def one(spec: RunSpec) -> RunResult:
        folder = runs.create(runs_dir, spec, facts=plan.facts, files=plan.files)
        folders.append(folder)
        for name in plan.executables:
            (folder / name).chmod(0o755)
        return _run_and_close(
            spec,
            folder,
            backend=backend,
            host=host,
            plan=plan,
            progress=progress,
            stop=stop,
            watch=watch,
            why_stop=why_stop,
            before_close=before_close,
        )

    with watch or nullcontext():
        if side_by_side <= 1:
            for spec in plan.specs:
                if not one(spec).completed:
                    break
        else:
            in_threads(one, plan.specs, workers=side_by_side, stop=stop)
    order = {spec.run_id: index for index, spec in enumerate(plan.specs)}
    return tuple(sorted(folders, key=lambda folder: order[folder.name]))


def with_shared_places(plan: RunPlan, *, runs_dir: Path, project: Path | None = None) -> RunPlan:
    """The plan, with what its runs share looked at; a part of a larger plan keeps that of the whole.

    Args:
        plan: The runs.
        runs_dir: Where their folders are; it is left out.
        project: The folder that a recipe's program was copied from, where runs can write to it.
    """
    if plan.shared is not None or len(plan.specs) < 2:  # one alone leaves nothing to another
        return plan
    from reprokit.images.cache import cache_folder

    git = [project / ".git"] if project is not None else []  # the tool itself writes and reads there
    leave_out = (runs_dir, cache_folder(None), *git)
    first = plan.specs[0]
    is_plain = first.inherit_environment and first.working_dir is not None
    repository = work_tree_of(Path(str(first.working_dir))) if is_plain else project
    shared = SharedPlaces(plan.specs, leave_out=leave_out, project=project, repository=repository)
    return replace(plan, shared=shared)


def _run_and_close(
    spec: RunSpec,
    folder: Path,
    *,
    backend: Backend,
    host: Mapping[str, Any],
    plan: RunPlan,
    progress: Progress,
    stop: threading.Event,
    watch: GoldenWatch | None,
    why_stop: WhyStop | None,
    before_close: BeforeClose,
) -> RunResult:
    label = f"run {spec.run_id.rsplit('-', 1)[-1]}"
    secrets = capture.secret_values(os.environ, command=spec.command)

    def environment() -> dict[str, Any]:
        return {"inside": _inside(spec, folder, host, plan=plan), "host": host}

    def tick() -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        tell_of(progress, label, folder)
        why = watch.look(spec.run_id, folder, environment=environment) if watch else None
        why = why or (why_stop(folder) if why_stop else None)
        if why is not None:
            raise StopRunError(why)

    try:
        if plan.program is not None:
            from reprokit.harness.running import instrumented, program_output

            program_output.make_room(folder, plan.program)
            instrumented.make_room(spec, folder)
        began = time.time()
        result = backend.run(replace(spec, confined=_is_confined(spec, plan)), folder, on_tick=tick)
        if watch:
            watch.look(spec.run_id, folder, environment=environment)  # what came after the last tick
        result = _unless_data_changed(result, plan)
        result = _unless_package_changed(result, spec, recorded=plan.facts.get("mounted_digest"))
        result = _unless_environment_changed(result, spec, installed=plan.facts.get("installed"))
        result = _unless_cut_short(result, _inside(spec, folder, {}, plan=plan))
        result, found = _with_output(_watched(result, spec, folder), folder, plan)
        result = before_close(folder, result) if result.completed else result
        found = {**found, **_shared(result, spec, plan, began=began)}
    except KeyboardInterrupt:
        runs.close_interrupted(folder, secrets=secrets)
        raise
    result = replace(result, message=capture.without(result.message, secrets))
    tell_of(progress, label, folder)
    if not result.completed:
        progress.note(f"{label}: {result.message}")
    try:
        record = _environment(spec, folder, result, host, plan=plan)
        _tell_of_size(label, folder, progress=progress)
        runs.finish(folder, result, environment=record, secrets=secrets, facts=found)
    except WorkspaceError as error:
        result = replace(result, outcome=Outcome(error.outcome), message=error.told(), remedy=error.fix or "")
        runs.close_unfinished(folder, result)
        progress.note(f"{label}: {result.message}")
    return result


def _shared(result: RunResult, spec: RunSpec, plan: RunPlan, *, began: float) -> dict[str, Any]:
    """What ``run.json`` says of what the run left for others; containers share nothing."""
    if plan.shared is None or result.isolation.get("backend") != "local":
        return {}
    is_confined = bool(result.isolation.get("confined"))
    return plan.shared.after(spec, began=began, ended=time.time(), is_confined=is_confined)


def _is_confined(spec: RunSpec, plan: RunPlan) -> bool:
    """Whether a program may write to its own folders only: in a pinned environment, under natural conditions.

    A variation changes folders too; the libraries of accelerators write where no variable leads them.
    """
    return spec.realisation is not None and spec.device == "cpu" and "varied" not in plan.facts


def _tell_of_size(label: str, folder: Path, *, progress: Progress) -> None:
    num_bytes = sum(one.num_bytes for one in file_tree.walk(folder))
    if num_bytes > _WORTH_A_LINE_BYTES:
        progress.note(f"{label}: {num_bytes / (1 << 30):,.1f} GiB of files are digested")


def _unless_data_changed(result: RunResult, plan: RunPlan) -> RunResult:
    if not plan.fetched:
        return result
    from reprokit.harness.running.recipe_data import unless_changed

    return unless_changed(result, plan.fetched)


def _unless_package_changed(result: RunResult, spec: RunSpec, *, recorded: str | None) -> RunResult:
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


def _unless_environment_changed(
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
        remedy="let the program write to {run_dir} only and add what it installs to the lock; then "
        f"`rm -r {spec.realisation.reference}` and run again: it is made again from its lock",
    )


def _unless_cut_short(result: RunResult, inside: Mapping[str, Any]) -> RunResult:
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


def _watched(result: RunResult, spec: RunSpec, folder: Path) -> RunResult:
    """The result, with what the watch saw brought home; never a completed one where that failed."""
    if _HOOK not in spec.environment:
        return result
    from reprokit.harness.running import instrumented

    try:
        instrumented.collect_records(spec, folder)
    except WorkspaceError as error:
        outcome = Outcome(error.outcome) if result.completed else result.outcome
        return replace(result, outcome=outcome, message=error.told(), remedy=error.fix or "")
    return result


def _with_output(result: RunResult, folder: Path, plan: RunPlan) -> tuple[RunResult, dict[str, Any]]:
    """What an unmodified program left, read and brought home; never of one that changed its own files."""
    if plan.program is None:
        if not plan.outputs or not result.completed:
            return result, {}
        from reprokit.harness.running import program_output

        return result, program_output.digests_asked(folder, plan.outputs)
    from reprokit.harness.running import program_output

    problem = program_output.collect(folder, plan.program)
    if not result.completed:
        return result, {}
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


def _environment(
    spec: RunSpec, folder: Path, result: RunResult, host: Mapping[str, Any], *, plan: RunPlan
) -> dict[str, Any]:
    return capture.merge(
        _inside(spec, folder, host, plan=plan),
        {key: value for key, value in host.items() if key not in {"source", "plain_inside"}},
        source=host.get("source") or {},
        image=to_json(spec.realisation) if spec.realisation else None,
        limits={**to_json(spec.limits), "isolation": dict(result.isolation)},
    )


def _inside(spec: RunSpec, folder: Path, host: Mapping[str, Any], *, plan: RunPlan) -> dict[str, Any]:
    """What is known from inside: what the run says, of a command what the host says."""
    told = spec.realisation is not None and plan.program is None  # a command's files are no evidence
    return (runs.inside_facts(folder) if told else {}) or dict(host.get("plain_inside") or {})


def tell_of(progress: Progress, label: str, folder: Path) -> None:
    """Say how far a run is, by what stands in its folder."""
    line = last_object(folder / OUTPUT / TIMING)
    if line and isinstance(line.get("step"), int):
        progress.update(
            label,
            line["step"],
            line.get("total_steps"),
            steps_per_s=line.get("steps_per_s"),
            eta_s=line.get("eta_s"),
        )
    else:
        progress.alive(label, _left_so_far(folder))


def _left_so_far(folder: Path) -> str:
    """How much a program has written and printed: a sign of life where it tells no steps."""
    logs = [folder / STDOUT, folder / STDERR]
    found = file_tree.walk(folder / OUTPUT, limits=file_tree.WalkLimits(entries=_MAX_WATCHED))
    files = [folder / OUTPUT / entry.name for entry in found if entry.kind is file_tree.Kind.FILE]
    return f"{_size(files)} written, {_size(logs)} printed"


def _size(paths: Iterable[Path]) -> str:
    total = 0
    with suppress(OSError):  # a program may remove files while they are counted
        for path in paths:
            total += path.stat().st_size if path.is_file() else 0
    return f"{total / 1e6:,.1f} MB" if total >= 1e6 else f"{total / 1e3:.1f} kB"


def last_object(path: Path) -> dict[str, Any] | None:
    """The object on the last whole line of a file that is still being written; None where there is none."""
    try:
        # The program may have put a link or a pipe there: neither is followed or waited for.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL_BYTES))
            lines = stream.read(_TAIL_BYTES).split(b"\n")
        value = json.loads(lines[-2])
    except (OSError, ValueError, IndexError):
        return None
    return value if isinstance(value, dict) else None
