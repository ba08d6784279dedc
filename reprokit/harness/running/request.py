"""What a person asked for, and the clock that the answer is timed with.

>>> Request(seed=7, repeats=3).backend
'auto'
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from reprokit.harness.running.execute import Progress
from reprokit.project import Project
from reprokit.recipes import Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person asked for, beyond the recipe's name.

    Attributes:
        seed: None for the recipe's first.
        backend: ``auto``, ``docker`` or ``local``.
        base: Which base an image is built on: ``auto``, ``registry`` or ``bootstrap``.
        repeats: How many runs with the one seed.
        overrides: ``path=value`` settings.
        ignore: Patterns of metrics to leave out (plain commands).
        strict: Advisory rows are required too.
        attribute: On a mismatch with the golden, find out whether code or environment is to blame.
        timeout_s: Limit for each run, seconds.
        side_by_side: False to run one after the other.
        command: The command line as typed, for the report.
        vary: Train once more under the variations that the recipe says it is immune to.
        diagnose: Where two runs differ, find out why.
        resume: Kill one more training on its way, resume it, and hold it against the first.
        stop_at: The step at which; None for one that is drawn from the seed.
        resume_from: A run or a checkpoint to go on from; None to start anew.
        profile_step: Profile, and look at the update that begins at or after this step; None for neither.
    """

    seed: int | None = None
    backend: str = "auto"
    base: str = "auto"
    repeats: int = 2
    overrides: Sequence[str] = ()
    ignore: Sequence[str] = ()
    strict: bool = False
    attribute: bool = False
    timeout_s: float | None = None
    side_by_side: bool = True
    command: str = ""
    vary: bool = False
    diagnose: bool = False
    resume: bool = False
    stop_at: int | None = None
    resume_from: str | None = None
    profile_step: int | None = None


@dataclass(slots=True)
class Phases:
    """Seconds that each phase took; the only clock of the harness."""

    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Time what happens inside, and tell the progress display that it begins."""
        self.progress.phase(name)
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - start, 3)


def stamp() -> str:
    """A name for a folder made now: UTC time and four random hex digits."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def now() -> str:
    """ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def seeds_of(recipe: Recipe, request: Request, project: Project, platform: str) -> Sequence[int]:
    """The seeds that are due: the one asked for, else all that have a golden, else the recipe's first."""
    if request.seed is not None:
        return (request.seed,)
    blessed = project.golden_dir / recipe.name / platform
    recorded = sorted(
        int(path.name.removeprefix("seed-"))
        for path in blessed.glob("seed-*")
        if re.fullmatch(r"seed-[0-9]{1,10}", path.name)
    )
    return recorded or (recipe.seeds[0],)
