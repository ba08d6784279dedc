"""The four kinds of run of a recipe, whole, stopped, resumed and varied, and how their plans differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit.core.records import Mount
from reprokit.variations import Variation

#: Where the watch over a program in a run folder of its own leaves its trace: a folder of the program's.
WATCH = ".reprokit"
_CHECKPOINT = "resumed_from.pt"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePoint:
    """A whole checkpoint of an earlier run, from which a training is resumed.

    Attributes:
        path: The checkpoint.
        step: Its step.
        sha256: Of the file.
        run: How the earlier run is named wherever its folder lies: ``<recipe>/<run id>``.
        attempt: The earlier run's attempt.
        lock_digest: Of the environment that the earlier run began in; "" where ``run.json`` has none.
    """

    path: Path
    step: int
    sha256: str
    run: str
    attempt: int
    lock_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """A training from its first step to its last, as often as ``repeats`` says."""

    repeats: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedRun:
    """A training that is killed at step ``stop_at``."""

    stop_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedRun:
    """The rest of a training, from a checkpoint of an earlier run to the last step."""

    point: ResumePoint


@dataclass(frozen=True, slots=True, kw_only=True)
class VariedRun:
    """A whole training under other surroundings.

    Attributes:
        number: Which of the varied runs of one reproduction it is, from 1.
        chosen: What is varied; empty for a run to compare with.
        watched: Whether the run is made under the watch even where no variation needs it.
        held: Name → why there is nothing to vary here.
        unmade: Name → why it cannot be varied here.
    """

    number: int
    chosen: tuple[Variation, ...]
    watched: bool = False
    held: Mapping[str, str] = field(default_factory=dict)
    unmade: Mapping[str, str] = field(default_factory=dict)


RunKind = WholeRun | StoppedRun | ResumedRun | VariedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Particulars:
    """What the plan of one kind of run has of its own.

    Attributes:
        names: The end of each run's id, one a run.
        words: Further words of the command line.
        mounts: Further files that the training sees.
        facts: Further keys of ``run.json``, so that nobody takes the run for a whole training.
        attempt: Which attempt at the training it is.
    """

    names: tuple[str, ...]
    words: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    attempt: int = 1


def particulars(kind: RunKind) -> Particulars:
    """What the plan of a run of this kind has of its own; surroundings are varied in the finished plan."""
    match kind:
        case WholeRun(repeats=repeats):
            return Particulars(names=tuple(str(index + 1) for index in range(repeats)))
        case StoppedRun(stop_at=step):
            return Particulars(names=("stopped",), words=("--stop-at", str(step)), facts={"stop_at": step})
        case ResumedRun(point=point):
            return _resumed(point)
        case VariedRun(number=number):
            return Particulars(names=(f"varied{number}",))


def _resumed(point: ResumePoint) -> Particulars:
    resumed_from = {
        "run": point.run,
        "checkpoint": point.path.name,
        "step": point.step,
        "sha256": point.sha256,
    }
    return Particulars(
        names=("resumed",),
        words=("--resume-from", f"{{mounts}}/{_CHECKPOINT}"),
        mounts=(Mount(name=_CHECKPOINT, path=str(point.path)),),
        facts={"resumed_from": resumed_from},
        attempt=point.attempt + 1,
    )
