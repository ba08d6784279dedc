"""The time: how long each phase of an answer took, now, and names of folders by it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from reprokit.harness.running.execute import Progress

__all__ = ["Phases", "now", "stamp"]


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
