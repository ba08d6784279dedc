"""Every machine of an engine asked what a sweep would stand on there, before hours are spent."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit import file_tree
from reprokit.errors import CannotRunError, SchedulerError
from reprokit.features.machines.elsewhere import gets_a_core, task_of
from reprokit.features.machines.machine_answers import remember, remembered
from reprokit.features.machines.member_job import MachineReport, MemberJob, read_answer, write_job
from reprokit.features.machines.place import Place, TaskState
from reprokit.harness.running.run_inputs import MIXED, RunInputs
from reprokit.harness.sweeping.carry_out import SweepProgress
from reprokit.harness.sweeping.groups import SweepGroup
from reprokit.layout import MACHINES
from reprokit.project import Project
from reprokit.runs.sweeps import short_kind

_LOOK_S = 0.2
_LIMIT_S = 600.0  # a machine may have to make an environment first
#: A machine that has not begun after so long, and twice as long as the quickest took to answer, is at work
#: for others: where all are slow to start a process, none of them is busy.
_BUSY_S, _TIMES_THE_QUICKEST = 10.0, 2.0


class MixedMachinesError(CannotRunError):
    """The machines would not compute the same, or one of them lacks what the runs need."""

    outcome = "start_refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineKind:
    """Machines on which a member would stand on the same.

    Attributes:
        surroundings: As of ``RunInputs``.
        cpu: Their kind of CPU, where kinds are told apart by that too; else "".
        name: What no other kind is called.
        machines: The engine's names of them.
        words: What the first of them is, for people.
    """

    surroundings: str
    cpu: str = ""
    name: str = ""
    machines: tuple[str, ...]
    words: str


def on_machines(
    groups: Sequence[SweepGroup],
    *,
    place: Place,
    project: Project,
    progress: SweepProgress,
    sleep: Callable[[float], None] = time.sleep,
) -> list[SweepGroup]:
    """Groups as they stand on the machines of an engine, every one of which was asked.

    Where the machines would not compute a group alike, its recipe says what becomes of it: it is refused,
    becomes a group for each kind of machines, or one that is marked as mixed.

    Raises:
        MixedMachinesError: Two would not compute the same, or one has another environment, code or data.
        SchedulerError: The engine, or one of its machines, does not answer.
    """
    progress.phase("machines")
    able = [group for group in groups if group.inputs is not None]
    if not able:
        return list(groups)
    answers, busy = ask(able, place=place, project=project, sleep=sleep)
    progress.note(f"{place.name}: {len(answers)} machine(s), asked what can change numbers there")
    if busy:
        names = ", ".join(name[:12] for name in busy)
        progress.note(f"{names}: busy; asked when a run begins there, and refused where it differs")
    settled = _by_answers(groups, answers, note=progress.note)
    if not busy:
        remember(answers, able, on=place.name, project=project)
    return settled


def settled_before(groups: Sequence[SweepGroup], *, on: str, project: Project) -> list[SweepGroup] | None:
    """The same by what the machines answered last time; None where that is not known of these groups.

    It says what finished members stand on. Before anything is run, the machines are to be asked again; so
    they are where runs were marked as mixed, as the machines of today may be of one kind.
    """
    answers = remembered(groups, on=on, project=project)
    if not answers:
        return None
    try:
        settled = _by_answers(groups, answers, note=lambda _: None)
    except MixedMachinesError:
        return None
    marked = any(group.inputs is not None and group.inputs.surroundings == MIXED for group in settled)
    return None if marked else settled


def _by_answers(
    groups: Sequence[SweepGroup], answers: Mapping[str, MachineReport], *, note: Callable[[str], None]
) -> list[SweepGroup]:
    """Groups as they stand on machines that said what they would run."""
    able = [group for group in groups if group.inputs is not None]
    kinds = [kinds_of(at, group, answers) for at, group in enumerate(able)]
    settled = [_settled(group, found, note=note) for group, found in zip(able, kinds, strict=True)]
    told = iter(settled)
    return [one for group in groups for one in ([group] if group.inputs is None else next(told))]


def ask(
    groups: Sequence[SweepGroup], *, place: Place, project: Project, sleep: Callable[[float], None]
) -> tuple[dict[str, MachineReport], list[str]]:
    """What every machine says that it would run; and the names of those that have no room now.

    Raises:
        SchedulerError: The engine, or one of its machines, does not answer.
    """
    folder = project.runs_dir / MACHINES / secrets.token_hex(4)
    folder.mkdir(parents=True)
    members = [
        MemberJob(
            recipe=group.recipe.name,
            settings=group.recipe.asked,
            seed=group.seeds[0],
            stamped="asked",
            is_pinned=gets_a_core(group),
        )
        for group in groups
    ]
    names = place.machines()
    if not names:
        raise SchedulerError("the engine has no machine that can run anything", where=f"--on {place.name}")
    files = {}
    tasks = []
    for number, name in enumerate(names):
        file, answer, log = (folder / f"{number}{end}" for end in (".json", ".answer", ".log"))
        write_job(file, members, groups[0].request, project=project, answer=answer)
        files[name] = (answer, log)
        name_of_task = f"asked-{folder.name}-{number}"
        task = task_of(name_of_task, file, log, project=project)
        tasks.append(replace(task, machines=(name,), num_cpus=0))
    handles = place.submit(tasks)
    try:
        answers = _answers(files, handles, place=place, sleep=sleep)
    except BaseException:
        place.cancel(handles)
        raise
    busy = [name for name in names if name not in answers]
    place.cancel([handle for name, handle in zip(names, handles, strict=True) if name in busy])
    with contextlib.suppress(OSError):  # the last words of a task may still come
        file_tree.remove(folder)
    return answers, busy


def _answers(
    files: Mapping[str, tuple[Path, Path]],
    handles: Sequence[str],
    *,
    place: Place,
    sleep: Callable[[float], None],
) -> dict[str, MachineReport]:
    began = time.monotonic()
    patience_s = _LIMIT_S
    while True:
        waited_s = time.monotonic() - began
        standings = place.standing(handles)
        found = {name: read_answer(answer) for name, (answer, _) in files.items()}
        if any(found.values()):
            patience_s = min(patience_s, max(_BUSY_S, _TIMES_THE_QUICKEST * waited_s))
        silent = [
            name
            for name, standing in zip(files, standings, strict=True)
            if found[name] is None and (not standing.going.goes_on or waited_s > _LIMIT_S)
        ]
        for name in silent:
            again = read_answer(files[name][0])
            if again is None:
                raise SchedulerError(
                    "a machine did not say what it would run",
                    where=name,
                    actual=_tail(files[name][1]),
                    fix="the tool, the project's folder and the runs folder must be there on every machine",
                )
            found[name] = again
        begun = [
            found[name] is not None
            for name, standing in zip(files, standings, strict=True)
            if standing.going is not TaskState.QUEUED or waited_s < patience_s
        ]
        if begun and all(begun):
            return {name: one for name, one in found.items() if one is not None}
        sleep(_LOOK_S)


def kinds_of(
    at: int, group: SweepGroup, answers: Mapping[str, MachineReport], *, by_cpu: bool = False
) -> list[MachineKind]:
    """The kinds of machines that there are for a group, the most numerous first.

    Args:
        at: The place of the group among those that the machines were asked for.
        group: Whose recipe it is.
        answers: Machine → what it said.
        by_cpu: Tell machines with other CPUs apart, whether that can change numbers or not.

    Raises:
        MixedMachinesError: A machine has another environment, code or data, or cannot run it.
    """
    here = group.inputs
    found: dict[tuple[str, str], list[str]] = {}
    for name, answer in answers.items():
        there = answer.inputs[at]
        if there is None or here is None:
            raise MixedMachinesError(
                f"{group.recipe.name} cannot be run on a machine: {answer.problems[at]}",
                where=name,
                fix="`reprokit image build` on that machine, or a folder of images that all share",
            )
        if there.recorded != here.recorded:
            raise MixedMachinesError(
                f"a machine has different code, data or environment for {group.recipe.name} from this one",
                where=name,
                expected=here.recorded,
                actual=there.recorded,
                fix="make the checkout, the data and the environment the same on all machines",
            )
        cpu = str(answer.facts.get("kind_of_cpu") or "unknown") if by_cpu else ""
        found.setdefault((there.surroundings, cpu), []).append(name)
    cpus = [cpu for _, cpu in found]
    kinds = [
        MachineKind(
            surroundings=surroundings,
            cpu=cpu,
            name=cpu if cpus.count(cpu) == 1 else f"{cpu} {short_kind(surroundings)}",
            machines=tuple(names),
            words=_words(answers[names[0]]),
        )
        for (surroundings, cpu), names in found.items()
    ]
    return sorted(kinds, key=lambda kind: (-len(kind.machines), kind.surroundings, kind.cpu))


def _settled(
    group: SweepGroup, kinds: Sequence[MachineKind], *, note: Callable[[str], None]
) -> list[SweepGroup]:
    """A group as its recipe says what becomes of machines that would not compute alike.

    Raises:
        MixedMachinesError: The recipe refuses them.
    """
    first = kinds[0]
    assert group.inputs is not None  # noqa: S101  the machines were asked about it
    recorded, name = group.inputs.recorded, group.recipe.name
    if len(kinds) == 1:
        return [replace(group, inputs=replace(group.inputs, surroundings=first.surroundings))]
    if group.recipe.machines == "refuse":
        raise MixedMachinesError(
            f"the machines would not compute {name} alike: their numerics fingerprints differ",
            where=f"{first.machines[0]} and {kinds[1].machines[0]}",
            expected=f"{first.surroundings[:19]} ({first.words})",
            actual=f"{kinds[1].surroundings[:19]} ({kinds[1].words})",
            fix="name machines of one kind (a partition or constraint of Slurm, a cluster of Ray), "
            "or say `machines: split` or `machines: mark` in recipe.yaml",
        )
    for kind in kinds:
        machines = ", ".join(machine[:12] for machine in kind.machines)
        note(f"{name}: {short_kind(kind.surroundings)}: {machines} ({kind.words})")
    if group.recipe.machines == "mark":
        note(f"{name}: MIXED: each run on any of {len(kinds)} kinds of machines; none is promoted")
        return [replace(group, inputs=RunInputs(recorded=recorded, surroundings=MIXED))]
    note(f"{name}: split: every seed on each of {len(kinds)} kinds of machines")
    return [
        replace(
            group,
            inputs=RunInputs(recorded=recorded, surroundings=kind.surroundings),
            machines=kind.machines,
            kind=kind.surroundings,
        )
        for kind in kinds
    ]


def _words(found: MachineReport) -> str:
    told = (found.facts.get(name) for name in ("cpu", "libc", "num_cpus"))
    return ", ".join(str(value) for value in told if value)


def _tail(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1][:300] if lines else "it printed nothing"
