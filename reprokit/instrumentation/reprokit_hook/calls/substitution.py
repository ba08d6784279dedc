"""What a call of one run gave and left behind, kept; and given to another run in place of the call.

In the first process's main thread the hits of a site are told apart by their number. Elsewhere (in threads,
in workers) which of them does what differs from run to run: there a call is told by its arguments and by
its number in the piece of work that it belongs to, and every call that is told alike is given the same.
"""

from __future__ import annotations

import functools
import io
import os
import pickle
import sys
import threading
import types
from typing import TYPE_CHECKING, Any

from ..frames import is_own
from . import generators
from .call_context import CallContext, tell
from .objects import name_of
from .restoring import Hole, put_in_place, rebinds
from .stream import Call, ended, name_of_called
from .walk import Seen, digest

if TYPE_CHECKING:
    from ..watch import Watch

_open = io.open  # as it was before the program changed it
_MOST_BYTES = 1 << 29
_UNREAD = (types.GeneratorType, types.CoroutineType, types.FrameType)


class _Kept(threading.local):
    """Of one thread."""

    def __init__(self) -> None:
        self.busy = False
        self.calls: list[Call] = []
        self.work: Any = None
        self.counts: dict[Any, int] = {}


class _Substitution:
    """How calls are told apart; and what is noted of them when the process ends."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._own = _Kept()
        self._hits: dict[str, int] = {}
        self._seen = Seen()
        self._notes: set[str] = set()
        self._rebound: dict[str, Any] = {}
        #: Sites of which it was told what was around their first call.
        self.told: set[str] = set()

    def rebound(self, site: str, value: Any, /) -> Any:
        """The object that a name stands for after the call at a site."""
        return self._rebound.pop(site, value)

    def note(self, site: str, text: str) -> None:
        """Say something of a site, once: at once, for a worker may be killed."""
        if f"{site}: {text}" not in self._notes:
            self._notes.add(f"{site}: {text}")
            tell(self._watch, {"site": site, "note": text})

    def _key(self, call: Call) -> tuple[Any, ...]:
        first = "." not in self._watch.process and self._watch.process == "0"
        if first and threading.current_thread() is threading.main_thread():
            number = self._hits[call.site] = self._hits.get(call.site, 0) + 1
            return (call.site, number)
        work = _outermost(sys._getframe(2))
        if work is not self._own.work:
            self._own.work, self._own.counts = work, {}
        given = digest([name_of_called(call.called), call.arguments, call.words], self._seen)
        told = (call.site, given)
        number = self._own.counts[told] = self._own.counts.get(told, 0) + 1
        return (*told, number)


class Recorder(_Substitution):
    """Keeps what the calls gave: a sequence of pickles, one a call, in a file a process."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._bytes = 0

    def before(self, site: str, called: Any, /, *arguments: Any, **words: Any) -> Any:
        own, ready = self._own, functools.partial(called, *arguments, **words)
        if own.busy:
            return ready
        own.busy = True
        try:
            call = Call(site, called, arguments, words, id(sys._getframe(1)))
            call.key = self._key(call)
            call.before = generators.states()
            call.context = None if site in self.told else CallContext(call, self._seen)
        finally:
            own.busy = False
        own.calls.append(call)
        return ready

    def after(self, site: str, result: Any, /) -> Any:
        own = self._own
        if own.busy:
            return result
        call = ended(own.calls, site, id(sys._getframe(1)))
        if call is not None:
            own.busy = True
            try:
                self._keep(call, result)
            finally:
                own.busy = False
        return result

    def _keep(self, call: Call, result: Any) -> None:
        now = generators.states()
        before, after = generators.as_bytes(call.before), generators.as_bytes(now)
        moved = {name: now[name] for name in now if before.get(name) != after[name]}
        if call.context is not None:
            self.told.add(call.site)
            tell(self._watch, call.context.found(result))
        owner = None if isinstance(call.owner, types.FunctionType) else call.owner
        try:
            data = _kept(result, owner, call, moved)
        except Exception as error:  # what cannot be kept cannot be given again
            self.note(call.site, f"{type(error).__name__}: {str(error)[:80]}")
            return
        self._bytes += len(data)
        if self._bytes > _MOST_BYTES:
            self.note(call.site, f"more than {_MOST_BYTES >> 20} MB")
            return
        with _open(os.path.join(self._watch.out, f"kept-{self._watch.process}.pickles"), "ab") as stream:
            pickle.dump((call.key, data), stream)


class Replayer(_Substitution):
    """Gives calls what they gave in another run."""

    def __init__(self, watch: Watch, folder: str) -> None:
        super().__init__(watch)
        self._kept = _read(folder)

    def before(self, site: str, called: Any, /, *arguments: Any, **words: Any) -> Any:
        own, ready = self._own, functools.partial(called, *arguments, **words)
        if own.busy:
            return ready
        own.busy = True
        try:
            call = Call(site, called, arguments, words, 0)
            data = self._kept.get(self._key(call))
            if data is None:
                self.note(site, "not in the other run")
                return ready
            try:
                result = self._given(call, data)
            except Exception as error:  # the call is made, and the run shows nothing
                self.note(site, f"{type(error).__name__}: {str(error)[:80]}")
                return ready
            self.note(site, "given")
            return lambda: result
        finally:
            own.busy = False

    def after(self, site: str, result: Any, /) -> Any:  # noqa: ARG002 - as the recorder's
        return result

    def _given(self, call: Call, data: bytes) -> Any:
        result, owner, arguments, words, moved = pickle.loads(data)  # noqa: S301 - another run of the program
        live: dict[int, Any] = {}
        kept: list[str] = []
        if owner is not None and not isinstance(owner, Hole) and rebinds(call.owner, type(call.owner)):
            self._rebound[call.site] = owner
        elif owner is not None:
            put_in_place(owner, call.owner, live, kept)
        for new, old in zip(arguments, call.arguments):
            put_in_place(new, old, live, kept)
        for name in words:
            put_in_place(words[name], call.words.get(name), live, kept)
        for name in kept:
            self.note(call.site, f"{name} stays")
        generators.put(moved)
        return live.get(id(result), result)


def _outermost(frame: Any) -> Any:
    """The frame of the program's own code that is farthest above: the piece of work that is being done."""
    found = None
    while frame is not None:
        if is_own(frame.f_code.co_filename):
            found = frame
        frame = frame.f_back
    return found


def _kept(result: Any, owner: Any, call: Call, moved: dict[str, Any]) -> bytes:
    """A pickle of a call; what it was told and cannot be kept (handles of a library) stays as it is."""
    try:
        return _dumps((result, owner, call.arguments, call.words, moved))
    except Exception:  # what it gave has to be kept, or it cannot be given
        arguments = tuple(_or_hole(one) for one in call.arguments)
        words = {name: _or_hole(one) for name, one in call.words.items()}
        return _dumps((result, _or_hole(owner), arguments, words, moved))


def _or_hole(value: Any) -> Any:
    try:
        _dumps(value)
    except Exception:  # whatever its pickling raises
        return Hole(name_of(type(value)))
    return value


def _dumps(value: Any) -> bytes:
    """A pickle in which what cannot be kept leaves a hole."""

    class Pickler(_pickler()):  # type: ignore[misc]
        def reducer_override(self, one: Any) -> Any:
            kind = type(one)
            if issubclass(kind, _UNREAD) or (
                issubclass(kind, io.IOBase) and not issubclass(kind, io.BytesIO)
            ):
                return Hole, (name_of(kind),)
            if kind.__module__ in ("_thread", "weakref", "_weakref", "_io"):
                return Hole, (name_of(kind),)
            above = getattr(super(), "reducer_override", None)
            return above(one) if above is not None else NotImplemented

    stream = io.BytesIO()
    Pickler(stream, protocol=4).dump(value)
    return stream.getvalue()


def _pickler() -> Any:
    try:
        import cloudpickle  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return pickle.Pickler
    return cloudpickle.Pickler


def _read(folder: str) -> dict[Any, bytes]:
    """Of all processes; of several that are told alike, the first."""
    found: dict[Any, bytes] = {}
    for name in sorted(os.listdir(folder)):
        if not name.startswith("kept-"):
            continue
        with _open(os.path.join(folder, name), "rb") as stream:
            while True:
                try:
                    key, data = pickle.load(stream)  # noqa: S301 - written by the other run's hook
                except (EOFError, pickle.UnpicklingError):
                    break
                found.setdefault(key, data)
    return found
