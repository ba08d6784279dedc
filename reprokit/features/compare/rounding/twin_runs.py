"""Twins of side a: runs under the same conditions, in which the hook rounds otherwise, and the control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.errors import CannotJudgeError
from reprokit.features.compare.rounding.rule import Finding
from reprokit.instrumentation.reprokit_hook import rounding as order
from reprokit.variations import Variation

#: So much higher is the learning rate of the control.
CONTROL_RATE = 1.001
_FEW, _ALL = 4, 8
#: So far outside after few twins, more of them change nothing.
_FAR = 100.0

#: Makes one run of side a under a variation; the second argument is its number, from 1.
MakeRun = Callable[[Variation, int], Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinRuns:
    """The runs that were made of side a.

    Attributes:
        twins: Those that round.
        control: The one with a higher learning rate; None where it was not needed.
        start: Number of updates at the beginning that are as in side a.
    """

    twins: tuple[Path, ...]
    control: Path | None
    start: int

    def as_data(self) -> dict[str, Any]:
        """For the report."""
        return {
            "twins": [str(one) for one in self.twins],
            "control": str(self.control) if self.control else None,
            "start": self.start,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> TwinRuns:
        """As the report has it."""
        control = data["control"]
        twins = tuple(Path(one) for one in data["twins"])
        return cls(twins=twins, control=Path(control) if control else None, start=int(data["start"]))

    @property
    def folders(self) -> tuple[Path, ...]:
        """All of them."""
        return (*self.twins, *([self.control] if self.control else []))


def make_twins(
    make_run: MakeRun,
    *,
    place: tuple[int, int],
    updates_of: Callable[[Path], int],
    finding_with: Callable[[TwinRuns], tuple[Finding, float]],
) -> TwinRuns:
    """Make as many as the answer needs: four, eight, and the control where B may be rounding.

    Args:
        make_run: Makes a run.
        place: The first record that differs, from 0, and the number of records.
        updates_of: How many updates a run has made.
        finding_with: What the rule says with these twins, and the largest R.

    Raises:
        CannotJudgeError: The twins round nothing, since the program has no optimizer of PyTorch.
    """
    number = 1
    first = make_run(_twin(number, start=0), number)
    updates = updates_of(first)
    if not updates:
        raise CannotJudgeError("no twin can be made: the program takes no step of an optimizer of PyTorch")
    record, records = place
    start = max(0, (record - 1) * updates // records)
    runs = TwinRuns(twins=() if start else (first,), control=None, start=start)
    for size in (_FEW, _ALL):
        while len(runs.twins) < size:
            number += 1
            made = make_run(_twin(number, start=start), number)
            runs = TwinRuns(twins=(*runs.twins, made), control=None, start=start)
        finding, ratio = finding_with(runs)
        if finding is Finding.DIFFERENT and (size == _ALL or ratio > _FAR):
            return runs
    control = make_run(_control(start), number + 1)
    return TwinRuns(twins=runs.twins, control=control, start=start)


def _twin(number: int, *, start: int) -> Variation:
    kind = order.UPDATES if number % 2 else order.MODULES
    return _variation(f"{kind}:seed={number}:start={start}:rate=1", says=f"twin {number}, rounded otherwise")


def _control(start: int) -> Variation:
    rate = f"{CONTROL_RATE:g}"
    return _variation(f"{order.CONTROL}:seed=0:start={start}:rate={rate}", says=f"learning rate × {rate}")


def _variation(text: str, *, says: str) -> Variation:
    return Variation(
        category="nonportable_numerics",
        fix="nothing: this is a twin",
        name="rounding",
        says=says,
        environment={order.TWIN: text},
    )
