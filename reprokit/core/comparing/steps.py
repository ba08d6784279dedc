"""The steps of two series side by side: repeated, skipped, reordered, uneven, missing."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.core import json_values, problems
from reprokit.core.json_values import MISSING
from reprokit.core.problems import ProblemLog

#: What training programs call the step, the likeliest first.
NAMES = (
    "step",
    "global_step",
    "_step",
    "Step",
    "total_timesteps",
    "time/total_timesteps",
    "timesteps",
    "current_steps",
    "num_updates",
    "iteration",
    "epoch",
    *("iter", "Iteration", "Iter", "iterations", "Epoch", "round", "trial", "Trial"),
)

_LARGEST = 2**63

Lines = tuple[int | None, int | None]


def name_in(record: Mapping[str, Any]) -> str | None:
    """The name under which a record keeps its step, or None."""
    return next((name for name in NAMES if name in record), None)


def shifted(lines: Lines, offset: int) -> Lines:
    """Line numbers some lines further on; None stays None."""
    expected, actual = lines
    return (None if expected is None else expected + offset, None if actual is None else actual + offset)


class StepWatch:
    """Names in a log what is odd about two sequences of steps.

    Irregularities that both sides have alike are warnings. One that only one side has is a
    difference, and named by what happened to that side.
    """

    def __init__(self, log: ProblemLog) -> None:
        self._log = log
        self._previous: tuple[Any, Any] = (MISSING, MISSING)
        self._interval: float | None = None
        self._gap: float | None = None
        self._first_details: dict[tuple[str, str], str] = {}

    def forget(self) -> None:
        """Records were skipped: the next step has no known predecessor."""
        self._previous = (MISSING, MISSING)

    def see_many(self, steps: Sequence[float], *, first_lines: Lines) -> None:
        """Look at one or more finite steps, in order, that are alike on both sides."""
        intervals = set(map(operator.sub, steps[1:], steps))
        if len(intervals) == 1 and intervals == {self._interval}:
            self.see(steps[0], steps[0], lines=first_lines)
            self._previous = (steps[-1], steps[-1])
            return
        for offset, step in enumerate(steps):
            self.see(step, step, lines=shifted(first_lines, offset))

    def see(self, expected: Any, actual: Any, *, lines: Lines) -> bool:
        """Whether the next pair of steps is equal; MISSING where a record has none."""
        alike = json_values.equal(expected, actual)
        if alike:
            self._regular(expected, lines)
            self._gap = None
        elif MISSING not in (expected, actual):
            self._changed(expected, actual, lines)
        self._previous = (expected, actual)
        return alike

    def _regular(self, step: Any, lines: Lines) -> None:
        if step is MISSING:
            self._log.add("missing_step", problems.BOTH, line=lines[0])
            return
        if _number(step) is None:
            self._log.add("odd_step", problems.BOTH, line=lines[0])
            return
        before, also_before = map(_number, self._previous)
        if before is None or before != also_before:
            return
        if step == before:
            self._log.add("duplicate_step", problems.BOTH, line=lines[0])
        elif step < before:
            self._log.add("reordered_step", problems.BOTH, line=lines[0])
        elif self._interval is None:
            self._interval = step - before
        elif not _close(step - before, self._interval):
            self._log.add("uneven_steps", problems.BOTH, line=lines[0])

    def _changed(self, expected: Any, actual: Any, lines: Lines) -> None:
        if _number(expected) is None or _number(actual) is None:
            self._log.add("step_changed", "actual", line=lines[1])
            return
        gap = actual - expected
        if gap == self._gap:
            return  # one skipped step moves all that follow; it is said once
        self._gap = gap
        kind, side, detail = self._what_happened(expected, actual)
        detail = self._first_details.setdefault((kind, side), detail)  # a program may do so a thousand times
        line = lines[0] if side == "expected" else lines[1]
        self._log.add(kind, side, line=line, detail=detail, severity=problems.DIFFERENCE)

    def _what_happened(self, expected: Any, actual: Any) -> tuple[str, str, str]:
        before, also_before = map(_number, self._previous)
        if also_before is not None and actual <= also_before:
            word = "duplicate_step" if actual == also_before else "reordered_step"
            return word, "actual", f"step {json_values.shown(actual)}"
        if before is not None and expected <= before:
            word = "duplicate_step" if expected == before else "reordered_step"
            return word, "expected", f"step {json_values.shown(expected)}"
        side, step = ("actual", expected) if actual > expected else ("expected", actual)
        return "skipped_step", side, f"step {json_values.shown(step)}"


def _number(step: Any) -> Any:
    """The step if it is a number that a counter can reach, else None."""
    usable = step is not MISSING and json_values.kind(step) == "number" and -_LARGEST <= step <= _LARGEST
    return step if usable else None


def _close(interval: float, usual: float) -> bool:
    if isinstance(interval, int) and isinstance(usual, int):
        return interval == usual
    return math.isclose(interval, usual, rel_tol=1e-6)
