"""Progress of runs: one live line on a terminal, a few plain lines elsewhere.

It writes to standard error and may be called from several threads.

    >>> with ProgressDisplay() as progress:
    ...     progress.phase("train")
    ...     progress.update("run 1", 2048, 100_000, steps_per_s=15_000.0, eta_s=6.5)
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self, TextIO

from reprokit.reports.escaping import Visible, one_line

_LIVE_EVERY_S = 0.2
_PLAIN_EVERY_S = 10.0
_NUM_PARTS = 10
_CLEAR_LINE = "\r\x1b[2K"


class ProgressDisplay:
    """The progress display, on standard error by default; leaving the ``with`` block ends its line."""

    def __init__(
        self,
        *,
        stream: TextIO | None = None,
        environ: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._environ = os.environ if environ is None else environ
        self._clock = clock
        self._lock = threading.RLock()
        self._is_live = (
            self._stream.isatty()
            and self._environ.get("TERM", "dumb") != "dumb"
            and not self._environ.get("GITHUB_ACTIONS")
        )
        self._has_color = self._is_live and not self._environ.get("NO_COLOR")
        self._phase = Visible("")
        self._runs: dict[str, Visible] = {}
        self._brief: dict[str, Visible] = {}
        self._written: dict[str, tuple[float, int]] = {}
        self._since: dict[str, float] = {}
        self._drawn_at = -_LIVE_EVERY_S
        self._is_line_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()

    def phase(self, name: str) -> None:
        """Begin a new phase, and forget the runs of the last one."""
        with self._lock:
            self._phase = one_line(name, limit=80)
            self._runs.clear()
            self._brief.clear()
            self._written.clear()
            self._since.clear()
            if self._is_live:
                self._draw()
            else:
                self._write_line(f"phase: {self._phase}")

    def update(
        self, run_label: str, step: int, total: int | None, *, steps_per_s: float | None, eta_s: float | None
    ) -> None:
        """Report how far a run is; ``eta_s`` None is computed from the speed."""
        with self._lock:
            label = one_line(run_label, limit=40)
            parts = _run_parts(step, total, steps_per_s=steps_per_s, eta_s=eta_s)
            self._runs[label] = one_line(", ".join(parts))
            brief = [part for part in parts[1:] if not part.endswith("steps/s")]
            self._brief[label] = one_line(", ".join(brief) or parts[0])
            now = self._clock()
            if not self._is_live:
                self._write_if_due(label, now, part=step * _NUM_PARTS // total if total else 0)
            elif now - self._drawn_at >= _LIVE_EVERY_S:
                self._draw()

    def alive(self, run_label: str, seen: str) -> None:
        """Report a run whose steps are not known by what it has left so far, such as ``12 kB written``."""
        with self._lock:
            label, now = one_line(run_label, limit=40), self._clock()
            since = self._since.setdefault(label, now)
            self._runs[label] = one_line(f"{_duration(now - since)}, {seen}")
            self._brief[label] = one_line(_duration(now - since))
            if not self._is_live:
                self._written.setdefault(label, (since, 0))  # nothing is worth a line at once
                self._write_if_due(label, now, part=0)
            elif now - self._drawn_at >= _LIVE_EVERY_S:
                self._draw()

    def note(self, text: str) -> None:
        """Print a line that stays."""
        with self._lock:
            self._erase()
            self._write_line(f"note: {one_line(text)}")
            if self._is_live and self._phase:
                self._draw()

    def finish(self) -> None:
        """Clear the live line; calling it again does nothing."""
        with self._lock:
            self._erase()

    def _draw(self) -> None:
        self._drawn_at = self._clock()
        columns = self._environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() else shutil.get_terminal_size().columns
        room = max(width - 1, 20)
        line = self._line(self._runs)
        line = (line if len(line) <= room else self._line(self._brief))[:room]
        if self._has_color and line.startswith(self._phase):
            line = f"\x1b[1m{self._phase}\x1b[0m{line[len(self._phase) :]}"
        self._write(f"{_CLEAR_LINE}{line}")
        self._is_line_open = True

    def _line(self, runs: Mapping[str, str]) -> str:
        return " | ".join([self._phase, *(f"{label} {text}" for label, text in runs.items())])

    def _erase(self) -> None:
        if self._is_line_open:
            self._write(_CLEAR_LINE)
            self._is_line_open = False

    def _write_if_due(self, label: Visible, now: float, *, part: int) -> None:
        """Off a terminal: the first update, then one every ten seconds or tenth of the steps."""
        last = self._written.get(label)
        if last is None or now - last[0] >= _PLAIN_EVERY_S or part > last[1]:
            self._written[label] = (now, part)
            self._write_line(f"{label}: {self._runs[label]}")

    def _write_line(self, line: str) -> None:
        self._write(f"{line}\n")

    def _write(self, text: str) -> None:
        """A closed stream must not end a run."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except UnicodeEncodeError:
            self._stream.write(text.encode("ascii", "backslashreplace").decode("ascii"))
        except (OSError, ValueError):
            self._is_live = False


def _run_parts(step: int, total: int | None, *, steps_per_s: float | None, eta_s: float | None) -> list[str]:
    parts = [f"step {step:,}" if total is None or step > total else f"step {step:,} of {total:,}"]
    if total and step > total:
        parts.append(f"all of {total:,}")
    elif total:
        parts.append(f"{min(step / total, 1.0):.0%}")
    if steps_per_s:
        parts.append(f"{steps_per_s:,.0f} steps/s")
        if eta_s is None and total is not None:
            eta_s = max(total - step, 0) / steps_per_s
    if eta_s is not None and eta_s >= 0:
        parts.append(f"{_duration(eta_s)} left")
    return parts


def _duration(seconds: float) -> str:
    if not seconds < 360_000:
        return "over 100 h"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
