"""Sweep: one recipe or several, over seeds and settings, each member a run that is made only once.

A member is finished where the folder of runs has a complete, unmodified run of everything that it stands on.
So a sweep that was killed continues where it stopped, and one that is larger begins with what is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from reprokit import capture, workspace
from reprokit.core.records import digest
from reprokit.errors import CannotRunError
from reprokit.harness.running.environments.preflight import tell_false_claims
from reprokit.harness.running.member_runs import by_seed, member_today
from reprokit.harness.running.run_inputs import whole_runs
from reprokit.harness.running.start_command import among_others_in
from reprokit.harness.running.varying.apply_variations import usable_cores
from reprokit.harness.sweeping.asked import Seeds, parse_seeds, settings_grid
from reprokit.harness.sweeping.carry_out import SweepMembers, SweepSession, carry_out
from reprokit.harness.sweeping.equal_results import equal_results
from reprokit.harness.sweeping.groups import (
    SweepGroup,
    as_they_stand,
    load_recipes,
    make_ready,
    members_of,
    refuse_twins,
    side_by_side,
    with_one_backend,
)
from reprokit.harness.sweeping.idle_seeds import seeds_that_do_nothing
from reprokit.harness.sweeping.other_machines import OtherMachines, other_machines
from reprokit.harness.sweeping.taken_over import unknown_between
from reprokit.harness.sweeping.what_was_asked import SweepAsked
from reprokit.layout import SWEEP
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.runs import sweeps
from reprokit.runs.sweeps import MemberState, SweepMember
from reprokit.session import HowFar

#: What a call does with a member, by how far it is.
_ACTIONS = {
    MemberState.COMPLETE: "reuse",
    MemberState.CRASHED: "retry",
    MemberState.INTERRUPTED: "retry",
    MemberState.CHANGED: "retry",
    MemberState.PRUNED: "retry",
    MemberState.NOT_STARTED: "not_started",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What came of a sweep.

    Attributes:
        name: Its name; the same for the same members.
        path: Its ``sweep.json``.
        members: In the order in which they were asked for.
        actions: What the call did with each, or would do: ``reuse``, ``run``, ``retry``, ``not_started``.
        warnings: What is odd about the results: seeds that do nothing, settings that change nothing.
    """

    name: str
    path: Path
    members: tuple[SweepMember, ...]
    actions: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 where every member is complete, else that of a run that could not be made."""
        done = all(member.state is MemberState.COMPLETE for member in self.members)
        return 0 if done else CannotRunError.exit_code


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRuns:
    """The run folders of a sweep.

    Attributes:
        folders: Member → its run folder, of those that are finished: every file is as COMPLETE says.
        missing: The members that are not, each with its state and why.
    """

    folders: dict[SweepMember, Path]
    missing: tuple[SweepMember, ...]


def sweep(
    asked: SweepAsked,
    request: Request,
    *,
    session: SweepSession,
    dry_run: bool = False,
) -> Sweep:
    """Make the runs of a sweep that are not finished yet.

    Args:
        asked: Its members, and where they are run.
        request: How runs are made: backend, base, time limit.
        session: The project, and the progress that is shown.
        dry_run: Say what would be run, and run nothing. An environment that is missing is made all the same,
            because it is part of what a member stands on.

    Raises:
        UsageError: Wrong seeds, settings or place, or two members that are one and the same run.
        WorkspaceBusyError: Another call makes the same sweep now.
        KeyboardInterrupt: All programs have been stopped and their folders closed.
    """
    project, progress = session.project, session.progress
    machines = other_machines(asked, session=session)
    wanted = parse_seeds(asked.seeds)
    found = load_recipes(
        asked.names, settings_grid(asked.settings), arguments=asked.arguments, project=project
    )
    with nullcontext() if dry_run else among_others_in(project, note=progress.note):
        groups = _made_ready(found, request, wanted, session=session)
        before = []
        if machines is not None and (told := machines.settled_before(groups)):
            before = as_they_stand(*_named(told), project=project)
            if all(member.state is MemberState.COMPLETE for member in before):
                progress.note(
                    f"every member is complete: nothing is run, and no machine of {asked.on} is asked"
                )
                groups, machines = told, None
            else:
                before = []
        with machines or nullcontext():
            if machines is not None:
                groups = machines.asked(groups)
            named, group_of = _named(groups)
            folder = sweeps.folder_of(project.runs_dir, _name(named))
            with nullcontext() if dry_run else workspace.exclusive(folder):
                before = members = before or as_they_stand(named, group_of, project=project)
                if not dry_run:
                    if machines is not None:
                        machines.keep(folder, request)
                    members = _carried_out(
                        before,
                        group_of,
                        folder,
                        jobs=asked.jobs,
                        session=session,
                        machines=machines,
                    )
    return Sweep(
        name=folder.name,
        path=folder / SWEEP,
        members=tuple(members),
        actions=tuple(_ACTIONS.get(member.state, "run") for member in before),
        warnings=() if dry_run else _warnings(members, before, group_of, project=project),
    )


def finished_runs(record: Path) -> FinishedRuns:
    """The finished runs of a sweep, and the members that have none: crashed, interrupted, never begun.

    Args:
        record: The sweep's ``sweep.json``, or its folder.

    Raises:
        ReportError: It is no record of a sweep.
    """
    members = sweeps.read(record)
    folder = (record if record.is_dir() else record.parent).resolve()
    runs_dir = folder.parents[1]
    there = {
        name: by_seed(whole_runs(runs_dir, recipe=name)) for name in {member.recipe for member in members}
    }
    today = [
        member_today(member, among=there[member.recipe].get(member.seed, ()), runs_dir=runs_dir)
        for member in members
    ]
    return FinishedRuns(
        folders={one: runs_dir / one.run for one in today if one.state is MemberState.COMPLETE},
        missing=tuple(one for one in today if one.state is not MemberState.COMPLETE),
    )


def _made_ready(
    found: Sequence[Recipe],
    request: Request,
    seeds: Seeds,
    *,
    session: SweepSession,
) -> list[SweepGroup]:
    """The recipes as they would be run on this machine."""
    session.progress.phase("environment")
    host = capture.capture_host(session.project.root)
    for recipe in {recipe.name: recipe for recipe in found}.values():  # settings change none of their code
        tell_false_claims(recipe, session=session)
    return with_one_backend(
        [make_ready(recipe, request, seeds=seeds, host=host, session=session) for recipe in found]
    )


def _named(groups: Sequence[SweepGroup]) -> tuple[list[SweepMember], dict[int, SweepGroup]]:
    """All members in order, and the group of each by its place; no one has looked for their runs yet."""
    pairs = [(group, member) for group in groups for member in members_of(group)]
    members = [member for _, member in pairs]
    refuse_twins(members)
    members = sweeps.named(members)
    return members, dict(enumerate(group for group, _ in pairs))


def _name(members: Sequence[SweepMember]) -> str:
    """The recipe's name and a digest of all members."""
    named = dict.fromkeys(member.recipe for member in members)
    more = f"-and-{len(named) - 1}-more" if len(named) > 1 else ""
    return f"{next(iter(named))}{more}-{digest([member.identity for member in members])[7:15]}"


def _carried_out(
    before: Sequence[SweepMember],
    group_of: dict[int, SweepGroup],
    folder: Path,
    *,
    jobs: int | None,
    session: SweepSession,
    machines: OtherMachines | None = None,
) -> list[SweepMember]:
    progress = session.progress
    board = SweepMembers(members=list(before), record=lambda now: sweeps.write(folder, now))
    board.record(before)
    progress.phase("train")
    for member in before:
        if member.state is MemberState.CHANGED:
            progress.note(f"{member.label}: {member.message}; it does not count and is run again")
        if member.state is MemberState.CRASHED:
            progress.note(f"{member.label}: tried again; last time: {member.message}")
        last = member.last_return[1] if member.last_return else None
        told = member.message if member.state is MemberState.NOT_STARTED else ""
        progress.member(member.label, HowFar(phase=_phase(member), last_return=last, told=told))
    going = {
        at: group_of[at]
        for at, member in enumerate(before)
        if member.state not in {MemberState.COMPLETE, MemberState.NOT_STARTED}
    }
    try:
        if going and machines is not None:
            machines.carry_out(board, going, folder=folder, jobs=jobs)
        elif going:
            cores = usable_cores()
            carry_out(
                board,
                going,
                jobs=min(jobs or side_by_side(list(going.values()), num_cores=len(cores)), len(going)),
                cores=cores if len(cores) > 1 else (),
                progress=progress,
            )
    finally:
        board.settle(at_end=True)
    return board.members


def _phase(member: SweepMember) -> str:
    """How a member stands before the call begins its runs."""
    return (
        str(member.state)
        if member.state in {MemberState.COMPLETE, MemberState.NOT_STARTED}
        else str(MemberState.WAITING)
    )


def _warnings(
    members: Sequence[SweepMember],
    before: Sequence[SweepMember],
    group_of: Mapping[int, SweepGroup],
    *,
    project: Project,
) -> tuple[str, ...]:
    earlier = [project.runs_dir / one.run for one in before if one.state is MemberState.COMPLETE]
    unknown = unknown_between(earlier, num_now=len(members) - len(earlier))
    return (
        *([unknown] if unknown else []),
        *seeds_that_do_nothing(members, group_of, project=project),
        *equal_results(members, runs_dir=project.runs_dir),
    )
