"""A member of a sweep as a file that another machine carries out: ``reprokit runs carry-out FILE``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from reprokit import workspace
from reprokit.core.records import SCHEMA_VERSION
from reprokit.errors import UsageError
from reprokit.harness.running.run_inputs import RunInputs
from reprokit.layout import read_json
from reprokit.project import Project
from reprokit.records.strict import FormError, typed
from reprokit.request import Request

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
        ends: What ends its run id.
        attempt: 1 for the first.
        where: The engine's name; recorded.
        is_pinned: Whether it gets one core.
        recorded: What its numbers must stand on, as ``RunInputs.recorded``; "" where that is asked.
        surroundings: The same, as ``RunInputs.surroundings``; ``MIXED`` where any will do.
        machines: ``split`` or ``mixed`` where the sweep has machines of several kinds.
    """

    recipe: str
    settings: tuple[str, ...] = ()
    seed: int
    stamped: str = ""
    ends: str = "1"
    attempt: int = 1
    where: str = "local"
    is_pinned: bool = False
    recorded: str = ""
    surroundings: str = ""
    machines: str = ""

    @property
    def run_id(self) -> str:
        return f"{self.stamped}-seed{self.seed}-{self.ends}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineReport:
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
            "members": [asdict(job) for job in jobs],
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
        jobs = [typed(row, MemberJob) for row in found["members"]]
        request = Request(**{name: found["request"][name] for name in _REQUEST}, repeats=1)
        answer = Path(found["answer"]) if found["answer"] else None
        return jobs, request, Project(**{**folders, "options": tuple(folders["options"])}), answer
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError("this is not a file that says what to run", where=str(file)) from error


def read_answer(file: Path) -> MachineReport | None:
    """What a machine said; None where it has said nothing (yet)."""
    return found_in(read_json(file))


def found_in(told: Any) -> MachineReport | None:
    """The same of what was in such a file; None where it is none."""
    try:
        answer = typed(told, _Answer)
    except FormError:
        return None
    return MachineReport(
        machine=answer.machine,
        inputs=tuple(row.inputs for row in answer.members),
        problems=tuple(row.problem for row in answer.members),
        facts=answer.facts,
    )


class _AnsweredMember(NamedTuple):
    """What a machine says of one member, in the file of its answer."""

    inputs: RunInputs | None
    problem: str


class _Answer(NamedTuple):
    """The file of a machine's answer."""

    machine: str
    members: tuple[_AnsweredMember, ...]
    facts: Mapping[str, Any]
