"""Carrying out a job of a sweep on this machine: made ready here, compared with the sweep, and run.

Nothing is run where it would stand on something else than the sweep does. The run's folder, which all
machines share, is closed here.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reprokit import capture, recipes, runs, workspace
from reprokit.core import fingerprint
from reprokit.core.environment_record import MachineFacts
from reprokit.core.records import Outcome
from reprokit.errors import CannotRunError, ReprokitError
from reprokit.features.machines.free_core import free_core
from reprokit.features.machines.member_job import MemberJob, read_job
from reprokit.features.machines.requeued import Next, has_come_further, next_of
from reprokit.harness.running.run_inputs import MIXED, RunInputs, planned_inputs
from reprokit.harness.running.start_command import among_others_in, not_started
from reprokit.harness.running.varying.apply_variations import usable_cores
from reprokit.harness.sweeping.carry_out import Attempt, SweepMembers, SweepProgress, run_member
from reprokit.harness.sweeping.groups import SweepGroup, make_ready
from reprokit.layout import RECORD
from reprokit.project import Project
from reprokit.request import Request
from reprokit.runs.sweeps import SweepMember
from reprokit.session import Session


class SilentProgress:
    """No one watches the machine itself: the tool reads the run's folder."""

    def phase(self, name: str) -> None: ...
    def update(self, *_told: Any, **_more: Any) -> None: ...
    def alive(self, *_told: Any, **_more: Any) -> None: ...
    def ended(self, run_label: str) -> None: ...
    def member(self, *_told: Any, **_more: Any) -> None: ...

    def note(self, text: str) -> None:
        """What is worth a line goes into the task's log."""
        print(text, flush=True)  # noqa: T201


def carry_out_job(file: Path, *, node: str = "", why: WhyStopped | None = None) -> Path | None:
    """Do what a file says, on this machine.

    Args:
        file: What ``write_job`` wrote.
        node: The engine's name of this machine, or "".
        why: Why it is stopped, where it is; None where only a person does that.

    Returns:
        The run's folder; None where the machine was only to say what it would make.

    Raises:
        UsageError: It is no such file.
        KeyboardInterrupt: The run was stopped and its folder closed.
    """
    jobs, request, project, answer = read_job(file)
    if answer is not None:
        workspace.write_json(answer, _told(jobs, request, project=project))
        return None
    (asked,) = jobs
    found = next_of(file, asked, project=project, can_resume=_can_resume(asked, project=project))
    job = found.job
    if found.over:
        return project.runs_dir / job.recipe / job.run_id
    try:
        with among_others_in(project, note=print), free_core(usable_cores() or (0,)) as core:
            return _run(found, request, core=core, project=project, node=node)
    except KeyboardInterrupt:
        folder = project.runs_dir / job.recipe / job.run_id
        if why is not None and why.message and (folder / RECORD).is_file():
            runs.close_interrupted(folder, message=why.message, outcome=why.outcome)
        raise
    except CannotRunError as error:
        return _refused(job, error, project=project, node=node)


@dataclass(slots=True)
class WhyStopped:
    """Why this process was asked to end, where no one interrupted it."""

    outcome: Outcome = Outcome.INTERRUPTED
    message: str = ""


def stop_when_closed(descriptor: int, why: WhyStopped) -> None:
    """Stop this process as SIGTERM does once a pipe is closed: when what started it is gone.

    Args:
        descriptor: The pipe's end for reading.
        why: Told then.
    """

    def wait() -> None:
        while os.read(descriptor, 4096):
            pass
        why.outcome = Outcome.MACHINE_LOST
        why.message = "what started the run on its machine is gone"
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def stop_at_time_limit(why: WhyStopped) -> None:
    """Stop this process as SIGTERM does when SIGUSR1 says that the engine's time limit is near."""

    def stop(*_signal: object) -> None:
        why.outcome = Outcome.TIMED_OUT
        why.message = "the time limit of the scheduler was near"
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGUSR1, stop)


def goes_on_from_a_checkpoint(file: Path) -> bool:
    """Whether a job that was asked to end before its time limit would come further if it were begun again.

    Raises:
        UsageError: It is no such file.
    """
    jobs, _, project, answer = read_job(file)
    resumable = answer is None and _can_resume(jobs[0], project=project)
    return resumable and has_come_further(file, jobs[0], project=project)


def _can_resume(job: MemberJob, *, project: Project) -> bool:
    """Whether it may continue from a checkpoint: not of a program, nor of a different kind of machine."""
    if job.surroundings == MIXED:
        return False
    recipe = recipes.load(job.recipe, recipes_dir=project.recipes_dir, overrides=job.settings)
    return recipe.has_checkpoints


def _run(this: Next, request: Request, *, core: int, project: Project, node: str) -> Path:
    job = this.job
    group = _group(job, request, project=project)
    pinned = core if job.is_pinned else None
    found = _inputs(group, job, core=core)
    if group.inputs is None or found is None:
        raise _CannotStartError(f"this machine cannot make it ready: {group.problem}")
    if found.recorded != job.recorded or job.surroundings not in {found.surroundings, MIXED}:
        raise _CannotStartError(_why_other(found, job), fix=_SAME)
    member = SweepMember(recipe=job.recipe, settings=job.settings, seed=job.seed, attempts=job.attempt - 1)
    run_member(
        SweepMembers(members=[member], record=lambda _members: None),
        0,
        group,
        Attempt(
            number=job.attempt,
            stamped=job.stamped,
            facts={
                **_facts(job, found, node=node),
                **_resumed_from(this, group, core=pinned),
            },
            point=this.point,
            core=pinned,
        ),
        progress=SilentProgress(),
        stop=threading.Event(),
    )
    return project.runs_dir / job.recipe / job.run_id


def _resumed_from(this: Next, group: SweepGroup, *, core: int | None) -> dict[str, Any]:
    """What ``run.json`` says of a resumed run, with the command of the whole run that it is a part of."""
    if this.point is None:
        return {}
    seed = this.job.seed
    whole = group.plan(seed, core=core)
    resumed = group.plan(seed, core=core, point=this.point)
    command = runs.record_of(whole.specs[0], facts=whole.facts).command
    return {"resumed_from": {**resumed.facts["resumed_from"], "command": command}}


_SAME = "make the checkout, the data and the environment the same on all machines"


class _CannotStartError(CannotRunError):
    outcome = str(Outcome.START_REFUSED)


def _why_other(found: RunInputs, job: MemberJob) -> str:
    what = [
        words
        for words, ours, theirs in (
            ("code, recipe, data or environment", found.recorded, job.recorded),
            ("properties of the machine that can change numbers", found.surroundings, job.surroundings),
        )
        if theirs not in {ours, MIXED}
    ]
    return (
        "on this machine the run would not be the one that was asked for: different "
        f"{' and different '.join(what)}"
    )


def _facts(job: MemberJob, found: RunInputs | None, *, node: str) -> dict[str, Any]:
    machine = {
        "id": workspace.machine_id(),
        "fingerprint": found.surroundings if found else job.surroundings,
        "node": node,
        "set": job.machines,
    }
    return {"where": job.where, "machine": {name: told for name, told in machine.items() if told}}


def _refused(job: MemberJob, error: CannotRunError, *, project: Project, node: str) -> Path:
    """A folder that says why nothing was run, unless one was begun."""
    folder = project.runs_dir / job.recipe / job.run_id
    if folder.exists():
        return folder
    platform = recipes.platform_asked(job.settings)
    facts = {
        **_facts(job, None, node=node),
        "attempt": job.attempt,
        "modified": [setting for setting in job.settings if not recipes.platform_asked([setting])],
        **({"platform_asked": platform} if platform else {}),
    }
    return not_started(error, name=job.recipe, seed=job.seed, project=project, facts=facts, run_id=job.run_id)


def _group(
    job: MemberJob, request: Request, *, project: Project, host: MachineFacts | None = None
) -> SweepGroup:
    recipe = recipes.load(job.recipe, recipes_dir=project.recipes_dir, overrides=job.settings)
    return make_ready(
        recipe,
        request,
        seeds=lambda _declared: (job.seed,),
        host=capture.capture_host(project.root) if host is None else host,
        session=Session(project=project, progress=_progress()),
    )


def _progress() -> SweepProgress:
    return SilentProgress()


def _inputs(group: SweepGroup, job: MemberJob, *, core: int) -> RunInputs | None:
    """What the run would stand on here; it has as many cores as it has where the sweep was planned."""
    if group.inputs is None:
        return None
    plan = group.plan(job.seed, core=core if job.is_pinned else None)
    return planned_inputs(plan.specs[0], facts=plan.facts, host=group.host)


def _told(jobs: Sequence[MemberJob], request: Request, *, project: Project) -> dict[str, Any]:
    host = capture.capture_host(project.root)
    cores = usable_cores() or (0,)
    rows = []
    for job in jobs:
        try:
            group = _group(job, request, project=project, host=host)
            found = _inputs(group, job, core=cores[0])
            problem = group.problem
        except ReprokitError as error:
            found, problem = None, error.told()
        rows.append({"inputs": asdict(found) if found else None, "problem": problem})
    cpu = host.get("cpu") or {}
    facts = {
        "cpu": cpu.get("model"),
        "libc": host.get("libc"),
        "num_cpus": len(cores),
        "kind_of_cpu": fingerprint.kind_of_cpu(host),
    }
    return {"machine": workspace.machine_id(), "members": rows, "facts": facts, "pid": os.getpid()}
