"""Which line draws: after every line of the program's own code, the generators whose state has changed.

Tracing is on only while ``TrainingProgress`` asks for the next update.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

from .frames import is_own
from .progress import TrainingProgress
from .watch import Watch


class Draws:
    """The lines of one thread."""

    def __init__(self, watch: Watch, progress: TrainingProgress) -> None:
        self._watch, self._progress = watch, progress
        self._states: dict[str, str] = {}
        self._last: tuple[FrameType, int] | None = None
        self._on = self._alone = False

    def listen(self) -> None:
        if self._progress.due and not self._on:
            self._on, self._alone = True, threading.active_count() == 1
            self._states = self._progress.generators.states()
            sys.settrace(self._called)
            frame: FrameType | None = sys._getframe(1)
            while frame is not None:
                if is_own(frame.f_code.co_filename):
                    frame.f_trace = self._line
                    self._last = self._last or (frame, frame.f_lineno)
                frame = frame.f_back
        elif not self._progress.due and self._on:
            self._on = False
            sys.settrace(None)

    def _called(self, frame: FrameType, *_: Any) -> Any:
        return self._line if self._on and is_own(frame.f_code.co_filename) else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if not self._on:
            return None
        self._look()
        self._last = frame, frame.f_lineno
        if event == "return" and frame.f_back is not None and is_own(frame.f_back.f_code.co_filename):
            self._last = frame.f_back, frame.f_back.f_lineno
        return self._line

    def _look(self) -> None:
        before, self._states = self._states, self._progress.generators.states()
        was_alone, self._alone = self._alone, threading.active_count() == 1
        if before == self._states or self._last is None or not (was_alone and self._alone):
            return  # another thread may have drawn
        for name, now in self._states.items():
            if before.get(name, now) != now:
                self._watch.note_operation(f"a draw from {name}", *self._last, given=before[name], made=now)
