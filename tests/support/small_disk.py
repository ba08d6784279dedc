"""A real file system of a few MiB, of which a test leaves as many pages free as it wants."""

from __future__ import annotations

import os
from pathlib import Path

#: The least that a file can grow by.
PAGE = 4096


class SmallDisk:
    """What is mounted at ``root``, and how much of it is left."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._filler = root / ".filler"

    def pages_free(self) -> int:
        return os.statvfs(self.root).f_bavail

    def leave(self, pages: int) -> None:
        """Fill it, but for so many pages."""
        self._filler.unlink(missing_ok=True)
        with self._filler.open("wb") as stream:
            stream.write(bytes(PAGE) * (self.pages_free() - pages))
        assert self.pages_free() == pages

    def empty(self) -> None:
        self._filler.unlink(missing_ok=True)
