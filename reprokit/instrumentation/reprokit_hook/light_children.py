"""Which other processes a process starts: each must leave a record of its own, or no one saw what it did."""

from __future__ import annotations

import functools
import os
import threading
from typing import Any

from .light_seeds import where
from .process_names import SPAWNED

#: How many arguments of ``Popen`` come before ``env`` where it is not named.
_ENV = 9
_HELPER = "multiprocessing.resource_tracker"
#: Events of PEP 578 by which another program is started without ``subprocess``.
_STARTS = {"os.system": 0, "os.posix_spawn": 0, "os.exec": 0, "os.spawn": 1, "pty.spawn": 0}

HEARD = frozenset({*_STARTS, "ctypes.dlopen"})


class Children:
    """Of one process: its forks, its Python processes, and other programs."""

    def __init__(self, light: Any) -> None:
        self._light, self._lock = light, threading.Lock()
        self._within = threading.local()
        self.forks = self._spawned = 0
        self._all: list[dict[str, Any]] = []
        self._libraries: list[dict[str, Any]] = []

    def as_data(self) -> dict[str, Any]:
        return {"children": list(self._all), "libraries": list(self._libraries)}

    def forked(self) -> None:
        """In the parent, after a fork."""
        self._note(f"{self._light.process}.f{self.forks}", "a forked process")

    def _note(self, name: str, what: str) -> None:
        file, line, function, _ = where()
        self._all.append({"name": name, "what": what, "file": file, "line": line, "function": function})

    def _next(self) -> str:
        with self._lock:
            self._spawned += 1
            return f"{self._light.process}.s{self._spawned - 1}"

    def heard(self, event: str, args: tuple[Any, ...]) -> None:
        """A program is started in a way that nothing else here listens to."""
        if event == "ctypes.dlopen":
            self._light.children.loaded(args[0])
            return
        index = _STARTS.get(event)
        if index is not None and not getattr(self._within, "popen", False):
            self._note("", _program(args[index]))

    def loaded(self, library: Any) -> None:
        """The program itself has loaded compiled code, whose generators no one sees."""
        file, line, function, own = where()
        if own:
            self._libraries.append(
                {"library": str(library), "file": file, "line": line, "function": function}
            )

    def watch_subprocess(self, module: Any) -> None:
        """Programs that are started with ``subprocess``: Python gets a name through its environment."""
        natural = module.Popen.__init__

        @functools.wraps(natural)
        def begin(popen: Any, args: Any, *more: Any, **options: Any) -> None:
            children = self._light.children
            given = options.get("env")
            inherited: Any = vars(os.environ).get("_data", {}) if given is None else given
            hooked = len(more) <= _ENV and ("REPROKIT_HOOK" in inherited or b"REPROKIT_HOOK" in inherited)
            name = children._next() if hooked else ""
            if hooked:
                options["env"] = {**inherited, os.fsencode(SPAWNED): os.fsencode(name)}
            shell = options.get("shell") or (len(more) > _SHELL and more[_SHELL])
            children._note(name, _program(args) if not shell else f"the shell: {args}")
            children._within.popen = True
            try:
                natural(popen, args, *more, **options)
            finally:
                children._within.popen = False

        module.Popen.__init__ = begin

    def watch_spawning(self, module: Any) -> None:
        """Processes of ``multiprocessing`` that are not forked."""
        natural = module.spawnv_passfds

        @functools.wraps(natural)
        def spawned(path: Any, args: Any, passfds: Any) -> Any:
            children = self._light.children
            if any(_HELPER in os.fsdecode(word) for word in args):
                return natural(path, args, passfds)
            with children._lock:
                name = os.environ[SPAWNED] = f"{self._light.process}.s{children._spawned}"
                children._spawned += 1
                try:
                    children._note(name, "a process of multiprocessing")
                    return natural(path, args, passfds)
                finally:
                    os.environ.pop(SPAWNED, None)

        module.spawnv_passfds = spawned


#: Where ``shell`` stands among the arguments of ``Popen`` after the first.
_SHELL = 7


def _program(args: Any) -> str:
    """The name of the program that a command line starts."""
    first = args[0] if isinstance(args, (list, tuple)) and args else args
    try:
        return os.path.basename(os.fsdecode(first))
    except TypeError:
        return str(first)
