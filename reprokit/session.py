"""One command at work: its project, what it tells a person, and how long each phase of it took."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from reprokit.project import Project

__all__ = ["HowFar", "Progress", "Session"]


class Progress(Protocol):
    """What the harness tells a person while it works.

    >>> class Quiet:
    ...     def phase(self, name): ...
    ...     def update(self, run_label, step, total, *, steps_per_s, eta_s): ...
    ...     def alive(self, run_label, seen, *, expected_s=None): ...
    ...     def ended(self, run_label): ...
    ...     def note(self, text): ...
    >>> reproduce("no-such-recipe", progress=Quiet())
    Traceback (most recent call last):
    reprokit.errors.RecipeError: ...
    """

    def phase(self, name: str) -> None:
        """A new phase begins."""

    def update(
        self, run_label: str, step: int, total: int | None, *, steps_per_s: float | None, eta_s: float | None
    ) -> None:
        """A run has come this far."""

    def alive(self, run_label: str, seen: str, *, expected_s: float | None = None) -> None:
        """A run is under way and does not say how far it is; ``expected_s``: how long one took before."""

    def ended(self, run_label: str) -> None:
        """A run has ended, and others follow in the same phase."""

    def note(self, text: str) -> None:
        """Something worth a line of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HowFar:
    """How far a member of a sweep is.

    Attributes:
        phase: What it is doing, or how it ended.
        step: Its last step; None where it names none.
        total: Of how many.
        steps_per_s: Its speed.
        last_return: The number that a person looks at, as it was last.
        place: Where it runs.
        told: What more there is to say, or a sign of life.
    """

    phase: str
    step: int | None = None
    total: int | None = None
    steps_per_s: float | None = None
    last_return: float | None = None
    place: str = ""
    told: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What every step of a command needs.

    Attributes:
        project: The folders that it works in.
        progress: Told what takes long.
        seconds: How long each phase took, in seconds.
        goldens: What the files of a folder of goldens were like before the command ran anything.
        sinks: Recipe → what follows its runs while they train, and is to be told the verdict.
        shared: File of a recipe → what its unpinned runs share on this host, looked at from the first run on.
    """

    project: Project
    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)
    goldens: dict[Path, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)
    shared: dict[Path, Any] = field(default_factory=dict)
    sinks: dict[str, list[Any]] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what happens inside, and tell the progress display that it begins."""
        self.progress.phase(name)
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - start, 3)
