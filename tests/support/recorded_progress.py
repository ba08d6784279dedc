"""Progress displays for tests: one that remembers what it was told, one that shows nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class RecordedProgress:
    """A progress display that remembers."""

    phases: list[str] = field(default_factory=list)
    updates: list[tuple[str, int, int | None]] = field(default_factory=list)
    signs: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def phase(self, name: str) -> None:
        self.phases.append(name)

    def update(
        self, run_label: str, step: int, total: int | None, *, steps_per_s: float | None, eta_s: float | None
    ) -> None:
        self.updates.append((run_label, step, total))

    def alive(self, run_label: str, seen: str, *, expected_s: float | None = None) -> None:
        self.signs.append((run_label, seen))

    def ended(self, run_label: str) -> None: ...

    def note(self, text: str) -> None:
        self.notes.append(text)


class SilentProgress:
    """A progress display that shows nothing and remembers nothing."""

    def phase(self, name: str) -> None: ...
    def update(self, *args: Any, **kwargs: Any) -> None: ...
    def alive(self, *args: Any, **kwargs: Any) -> None: ...
    def ended(self, run_label: str) -> None: ...
    def note(self, text: str) -> None: ...
