"""What run folders say of the first update of both sides; ``first_update`` judges it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from reprokit import runs, workspace
from reprokit.errors import CannotJudgeError
from reprokit.features.compare.rounding.evidence import NamedFacts, named_facts, rounded_of
from reprokit.features.compare.rounding.first_update import (
    FirstFinding,
    Moved,
    is_far,
    judged_first,
    not_seen,
    unjudged_first,
)
from reprokit.features.compare.rounding.rule import SINGLE_EPSILON
from reprokit.features.compare.rounding.twin_runs import TwinRuns
from reprokit.instrumentation.reprokit_hook.rounding import FIRST

_NO_STEP = "the program takes no step of an optimizer of PyTorch, so its parameters are not seen"
#: In bfloat16 harmless changes move the first update up to 160 times as far as twins do.
_FEW_DIGITS = "the program computes in fewer digits than single precision, of which twins show too little"
_ONE_SIDE = "the other side was not run again, so its parameters are not seen"


def takes_steps(folder: Path) -> bool:
    """Whether a run makes updates whose parameters can be seen."""
    return any(one.facts.get("steps") for one in named_facts(folder))


def step_of(folder: Path) -> int:
    """The number of the first update that moves parameters; 0 where none was recorded."""
    return max((int(one.facts["first_update"]["step"]) for one in _recorded(folder)), default=0)


def far_apart(twins: TwinRuns) -> bool:
    """Whether the first updates of both sides are so far apart that twins of them are needed."""
    if not all(side in twins.firsts and step_of(twins.firsts[side]) for side in ("a", "b")):
        return False
    return is_far(moved_in(twins.firsts["a"]), moved_in(twins.firsts["b"]))


def differ(twins: TwinRuns) -> bool:
    """Whether the first updates of both sides are known to differ in a bit."""
    if not all(side in twins.firsts and step_of(twins.firsts[side]) for side in ("a", "b")):
        return False
    a, b = (moved_in(twins.firsts[side]) for side in ("a", "b"))
    return a.shapes == b.shapes and (a.step != b.step or not all(map(np.array_equal, a.values, b.values)))


def first_finding(twins: TwinRuns) -> FirstFinding:
    """What the recorded first updates say.

    Raises:
        CannotJudgeError: A recorded file is not what the run left.
    """
    looked = twins.firsts.get("a") or next(iter(twins.of_first_update), None)
    if looked is None or not ("b" in twins.firsts or takes_steps(looked)):
        return not_seen(_NO_STEP)
    if not twins.firsts:
        return not_seen(_ONE_SIDE)
    for side in ("a", "b"):
        if side not in twins.firsts or not step_of(twins.firsts[side]):
            return unjudged_first(f"the first update of side {side} was not recorded")
    rounding = twins.of_first_update
    if max((rounded_of(one)[1] for one in rounding), default=0.0) > SINGLE_EPSILON:
        return not_seen(_FEW_DIGITS)
    every = [moved_in(one) for one in rounding if step_of(one)]
    if len(every) < len(rounding):
        return unjudged_first("the first update of a twin was not recorded")
    a, b = (moved_in(twins.firsts[side]) for side in ("a", "b"))
    return judged_first(a, b, every)


def must_be_firsts(twins: TwinRuns, *, of: Path, other: Path) -> None:
    """Refuse a run in which something was changed before its first update, or a run of something else.

    Raises:
        CannotJudgeError: One of them is.
    """
    for side, folder in twins.firsts.items():
        found, first = runs.read(folder, verify=False).record, runs.read({"a": of, "b": other}[side]).record
        if (found.seed, found.digests) != (first.seed, first.digests):
            raise CannotJudgeError(f"this run has another seed or other inputs: {folder}")
        is_as_it_is = all(
            one.facts["kind"] == FIRST and not one.facts["rounded"] for one in named_facts(folder)
        )
        is_late = side == "a" and folder in twins.every_twin and twins.start
        if not (is_as_it_is or is_late):
            raise CannotJudgeError(f"something was changed in this run before its first update: {folder}")


def moved_in(folder: Path) -> Moved:
    """By how much the first update of a run moved its parameters, of all its processes.

    Raises:
        CannotJudgeError: The file is not what the run left.
    """
    recorded = _recorded(folder)
    values = [value for one in recorded for value in _values(one)]
    told = [one.facts["first_update"] for one in recorded]
    return Moved(
        step=max(int(one["step"]) for one in told),
        shapes=tuple(tuple(shape) for one in told for shape in one["shapes"]),
        every=max(int(one["every"]) for one in told),
        values=tuple(values),
    )


def _recorded(folder: Path) -> list[NamedFacts]:
    return sorted(
        (one for one in named_facts(folder) if one.facts.get("first_update")), key=lambda one: one.name
    )


def _values(one: NamedFacts) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
    told = one.facts["first_update"]
    file = one.place / str(told["file"])
    if not file.is_file() or workspace.sha256_of(file) != f"sha256:{told['sha256']}":
        raise CannotJudgeError(f"the recorded first update is not what the run left: {file}")
    sizes = [-(-math.prod(shape) // int(told["every"])) for shape in told["shapes"]]
    every = np.fromfile(file, dtype="<f4").astype(np.float64)
    return np.split(every, np.cumsum(sizes)[:-1])
