"""The members of a sweep on other machines: handed to an engine, followed in their folders, tried again.

The folder of a run, which all machines share, is the only truth of how it ended. What the engine says is used
only to know whether a run that has not ended still runs.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from reprokit import extensions, runs, workspace
from reprokit.core.records import SCHEMA_VERSION, Outcome
from reprokit.errors import ReprokitError
from reprokit.feature import EXTENSIONS_FROM
from reprokit.features.machines.member_job import MemberJob, write_job
from reprokit.features.machines.place import Place, Task, TaskState, TaskStatus
from reprokit.features.machines.requeued import runs_of
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.how_far import tell_of
from reprokit.harness.running.run_inputs import MIXED
from reprokit.harness.sweeping.carry_out import MemberProgress, SweepMembers, SweepProgress
from reprokit.harness.sweeping.groups import SweepGroup, kind_of
from reprokit.harness.sweeping.results import last_return
from reprokit.layout import JOBS, MARKER, RECORD, read_json
from reprokit.project import Project
from reprokit.records import run_json
from reprokit.records.strict import typed
from reprokit.runs.listing import key_of
from reprokit.runs.sweeps import MemberState, SweepMember, state_of

_LOOK_S = 0.5
#: Thousands of members take a second to be looked at; then it is done less often, up to this.
_MOST_LOOKING, _SELDOM_S = 0.05, 5.0
_PATIENCE_S = 30.0  # until a run that was asked to stop has closed its folder
_MOST_ATTEMPTS = 3
#: A shared folder may show on this machine late what another one wrote.
_SETTLE_S = 2.0


@dataclass(slots=True, kw_only=True)
class _Underway:
    """A task that was handed over."""

    at: int
    first: MemberJob
    job: MemberJob
    handle: str
    folder: Path
    shown: MemberProgress
    gone_since: float | None = None
    standing: TaskStatus = field(default_factory=lambda: TaskStatus(going=TaskState.QUEUED))


def carry_out_elsewhere(
    crew: RemoteMembers,
    *,
    jobs: int | None,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Run members on the machines of an engine. Nothing of them runs in this process.

    Args:
        crew: The members.
        jobs: How many are handed over at one time; None for all.
        sleep: Waits some seconds.

    Raises:
        KeyboardInterrupt: All tasks of this call were ended, and the folders of their runs closed.
        SchedulerError: The engine does not answer; what it has begun continues.
    """
    underway = crew.adopted()
    taken = {one.at for one in underway}
    waiting = [at for at in crew.groups if at not in taken]
    try:
        while waiting or underway:
            room = len(waiting) if jobs is None else max(0, jobs - len(underway))
            now, waiting = waiting[:room], waiting[room:]
            underway += crew.hand_over(now)
            again: list[int] = []
            begun = time.monotonic()
            underway = [one for one in underway if not crew.has_ended(one, again)]
            waiting = [*again, *waiting]
            if underway and not again:
                looked = time.monotonic() - begun
                sleep(max(_LOOK_S, min(looked / _MOST_LOOKING, _SELDOM_S)))
                crew.ask(underway)
            crew.board.settle()
    except KeyboardInterrupt:
        crew.stop(underway, sleep=sleep)
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteMembers:
    """Members of a sweep on the machines of an engine.

    Attributes:
        board: All members.
        groups: Place among the members → its group, of those that are to run.
        place: The engine.
        folder: The sweep's.
        project: The folders, which every machine shares.
        progress: Told how far they are.
    """

    board: SweepMembers
    groups: Mapping[int, SweepGroup]
    place: Place
    folder: Path
    project: Project
    progress: SweepProgress

    def hand_over(self, members: Sequence[int]) -> list[_Underway]:
        """Write what each machine is to do, and hand it to the engine."""
        made = []
        for at in members:
            member, group = self.board.members[at], self.groups[at]
            assert group.inputs is not None  # noqa: S101  such a member is not begun
            job = MemberJob(
                recipe=member.recipe,
                settings=member.settings,
                seed=member.seed,
                stamped=stamp(),
                attempt=member.attempts + 1,
                where=self.place.name,
                is_pinned=gets_a_core(group),
                recorded=group.inputs.recorded,
                surroundings=group.inputs.surroundings,
                machines=MIXED if group.is_mixed else "split" if group.kind else "",
            )
            write_job(self._file(job), [job], group.request, project=self.project)
            made.append((at, job))
        handles = self.place.submit([self._task(at, job) for at, job in made]) if made else ()
        begun = []
        for (at, job), handle in zip(made, handles, strict=True):
            self._remember(job, handle, self.board.members[at])
            begun.append(self._underway(at, job, handle))
        return begun

    def _underway(self, at: int, job: MemberJob, handle: str) -> _Underway:
        member = replace(
            self.board.members[at],
            state=MemberState.RUNNING,
            run=f"{job.recipe}/{job.run_id}",
            message="",
            attempts=job.attempt,
        )
        self.board.change(at, member)
        folder = self.project.runs_dir / job.recipe / job.run_id
        shown = MemberProgress(
            member=member,
            folder=folder,
            place=self.place.name,
            progress=self.progress,
            recipe=self.groups[at].recipe,
        )
        return _Underway(at=at, first=job, job=job, handle=handle, folder=folder, shown=shown)

    def adopted(self) -> list[_Underway]:
        """What a tool that was killed had handed over, and still runs."""
        wanted = {self.board.members[at].identity: at for at in self.groups}
        found = []
        for file in sorted((self.folder / JOBS).glob("*.handle.json")):
            told = read_json(file)
            at = wanted.get(str(told.get("identity")))
            if at is not None and told.get("place") == self.place.name and isinstance(told.get("job"), dict):
                found.append((at, typed(told["job"], MemberJob), str(told.get("handle"))))
        standings = self.place.standing([handle for _, _, handle in found]) if found else ()
        taken: dict[int, _Underway] = {}
        for (at, job, handle), standing in zip(found, standings, strict=True):
            if standing.going.goes_on and at not in taken:
                taken[at] = self._underway(at, job, handle)
                self.progress.note(f"{self.board.members[at].label}: found again, {standing.going}")
        return list(taken.values())

    def ask(self, underway: Sequence[_Underway]) -> None:
        """Ask the engine how far its tasks are."""
        found = self.place.standing([one.handle for one in underway])
        for one, standing in zip(underway, found, strict=True):
            one.standing = standing

    def has_ended(self, one: _Underway, again: list[int]) -> bool:
        """Whether a run has ended; its member goes into ``again`` where it is to be tried once more.

        Only COMPLETE says so by itself. A folder that was closed without it waits for the engine's word: the
        same end (SIGTERM, say) is that of a machine which goes down, of an interrupt, and of a requeued job.
        """
        self._follow(one)
        state = run_json.recorded(one.folder).state
        going = one.standing.going
        if state == "finished" and not (going.goes_on and not (one.folder / MARKER).exists()):
            return self._close(one, again, lost=going in {TaskState.LOST, TaskState.UNKNOWN})
        if going.goes_on:
            one.gone_since = None
            self._tell(one)
            return False
        one.gone_since = one.gone_since or time.monotonic()
        if time.monotonic() - one.gone_since < _SETTLE_S:
            return False
        return self._close(one, again, lost=going in {TaskState.LOST, TaskState.UNKNOWN})

    def _follow(self, one: _Underway) -> None:
        """Look at the newest run of a job that its engine began again."""
        job = runs_of(self._file(one.first), one.first)[-1]
        if job == one.job:
            return
        one.job, one.folder = job, self.project.runs_dir / job.recipe / job.run_id
        one.shown.folder = one.folder
        member = self.board.members[one.at]
        self.board.change(one.at, replace(member, run=f"{job.recipe}/{job.run_id}", attempts=job.attempt))
        self.progress.note(f"{member.label}: {self.place.name} started it again (attempt {job.attempt})")

    def _tell(self, one: _Underway) -> None:
        place = f"{self.place.name} {one.standing.machine[:12]}".strip()
        one.shown.place = place
        if one.folder.is_dir():
            tell_of(one.shown, "run 1", one.folder)
        else:
            one.shown.waits(str(one.standing.going))

    def _close(self, one: _Underway, again: list[int], *, lost: bool) -> bool:
        member = self.board.members[one.at]
        why = one.standing.message or f"its task is {one.standing.going}"
        if not (one.folder / RECORD).is_file():
            told = why if lost else f"its task ended before the run began: {self._last_line(one.first)}"
            member = replace(
                member, state=MemberState.INTERRUPTED if lost else MemberState.CRASHED, message=told, run=""
            )
        else:
            record = run_json.recorded(one.folder)
            # A machine that goes down may still have had the time to close the run.
            if record.state == "running" or (lost and record.outcome == Outcome.INTERRUPTED):
                self._close_folder(one, why, lost=lost)
            stored = runs.read(one.folder)
            member = replace(
                member,
                kind=kind_of(one.folder) if member.mixed else member.kind,
                state=state_of(stored),
                message=stored.incomplete_because,
                run=key_of(one.folder),
                last_return=last_return(one.folder, one.shown.recipe),
            )
        lost = lost and member.state is not MemberState.COMPLETE
        if lost and member.attempts < _MOST_ATTEMPTS:
            self.board.change(one.at, member)
            self.progress.note(f"{member.label}: {why}; it is tried again (attempt {member.attempts + 1})")
            again.append(one.at)
            return True
        self.board.change(one.at, member)
        one.shown.finished(member)
        if member.state is not MemberState.COMPLETE:
            self.progress.note(f"{member.label}: {member.message}")
        return True

    def _close_folder(self, one: _Underway, why: str, *, lost: bool) -> None:
        """Close the folder of a run whose task is gone."""
        self.place.cancel([one.handle])  # a machine that was only out of reach must not continue
        outcome = Outcome.MACHINE_LOST if lost else Outcome.INTERRUPTED
        outcome = Outcome.TIMED_OUT if one.standing.going is TaskState.TIMED_OUT else outcome
        try:
            runs.close_interrupted(one.folder, message=why, outcome=outcome)
        except (ReprokitError, OSError) as error:
            self.progress.note(f"{one.folder}: left as it is: {error}")

    def stop(self, underway: Sequence[_Underway], *, sleep: Callable[[float], None]) -> None:
        """End all tasks of this call; wait until each has closed its run's folder."""
        self.place.cancel([one.handle for one in underway])
        until = time.monotonic() + _PATIENCE_S
        left = list(underway)
        while left and time.monotonic() < until:
            sleep(_LOOK_S)
            self.ask(left)
            left = [one for one in left if one.standing.going.goes_on]
        for one in underway:
            member = self.board.members[one.at]
            if run_json.recorded(one.folder).state == "running":
                self._close_folder(one, "interrupted by the user", lost=False)
            complete = (one.folder / RECORD).is_file() and runs.read(one.folder).complete
            state = MemberState.COMPLETE if complete else MemberState.INTERRUPTED
            message = "" if complete else "interrupted by the user"
            self.board.change(one.at, replace(member, state=state, message=message))

    def _file(self, job: MemberJob) -> Path:
        return self.folder / JOBS / f"{job.run_id}.json"

    def _log(self, job: MemberJob) -> Path:
        return self.folder / JOBS / f"{job.run_id}.log"

    def _remember(self, job: MemberJob, handle: str, member: SweepMember) -> None:
        row = {name: getattr(job, name) for name in MemberJob.__slots__}
        told = {"place": self.place.name, "handle": handle, "identity": member.identity, "job": row}
        file = self._file(job).with_suffix(".handle.json")
        workspace.write_json(file, {"schema": SCHEMA_VERSION, **told})

    def _last_line(self, job: MemberJob) -> str:
        try:
            lines = self._log(job).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            lines = []
        told = next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")
        return f"{told[:200]} ({self._log(job)})"

    def _task(self, at: int, job: MemberJob) -> Task:
        group = self.groups[at]
        recipe = group.recipe
        return replace(
            task_of(job.run_id, self._file(job), self._log(job), project=self.project),
            num_gpus=0 if recipe.device == "cpu" else 1,
            memory_bytes=int(recipe.limits.memory_gib * 2**30) if recipe.limits.memory_gib else None,
            may_be_requeued=True,
            machines=group.machines,
        )


def task_of(name: str, file: Path, log: Path, *, project: Project) -> Task:
    """The task that does what a file says: this very tool, in this very Python."""
    # Not by PYTHONPATH: a program that inherits its variables would see another one than here.
    found = "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    package = str(Path(workspace.__file__).resolve().parents[1])
    start = (sys.executable, "-P", "-c", f"{found}from reprokit.start import main; main()", package)
    serve = (
        sys.executable,
        "-P",
        "-c",
        f"{found}from reprokit.features.machines import forks; forks.serve()",
        package,
    )
    return Task(
        name=name,
        command=(*start, "runs", "carry-out", str(file)),
        server=serve,
        environment={**os.environ, **_list_of_extensions()},
        working_dir=project.root,
        log=log,
    )


def _list_of_extensions() -> dict[str, str]:
    """The commit whose list of extensions counts on the machine too, where a gate named one."""
    commit = extensions.listed_by()
    return {EXTENSIONS_FROM: commit} if commit else {}


def gets_a_core(group: SweepGroup) -> bool:
    """Whether each of its runs gets one core, as planned on this machine."""
    return group.is_pinned and group.ready is not None and group.ready.plan.specs[0].limits.cpus is not None
