"""The kinds of run of a recipe: whole, stopped, resumed and varied; ``plan`` says how each is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reprokit.harness.running.watch_golden import FindGolden
    from reprokit.variations import Variation

#: Where the watch over a program in a run folder of its own leaves its trace: a folder of the program's.
WATCH = ".reprokit"
#: The variation that is made by a run with another seed before the varied one.
LEFTOVERS = "leftovers"
#: Keys of ``run.json`` of a run that is no whole one under natural conditions.


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
    """A training from its first step to its last, as often as ``repeats`` says.

    Attributes:
        repeats: How many runs with the one seed.
        beside: Among how many runs it shares the cores, where it is compared with runs made side by side.
        beside_other_seed: Whether a watched program is run with another seed too, which shows whose seeds
            follow from the run's.
        find_golden: Finds the golden at whose first difference the runs are stopped; None to let them end.
    """

    repeats: int = 1
    beside: int = 1
    beside_other_seed: bool = False
    find_golden: FindGolden | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedRun:
    """A training that is killed at step ``stop_at``, on the ``cores`` of the run that it is compared with.

    ``asked`` is what was typed for several places.
    """

    stop_at: int
    asked: str = ""
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedRun:
    """The rest of a training, from a checkpoint of an earlier run to the last step; ``cores`` as above."""

    point: ResumePoint
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedCommand:
    """A program that is stopped early by the arguments ``words``; ``cores`` as above."""

    words: tuple[str, ...]
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StopPlace:
    """Where a program is killed: at the ``number``-th event of a kind, counted from inside it.

    Attributes:
        kind: ``update``, ``backward``, ``pass``, ``save`` (before one), ``saving`` or ``saved``.
        number: Which one, from 1.
        told: The place in words, to follow "killed".
        updates: How many updates had been made there.
        has_checkpoint: Whether one was whole before.
        at_bytes: Of ``saving``: the size that a file reaches.
    """

    kind: str
    number: int
    told: str
    updates: int
    has_checkpoint: bool = True
    at_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedCommand:
    """A program that is run whole, on these ``cores``, while its places to be killed at are counted."""

    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KilledCommand:
    """A program that is killed at a place, on these ``cores``; ``asked``: what was typed for it."""

    place: StopPlace
    asked: str
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedCommand:
    """A program that is resumed from what an earlier run of it left.

    Attributes:
        words: The arguments that resume it, from ``{stopped_run_dir}``.
        left: The earlier run's ``output``, which that stands for.
        run: How the earlier run is named wherever its folder lies: ``<recipe>/<run id>``.
        checkpoint: The file in ``left`` that the arguments name, or "" where they name the folder.
        sha256: Of that file, or "".
        attempt: The earlier run's attempt.
        is_counted: Whether its places are counted, too.
        cores: As above.
    """

    words: tuple[str, ...]
    left: Path
    run: str
    checkpoint: str
    sha256: str
    attempt: int
    is_counted: bool = False
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VariedRun:
    """A whole training under different conditions.

    Attributes:
        number: Which of the varied runs of one reproduction it is, from 1.
        chosen: What is varied; empty for a run to compare with.
        watched: Whether the run is made under all of the watch even where no variation needs it.
        held: Name → why there is nothing to vary here.
        unmade: Name → why it cannot be varied here.
        cores: The cores that it has alone, as the run with which it is compared; empty for all.
        after: The run with another seed that was made before, as ``<recipe>/<run id>``; "" where none was.
        point: The checkpoint from which it begins; None for a training from its first step.
    """

    number: int
    chosen: tuple[Variation, ...]
    watched: bool = False
    held: Mapping[str, str] = field(default_factory=dict)
    unmade: Mapping[str, str] = field(default_factory=dict)
    cores: tuple[int, ...] = ()
    after: str = ""
    point: ResumePoint | None = None

    @property
    def under_watch(self) -> bool:
        """Whether the run is made under all of the watch, not only under what records its conditions."""
        return self.watched or any(one.vary for one in self.chosen)

    def as_fact(self) -> dict[str, Any]:
        """As ``run.json`` says it."""
        return {
            "names": [one.name for one in self.chosen],
            "watched": self.under_watch,
            "held": dict(self.held),
            "unmade": dict(self.unmade),
            **({"after": self.after} if self.after else {}),
        }


RunKind = (
    WholeRun
    | StoppedRun
    | ResumedRun
    | StoppedCommand
    | CountedCommand
    | KilledCommand
    | ResumedCommand
    | VariedRun
)
