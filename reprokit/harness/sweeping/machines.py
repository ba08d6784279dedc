"""Every machine of an engine asked what a sweep would stand on there, before hours are spent."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from reprokit import file_tree
from reprokit.errors import CannotRunError, SchedulerError
from reprokit.harness.running.run_inputs import RunInputs
from reprokit.harness.sweeping.carry_out import SweepProgress
from reprokit.harness.sweeping.elsewhere import gets_a_core, task_of
from reprokit.harness.sweeping.groups import Group
from reprokit.harness.sweeping.member_job import Found, MemberJob, read_answer, write_job
from reprokit.layout import MACHINES
from reprokit.project import Project
from reprokit.where import Going, Place

_LOOK_S = 0.2
_LIMIT_S = 600.0  # a machine may have to make an environment first
_BUSY_S = 10.0  # a machine that has not begun by then is at work for others


class MixedMachinesError(CannotRunError):
    """The machines would not compute the same, or one of them lacks what the runs need."""

    outcome = "start_refused"


def on_machines(
    groups: Sequence[Group],
    *,
    place: Place,
    project: Project,
    progress: SweepProgress,
    sleep: Callable[[float], None] = time.sleep,
) -> list[Group]:
    """Groups as they stand on the machines of an engine, every one of which was asked.

    Raises:
        MixedMachinesError: Two would not compute the same, or one has another environment, code or data.
        SchedulerError: The engine, or one of its machines, does not answer.
    """
    progress.phase("machines")
    able = [group for group in groups if group.inputs is not None]
    if not able:
        return list(groups)
    answers, busy = _ask(able, place=place, project=project, sleep=sleep)
    progress.note(f"{place.name}: {len(answers)} machine(s), asked what can change numbers there")
    if busy:
        names = ", ".join(name[:12] for name in busy)
        progress.note(f"{names}: busy; asked when a run begins there, and refused where it differs")
    told = iter([_agreed(at, group, answers) for at, group in enumerate(able)])
    return [group if group.inputs is None else replace(group, inputs=next(told)) for group in groups]


def _ask(
    groups: Sequence[Group], *, place: Place, project: Project, sleep: Callable[[float], None]
) -> tuple[dict[str, Found], list[str]]:
    """What the machines say; and the names of those that have no room now."""
    folder = project.runs_dir / MACHINES / secrets.token_hex(4)
    folder.mkdir(parents=True)
    members = [
        MemberJob(
            recipe=group.recipe.name,
            settings=tuple(group.recipe.modified),
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
        tasks.append(task_of(name_of_task, file, log, project=project, machine=name, num_cpus=0))
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
) -> dict[str, Found]:
    began = time.monotonic()
    while True:
        waited_s = time.monotonic() - began
        standings = place.standing(handles)
        found = {name: read_answer(answer) for name, (answer, _) in files.items()}
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
            if standing.going is not Going.QUEUED or waited_s < _BUSY_S
        ]
        if begun and all(begun):
            return {name: one for name, one in found.items() if one is not None}
        sleep(_LOOK_S)


def _agreed(at: int, group: Group, answers: Mapping[str, Found]) -> RunInputs:
    """What the members of a group stand on, on every machine alike."""
    here = group.inputs
    first: tuple[str, RunInputs] | None = None
    for name, found in answers.items():
        there = found.inputs[at]
        if there is None or here is None:
            raise MixedMachinesError(
                f"{group.recipe.name} cannot be run on a machine: {found.problems[at]}",
                where=name,
                fix="`reprokit image build` on that machine, or a folder of images that all share",
            )
        if there.recorded != here.recorded:
            raise MixedMachinesError(
                f"a machine has other code, data or environment for {group.recipe.name} than this one",
                where=name,
                expected=here.recorded,
                actual=there.recorded,
                fix="make the checkout, the data and the environment the same on all machines",
            )
        first = first or (name, there)
        if there.surroundings != first[1].surroundings:
            raise MixedMachinesError(
                f"the machines would not compute {group.recipe.name} alike: "
                "their numerics fingerprints differ",
                where=f"{first[0]} and {name}",
                expected=f"{first[1].surroundings[:19]} ({_words(answers[first[0]])})",
                actual=f"{there.surroundings[:19]} ({_words(found)})",
                fix="name machines of one kind: a partition or constraint of Slurm, a cluster of Ray",
            )
    assert first is not None  # noqa: S101  there is at least one machine
    return first[1]


def _words(found: Found) -> str:
    return ", ".join(str(value) for value in found.facts.values() if value)


def _tail(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1][:300] if lines else "it printed nothing"
