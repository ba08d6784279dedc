"""The records of sweeps: ``runs/sweeps/<name>/sweep.json``, which runs belong together and how far they are.

Everything in it follows from run folders; whether a member is finished is read from its folder, never from
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from reprokit.core.records import SCHEMA_VERSION, Outcome
from reprokit.core.setting_names import told_apart
from reprokit.errors import ReportError
from reprokit.layout import SWEEP, SWEEPS
from reprokit.records import json_file
from reprokit.runs.reading import StoredRun
from reprokit.workspace import is_alive, write_json


class MemberState(StrEnum):
    """How far a member of a sweep is."""

    WAITING = "waiting"  # no run of it was begun
    RUNNING = "running"
    COMPLETE = "complete"  # every file of its run folder is as it was when the run ended
    CRASHED = "crashed"  # its program, or what runs it, failed
    INTERRUPTED = "interrupted"  # it was stopped, or the tool was killed
    CHANGED = "changed"  # its run folder was changed after the run
    NOT_STARTED = "not_started"  # there is no environment for it
    PRUNED = "pruned"  # a search stopped it, because earlier trials did better


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepMember:
    """One run of a sweep.

    Attributes:
        recipe: Its recipe.
        settings: Overrides, ``path=value``.
        seed: Its seed.
        inputs: Digest of everything that its numbers stand on, but for the seed.
        identity: The same with the seed.
        state: How far it is.
        run: Its run folder as ``<recipe>/<run id>``, of several attempts the one that counts; "" for none.
        message: Why it is not complete, one sentence, or "".
        attempts: How many runs of it were begun.
        last_return: The metric that says how well it does, and its last value; None where it has none.
        kind: Where a sweep has several kinds of machines: what of its own can change numbers, as a digest.
        mixed: Whether machines of any kind may run it, so that members of its sweep differ by more than seeds
            and settings.
        called: What a person calls it next to the other members of its sweep, by what differs; "" for all of
            it. It is no part of the record.
    """

    recipe: str
    settings: tuple[str, ...] = ()
    seed: int
    inputs: str = ""
    identity: str = ""
    state: MemberState = MemberState.WAITING
    run: str = ""
    message: str = ""
    attempts: int = 0
    last_return: tuple[str, float] | None = None
    kind: str = ""
    mixed: bool = False
    called: str = ""

    @property
    def group(self) -> str:
        """Recipe, settings, and the kind of machines where a sweep was split: what it is compared with."""
        machines = [f"on {short_kind(self.kind)}"] if self.kind and not self.mixed else []
        return " ".join((self.recipe, *self.settings, *machines))

    @property
    def label(self) -> str:
        """What a person calls it."""
        return self.called or f"{self.group} seed {self.seed}"


_NAMES = tuple(field.name for field in fields(SweepMember) if field.name != "called")


@dataclass(frozen=True, slots=True, kw_only=True)
class _WrittenMember:
    """A member as ``sweep.json`` has it; its last return is read from its run."""

    recipe: str
    settings: tuple[str, ...] = ()
    seed: int
    inputs: str
    identity: str
    state: MemberState
    run: str = ""
    message: str = ""
    attempts: int = 0
    kind: str = ""
    mixed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _WrittenSweep:
    """``sweep.json``, as far as it is read."""

    members: tuple[_WrittenMember, ...]


def group_names(members: Sequence[SweepMember]) -> dict[str, str]:
    """Group of each member → its name among the others: by the recipe, settings and machines that differ."""
    groups = {member.group: member for member in members}
    several = len({member.recipe for member in members}) > 1
    found: dict[str, str] = {}
    for one, settings in zip(groups, told_apart([group.settings for group in groups.values()]), strict=True):
        member = groups[one]
        machines = one.removeprefix(" ".join((member.recipe, *member.settings))).strip()
        recipe = member.recipe if several or not (settings or machines) else ""
        found[one] = " ".join(filter(None, (recipe, settings, machines)))
    return found if len(set(found.values())) == len(found) else {group: group for group in groups}


def named(members: Sequence[SweepMember]) -> list[SweepMember]:
    """The members of a sweep, each called by what differs between them, where they differ by more than seeds.

    >>> [one.label for one in named([Member(recipe="a", settings=(f"lr={lr}",), seed=3) for lr in (1, 2)])]
    ['lr=1 · s3', 'lr=2 · s3']
    """
    names = group_names(members)
    if len(names) < 2:
        return list(members)
    return [replace(member, called=f"{names[member.group]} · s{member.seed}") for member in members]


def short_kind(kind: str) -> str:
    """A kind of machines as people read it."""
    return f"machines {kind.removeprefix('sha256:')[:8]}" if kind else ""


def is_mixed(members: Sequence[SweepMember]) -> bool:
    """Whether members of a sweep differ by what of their machines can change numbers."""
    return any(member.mixed for member in members)


def folder_of(runs_dir: Path, name: str) -> Path:
    """Where the record of a sweep lies."""
    return runs_dir / SWEEPS / name


def is_name(text: str) -> bool:
    """Whether a text can be a sweep's name: one part of a path, no way out of the folder of sweeps."""
    return bool(text) and text not in {".", ".."} and not set(text) & set("/\\\0")


def write(folder: Path, members: Sequence[SweepMember]) -> Path:
    """Write ``sweep.json``, whole or not at all; returns its path.

    Raises:
        WorkspaceError: The folder cannot be written.
    """
    write_json(folder / SWEEP, as_data(folder.name, members))
    return folder / SWEEP


def as_data(name: str, members: Sequence[SweepMember]) -> dict[str, Any]:
    """A sweep as ``sweep.json`` holds it."""
    rows = [
        {
            **{name: getattr(member, name) for name in _NAMES},
            "state": str(member.state),
            "last_return": None
            if member.last_return is None
            else dict(zip(("metric", "value"), member.last_return, strict=True)),
        }
        for member in members
    ]
    return {"schema": SCHEMA_VERSION, "name": name, "mixed": is_mixed(members), "members": rows}


def read(path: Path) -> list[SweepMember]:
    """The members of a sweep; ``path`` is its folder or its ``sweep.json``.

    Raises:
        ReportError: It is no record of a sweep, or a newer version wrote it.
    """
    file = path / SWEEP if path.is_dir() else path
    fix = "name a sweep that `reprokit sweep` printed, or run that command again"
    try:
        rows = json_file.read(file, _WrittenSweep, fix=fix).members
    except ReportError as error:
        what = f"this is not a record of a sweep: {error.what}"
        raise ReportError(
            what, where=error.where, expected=error.expected, actual=error.actual, fix=error.fix
        ) from error
    if not rows:
        raise ReportError("this is not a record of a sweep: it has no member", where=str(file), fix=fix)
    written = [{field.name: getattr(row, field.name) for field in fields(row)} for row in rows]
    return named([SweepMember(**values) for values in written])


def list_all(runs_dir: Path) -> Iterator[list[SweepMember]]:
    """The members of every sweep that can be read."""
    for file in sorted((runs_dir / SWEEPS).glob(f"*/{SWEEP}")):
        try:
            yield read(file)
        except ReportError:
            continue  # a damaged record asks for nothing; its call writes it again


def state_of(stored: StoredRun) -> MemberState:
    """How far a member is whose run folder was read."""
    record = stored.record
    if stored.complete:
        return MemberState.COMPLETE
    if record.state == "running" and is_alive(record.owner):
        return MemberState.RUNNING
    outcome = record.outcome
    if outcome == Outcome.COMPLETED:
        return MemberState.CHANGED
    if outcome == Outcome.PRUNED:
        return MemberState.PRUNED
    stopped = {None, Outcome.INTERRUPTED, Outcome.MACHINE_LOST}
    return MemberState.INTERRUPTED if outcome in stopped else MemberState.CRASHED
