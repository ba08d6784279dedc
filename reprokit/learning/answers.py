"""An answer about a run's learning, and what answers rest on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Health(StrEnum):
    """How an answer is meant."""

    FINE = "fine"
    LOOK = "look"
    WRONG = "wrong"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One question about a run, answered in a sentence (``told``), with what to try next, or ""."""

    id: str
    question: str
    health: Health
    told: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A metric over a run: steps and values, one each."""

    steps: tuple[float, ...]
    values: tuple[float, ...]

    @property
    def finite(self) -> tuple[float, ...]:
        return tuple(value for value in self.values if math.isfinite(value))

    def part(self, share: float) -> tuple[float, ...]:
        """The first (share above 0) or last (below 0) part of the finite values, at least one."""
        count = max(1, round(len(self.finite) * abs(share)))
        return self.finite[:count] if share > 0 else self.finite[-count:]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningFacts:
    """Everything that a question may look at; as ``learning.diagnose`` takes it."""

    curves: Mapping[str, Curve]
    training: Mapping[str, Any]
    probe: Mapping[str, Any] | None
    anomaly: str

    def first_of(self, names: Sequence[str]) -> Curve | None:
        return next((self.curves[name] for name in names if name in self.curves), None)

    @property
    def observed(self) -> Mapping[str, Any]:
        """What the probe saw of the first updates; empty where no one looked."""
        return dict((self.probe or {}).get("observed") or {})
