"""A table on a terminal that is drawn again and again in its place."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence

from reprokit.reports.progress import ProgressDisplay


class WatchDisplay(ProgressDisplay):
    """A title with lines below it; what was drawn last stays when it ends."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self._shown: Sequence[str] = ()

    def show(self, title: str, lines: Sequence[str]) -> None:
        """Draw them in place of the last ones, as many as there is room for."""
        self._shown = lines
        self.phase(title)

    def finish(self) -> None:
        """Leave what was drawn last, and go below it."""
        with self._lock:
            if self._lines_drawn:
                self._lines_drawn = 0
                self._write_line("")

    def _bars(self, room: int) -> Iterator[str]:  # noqa: ARG002  the table is as wide as the terminal
        most = max(shutil.get_terminal_size().lines - 2, 3)
        yield from self._shown[:most]
        if len(self._shown) > most:
            yield f"and {len(self._shown) - most:,} more"
