"""The record of every watched call of a process: a line a call, with digests of what went in and came out.

A line is ``C``, thread, site, hit, name, receiver, arguments, result, both afterwards (``=`` where they are
as before), the moment and the context, separated by tabs; or ``T``, place and number of a watched round, and
the digest of small variables there.
The digest of the receiver stands for itself: an object may hold a state that no earlier call shows.
"""

from __future__ import annotations

import functools
import io
import os
import sys
import threading
import time
import types
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from . import ticks
from .call_context import CallContext, tell
from .objects import name_of
from .walk import Seen, digest

if TYPE_CHECKING:
    from ..watch import Watch

_BOUND = (types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType)
_NAMED = (types.FunctionType, types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType)
_moment, _open = time.monotonic_ns, io.open  # as they were before the program changed them
_MOST_LINES = 500_000
_BUFFERED = 500
#: So much may be read for each site; then a call is left out for each so many bytes of the last one.
_FREE_BYTES, _BYTES_A_CALL = 1 << 28, 1 << 23
_SMALL, _LARGE = (int, float, complex, bool, str), 4096
_SETS = (set, frozenset)


class Call:
    """A call between its beginning and its end."""

    __slots__ = (
        *("site", "called", "arguments", "words", "frame", "hit", "receiver", "given", "owner"),
        *("key", "before", "context", "num_bytes", "is_left_out"),
    )
    key: Any
    before: Any
    context: CallContext | None

    def __init__(self, site: str, called: Any, arguments: Any, words: Any, frame: int) -> None:
        self.site, self.called, self.arguments, self.words = site, called, arguments, words
        self.frame, self.hit = frame, 0
        self.receiver = self.given = ""
        self.num_bytes: list[int] = []
        self.is_left_out = False
        self.owner = receiver_of(called)
        self.context = None


class Stream:
    """Writes the lines of one process."""

    def __init__(self, watch: Watch, window: dict[str, Any] | None) -> None:
        self.seen = Seen()
        self.busy = threading.local()
        self._watch = watch
        self._rounds: dict[str, int] = {}
        self._window = ticks.Window(window["first"], window["most"]) if window else None
        self.ticks: dict[str, Any] = ticks.Ticks() if self._window is None else self._window
        if self._window is None and watch.process == "0":
            self.ticks = {}  # all places are known before they are come to: no code is sent here
        self._restart()
        os.register_at_fork(before=self.flush, after_in_child=self._restart)
        watch.at_end.append(self.flush)

    def _restart(self) -> None:
        self._lock = threading.Lock()
        self._lines: list[str] = []
        self._hits: dict[str, int] = {}
        #: Site → how many bytes may still be read for it before calls are left out, and the next that is not.
        self._free: dict[str, int] = {}
        self._next: dict[str, int] = {}
        self._num_lines = 0
        #: Sites of which it was told what was around their first call.
        self._told: set[str] = set()
        # one that may be killed keeps nothing back
        self._buffered = _BUFFERED if "." not in self._watch.process else 1

    def before(self, site: str, called: Any, /, *arguments: Any, **words: Any) -> Any:
        """What is to be called; its beginning is recorded."""
        ready = functools.partial(called, *arguments, **words)
        if getattr(self.busy, "on", False):
            return ready
        call = Call(site, called, arguments, words, id(sys._getframe(1)))
        with self._lock:
            call.hit = self._hits[site] = self._hits.get(site, 0) + 1
            call.is_left_out = call.hit < self._next.get(site, 0)
            is_first = site not in self._told
            self._told.add(site)
        if not call.is_left_out:
            self.busy.on = True
            try:
                call.receiver, call.given = self._state(call)
                call.context = self._begun(call) if is_first else None
            finally:
                self.busy.on = False
        self._open().append(call)
        return ready

    def after(self, site: str, result: Any, /) -> Any:
        """The result; it is recorded."""
        if getattr(self.busy, "on", False):
            return result
        call = ended(self._open(), site, id(sys._getframe(1)))
        if call is not None and not call.is_left_out:
            self.busy.on = True
            try:
                made = digest(result, self.seen, num_bytes=call.num_bytes)
                then = self._state(call)
                self._tell(call, result)
            finally:
                self.busy.on = False
            self._thin_out(call)
            self._note(call, made, then)
        return result

    def _begun(self, call: Call) -> CallContext | None:
        try:
            return CallContext(call, self.seen)
        except Exception:  # generators that cannot be read here; the watch must not end the program
            return None

    def _tell(self, call: Call, result: Any) -> None:
        with suppress(Exception):
            if call.context is not None:
                tell(self._watch, call.context.found(result))

    def _thin_out(self, call: Call) -> None:
        """After much was read for a call, leave out some that follow: by size, which no clock decides."""
        size = sum(call.num_bytes)
        with self._lock:
            free = self._free[call.site] = self._free.get(call.site, _FREE_BYTES) - size
            if free < 0:
                self._next[call.site] = call.hit + 1 + size // _BYTES_A_CALL

    def round(self, place: str) -> None:
        """A round that is watched begins."""
        if threading.current_thread() is not threading.main_thread():
            return
        if self._window is not None:
            number = self._window.number(place)
        else:
            watched = self._rounds[place] = self._rounds.get(place, -1) + 1
            number = ticks.number_of(watched)
        self.busy.on = True
        try:
            found = digest(_small(sys._getframe(1).f_locals), self.seen)
        finally:
            self.busy.on = False
        self._write(f"T\t{place}\t{number}\t{found}\t{_moment()}\n")

    def order(self, site: str, items: Any, /) -> Any:
        """What a loop iterates over; the order of a set is recorded as the result of a call."""
        if type(items) in _SETS and len(items) > 1 and not getattr(self.busy, "on", False):
            with self._lock:
                hit = self._hits[site] = self._hits.get(site, 0) + 1
            self.busy.on = True
            try:
                given, made = digest(items, self.seen), digest(list(items), self.seen)
            finally:
                self.busy.on = False
            self._write(self._line(site, hit, "iterate over a set", "", given, made, "="))
        return items

    def _open(self) -> list[Call]:
        calls: list[Call] | None = getattr(self.busy, "calls", None)
        if calls is None:
            calls = self.busy.calls = []
        return calls

    def _state(self, call: Call) -> tuple[str, str]:
        size = call.num_bytes
        owner = "" if call.owner is None else digest(call.owner, self.seen, num_bytes=size)
        given = [name_of_called(call.called), call.arguments, call.words]
        if type(call.called) is types.FunctionType:
            given[0] = call.called  # with what it holds
        return owner, digest(given, self.seen, num_bytes=size)

    def _note(self, call: Call, made: str, then: tuple[str, str]) -> None:
        later = "=" if then == (call.receiver, call.given) else f"{then[0]},{then[1]}"
        name = name_of_called(call.called)
        self._write(self._line(call.site, call.hit, name, call.receiver, call.given, made, later))

    def _line(self, site: str, hit: int, *words: str) -> str:
        thread = threading.current_thread()
        role = "0" if thread is threading.main_thread() else "1"
        told = "\t".join(words)
        return f"C\t{role}\t{site}\t{hit}\t{told}\t{_moment()}\t{self._watch.context}\n"

    def _write(self, line: str) -> None:
        with self._lock:
            self._num_lines += 1
            if self._num_lines > _MOST_LINES:
                return
            self._lines.append(line)
            if len(self._lines) < self._buffered:
                return
            lines, self._lines = self._lines, []
        self._append(lines)

    def flush(self) -> None:
        """Write what is kept back, and what could not be read."""
        with self._lock:
            lines, self._lines = self._lines, []
        if lines:
            self._append(lines)
        self._watch.facts[f"calls {self._watch.process}"] = {
            "unseen": {name: list(one) for name, one in list(self.seen.unseen.items())},
            "moving": sorted(map(name_of, self.seen.moving)),
            "lines": self._num_lines,
        }

    def _append(self, lines: list[str]) -> None:
        path = os.path.join(self._watch.out, f"calls-{self._watch.process}.tsv")
        try:
            with _open(path, "ab") as stream:
                stream.write("".join(lines).encode("utf-8", "backslashreplace"))
        except OSError:  # the folder is gone; the program continues
            pass


def _small(variables: dict[str, Any]) -> list[Any]:
    """Numbers, texts and small arrays among the variables: what is computed without a call shows there."""
    found = []
    for name, value in list(variables.items()):
        kind = type(value)
        if kind in _SMALL or (kind.__module__ == "numpy" and getattr(value, "nbytes", _LARGE) < _LARGE):
            found.append((name, value))
    return found


def ended(calls: list[Call], site: str, frame: int) -> Call | None:
    """The call that ends here; those above it were left by an exception."""
    while calls:
        call = calls.pop()
        if call.site == site and call.frame == frame:
            return call
    return None


def receiver_of(called: Any) -> Any:
    """What a call works on; None for a plain function or a class."""
    if isinstance(called, _BOUND):
        owner = called.__self__
        return None if isinstance(owner, (types.ModuleType, type)) else owner
    kind = type(called)
    plain = (types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
    return None if issubclass(kind, (type, *plain)) else called


def name_of_called(called: Any) -> str:
    """The full name of what is called, as far as its type tells."""
    kind = type(called)
    if kind is types.MethodType:
        owner = called.__self__
        owner = owner if isinstance(owner, type) else type(owner)
        return f"{name_of(owner)}.{getattr(called.__func__, '__name__', '?')}"
    if issubclass(kind, type):
        return name_of(called)
    if kind in _NAMED or kind.__name__ == "cython_function_or_method":
        module = getattr(called, "__module__", None)
        return f"{module}.{called.__qualname__}" if isinstance(module, str) else str(called.__qualname__)
    return name_of(kind)
