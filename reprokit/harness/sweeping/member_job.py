"""A member of a sweep as a file that another machine carries out: ``reprokit runs carry-out FILE``.

The machine makes everything ready by itself, holds what the run would stand on against what the sweep stands
on, and runs nothing where they differ. It closes the run's folder, which all machines share.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from reprokit import capture, recipes, workspace
from reprokit.core.records import SCHEMA_VERSION, Outcome
from reprokit.errors import CannotRunError, ReprokitError, UsageError
from reprokit.harness.running.apply_variations import usable_cores
from reprokit.harness.running.free_core import free_core
from reprokit.harness.running.run_inputs import RunInputs, planned_inputs
from reprokit.harness.running.start_runs import among_others_in, not_started
from reprokit.harness.sweeping.carry_out import Attempt, Board, SweepProgress, run_member
from reprokit.harness.sweeping.groups import Group, make_ready
from reprokit.layout import read_json
from reprokit.project import Project
from reprokit.request import Request
from reprokit.runs.sweeps import Member

_REQUEST = ("backend", "base", "timeout_s", "strict")
_FOLDERS = ("root", "recipes_dir", "golden_dir", "runs_dir", "reports_dir")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberJob:
    """A run that a machine is to make.

    Attributes:
        recipe: Its recipe.
        settings: Overrides.
        seed: Its seed.
        stamped: What begins its run id.
        attempt: 1 for the first.
        where: The engine's name; recorded.
        is_pinned: Whether it gets one core.
        recorded: What its numbers must stand on, as ``RunInputs.recorded``; "" where that is asked.
        surroundings: The same, as ``RunInputs.surroundings``.
    """

    recipe: str
    settings: tuple[str, ...] = ()
    seed: int
    stamped: str = ""
    attempt: int = 1
    where: str = "local"
    is_pinned: bool = False
    recorded: str = ""
    surroundings: str = ""

    @property
    def run_id(self) -> str:
        return f"{self.stamped}-seed{self.seed}-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a machine says of the members that it could carry out.

    Attributes:
        machine: Its ``machine_id``.
        inputs: What each would stand on there; None where it cannot be run.
        problems: Why not, one sentence each, or "".
        facts: What of the machine can change numbers, for people.
    """

    machine: str
    inputs: tuple[RunInputs | None, ...]
    problems: tuple[str, ...]
    facts: Mapping[str, Any]


class SilentProgress:
    """Nobody watches the machine itself: the tool reads the run's folder."""

    def phase(self, name: str) -> None: ...
    def update(self, *_told: Any, **_more: Any) -> None: ...
    def alive(self, *_told: Any, **_more: Any) -> None: ...
    def ended(self, run_label: str) -> None: ...
    def member(self, *_told: Any, **_more: Any) -> None: ...

    def note(self, text: str) -> None:
        """What is worth a line goes into the task's log."""
        print(text, flush=True)  # noqa: T201


def write_job(
    file: Path, jobs: Sequence[MemberJob], request: Request, *, project: Project, answer: Path | None = None
) -> None:
    """Write what a machine is to do: to make one run, or to say in the file ``answer`` what it would make.

    Raises:
        WorkspaceError: The file cannot be written.
    """
    asked = {name: getattr(request, name) for name in _REQUEST}
    folders = {
        **{name: str(getattr(project, name)) for name in _FOLDERS},
        "options": list(project.options),
        "has_make": project.has_make,
        "package": str(project.package) if project.package else None,
        "bundle": dict(project.bundle) if project.bundle else None,
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    workspace.write_json(
        file,
        {
            "schema": SCHEMA_VERSION,
            "request": asked,
            "project": folders,
            "answer": str(answer) if answer else None,
            "members": [asdict(one) for one in jobs],
        },
    )


def read_job(file: Path) -> tuple[list[MemberJob], Request, Project, Path | None]:
    """What ``write_job`` wrote.

    Raises:
        UsageError: It is no such file.
    """
    found = read_json(file)
    try:
        folders = dict(found["project"])
        for name in (*_FOLDERS, "package"):
            folders[name] = Path(folders[name]) if folders[name] is not None else None
        known = {field.name for field in fields(MemberJob)}
        jobs = [
            MemberJob(**{**{k: v for k, v in row.items() if k in known}, "settings": tuple(row["settings"])})
            for row in found["members"]
        ]
        request = Request(**{name: found["request"][name] for name in _REQUEST}, repeats=1)
        answer = Path(found["answer"]) if found["answer"] else None
        return jobs, request, Project(**{**folders, "options": tuple(folders["options"])}), answer
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError("this is no file that says what to run", where=str(file)) from error


def carry_out_job(file: Path, *, node: str = "") -> Path | None:
    """Do what a file says, on this machine.

    Args:
        file: What ``write_job`` wrote.
        node: The engine's name of this machine, or "".

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
    (job,) = jobs
    try:
        with among_others_in(project, note=print), free_core(usable_cores() or (0,)) as core:
            return _run(job, request, core=core, project=project, node=node)
    except CannotRunError as error:
        return _refused(job, error, project=project, node=node)


def stop_when_closed(descriptor: int) -> None:
    """Stop this process as SIGTERM does once a pipe is closed: when what started it is gone.

    Args:
        descriptor: The pipe's end for reading.
    """

    def wait() -> None:
        while os.read(descriptor, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def _run(job: MemberJob, request: Request, *, core: int, project: Project, node: str) -> Path:
    group = _group(job, request, project=project)
    pinned = core if job.is_pinned else None
    found = _inputs(group, job, core=core, project=project)
    if group.inputs is None or found is None:
        raise _CannotStartError(f"this machine cannot make it ready: {group.problem}")
    if (found.recorded, found.surroundings) != (job.recorded, job.surroundings):
        raise _CannotStartError(_why_other(found, job), fix=_SAME)
    member = Member(recipe=job.recipe, settings=job.settings, seed=job.seed, attempts=job.attempt - 1)
    run_member(
        Board(members=[member], record=lambda _members: None),
        0,
        group,
        core=pinned,
        project=project,
        progress=SilentProgress(),
        stop=threading.Event(),
        attempt=Attempt(number=job.attempt, stamped=job.stamped, facts=_facts(job, node=node)),
    )
    return project.runs_dir / job.recipe / job.run_id


_SAME = "make the checkout, the data and the environment the same on all machines"


class _CannotStartError(CannotRunError):
    outcome = str(Outcome.START_REFUSED)


def _why_other(found: RunInputs, job: MemberJob) -> str:
    what = [
        words
        for words, ours, theirs in (
            ("code, recipe, data or environment", found.recorded, job.recorded),
            ("what of the machine can change numbers", found.surroundings, job.surroundings),
        )
        if ours != theirs
    ]
    return (
        f"on this machine the run would not be the one that was asked for: other {' and other '.join(what)}"
    )


def _facts(job: MemberJob, *, node: str) -> dict[str, Any]:
    machine = {"id": workspace.machine_id(), "fingerprint": job.surroundings}
    return {"where": job.where, "machine": {**machine, **({"node": node} if node else {})}}


def _refused(job: MemberJob, error: CannotRunError, *, project: Project, node: str) -> Path:
    """A folder that says why nothing was run, unless one was begun."""
    folder = project.runs_dir / job.recipe / job.run_id
    if folder.exists():
        return folder
    facts = {**_facts(job, node=node), "attempt": job.attempt, "modified": list(job.settings)}
    return not_started(error, name=job.recipe, seed=job.seed, project=project, facts=facts, run_id=job.run_id)


def _group(
    job: MemberJob, request: Request, *, project: Project, host: Mapping[str, Any] | None = None
) -> Group:
    recipe = recipes.load(job.recipe, recipes_dir=project.recipes_dir, overrides=job.settings)
    return make_ready(
        recipe,
        request,
        seeds=lambda _declared: (job.seed,),
        host=capture.capture_host(project.root) if host is None else host,
        project=project,
        progress=_progress(),
    )


def _progress() -> SweepProgress:
    return SilentProgress()


def _inputs(group: Group, job: MemberJob, *, core: int, project: Project) -> RunInputs | None:
    """What the run would stand on here; it has as many cores as it has where the sweep was planned."""
    if group.inputs is None:
        return None
    plan = group.plan(job.seed, core=core if job.is_pinned else None, project=project)
    return planned_inputs(plan.specs[0], facts=plan.facts, host=group.host)


def _told(jobs: Sequence[MemberJob], request: Request, *, project: Project) -> dict[str, Any]:
    host = capture.capture_host(project.root)
    cores = usable_cores() or (0,)
    rows = []
    for job in jobs:
        try:
            group = _group(job, request, project=project, host=host)
            found = _inputs(group, job, core=cores[0], project=project)
            problem = group.problem
        except ReprokitError as error:
            found, problem = None, error.told()
        rows.append({"inputs": asdict(found) if found else None, "problem": problem})
    cpu = host.get("cpu") or {}
    facts = {"cpu": cpu.get("model"), "libc": host.get("libc"), "num_cpus": len(cores)}
    return {"machine": workspace.machine_id(), "members": rows, "facts": facts, "pid": os.getpid()}


def read_answer(file: Path) -> Found | None:
    """What a machine said; None where it has said nothing (yet)."""
    found = read_json(file)
    try:
        rows = found["members"]
        return Found(
            machine=found["machine"],
            inputs=tuple(RunInputs(**row["inputs"]) if row["inputs"] else None for row in rows),
            problems=tuple(str(row["problem"]) for row in rows),
            facts=json.loads(json.dumps(found["facts"])),
        )
    except (KeyError, TypeError):
        return None
