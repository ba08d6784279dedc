"""Runs of both sides that begin from one checkpoint of side a: made, and checked for what they must be."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import checkpoints, runs
from reprokit.errors import CannotJudgeError
from reprokit.features.compare.answer import SIDES
from reprokit.features.compare.rounding.twin_runs import TwinRuns
from reprokit.harness.running.resuming.resume_point import choose, written_in
from reprokit.harness.running.run_kinds import ResumePoint
from reprokit.layout import METRICS
from reprokit.project import Project
from reprokit.variations import Variation

#: Makes one run of a side from a checkpoint, under a variation where one is given; its number, from 1.
MakeFrom = Callable[[ResumePoint, Variation | None, int], Path]
#: Numbers of twins follow those of the runs that are compared.
TWINS_AFTER = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRuns:
    """The runs that were made from checkpoints of one step.

    Attributes:
        sides: Side → two runs from the checkpoint of side a.
        own: A run of side b from its own checkpoint, which shows that it resumes.
        twins: Twins of side a from there; None where nothing differs, or none can be made.
        why: Why there are none where there should be, one sentence.
    """

    sides: Mapping[str, tuple[Path, ...]]
    own: Path
    twins: TwinRuns | None = None
    why: str = ""

    @property
    def folders(self) -> tuple[Path, ...]:
        """All of them."""
        sides = (folder for side in SIDES for folder in self.sides[side])
        return (*sides, self.own, *(self.twins.folders if self.twins else ()))

    def as_data(self) -> dict[str, Any]:
        """For the report."""
        return {
            "sides": {side: [str(one) for one in self.sides[side]] for side in SIDES},
            "own": str(self.own),
            "twins": self.twins.as_data() if self.twins else None,
            "why": self.why,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> CheckpointRuns:
        """As the report has it."""
        return cls(
            sides={side: tuple(map(Path, data["sides"][side])) for side in SIDES},
            own=Path(data["own"]),
            twins=TwinRuns.from_data(data["twins"]) if data["twins"] else None,
            why=str(data["why"]),
        )


def point_of(side: str, run: Path, step: int) -> ResumePoint:
    """The checkpoint that a whole run of a side left at a step.

    Raises:
        ReprokitError: It left none, or one that is not whole.
    """
    there = {one.step: one for one in checkpoints.listed(written_in(run)) if one.step is not None}
    if step not in there:
        steps = ", ".join(map(str, sorted(there)))
        raise CannotJudgeError(f"side {side} left no checkpoint of step {step}; it has those of {steps}")
    return choose(str(there[step].path), project=Project.around(run)).point


def must_begin_there(made: Mapping[str, Path], begun: CheckpointRuns, step: int) -> None:
    """Refuse runs that do not show what both sides do after the checkpoint.

    Both sides must also be shown to resume: from its own checkpoint each gives its own records again. Else
    what a side does late could depend on what no checkpoint holds.

    Args:
        made: Side → its first whole run.
        begun: The runs from checkpoints.
        step: That of the checkpoints.

    Raises:
        ReprokitError: A run did not load the checkpoint, or a side does not repeat or resume.
    """
    points = {side: point_of(side, made[side], step) for side in SIDES}
    for side in SIDES:
        if len(set(begun.sides[side])) < 2:
            raise CannotJudgeError(f"side {side} has fewer than two runs from the checkpoint")
        for folder in begun.sides[side]:
            _must_be_from(points["a"], folder, side, of=made[side])
        first, *others = (folder / METRICS for folder in begun.sides[side])
        if any(other.read_bytes() != first.read_bytes() for other in others):
            raise CannotJudgeError(f"side {side} does not repeat from the checkpoint of step {step}")
    _must_be_from(points["b"], begun.own, "b", of=made["b"])
    for side, resumed in (("a", begun.sides["a"][0]), ("b", begun.own)):
        if _lines_after(step, made[side]) != (resumed / METRICS).read_bytes().splitlines():
            raise CannotJudgeError(
                f"side {side} does not give its own records again when it is resumed at step {step}"
            )
    for folder in begun.twins.folders if begun.twins else ():
        _must_be_from(points["a"], folder, "a", of=made["a"])


def _must_be_from(point: ResumePoint, folder: Path, side: str, *, of: Path) -> None:
    run, first = runs.read(folder), runs.read(of).record
    record = run.record
    if not run.complete:
        why = record.message or run.incomplete_because
        raise CannotJudgeError(f"side {side} does not run from the checkpoint: {why.rstrip('.')}")
    said = record.resumed_from
    if said is None or (said.sha256, said.step) != (point.sha256, point.step):
        raise CannotJudgeError(f"this run did not begin from the checkpoint: {folder}")
    if (record.seed, record.digests) != (first.seed, first.digests):
        raise CannotJudgeError(f"this run has another seed or other inputs: {folder}")
    steps = [json.loads(line)["step"] for line in (folder / METRICS).read_bytes().splitlines()]
    if not steps or min(steps) <= point.step:
        where = f"its first record is of step {min(steps)}" if steps else "it has no record"
        raise CannotJudgeError(f"side {side} did not go on from the checkpoint of step {point.step}: {where}")


def _lines_after(step: int, run: Path) -> list[bytes]:
    lines = (run / METRICS).read_bytes().splitlines()
    return [line for line in lines if json.loads(line)["step"] > step]
