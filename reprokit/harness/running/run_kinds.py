"""Runs of a recipe that are not whole, plain trainings: stopped, resumed, or under other surroundings.

This module knows the data; it refuses to know how such a run is made.

    >>> Part(name="stopped", stop_at=45_056).resume is None
    True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reprokit.variations import Variation

#: Where the watch over a program in a run folder of its own leaves its trace: a folder of the program's.
WATCH = ".reprokit"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePoint:
    """A whole checkpoint of an earlier run, from which a training goes on.

    Attributes:
        path: The checkpoint.
        step: Its step.
        sha256: Of the file.
        run: How the earlier run is named wherever its folder lies: ``<recipe>/<run id>``.
        attempt: The earlier run's attempt.
        lock_digest: Of the environment that the earlier run began in; "" where nobody knows.
    """

    path: Path
    step: int
    sha256: str
    run: str
    attempt: int
    lock_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Varying:
    """Other surroundings for one run of a recipe.

    Attributes:
        chosen: What is varied; empty for a run to compare with.
        watched: Whether the run is made under the watch even where no variation needs it.
        held: Name → why there is nothing to vary here.
        unmade: Name → why it cannot be varied here.
    """

    chosen: tuple[Variation, ...]
    watched: bool = False
    held: Mapping[str, str] = field(default_factory=dict)
    unmade: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A run of its own kind: up to a step at which it is killed, on from a checkpoint, or varied.

    Attributes:
        name: Ends the run's id.
        stop_at: The step, or None.
        resume: The checkpoint, or None.
        varying: Other surroundings for the whole training, or None.
    """

    name: str
    stop_at: int | None = None
    resume: ResumePoint | None = None
    varying: Varying | None = None
