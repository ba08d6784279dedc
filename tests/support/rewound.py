"""A folder that is made once for many tests, changed by each, and put back at its path before the next."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from reprokit import file_tree


@dataclass(frozen=True, slots=True)
class Rewound:
    """What is told of a folder, its path in records and reports, stays true, unlike in a copy.

    Attributes:
        place: The folder that tests use and change.
        kept: What it was when it was kept.
    """

    place: Path
    kept: Path

    @classmethod
    def keep(cls, place: Path) -> Rewound:
        kept = place.with_name(f"{place.name}.kept")
        shutil.copytree(place, kept, symlinks=True)
        return cls(place, kept)

    def rewind(self) -> None:
        if self.place.exists():
            file_tree.remove(self.place)
        shutil.copytree(self.kept, self.place, symlinks=True)
