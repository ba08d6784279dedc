"""A name for every process: unique in the run, and the same in every run.

The first is ``0``. A rank is named by its RANK or LOCAL_RANK, whatever started it: ranks start in any order.
Any other process is named by its position among those that its parent has spawned; where that is not known
(a shell in between), by when it began. A forked child is named by its watch.

    >>> claim("/tmp/traces/1", {})
    '0'
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Mapping
from typing import Any

#: The parent's name, the rank that it was named by, and the name that it gives to what it spawns.
PARENT, RANK, SPAWNED = "REPROKIT_HOOK_PROCESS", "REPROKIT_HOOK_RANK", "REPROKIT_HOOK_SPAWNED"


def claim(out: str, environment: Mapping[str, str]) -> str:
    """A process name that no other has, claimed in the folder of the traces."""
    wanted, places = _wanted(environment)
    if wanted and started(out, wanted):
        return wanted
    number = 0
    while True:
        name = f"{places}{number}"
        if started(out, name):
            return name
        number += 1


def _wanted(environment: Mapping[str, str]) -> tuple[str, str]:
    """The name that it should have, or "", and what names begin with where that is taken."""
    parent, rank, spawned = (environment.get(one, "") for one in (PARENT, RANK, SPAWNED))
    if not parent:
        return "", ""
    own = rank_of(environment)
    if own and own != rank:  # its own, not its parent's that it inherited
        return f"{parent}.r{own}", f"{parent}.r{own}."
    return (spawned, f"{spawned}.") if spawned else ("", f"{parent}.s")


def rank_of(environment: Mapping[str, str]) -> str:
    """The rank of a process among those that train together; "" where it has none."""
    found = environment.get("RANK") or environment.get("LOCAL_RANK") or ""
    return found if found.isdigit() else ""


def inherit(process: str) -> None:
    """Tell processes that this one starts its name."""
    os.environ[PARENT] = process
    os.environ.pop(SPAWNED, None)


def started(out: str, process: str) -> bool:
    """Claim a name; False where another process has it."""
    try:
        os.close(
            os.open(os.path.join(out, f"started-{process}"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        )
    except FileExistsError:
        return False
    return True


class Spawning:
    """Numbers what this process spawns by ``subprocess`` and the start methods of ``multiprocessing``."""

    def __init__(self, watch: Any) -> None:
        self._watch, self._lock = watch, threading.Lock()
        self._counted: dict[str, int] = {}

    def _next(self) -> str:
        process = self._watch.process
        number = self._counted[process] = self._counted.get(process, -1) + 1
        return f"{process}.s{number}"

    def watch_subprocess(self, module: Any) -> None:
        """Programs that are started: through their environment, where that has the hook in it."""
        natural = module.Popen.__init__

        @functools.wraps(natural)
        def begin(popen: Any, args: Any, *more: Any, **options: Any) -> None:
            given = options.get("env")
            inherited: Any = vars(os.environ).get("_data", {}) if given is None else given
            if len(more) <= _ENV:
                own = {os.fsencode(name): os.fsencode(value) for name, value in dict(inherited).items()}
                options["env"] = {**_with_the_hook(own), os.fsencode(SPAWNED): os.fsencode(self._next())}
            natural(popen, args, *more, **options)

        module.Popen.__init__ = begin

    def watch_spawning(self, module: Any) -> None:
        """Processes of ``multiprocessing`` that are not forked: they inherit what this process has."""
        natural = module.spawnv_passfds

        @functools.wraps(natural)
        def spawned(*args: Any, **options: Any) -> Any:
            with self._lock:
                os.environ[SPAWNED] = self._next()
                try:
                    return natural(*args, **options)
                finally:
                    os.environ.pop(SPAWNED, None)

        module.spawnv_passfds = spawned


def _with_the_hook(variables: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """The variables of a program that is started, with the hook where a launcher has left it out."""
    hook = os.fsencode(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = variables.get(b"PYTHONPATH", b"").split(os.fsencode(os.pathsep))
    if hook not in paths:
        variables[b"PYTHONPATH"] = os.fsencode(os.pathsep).join([hook, *filter(None, paths)])
    for name in ("REPROKIT_HOOK", PARENT, RANK):
        if name in os.environ:
            variables.setdefault(os.fsencode(name), os.fsencode(os.environ[name]))
    return variables


#: How many arguments of ``Popen`` come before ``env`` where it is not named.
_ENV = 9
