"""Whether a run learned, asked in the order in which one looks for what is wrong.

Answers rest on the run's metrics, and on what a probe saw inside the environment. What was not checked is
UNKNOWN, never fine. The order is: reward signal, environment, learning basics, exploration, then the
settings. Where something is held out and nothing is played, they are those of a training on labelled data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.learning.answers import Answer, Curve, Health, LearningFacts
from reprokit.learning.questions import QUESTIONS, SUPERVISED
from reprokit.learning.supervised import is_supervised

__all__ = ["Answer", "Curves", "Health", "diagnose", "is_well"]

Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]


def diagnose(
    curves: Curves,
    *,
    settings: Mapping[str, Any] | None = None,
    probe: Mapping[str, Any] | None = None,
    anomaly: str = "",
) -> tuple[Answer, ...]:
    """Every question that can be asked of a run, in order.

    ``curves``: metric → steps and values; ``probe``: its ``learning.json``; ``anomaly``: what the run's log
    says.
    """
    seen = LearningFacts(
        curves={name: Curve(steps=tuple(at), values=tuple(found)) for name, (at, found) in curves.items()},
        training=dict((settings or {}).get("training") or {}),
        probe=probe,
        anomaly=anomaly,
    )
    questions = SUPERVISED if is_supervised(seen) else QUESTIONS
    return tuple(answer for ask in questions if (answer := ask(seen)) is not None)


def is_well(answers: Sequence[Answer]) -> bool:
    """Whether nothing is wrong; what is unknown is not wrong."""
    return all(answer.health is not Health.WRONG for answer in answers)
