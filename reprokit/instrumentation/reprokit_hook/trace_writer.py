"""Leaving the trace of a process: at its end, and where it may be killed also now and then.

Nothing here reaches the program as an exception: a trace that is missing is told by the tool.

    >>> TraceWriter(a_watch).write()
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from . import imports

if TYPE_CHECKING:
    from .watch import Watch

#: How long between two traces of a process that may be killed: seconds, and times what writing one takes.
_SELDOM_S, _SELDOM = 0.5, 50.0
_monotonic = time.monotonic  # as it was before it was wrapped


class TraceWriter:
    """Writes what a watch holds.

    Args:
        watch: The watch.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._written_at, self._took_s = 0.0, 0.0

    def write(self) -> None:
        """Leave the trace; twice is harmless."""
        began = _monotonic()
        try:
            self._write()
        except Exception as error:  # a trace that is missing is told; the program must not end by it
            imports.failed.append(f"the trace of process {self._watch.process}: {error!r}")
        self._written_at = _monotonic()
        self._took_s = self._written_at - began

    def after_task(self) -> None:
        """A piece of a pool's work is done: now and then the trace is left, for the worker may be killed.

        What threads did is written with their process.
        """
        seldom_s = max(_SELDOM_S, _SELDOM * self._took_s)
        if _in_worker() and _monotonic() - self._written_at >= seldom_s:
            self.write()

    def _write(self) -> None:
        watch = self._watch
        for act in watch.at_end:
            act()
        with watch.lock:
            text = json.dumps(self._content())  # in one go: other threads add to what is written
            path = os.path.join(watch.out, f"trace-{watch.process}.json")
            new = f"{path}.{threading.get_native_id()}.new"
            with quiet(watch), open(new, "w", encoding="utf-8") as stream:
                stream.write(text)
            os.replace(new, path)

    def _content(self) -> dict[str, Any]:
        watch = self._watch
        watch.facts |= {
            "not_watched": list(imports.failed),
            "executable": sys.executable,
            "path": sys.path,
        }
        sites = {
            name: {word: one for word, one in record.items() if word != "last"}
            for name, record in list(watch.sites.items())
        }
        progress = {} if watch.progress is None else {"progress": watch.progress.told()}
        scripts = {} if watch.worlds is None else {"scripts": watch.worlds.scripts}
        return {
            "process": watch.process,
            "python": sys.version.split()[0],
            "sites": sites,
            "files": watch.files,
            "facts": watch.facts,
            "streams": watch.streams,
            **progress,
            **scripts,
        }


def _in_worker() -> bool:
    """Whether this is the main thread of a process that another one of the program has started."""
    process = sys.modules.get("multiprocessing.process")
    return (
        process is not None
        and process.parent_process() is not None
        and threading.current_thread() is threading.main_thread()
    )


class quiet:  # noqa: N801 - reads like contextlib's, which costs an import
    """The watch does not record what it does itself."""

    def __init__(self, watch: Watch) -> None:
        self._busy = watch.busy

    def __enter__(self) -> None:
        self._busy.quiet = True

    def __exit__(self, *_: object) -> None:
        self._busy.quiet = False
