"""Twins of side a: runs under the same conditions, in which the hook rounds otherwise, and the control.

The first runs whole and shows how many updates there are. Those after it end soon after the first records
that differ: most real changes are far outside there. Whole ones are made only where that shows no difference.
Where both sides can be run, each is run once more up to its first update, which is recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reprokit.errors import CannotJudgeError
from reprokit.features.compare.rounding.rule import ENOUGH, Finding
from reprokit.instrumentation.reprokit_hook import rounding as order
from reprokit.variations import Variation

#: So much higher is the learning rate of the control.
CONTROL_RATE = 1.001
#: So many twins are enough.
ALL = 8
#: No more runs than these are made, the control among them.
MOST_RUNS = 14
#: So far outside after few twins, more of them change nothing.
_FAR = 100.0
#: So many records are looked at first, where that is at most so much of a run.
_FIRST_RECORDS, _SHORT = 10, 2 / 3

#: Threads and instruction sets round otherwise too. Alone they would decide only where at most 1 % of their
#: answers were shown to be false alarms on the program at hand, which takes more than a hundred runs.
_NO_TWIN = (
    "no twin can be made: the program takes no step of an optimizer of PyTorch, calls no `jax.grad` and no "
    "`fit` of a Keras model or of a network or SGD model of scikit-learn, and trains no trees of LightGBM or "
    "XGBoost; threads and instruction sets alone do not decide, as too few runs show how often they are wrong"
)

#: Makes one run of side a under a variation; the second argument is its number, from 1.
MakeRun = Callable[[Variation, int], Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinRuns:
    """The runs that were made of side a.

    Attributes:
        twins: Those that round, whole.
        short: Those that round and were ended early.
        control: The one with a higher learning rate; None where it was not needed.
        start: Number of updates at the beginning that are as in side a.
        made: How many runs were made for it, one that only counts updates among them.
        firsts: Side → a run of it as it is, in which its first update is recorded; none where none was made.
        first_twins: Those that round from the beginning, in which the first update is recorded too.
    """

    twins: tuple[Path, ...]
    control: Path | None
    start: int
    short: tuple[Path, ...] = ()
    made: int = 0
    firsts: Mapping[str, Path] = field(default_factory=dict)
    first_twins: tuple[Path, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """For the report."""
        return {
            "twins": [str(one) for one in self.twins],
            "short": [str(one) for one in self.short],
            "control": str(self.control) if self.control else None,
            "start": self.start,
            "made": self.made,
            "firsts": {side: str(one) for side, one in self.firsts.items()},
            "first_twins": [str(one) for one in self.first_twins],
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> TwinRuns:
        """As the report has it."""
        control = data["control"]
        return cls(
            twins=tuple(Path(one) for one in data["twins"]),
            short=tuple(Path(one) for one in data["short"]),
            control=Path(control) if control else None,
            start=int(data["start"]),
            made=int(data["made"]),
            firsts={side: Path(one) for side, one in data.get("firsts", {}).items()},
            first_twins=tuple(Path(one) for one in data.get("first_twins", ())),
        )

    @property
    def every_twin(self) -> tuple[Path, ...]:
        """All that round, the whole ones first."""
        return (*self.twins, *self.short)

    @property
    def of_first_update(self) -> tuple[Path, ...]:
        """All that round from the beginning on."""
        return tuple(dict.fromkeys((*self.first_twins, *(() if self.start else self.every_twin))))

    @property
    def folders(self) -> tuple[Path, ...]:
        """All of them."""
        control = [self.control] if self.control else []
        every = (*self.every_twin, *control, *self.firsts.values(), *self.first_twins)
        return tuple(dict.fromkeys(every))


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstLook:
    """How the first updates of two sides are looked at.

    Attributes:
        make_other: Makes one run of side b under a variation.
        takes_steps: Whether a run makes updates whose parameters can be seen.
        step_of: The number of the first update that was recorded in a run; 0 where none was.
        far_apart: Whether the first updates of both sides are so far apart that twins must show why.
        differ: Whether they differ in a bit.
    """

    make_other: MakeRun
    takes_steps: Callable[[Path], bool]
    step_of: Callable[[Path], int]
    far_apart: Callable[[TwinRuns], bool]
    differ: Callable[[TwinRuns], bool]


def make_twins(
    make_run: MakeRun,
    *,
    place: tuple[int, int],
    updates_of: Callable[[Path], int],
    finding_with: Callable[[TwinRuns], tuple[Finding, float]],
    look: FirstLook | None = None,
) -> TwinRuns:
    """Make as many as the answer needs: short ones, whole ones, and the control where B may be rounding.

    Args:
        make_run: Makes a run.
        place: The first record that differs, from 0, and the number of records.
        updates_of: How many updates a run has made; 0 where it did not end well.
        finding_with: What the rule says with these twins, and the largest R.
        look: How the first updates of both sides are looked at; None where only side a can be run.

    Raises:
        CannotJudgeError: The twins round nothing, since nothing in the program can be rounded from outside.
    """
    first = make_run(_twin(1, start=0), 1)
    updates = updates_of(first)
    if not updates:
        raise CannotJudgeError(_NO_TWIN)
    record, records = place
    start = max(0, (record - 1) * updates // records)
    firsts = TwinRuns(twins=(), control=None, start=start, made=1, first_twins=(first,))
    if look is not None and look.step_of(first):
        firsts = _with_first(_with_first(firsts, "a", make_run), "b", look.make_other)
        if look.differ(firsts):  # few digits hide what differs from the first update on
            start = 0
    runs = replace(firsts, start=start, twins=() if start else (first,))
    # What is logged after an update is there by the next.
    stop = math.ceil((record + _FIRST_RECORDS) * updates / records) + 1
    if stop <= _SHORT * updates:
        runs, is_decided = _short_ones(
            make_run, runs, stop=stop, updates_of=updates_of, finding_with=finding_with, look=look
        )
        if is_decided:
            return runs
    return _whole_ones(make_run, runs, finding_with=finding_with, look=look)


def first_updates(make_run: MakeRun, look: FirstLook) -> TwinRuns:
    """The first updates of two sides of which no metric differs, and twins where those are far apart."""
    runs = _with_first(TwinRuns(twins=(), control=None, start=0), "a", make_run)
    if look.takes_steps(runs.firsts["a"]):
        runs = _with_first(runs, "b", look.make_other)
    return _with_first_twins(make_run, runs, look)


def whole_twins(make_run: MakeRun, number: int, *, updates_of: Callable[[Path], int]) -> TwinRuns:
    """So many whole twins from the beginning on, and the control.

    Raises:
        CannotJudgeError: Nothing in the program can be rounded from outside.
    """
    made = [make_run(_twin(1, start=0), 1)]
    if not updates_of(made[0]):
        raise CannotJudgeError(_NO_TWIN)
    made += [make_run(_twin(one, start=0), one) for one in range(2, number + 1)]
    control = make_run(_control(0), number + 1)
    return TwinRuns(twins=tuple(made), control=control, start=0, made=number + 1)


def _short_ones(
    make_run: MakeRun,
    runs: TwinRuns,
    *,
    stop: int,
    updates_of: Callable[[Path], int],
    finding_with: Callable[[TwinRuns], tuple[Finding, float]],
    look: FirstLook | None,
) -> tuple[TwinRuns, bool]:
    """Twins that end after so many updates, and whether they show that B is different."""
    for size in (ENOUGH, ALL):
        while len(runs.every_twin) < min(size, len(runs.every_twin) + _left(runs, len(runs.twins))):
            made = make_run(_twin(runs.made + 1, start=runs.start, stop=stop), runs.made + 1)
            runs = replace(runs, made=runs.made + 1)
            if not updates_of(made):  # the program cannot be ended early
                return replace(runs, short=()), False
            runs = replace(runs, short=(*runs.short, made))
        runs = _with_first_twins(make_run, runs, look)
        finding, ratio = finding_with(runs)
        if finding is not Finding.DIFFERENT:
            return runs, False
        if ratio > _FAR:
            break
    return runs, True


def _whole_ones(
    make_run: MakeRun,
    runs: TwinRuns,
    *,
    finding_with: Callable[[TwinRuns], tuple[Finding, float]],
    look: FirstLook | None,
) -> TwinRuns:
    most = min(ALL, len(runs.twins) + MOST_RUNS - 1 - runs.made)
    for size in (ENOUGH, most):
        while len(runs.twins) < size:
            made = make_run(_twin(runs.made + 1, start=runs.start), runs.made + 1)
            runs = replace(runs, twins=(*runs.twins, made), made=runs.made + 1)
        runs = _with_first_twins(make_run, runs, look)
        finding, ratio = finding_with(runs)
        if finding is Finding.DIFFERENT and (size == most or ratio > _FAR):
            return runs
    control = make_run(_control(runs.start), runs.made + 1)
    return replace(runs, control=control, made=runs.made + 1)


def _left(runs: TwinRuns, whole: int) -> int:
    """How many more runs may be made before enough whole ones and the control."""
    return MOST_RUNS - 1 - runs.made - max(0, ENOUGH - whole)


def _with_first(runs: TwinRuns, side: str, make_run: MakeRun) -> TwinRuns:
    made = make_run(_first(), runs.made + 1)
    return replace(runs, firsts={**runs.firsts, side: made}, made=runs.made + 1)


def _with_first_twins(make_run: MakeRun, runs: TwinRuns, look: FirstLook | None) -> TwinRuns:
    """Enough twins of the first update, where the sides are far apart there."""
    if look is None or not look.far_apart(runs):
        return runs
    stop = look.step_of(runs.firsts["a"])
    while len(runs.of_first_update) < ENOUGH:
        made = make_run(_twin(runs.made + 1, start=0, stop=stop), runs.made + 1)
        runs = replace(runs, first_twins=(*runs.first_twins, made), made=runs.made + 1)
    return runs


def _first() -> Variation:
    text = f"{order.FIRST}:seed=0:start={order.NEVER}:rate=1"
    return _variation(text, says="as it is, up to its first update")


def _twin(number: int, *, start: int, stop: int = 0) -> Variation:
    kind = order.UPDATES if number % 2 else order.MODULES
    text = f"{kind}:seed={number}:start={start}:rate=1" + (f":stop={stop}" if stop else "")
    return _variation(text, says=f"twin {number}, rounded otherwise")


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
