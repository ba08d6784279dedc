"""The clock that an answer is timed with, names of folders by the time, and the seeds that are due."""

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
from reprokit.request import Request

__all__ = ["Phases", "Request", "now", "recorded_seeds", "seeds_of", "stamp"]


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
    """The seeds that a gate judges: the one requested, else all declared seeds and all that have a golden.

    A declared seed whose golden was removed is judged all the same, and is NO_GOLDEN.
    """
    if request.seed is not None:
        return (request.seed,)
    recorded = recorded_seeds(recipe, project, platform)
    return (*recipe.seeds, *(seed for seed in recorded if seed not in recipe.seeds))


def recorded_seeds(recipe: Recipe, project: Project, platform: str) -> Sequence[int]:
    """The seeds that have a golden on a platform, in ascending order."""
    return sorted(
        int(path.name.removeprefix("seed-"))
        for path in (project.golden_dir / recipe.name / platform).glob("seed-*")
        if re.fullmatch(r"seed-[0-9]{1,10}", path.name)
    )
