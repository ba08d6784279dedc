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

    def broken(self) -> str:
        """The first file that is no longer as it was, in one sentence; "" where all are."""
        for file, digest in self._known.items():
            if _digest(file) != digest:
                return f"{file} was changed after its run had ended, by a program that ran later"
        return ""


def _digest(file: Path) -> str:
    return workspace.sha256_of(file) if file.is_file() else ""
