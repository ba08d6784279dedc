"""Runs of a recipe and seed on every kind of machine that an engine has: what goldens of a farm are made of.

Kinds are told apart by what can change numbers, and by the CPU in any case: that the portable profile gives
the same bits on another CPU is to be shown, not supposed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit import file_tree
from reprokit.features.machines.elsewhere import RemoteMembers, carry_out_elsewhere
from reprokit.features.machines.machines import MachineKind, ask, kinds_of
from reprokit.features.machines.place import Place
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.run_inputs import RunInputs
from reprokit.harness.sweeping.carry_out import SweepMembers, SweepProgress
from reprokit.harness.sweeping.groups import SweepGroup, members_of
from reprokit.layout import MACHINES
from reprokit.project import Project
from reprokit.runs.sweeps import MemberState, SweepMember


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCell:
    """The runs of one recipe and seed on one kind of machine.

    Attributes:
        group: The recipe.
        seed: The seed.
        kind: The machines.
        folders: The finished runs, as many as were asked for; fewer where some did not finish.
        problem: Why some did not, or "".
    """

    group: SweepGroup
    seed: int
    kind: MachineKind
    folders: tuple[Path, ...]
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repeat(SweepMember):
    """One of several runs of the same thing, which share an identity."""

    cpu: str
    number: int

    @property
    def label(self) -> str:
        return f"{self.group} seed {self.seed} {self.cpu} run {self.number}"


def run_on_every_kind(
    groups: Sequence[SweepGroup],
    *,
    place: Place,
    project: Project,
    progress: SweepProgress,
    repeats: int = 2,
    jobs: int | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[list[MachineCell], list[str]]:
    """Make new runs of each group's seeds on each kind of machine.

    Args:
        groups: Recipes that are ready to run.
        place: The engine, every machine of which is asked first.
        project: The folders, which every machine shares.
        progress: Told how far things are.
        repeats: How many runs each.
        jobs: How many are handed over at one time; None for all.
        sleep: Waits some seconds.

    Returns:
        A cell for each recipe, seed and kind; and the machines that were busy, about which nothing is known.

    Raises:
        MixedMachinesError: A machine has another environment, code or data, or cannot run a recipe.
        SchedulerError: The engine does not answer.
        KeyboardInterrupt: All tasks of this call were ended, and the folders of their runs closed.
    """
    progress.phase("machines")
    answers, busy = ask(groups, place=place, project=project, sleep=sleep)
    cells = [
        MachineCell(group=_of_kind(group, kind), seed=seed, kind=kind, folders=(), problem="")
        for at, group in enumerate(groups)
        for kind in _told(kinds_of(at, group, answers, by_cpu=True), group, progress)
        for seed in group.seeds
    ]
    members: list[SweepMember] = [_repeat(cell, number + 1) for cell in cells for number in range(repeats)]
    groups_of = {at: cells[at // repeats].group for at in range(len(members))}
    board = SweepMembers(members=members, record=lambda _members: None)
    folder = project.runs_dir / MACHINES / f"{stamp()}-kinds"
    progress.phase("train")
    crew = RemoteMembers(
        board=board, groups=groups_of, place=place, folder=folder, project=project, progress=progress
    )
    carry_out_elsewhere(crew, jobs=jobs, sleep=sleep)
    done = [board.members[at : at + repeats] for at in range(0, len(members), repeats)]
    if all(member.state is MemberState.COMPLETE for member in board.members) and folder.is_dir():
        file_tree.remove(folder)
    return [_filled(cell, found, project) for cell, found in zip(cells, done, strict=True)], busy


def _told(kinds: Sequence[MachineKind], group: SweepGroup, progress: SweepProgress) -> Sequence[MachineKind]:
    for kind in kinds:
        machines = ", ".join(name[:12] for name in kind.machines)
        progress.note(f"{group.recipe.name}: {kind.name}: {machines} ({kind.words})")
    return kinds


def _of_kind(group: SweepGroup, kind: MachineKind) -> SweepGroup:
    """A group whose runs go to machines of one kind only."""
    assert group.inputs is not None  # noqa: S101  the machines were asked for it
    inputs = RunInputs(recorded=group.inputs.recorded, surroundings=kind.surroundings)
    return replace(group, inputs=inputs, machines=kind.machines, kind=kind.surroundings)


def _repeat(cell: MachineCell, number: int) -> _Repeat:
    (member,) = members_of(replace(cell.group, seeds=(cell.seed,)))
    told = {name: getattr(member, name) for name in SweepMember.__slots__}
    return _Repeat(**told, cpu=cell.kind.name, number=number)


def _filled(cell: MachineCell, found: Sequence[SweepMember], project: Project) -> MachineCell:
    problems = [one.message or str(one.state) for one in found if one.state is not MemberState.COMPLETE]
    folders = [project.runs_dir / one.run for one in found if one.state is MemberState.COMPLETE]
    return replace(cell, folders=tuple(folders), problem="; ".join(dict.fromkeys(problems)))
