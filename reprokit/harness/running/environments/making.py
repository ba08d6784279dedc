"""An image or a virtual environment being made: announced with the time that it takes, then one bar."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reprokit.errors import WorkspaceError
from reprokit.images.cache import cache_folder
from reprokit.layout import read_json
from reprokit.session import Progress
from reprokit.workspace import write_json

_FILE = "durations.json"
_WHAT = {"image": "container image", "venv": "virtual environment"}
#: Where nothing was made here before: of a few packages, and of PyTorch with the base image (seconds).
_FIRST_S = {"image": 150.0, "venv": 60.0}
_EVERY_S = 0.5
_LEAST_S = 3.0  # less is no making: something was only checked
#: What is being done now; any other line says something that should stay to be read.
_STEP = re.compile(
    r"(?:image|environment) of \S+: (?!sha256)|base: (?:installing|fetching|resolving) |wheels: "
)
_ELAPSED = re.compile(r" \(\d+ s\)$")  # the bar says it


@contextmanager
def making(variant: str, *, kind: str, progress: Progress) -> Iterator[Callable[[str], None]]:
    """Something to call with each line of what is made; nothing is shown where it is there already."""
    cache = cache_folder(None)
    known = _durations(cache)
    name = f"{kind} {variant}"
    expected_s = known.get(name) or max(
        (one for other, one in known.items() if other.startswith(f"{kind} ")), default=_FIRST_S[kind]
    )
    shown = _Shown(
        label=f"{_WHAT[kind]} of {variant}",
        announced=f"making the {_WHAT[kind]} of {variant}, once: {_about(expected_s)}",
        expected_s=expected_s,
        progress=progress,
    )
    try:
        yield shown
    finally:
        lasted_s = shown.end()
    if lasted_s and lasted_s >= _LEAST_S:
        with suppress(WorkspaceError):  # only the next announcement depends on it
            write_json(cache / _FILE, {**known, name: round(lasted_s, 1)})


class _Shown:
    """The bar, moved by a second thread between the lines."""

    def __init__(self, *, label: str, announced: str, expected_s: float, progress: Progress) -> None:
        self._label, self._announced, self._expected_s = label, announced, expected_s
        self._progress = progress
        self._step = ""
        self._began: float | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._move, name="making", daemon=True)

    def __call__(self, line: str) -> None:
        if not _STEP.match(line):
            self._progress.note(line)
            return
        self._step = _ELAPSED.sub("", line).partition(": ")[2]
        if self._began is None:
            self._began = time.monotonic()
            self._progress.note(self._announced)
            self._thread.start()

    def end(self) -> float:
        """Take the bar away; how long it was there, in seconds."""
        if self._began is None:
            return 0.0
        self._ended.set()
        self._thread.join()
        self._progress.ended(self._label)
        return time.monotonic() - self._began

    def _move(self) -> None:
        while True:
            self._progress.alive(self._label, self._step, expected_s=self._expected_s)
            if self._ended.wait(_EVERY_S):
                return


def _durations(cache: Path) -> dict[str, float]:
    """How long each environment took that was made here."""
    found = read_json(cache / _FILE)
    return {name: float(one) for name, one in found.items() if isinstance(one, int | float) and one > 0}


def _about(seconds: float) -> str:
    return f"about {round(seconds)} s" if seconds < 90 else f"about {round(seconds / 60)} min"
