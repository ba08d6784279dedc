"""Progress of runs: a bar for each on a terminal, a few plain lines elsewhere.

It writes to standard error and may be called from several threads.

    >>> with ProgressDisplay() as progress:
    ...     progress.phase("train")
    ...     progress.update("run 1", 2048, 100_000, steps_per_s=15_000.0, eta_s=6.5)
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TextIO

from reprokit.reports.escaping import Visible, one_line, shortened

LIVE_EVERY_S = 0.2
_TENTHS_APART_S = 10.0  # a short run has few lines
_PLAIN_EVERY_S = 60.0  # where something changed
HEARTBEAT_S = 300.0  # where nothing did: CI ends a job that is silent for long
_LEAST_S = 1.0  # over which a speed is measured
_NUM_PARTS = 10
_BAR_COLUMNS = 14
_MOST_BARS = 8
_CLEAR_BELOW = "\r\x1b[J"
_UP = "\x1b[1A"
#: Phases by their names in ``timing``, as a person reads them.
_PLAINLY = {"environment": "making the environment ready", "capture": "recording the machine"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """How far a run is: the share of its steps (None: not known), in words, and in fewer."""

    share: float | None
    words: Visible
    brief: Visible


class ProgressDisplay:
    """The progress display, on standard error by default; leaving the ``with`` block clears it."""

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
        encoding = (getattr(self._stream, "encoding", None) or "ascii").lower()
        self._can_unicode = encoding.startswith("utf")
        self._has_color = self._is_live and not self._environ.get("NO_COLOR")
        self._phase = Visible("")
        self._runs: dict[str, _Run] = {}
        self._written: dict[str, tuple[float, object]] = {}
        self._since: dict[str, float] = {}
        self._first_steps: dict[str, tuple[float, int]] = {}
        self._drawn_at = -LIVE_EVERY_S
        self._silent_since: float | None = None  # of the run that has ended
        self._lines_drawn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()

    def phase(self, name: str) -> None:
        """Begin a new phase, and forget the runs of the last one."""
        with self._lock:
            self._phase = one_line(_PLAINLY.get(name, name), limit=80)
            self._runs.clear()
            self._written.clear()
            self._since.clear()
            self._first_steps.clear()
            self._silent_since = None
            if self._is_live:
                self._draw()
            else:
                self._write_line(f"phase: {self._phase}")

    def update(
        self, run_label: str, step: int, total: int | None, *, steps_per_s: float | None, eta_s: float | None
    ) -> None:
        """Report how far a run is; a speed or ``eta_s`` that is None is computed from earlier reports."""
        with self._lock:
            if steps_per_s is None:
                steps_per_s = self._speed(run_label, step)
            parts = _run_parts(step, total, steps_per_s=steps_per_s, eta_s=eta_s)
            brief = [part for part in parts[1:] if not part.endswith("steps/s")]
            run = _Run(
                share=min(step / total, 1.0) if total else None,
                words=one_line(", ".join(parts)),
                brief=one_line(", ".join(brief) or parts[0]),
            )
            self._show(run_label, run, part=step * _NUM_PARTS // total if total else step)

    def _speed(self, run_label: str, step: int) -> float | None:
        """Steps in a second since the run was first heard of; None until there is something to go by."""
        now = self._clock()
        since, first = self._first_steps.setdefault(run_label, (now, step))
        return (step - first) / (now - since) if step > first and now - since >= _LEAST_S else None

    def alive(self, run_label: str, seen: str, *, expected_s: float | None = None) -> None:
        """Report a run whose steps are not known by what it has left so far, such as ``12 kB written``.

        Where it is known how long such a run takes, its bar shows that.
        """
        with self._lock:
            now = self._clock()
            since = self._since.setdefault(run_label, now)
            lasted = duration(now - since)
            share = None
            if expected_s:
                share = min((now - since) / expected_s, 1.0)
                left_s = expected_s - (now - since)
                lasted += (
                    f", about {duration(left_s)} left"
                    if left_s > 0
                    else f", {duration(expected_s)} were expected"
                )
            run = _Run(
                share=share, words=one_line(", ".join(filter(None, (lasted, seen)))), brief=one_line(lasted)
            )
            # No line at once; and of short runs one after another as many as of a long one.
            heard = now if self._silent_since is None else self._silent_since
            self._written.setdefault(one_line(run_label), (heard, seen))
            self._show(run_label, run, part=seen)

    def ended(self, run_label: str) -> None:
        """Take a run's bar away: it has ended, and others follow in the same phase."""
        with self._lock:
            label = one_line(run_label)
            self._runs.pop(label, None)
            self._silent_since, _ = self._written.pop(label, (None, None))
            self._since.pop(run_label, None)
            self._first_steps.pop(run_label, None)

    def note(self, text: str) -> None:
        """Print a line that stays."""
        with self._lock:
            self._erase()
            note = f"note: {one_line(text)}"
            width = self._columns() if self._is_live else len(note) + 1
            lines = textwrap.wrap(
                note, width, subsequent_indent="      ", break_long_words=False, break_on_hyphens=False
            )
            self._write_line("\n".join(lines))
            if self._is_live and self._phase:
                self._draw()

    def finish(self) -> None:
        """Clear the live lines; calling it again does nothing."""
        with self._lock:
            self._erase()

    def _show(self, run_label: str, run: _Run, *, part: object) -> None:
        label, now = one_line(run_label), self._clock()
        self._runs[label] = run
        if not self._is_live:
            self._write_if_due(label, now, part=part)
        elif now - self._drawn_at >= LIVE_EVERY_S:
            self._draw()

    def _draw(self) -> None:
        self._drawn_at = self._clock()
        room = self._columns()
        lines = [self._phase[:room], *(line[:room] for line in self._bars(room))]
        if self._has_color:
            lines[0] = f"\x1b[1m{lines[0]}\x1b[0m"
        self._erase()
        self._write("\n".join(lines))
        self._lines_drawn = len(lines)

    def _columns(self) -> int:
        columns = self._environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() else shutil.get_terminal_size().columns
        return max(width - 1, 20)

    def _bars(self, room: int) -> Iterator[str]:
        """A line for each run, in the order of their names whichever is heard of first."""
        labels = sorted(self._runs, key=_natural)
        names = {label: shortened(label, width=max(room // 2, 16)) for label in labels[:_MOST_BARS]}
        margin = max(map(len, names.values()), default=0)
        for known, label in names.items():
            run = self._runs[known]
            bar = "" if run.share is None else f"{self._bar(run.share)}  "
            line = f"{label:<{margin}}  {bar}{run.words}"
            yield line if len(line) <= room else f"{label:<{margin}}  {bar}{run.brief}"
        if len(labels) > _MOST_BARS:
            yield f"and {len(labels) - _MOST_BARS} more"

    def _bar(self, share: float) -> str:
        full, empty = "━─" if self._can_unicode else "#-"
        done = int(share * _BAR_COLUMNS)
        return full * done + empty * (_BAR_COLUMNS - done)

    def _erase(self) -> None:
        if self._lines_drawn:
            self._write(_UP * (self._lines_drawn - 1) + _CLEAR_BELOW)
            self._lines_drawn = 0

    def _write_if_due(self, label: Visible, now: float, *, part: object) -> None:
        """Off a terminal: the first update, tenths of the steps ten seconds apart or more, the last.

        Without a number of steps what changed is said once a minute; a sign of life comes every five.
        """
        last = self._written.get(label)
        run = self._runs[label]
        if last is not None:
            changed, waited = part != last[1], now - last[0]
            is_tenth = changed and run.share is not None and isinstance(part, int)
            is_tenth = is_tenth and (waited >= _TENTHS_APART_S or run.share == 1.0)
            if not (is_tenth or (changed and waited >= _PLAIN_EVERY_S) or waited >= HEARTBEAT_S):
                return
        self._written[label] = (now, part)
        self._write_line(f"{label}: {run.words}")

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


def _natural(label: str) -> list[tuple[int, str]]:
    """Orders ``run 10`` after ``run 9``."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", label)]


def _run_parts(step: int, total: int | None, *, steps_per_s: float | None, eta_s: float | None) -> list[str]:
    parts = [f"step {step:,}" if total is None or step > total else f"step {step:,} of {total:,}"]
    if total and step > total:
        parts.append(f"all of {total:,}")
    elif total:
        parts.append(f"{min(step / total, 1.0):.0%}")
    if steps_per_s:
        parts.append(f"{steps_per_s:,.{0 if steps_per_s >= 10 else 1}f} steps/s")
        if eta_s is None and total is not None:
            eta_s = max(total - step, 0) / steps_per_s
    if eta_s is not None and eta_s >= 0:
        parts.append(f"{duration(eta_s)} left")
    return parts


def duration(seconds: float) -> str:
    """A time as a person says it: ``5 s``, ``1 min 05 s``, ``2 h 07 min``."""
    if not seconds < 360_000:
        return "over 100 h"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
