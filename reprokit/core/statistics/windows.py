"""One number from a run's curve: the last value, a mean, the best, the area below it, a step.

>>> Window.parse("mean_last_2").of(np.array([1.0, 2, 3]), np.array([[5.0, 7, 9]])).values
array([8.])
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Counts = npt.NDArray[np.intp]

KINDS = (
    "last",
    "mean_last",
    "best_high",
    "best_low",
    "auc",
    "auc_mean",
    "first_step_at_least",
    "first_step_at_most",
)
LAST = "last"
_PLAIN = (LAST, "best_high", "best_low", "auc", "auc_mean")
WINDOW_NAMES = (*_PLAIN, "mean_last_N", "first_step_at_least_X", "first_step_at_most_X")
_MEAN = re.compile(r"mean_last_([1-9][0-9]{0,8})")
_FIRST = re.compile(r"first_step_at_(least|most)_(\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Windowed:
    """One number for each run.

    Attributes:
        values: Shape (runs,). NaN where the window holds a value that is not finite, and for a run that
            never reached the threshold.
        num_left_out: Shape (runs,): values that are not finite and could be left out (best, first step).
        num_unreached: Runs that never reached the threshold; 0 for other windows.
        refused: Why there are no numbers; "" where there are.
    """

    values: Values
    num_left_out: Counts
    num_unreached: int = 0
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which number is taken from a curve.

    Attributes:
        kind: One of ``KINDS``. ``auc`` is the area by the trapezoidal rule, in units of step times metric;
            ``auc_mean`` the same divided by the steps that it spans: a mean height. ``best_high`` is the best
            where higher is better.
        count: How many records at the end ``mean_last`` takes.
        threshold: What ``first_step_at_least`` and ``first_step_at_most`` wait for.
    """

    kind: str
    count: int = 1
    threshold: float = 0.0

    @classmethod
    def parse(cls, name: str) -> Window:
        """The window of a name, such as ``mean_last_10`` or ``first_step_at_least_475``.

        Raises:
            ValueError: There is none of that name.
        """
        if name in _PLAIN:
            return cls(kind=name)
        if found := _MEAN.fullmatch(name):
            return cls(kind="mean_last", count=int(found[1]))
        if found := _FIRST.fullmatch(name):
            with suppress(ValueError):  # what is no number
                threshold = float(found[2])
                if np.isfinite(threshold):
                    return cls(kind=f"first_step_at_{found[1]}", threshold=threshold)
        *names, other = WINDOW_NAMES
        raise ValueError(f"there is no window {name!r}: choose {', '.join(names)} or {other}")

    @property
    def name(self) -> str:
        if self.kind == "mean_last":
            return f"mean_last_{self.count}"
        if self.kind.startswith("first_step"):
            return f"{self.kind}_{self.threshold:g}"
        return self.kind

    @property
    def better(self) -> str:
        """``lower`` where a number of steps is taken, whatever is better of the metric; "" else."""
        return "lower" if self.kind.startswith("first_step") else ""

    def of(self, steps: Values, values: Values) -> Windowed:
        """One number for each run.

        Args:
            steps: Shape (records,), those of every run.
            values: Shape (runs, records).
        """
        num_runs, num_records = values.shape
        nothing = np.zeros(num_runs, dtype=np.intp)
        if reason := self._why_not(steps, num_records):
            return Windowed(values=np.full(num_runs, np.nan), num_left_out=nothing, refused=reason)
        if self.kind == "last":
            return Windowed(values=values[:, -1].copy(), num_left_out=nothing)
        if self.kind == "mean_last":
            return Windowed(values=_mean(values[:, -self.count :]), num_left_out=nothing)
        if self.kind in {"auc", "auc_mean"}:
            span = float(steps[-1] - steps[0]) if self.kind == "auc_mean" else 1.0
            with np.errstate(invalid="ignore", over="ignore"):
                area = np.atleast_1d(np.trapezoid(values, steps, axis=1)) / span
            return Windowed(values=area, num_left_out=nothing)
        left_out = np.count_nonzero(~np.isfinite(values), axis=1)
        if self.kind in {"best_high", "best_low"}:
            return Windowed(values=_best(values, high=self.kind == "best_high"), num_left_out=left_out)
        return self._first_step(steps, values, left_out)

    def _why_not(self, steps: Values, num_records: int) -> str:
        if not num_records:
            return "no value was recorded"
        if self.kind == "mean_last" and num_records < self.count:
            return f"a run has {num_records} of the {self.count} values that it takes"
        if self.kind in {"auc", "auc_mean"}:
            if num_records < 2:
                return "one value has no area below it"
            if not (np.diff(steps) > 0).all():
                return "the steps do not rise from record to record"
        return ""

    def _first_step(self, steps: Values, values: Values, left_out: Counts) -> Windowed:
        with np.errstate(invalid="ignore"):
            upwards = self.kind == "first_step_at_least"
            there = values >= self.threshold if upwards else values <= self.threshold
        there &= np.isfinite(values)
        reached = there.any(axis=1)
        found = np.where(reached, steps[there.argmax(axis=1)], np.nan)
        return Windowed(values=found, num_left_out=left_out, num_unreached=int(np.count_nonzero(~reached)))


def _mean(values: Values) -> Values:
    with np.errstate(invalid="ignore", over="ignore"):
        means: Values = values.mean(axis=1)
    constant = (values == values[:, :1]).all(axis=1)  # the sum would be rounded
    return np.where(constant, values[:, 0], means)


def _best(values: Values, *, high: bool) -> Values:
    """The highest or lowest finite value of each run; NaN where none is finite."""
    worst = -np.inf if high else np.inf
    finite = np.where(np.isfinite(values), values, worst)
    found = finite.max(axis=1) if high else finite.min(axis=1)
    return np.where(np.isfinite(found), found, np.nan)
