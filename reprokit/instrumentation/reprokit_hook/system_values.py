"""What the system tells a program of itself: process, host, cores, working folder.

A varied or replayed value still works: a signal reaches the right process, a core that is asked for exists,
and a path leads to the same folder.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import time
import uuid
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from . import imports
from .frames import above, is_own, library_of, own_caller, site_of
from .watch import Watch, unit

_DAY_S = 86_400
#: Functions of ``time`` that say what the time is now, where they are given no other.
_OF_NOW = frozenset({"localtime", "gmtime", "strftime", "ctime", "asctime"})
_TIME, _LOCALTIME = time.time, time.localtime  # as they are before anything is wrapped

#: What answers a library's question: its frame, the call as it is, and as it is varied.
if TYPE_CHECKING:
    Deep = Callable[[FrameType, Callable[[], Any], Callable[[], Any]], Any]
else:  # before Python 3.9 they take no parameters
    Deep = Callable


class Answers(NamedTuple):
    """What is special in the answers of a function.

    ``shift`` is added to a varied one. More arguments than ``at_most`` ask for something else. ``encode`` and
    ``decode`` make JSON of it, and it of JSON. ``deep`` answers other code: it is given the caller's frame,
    and the call as it is and as it is varied.
    """

    shift: int | None = None
    at_most: int | None = None
    encode: Callable[[Any], Any] | None = None
    decode: Callable[[Any], Any] | None = None
    deep: Deep | None = None


_PLAIN = Answers()


def watch(watch: Watch) -> None:
    """Wrap all of them."""
    import threading

    for name in ("getpid", "getppid", "getpgid", "getsid"):
        wrap(os, name, "process_id", watch, Answers(shift=1_009))
    for name in ("get_ident", "get_native_id"):
        wrap(threading, name, "process_id", watch, Answers(shift=4_096))
    for name in ("cpu_count", "getloadavg"):
        shift = 3 if name == "cpu_count" else None
        wrap(os, name, "cpu_count", watch, Answers(shift=shift, deep=_asked_by_libraries(watch)))
    wrap(os, "getcwd", "working_folder", watch, Answers(deep=_asked_by_pathlib(watch)))
    wrap(os, "uname", "host_name", watch, Answers(encode=tuple, decode=os.uname_result))
    for name in ("getlogin", "getuid"):
        if hasattr(os, name):
            wrap(os, name, "surroundings", watch)
    wrap(uuid, "getnode", "host_name", watch, Answers(shift=1))
    wrap(uuid, "uuid1", "clock", watch, Answers(encode=str, decode=uuid.UUID))
    imports.after("socket", lambda module: _host(module, ("gethostname", "getfqdn"), watch))
    imports.after("platform", lambda module: _platform(module, watch))
    imports.after(
        "multiprocessing", lambda module: wrap(module, "cpu_count", "cpu_count", watch, Answers(shift=3))
    )
    if hasattr(os, "sched_getaffinity"):
        wrap(os, "sched_getaffinity", "cpu_count", watch, Answers(deep=_asked_by_libraries(watch)))
        _map_missing_cores(watch)
    _signal_the_real_process(watch)


def _asked_by_libraries(watch: Watch) -> Deep:
    """What a pool or a library is told where its size is not said: recorded at the program's line."""

    def answer(caller: FrameType, _natural: Callable[[], Any], varied: Callable[[], Any]) -> Any:
        frame = own_caller(3)
        if frame is None or getattr(watch.busy, "asking", False):
            return _natural()
        site = site_of(frame, "cpu_count")
        value = watch.value(site, varied)
        path = caller.f_code.co_filename
        reader = library_of(path) or os.sep.join(path.rsplit(os.sep, 2)[-2:])
        what = f"the number of cores, which {reader}:{caller.f_lineno} reads"
        watch.sites[unit(site)]["what"] = what
        return value

    return answer


def _asked_by_pathlib(watch: Watch) -> Deep:
    """``Path.cwd()`` is a question of the program's own code."""

    def answer(caller: FrameType, natural: Callable[[], Any], varied: Callable[[], Any]) -> Any:
        frame = caller.f_back
        asks = caller.f_code.co_name == "cwd" and caller.f_globals.get("__name__", "").startswith("pathlib")
        if not asks or frame is None or not is_own(frame.f_code.co_filename):
            return natural()
        return watch.value(site_of(frame, "working_folder"), varied)

    return answer


def _host(module: Any, names: tuple[str, ...], watch: Watch) -> None:
    for name in names:
        wrap(module, name, "host_name", watch)


def _platform(module: Any, watch: Watch) -> None:
    _host(module, ("node", "platform"), watch)
    made = module.uname_result
    encode, decode = (lambda value: value[: len(made._fields)]), (lambda read: made(*read))
    wrap(module, "uname", "host_name", watch, Answers(encode=encode, decode=decode))


def _other_host(name: str, _watch: Watch | None = None) -> str:
    return "localhost" if name != "localhost" else "127.0.0.1"


def _of_other_host(value: Any, _watch: Watch) -> Any:
    """What ``os.uname`` or ``platform.uname`` said, of another host."""
    if hasattr(value, "_replace"):
        return value._replace(node=_other_host(value.node))
    return type(value)((value[0], _other_host(value[1]), *value[2:]))


def _a_day_ahead(name: str, natural: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What ``time.localtime()``, ``time.strftime("%d")`` and their like say tomorrow."""
    then = _TIME() + _DAY_S
    if name in {"localtime", "gmtime", "ctime"}:
        return natural(then)
    return natural(*args, _LOCALTIME(then))


def _map_missing_cores(watch: Watch) -> None:
    """Allow a program to ask for a core that only the varied value has."""
    natural, real = os.sched_setaffinity, sorted(os.sched_getaffinity(0))

    def sched_setaffinity(pid: int, mask: Any, /) -> None:
        wanted = set(mask)
        if watch.varies("cpu_count") and wanted and not wanted & set(real):
            wanted = {real[one % len(real)] for one in wanted}
        natural(pid, wanted)

    os.sched_setaffinity = sched_setaffinity


def _signal_the_real_process(watch: Watch) -> None:
    """A signal sent to another run's process ID, which the program takes for its own, goes to the program."""
    natural = os.kill

    def kill(pid: int, number: int, /) -> None:
        natural(watch.real_pids.get(pid, pid), number)

    os.kill = kill


def wrap(module: Any, name: str, kind: str, watch: Watch, answers: Answers = _PLAIN) -> None:
    """Record what the program's own code gets from a function; vary it where that is asked for."""
    shift, at_most, encode, decode, deep = answers
    natural = getattr(module, name)

    def varied(*args: Any, **options: Any) -> Any:
        value = natural(*args, **options)
        if not watch.varies(kind) or (name == "clock_gettime" and args != (time.CLOCK_REALTIME,)):
            return value
        if name in _OF_NOW:
            return _a_day_ahead(name, natural, args)
        other = _OTHER.get(name) or (_other_host if kind == "host_name" and isinstance(value, str) else None)
        if other is not None:
            return other(value, watch)
        return value + shift if shift and value is not None else value

    @functools.wraps(natural)
    def watched(*args: Any, **options: Any) -> Any:
        frame = above(1)
        own = frame is not None and is_own(frame.f_code.co_filename)
        if frame is None or not own or (at_most is not None and len(args) > at_most):
            reading, other = (functools.partial(one, *args, **options) for one in (natural, varied))
            return reading() if frame is None or deep is None else deep(frame, reading, other)
        site = site_of(frame, kind)
        if name in {"localtime", "gmtime"}:
            return watch.value(site, lambda: varied(*args, **options), encode=tuple, decode=time.struct_time)
        watch.busy.asking = True  # what this asks in turn is no other question
        try:
            value = watch.value(site, lambda: varied(*args, **options), encode=encode, decode=decode)
        finally:
            watch.busy.asking = False
        if name == "getpid":
            watch.real_pids[value] = natural()
        return value

    setattr(module, name, _no_method(watched, natural) if name in {"localtime", "gmtime"} else watched)


def _no_method(watched: Callable[..., Any], natural: Any) -> Any:
    """As a function of C: ``converter = time.localtime`` in a class, as logging has it, makes no method."""
    if sys.version_info >= (3, 14):  # where a partial makes one too
        return staticmethod(watched)
    return functools.update_wrapper(functools.partial(watched), natural)


def _elsewhere(folder: str, watch: Watch) -> str:
    path = os.path.join(watch.apart, f"w{hashlib.blake2b(os.fsencode(folder), digest_size=4).hexdigest()}")
    try:
        os.makedirs(watch.apart, exist_ok=True)
        os.symlink(folder, path)
    except FileExistsError:
        pass
    return path


#: What another value than ``value + shift`` makes, by the function's name.
_OTHER: dict[str, Callable[[Any, Watch], Any]] = {
    "getcwd": _elsewhere,
    "sched_getaffinity": lambda cores, _: cores | {max(cores) + 1 + more for more in range(3)},
    "platform": lambda text, _: f"{text}-elsewhere",
    "uname": _of_other_host,
}
