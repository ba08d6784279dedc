"""How far a number may be off, per metric.

>>> Tolerance(atol=0.1).accepts(1.0, 1.05), Tolerance().accepts(1.0, 1)
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reprokit.core import json_values
from reprokit.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """``abs(actual - expected) <= atol + rtol * abs(expected)``.

    At 0/0, the default, numbers are compared by value and sign of zero instead. At any tolerance
    NaN agrees only with NaN, an infinity only with itself, and what is no number only with its equal.

    Attributes:
        rtol: Relative tolerance, finite and not negative. It is relative to the expected value.
        atol: Absolute tolerance, finite and not negative.
        mean_of: Of how many consecutive values the means are held to it instead of each value
            (``core.means``); whoever does not know this holds every value to it, which is stricter.

    Raises:
        UsageError: A tolerance is negative, NaN, infinite or not a number, or no mean can keep it.
    """

    rtol: float = 0.0
    atol: float = 0.0
    mean_of: int = 1

    def __post_init__(self) -> None:
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value < 0:
                raise UsageError(
                    f"{name} is not a tolerance",
                    expected="a finite number, 0 or more",
                    actual=repr(value)[:40],
                    fix=f"give {name} a number such as 1e-6, or leave it out",
                )
        whole = isinstance(self.mean_of, int) and not isinstance(self.mean_of, bool) and self.mean_of >= 1
        if not whole or (self.mean_of > 1 and self.exact):
            raise UsageError(
                "mean_of is not a valid number of values",
                expected="a whole number of 1 or more, with rtol or atol above 0",
                actual=repr(self.mean_of)[:40],
                fix="leave mean_of out, or grant the means a tolerance",
            )

    @property
    def exact(self) -> bool:
        return self.rtol == 0 and self.atol == 0

    def accepts(self, expected: Any, actual: Any) -> bool:
        """Whether two JSON values agree, everything inside them included."""
        return all(
            json_values.within(left, right, rtol=self.rtol, atol=self.atol)
            for _, left, right in json_values.leaves(expected, actual)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerances:
    """A tolerance for every metric: by its exact name, else the default."""

    default: Tolerance = field(default_factory=Tolerance)
    metrics: Mapping[str, Tolerance] = field(default_factory=dict)

    def of(self, metric: str) -> Tolerance:
        return self.metrics.get(metric, self.default)
