"""The runs as they were when each had ended: a program that runs later may write where it should not."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from reprokit import workspace
from reprokit.layout import MARKER, RECORD


@dataclass(slots=True)
class Seals:
    """Digests of the files that seal a run, kept in memory, where no program of a side can reach them."""

    _known: dict[Path, str] = field(default_factory=dict)

    def close(self, folder: Path) -> None:
        """Remember a run that has just ended."""
        self._known |= {file: _digest(file) for file in (folder / MARKER, folder / RECORD)}

    def has(self, folder: Path) -> bool:
        """Whether a run was remembered when it ended."""
        return folder / RECORD in self._known

    def moved(self, folder: Path, target: Path) -> None:
        """A run lies elsewhere now: it is expected there as it was."""
        for name in (MARKER, RECORD):
            if (digest := self._known.pop(folder / name, None)) is not None:
                self._known[target / name] = digest

    def broken(self) -> str:
        """The first file that is no longer as it was, in one sentence; "" where all are."""
        for file, digest in self._known.items():
            if _digest(file) != digest:
                became = "changed" if file.is_file() else "removed"
                return f"{file} was {became} after its run had ended, by a program that ran later"
        return ""


def _digest(file: Path) -> str:
    return workspace.sha256_of(file) if file.is_file() else ""
