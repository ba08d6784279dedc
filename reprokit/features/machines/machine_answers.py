"""What the machines of an engine answered about a sweep, kept next to its runs.

With it a sweep whose members are all complete is known to be, without asking any machine again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from reprokit import workspace
from reprokit.core.records import SCHEMA_VERSION, digest
from reprokit.features.machines.elsewhere import gets_a_core
from reprokit.features.machines.member_job import MachineReport, found_in
from reprokit.harness.sweeping.groups import SweepGroup
from reprokit.layout import MACHINES, read_json
from reprokit.project import Project


def remember(
    answers: Mapping[str, MachineReport], groups: Sequence[SweepGroup], *, on: str, project: Project
) -> None:
    """Keep what every machine of an engine said about these groups.

    Raises:
        WorkspaceError: The file cannot be written.
    """
    machines = {
        name: {
            "machine": one.machine,
            "members": [
                {"inputs": asdict(inputs) if inputs else None, "problem": problem}
                for inputs, problem in zip(one.inputs, one.problems, strict=True)
            ],
            "facts": dict(one.facts),
        }
        for name, one in answers.items()
    }
    told = {"schema": SCHEMA_VERSION, "machines": machines}
    workspace.write_json(_file(groups, on=on, project=project), told)


def remembered(groups: Sequence[SweepGroup], *, on: str, project: Project) -> dict[str, MachineReport]:
    """What they said last time, where all that the groups stand on here is as it was then; else nothing."""
    told = read_json(_file(groups, on=on, project=project)).get("machines")
    if not isinstance(told, dict):
        return {}
    answers = {name: found for name, one in told.items() if (found := found_in(one)) is not None}
    return answers if len(answers) == len(told) else {}


def _file(groups: Sequence[SweepGroup], *, on: str, project: Project) -> Path:
    about = [[group.inputs.recorded, gets_a_core(group)] for group in groups if group.inputs is not None]
    return project.runs_dir / MACHINES / f"answers-{digest([on, about])[7:23]}.json"
