"""What is kept of one metric while two series are compared: largest errors, mismatches, first step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reprokit.core import json_values
from reprokit.core.comparing.difference import MetricSummary
from reprokit.core.json_values import MISSING, Leaf
from reprokit.core.tolerance import Tolerance

Column = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Tally:
    """The running summary of one metric.

    Attributes:
        identical: Whether all its values so far are equal by value, type and sign of zero.
        compared: Whether both sides had it in some record.
        has_value: Whether any value, on either side, was more than null or NaN.
        has_nan: Whether any value was NaN.
        max_abs_error: Largest error of two numbers, also within the tolerance; None before any.
        max_rel_error: The same, relative to expected; pairs where only expected is 0 are left out.
    """

    tolerance: Tolerance
    identical: bool = True
    compared: bool = False
    has_value: bool = False
    has_nan: bool = False
    mismatches: int = 0
    first_step: Any = None
    max_abs_error: float | None = None
    max_rel_error: float | None = None

    def see(self, expected: Any, actual: Any, *, step: Any) -> Leaf | None:
        """Count one pair; the first place inside that is off beyond the tolerance, or None."""
        if type(expected) is float and type(actual) is float:
            error = abs(actual - expected)
            if error < math.inf:  # so both are finite
                return self._see_floats(expected, actual, error, step)
        if expected is not MISSING and actual is not MISSING:
            self.compared = True
        worst = None
        for leaf in json_values.leaves(expected, actual):
            if not self._leaf_agrees(leaf[1], leaf[2]) and worst is None:
                worst = leaf
        if worst is not None:
            self.mismatch(step)
        return worst

    def see_column(self, expected: Column, actual: Column) -> Flags:
        """Count many pairs of numbers at once; the answer is that of ``see``.

        Args:
            expected: Shape (n,), float64, finite, every integer among them below 2**53.
            actual: The same of the other side.

        Returns:
            Shape (n,), bool: which pairs are off beyond the tolerance. They are counted here, but
            the caller knows the steps and calls ``mismatch_at``.
        """
        self.has_value = self.compared = True
        unequal: Flags = expected.view(np.int64) != actual.view(np.int64)
        if not unequal.any():
            self._errors(0.0, 0.0)
            return unequal
        self.identical = False
        error, size = np.abs(actual - expected), np.abs(expected)
        with np.errstate(over="ignore"):
            relative = np.divide(error, size, out=np.zeros_like(error), where=size > 0)
            bound = self.tolerance.atol + self.tolerance.rtol * size
        defined = bool(((size > 0) | (error == 0)).any())
        self._errors(float(error.max()), float(relative.max()) if defined else None)
        beyond: Flags = unequal if self.tolerance.exact else error > bound
        self.mismatches += int(np.count_nonzero(beyond))
        return beyond

    def mismatch(self, step: Any) -> None:
        """Count one record in which the metric is off, or on one side only."""
        if not self.mismatches:
            self.first_step = step
        self.mismatches += 1

    def summary(self) -> MetricSummary:
        return MetricSummary(
            max_abs_error=self.max_abs_error,
            max_rel_error=self.max_rel_error,
            mismatches=self.mismatches,
            first_step=self.first_step,
        )

    def _see_floats(self, expected: float, actual: float, error: float, step: Any) -> Leaf | None:
        """The same for two finite floats, by far the commonest pair."""
        self.has_value = self.compared = True
        if expected == actual and (expected != 0 or json_values.scalars_equal(expected, actual)):
            self._errors(0.0, 0.0)
            return None
        self.identical = False
        self._errors(error, error / abs(expected) if expected else 0.0 if error == 0 else None)
        if not self.tolerance.exact and self.tolerance.accepts(expected, actual):
            return None
        self.mismatch(step)
        return "", expected, actual

    def _leaf_agrees(self, expected: Any, actual: Any) -> bool:
        if type(expected) is float and type(actual) is float and expected and actual - expected == 0:
            self.has_value = True  # finite and equal, as in long arrays
            self._errors(0.0, 0.0)
            return True
        for value in (expected, actual):
            if value is None or value is MISSING:
                continue
            if json_values.is_nan(value):
                self.has_nan = True
            else:
                self.has_value = True
        error = json_values.absolute_error(expected, actual)
        self._errors(error, 0.0 if error == 0 == expected else json_values.relative_error(expected, actual))
        if json_values.scalars_equal(expected, actual):
            return True
        self.identical = False
        return json_values.within(expected, actual, rtol=self.tolerance.rtol, atol=self.tolerance.atol)

    def _errors(self, absolute: float | None, relative: float | None) -> None:
        if absolute is not None and (self.max_abs_error is None or absolute > self.max_abs_error):
            self.max_abs_error = absolute
        if relative is not None and (self.max_rel_error is None or relative > self.max_rel_error):
            self.max_rel_error = relative


def kind_of_difference(leaf: Leaf) -> str | None:
    """The problem that has a word of its own, or None for numbers and strings that merely differ."""
    path, expected, actual = leaf
    if type(expected) is float and type(actual) is float and abs(actual - expected) < math.inf:
        return None  # the commonest case, said first
    if expected is MISSING or actual is MISSING:
        return "changed_structure" if path else None
    if json_values.kind(expected) != json_values.kind(actual):
        return "changed_type"
    if json_values.kind(expected) != "number":
        return None
    if json_values.is_nan(expected) != json_values.is_nan(actual):
        return "nan_placement"
    return None if json_values.is_finite(expected) and json_values.is_finite(actual) else "infinity_placement"
