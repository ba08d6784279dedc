"""Writes the trace of a process: at its end, and now and then where it may be killed.

No exception reaches the program: the tool reports a missing trace.
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
    """Writes what a watch holds."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._written_at, self._took_s = 0.0, 0.0

    def write(self) -> None:
        """Write the trace; twice is harmless."""
        began = _monotonic()
        try:
            self._write()
        except Exception as error:  # the tool reports a missing trace; the program must not fail by it
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
        with quiet(watch):
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
        facts = {"not_watched": list(imports.failed), "executable": sys.executable, "path": sys.path}
        watch.facts.update({**facts, f"seeded {watch.process}": sorted(watch.seeded)})
        sites = {
            name: {word: one for word, one in record.items() if word != "last"}
            for name, record in list(watch.sites.items())
        }
        progress = {} if watch.progress is None else {"progress": watch.progress.as_data()}
        scripts = {} if watch.environments is None else {"scripts": watch.environments.scripts}
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
