"""The watch of a judged run: it records seeds, processes, parameters and settings, and changes no number.

Unlike the watch of ``diagnose`` it puts no value of its own in place of the program's: every call goes to the
function that was meant, with the arguments that were given. Each process leaves ``light-<process>.json`` and,
where it takes steps of an optimizer, ``light-<process>.trace`` in a folder of the run.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from . import imports, limits
from .light_children import HEARD, Children
from .light_seeds import Seeds
from .process_names import PARENT, RANK, claim, inherit, rank_of, started

#: Python starts it to clean up after others; it ends after them, and computes nothing.
_HELPER = "multiprocessing.resource_tracker"


#: Whose generators are watched, in words.
_WATCHED = (
    "Python's random and _random",
    "NumPy's",
    "PyTorch's",
    "those of Gymnasium's vectors",
)


class Light:
    """What one process has been seen to do. A forked child begins its own record."""

    def __init__(self, *, out: str, probe: str, process: str, parent: str) -> None:
        self.out, self._probe = out, probe
        self.process, self.parent = process, parent
        self.at_end: list[Callable[[], None]] = []
        #: What watches the global generators of Python and NumPy, once it does.
        self.random: Any = None
        self.numpy: Any = None
        self.begin()

    def begin(self) -> None:
        """An empty record."""
        self.seeds = Seeds()
        self.children = Children(self)
        self.torch: dict[str, Any] = {}
        self.vectors: list[dict[str, Any]] = []
        self.vector_worker: dict[str, Any] = {}
        self.trace: int | None = None

    def line(self, record: dict[str, Any]) -> None:
        """Append one line to the trace; unbuffered, so that a forked child inherits nothing to write."""
        if self.trace is None:
            path = os.path.join(self.out, f"light-{self.process}.trace")
            self.trace = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        os.write(self.trace, json.dumps(record).encode() + b"\n")

    def write(self) -> None:
        """Leave the record; twice is harmless. Without it the tool says that it could not see."""
        with contextlib.suppress(Exception):  # the program must not fail by it
            os.makedirs(self.out, exist_ok=True)
            content = json.dumps(self._content())
            path = os.path.join(self.out, f"light-{self.process}.json")
            with open(f"{path}.new", "w", encoding="utf-8") as stream:
                stream.write(content)
            os.replace(f"{path}.new", path)

    def _content(self) -> dict[str, Any]:
        for act in self.at_end:
            try:
                act()
            except Exception as error:  # said in the record; the program must not fail by it
                self.seeds.unseen.append(f"{error!r}")
        return {
            "process": self.process,
            "parent": self.parent,
            "started_as": list(getattr(sys, "orig_argv", [])),
            **self.children.as_data(),
            **self.seeds.as_data(),
            "watched": list(_WATCHED),
            "not_watched": list(imports.failed),
            "limits": limits.found(),
            "torch": self.torch,
            "vectors": self.vectors,
            "vector_worker": self.vector_worker,
            "in_force": self._in_force(),
        }

    def _in_force(self) -> dict[str, Any]:
        """What the libraries that are loaded now say of themselves: asked by the tool's own probe."""
        spec = importlib.util.spec_from_file_location("reprokit_probe", self._probe)
        if spec is None or spec.loader is None:
            return {}
        probe = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(probe)
        facts: dict[str, Any] = probe.loaded()
        return facts


def start(*, out: str, probe: str) -> None:
    """Begin the watch in this process; its children begin their own.

    Args:
        out: The folder of the records.
        probe: The file of the tool's probe, which says at the end what is in force.
    """
    if any(_HELPER in word for word in getattr(sys, "orig_argv", [])):
        return
    os.makedirs(out, exist_ok=True)
    parent = os.environ.get(PARENT, "")
    light = Light(out=out, probe=probe, process=claim(out, os.environ), parent=parent)
    os.environ[RANK] = rank_of(os.environ)
    inherit(light.process)
    _follow_forks(light)
    _write_at_the_end(light)
    _watch(light)
    imports.begin()


def _watch(light: Light) -> None:
    from . import light_numpy, light_random, light_torch, loader_workers, vector_streams

    light_random.watch(light)
    imports.after("numpy.random", lambda module: light_numpy.watch(module, light))
    imports.after("torch", lambda module: light_torch.watch(module, light))
    imports.after("torch.utils.data.dataloader", lambda module: loader_workers.watch(module, light))
    vector_streams.watch(light)
    imports.after("subprocess", light.children.watch_subprocess)
    imports.after("multiprocessing.util", light.children.watch_spawning)
    sys.addaudithook(_heard(light))


def _heard(light: Light) -> Callable[[str, tuple[Any, ...]], None]:
    def heard(event: str, args: tuple[Any, ...]) -> None:
        if event in HEARD:
            with contextlib.suppress(Exception):  # the program must not fail by it
                light.children.heard(event, args)

    return heard


def _follow_forks(light: Light) -> None:
    def before() -> None:
        light.children.forks += 1

    def in_parent() -> None:
        light.children.forked()

    def in_child() -> None:
        from . import light_random

        parent, number = light.process, light.children.forks
        known = light.seeds.known
        light.process, light.parent = f"{parent}.f{number}", parent
        light.begin()
        light.seeds.known |= known
        light_random.reseeded_by_fork(light)
        inherit(light.process)
        with contextlib.suppress(OSError):
            started(light.out, light.process)

    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)


def _write_at_the_end(light: Light) -> None:
    atexit.register(light.write)
    leave = os._exit

    def leave_with_record(status: int) -> None:
        light.write()
        leave(status)

    os._exit = leave_with_record  # type: ignore[assignment]
