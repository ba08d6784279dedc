"""The record of a process: every source of randomness, by the line that used it; and what is replayed.

Orders (JSON): ``out`` (folder of the trace), ``key`` (hex: what this run's random values are drawn from),
``pins`` (call sites whose values are to be those of another run; ``["*"]`` for all), ``replay`` (that run's
folder, or null), ``vary`` (names of conditions to change), ``output`` (the run's own folder).

Randomness that a seed does not govern is drawn here from ``key``, the call site and a counter: as arbitrary
as before, but another run can draw the very same at one line and its own everywhere else.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import random
import threading
from ast import literal_eval
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from .frames import Site, real
from .process_names import RANK, claim, inherit, rank_of, started
from .progress import TrainingProgress
from .replayed_values import Earlier, named, reordered
from .trace_writer import TraceWriter

_MOST_VALUES = 20_000
_MOST_TEXT = 4_000_000
_MOST_OPERATIONS = 200_000
_RAISED = "..."
_NOTHING = object()


class Watch:
    """What this process has drawn on so far. One a process; a forked child begins its own."""

    def __init__(self, orders: dict[str, Any], *, process: str) -> None:
        self.orders = orders
        self.process = process
        self.out: str = orders["out"]
        self.output: str = orders.get("output") or ""
        self.key: str = orders["key"]
        self.pins = frozenset(orders.get("pins") or ())
        self.vary = frozenset(orders.get("vary") or ())
        self.serial = frozenset(orders.get("serial") or ())
        self.apart: str = orders.get("apart") or ""
        self.lock = threading.RLock()
        self.busy = threading.local()
        self._forks = 0
        self.at_end: list[Callable[[], None]] = []
        self.progress: TrainingProgress | None = None
        self.environments: Any = None
        #: Process ids that the program was told, and whose they really are: another run's may be pinned.
        self.real_pids: dict[int, int] = {}
        self.writer = TraceWriter(self)
        #: Libraries whose global generator the program has seeded.
        self.seeded: set[str] = set()
        self._begin()

    @classmethod
    def from_orders(cls, path: str) -> Watch:
        """Read the orders and claim a name for this process.

        Raises:
            OSError: The orders cannot be read or the folder cannot be written.
        """
        with open(path, encoding="utf-8") as stream:
            orders = json.load(stream)
        watch = cls(orders, process=claim(orders["out"], os.environ))
        os.environ[RANK] = rank_of(os.environ)
        inherit(watch.process)
        os.register_at_fork(before=watch._before_fork, after_in_child=watch._after_fork)
        atexit.register(watch.writer.write)
        leave = os._exit

        def leave_with_trace(status: int) -> None:
            watch.writer.write()
            leave(status)

        os._exit = leave_with_trace  # type: ignore[assignment]
        return watch

    def _begin(self) -> None:
        self.sites: dict[str, dict[str, Any]] = {}
        self.facts: dict[str, Any] = {}
        self.files: dict[str, dict[str, Any]] = {}
        self._earlier = Earlier.read(self.orders.get("replay"))
        self._earlier_key = self.orders.get("replay_key") or self.key
        self._events = 0
        self.streams: list[list[Any]] = []

    def _before_fork(self) -> None:
        self._forks += 1

    def _after_fork(self) -> None:
        self.process = f"{self.process}.f{self._forks}"
        self._forks = 0
        self.lock = threading.RLock()
        with contextlib.suppress(OSError):  # the traces are gone; the program continues
            self._begin()
            if self.progress is not None:
                self.progress.restart(self.process)
            inherit(self.process)
            started(self.out, self.process)

    def pinned(self, site: Site) -> bool:
        """Whether this call site is to have the values of the other run."""
        return bool(self.pins) and ("*" in self.pins or unit(site) in self.pins)

    def varies(self, what: str) -> bool:
        """Whether this part of the conditions is to be another one than it is."""
        return what in self.vary

    def value(
        self,
        site: Site,
        natural: Callable[[], Any],
        *,
        encode: Callable[[Any], Any] | None = None,
        decode: Callable[[Any], Any] | None = None,
    ) -> Any:
        """A value that conditions decide: the natural one, or the other run's; recorded either way."""
        number = self._next(site)
        value = _decoded(self._replayed(site, number), decode or _same)
        if value is _NOTHING:
            self._note(site, number, _RAISED)
            value = natural()
        try:
            text = repr((encode or _same)(value))
            literal_eval(text)
        except Exception:  # a foreign object's repr; the tap must not end the program
            text = repr(type(value).__name__)
        self._note(site, number, text)
        return value

    def expected(self, site: Site) -> str | None:
        """Of a pinned call site: what the other run had where this one is now; None where not pinned."""
        number = self.sites.get(unit(site), {"counts": {}})["counts"].get(self.context, 0)
        found = self._replayed(site, number)
        return None if found is None else literal_eval(found)

    def ranks(self, site: Site) -> dict[int, int]:
        """Of a pinned call site: which came when in the other run, number → rank; empty where not pinned."""
        return self._earlier.ranks(unit(site)) if self.pinned(site) else {}

    def expected_order(self, site: Site) -> dict[int, int]:
        """Of a pinned call site: rank → the number that the other run had there; empty where not pinned."""
        return dict(enumerate(map(int, self.expected(site) or ())))

    def order(
        self,
        site: Site,
        items: list[Any],
        key: Callable[[Any], str],
        *,
        vary: str = "",
        replay: bool = True,
    ) -> list[Any]:
        """An order that conditions decide: the natural one, a varied one, or the other run's."""
        number = self._next(site)
        both = named(items, key)
        plain = sorted(name for name, _ in both)
        if vary and self.varies(vary):
            self.random(site, number).shuffle(both)
        found = self._replayed(site, number) if replay else None
        if found is not None:
            both = reordered(both, plain, literal_eval(found))
        self._note(site, number, repr([name for name, _ in both]))
        return [item for _, item in both]

    def entropy(self, site: Site, num_bytes: int) -> bytes:
        """Bytes that only the run's key can predict."""
        number = self._next(site)
        data = self._drawn(site, number, num_bytes)
        self._note(site, number, repr(data[:16].hex()))
        return data

    def random(self, site: Site, number: int = 0) -> random.Random:
        """A generator for this call site: of this run, or of the other one where it is pinned."""
        made = random.Random.__new__(random.Random)
        random.Random.__init__(made, int.from_bytes(self._drawn(site, number, 16), "little"))
        return made

    def seen(self, site: Site, text: str, *, what: str = "") -> None:
        """Record something of a call site without changing it."""
        self._note(site, self._next(site), repr(text))
        if what:
            self.sites[unit(site)]["what"] = what

    @property
    def full(self) -> bool:
        return len(self.streams) >= _MOST_OPERATIONS

    def note_operation(
        self,
        name: str,
        frame: FrameType | None,
        line: int = 0,
        *,
        given: str,
        made: str,
        device: dict[str, Any] | None = None,
    ) -> None:
        """Keep something that was computed: name and line, what went in, what came out, on which device."""
        if not self.full:
            place: tuple[str, int, str] = ("", 0, "")
            if frame is not None:
                place = real(frame.f_code.co_filename), line or frame.f_lineno, frame.f_code.co_name
            self.streams.append([name, *place, given, made, *([device] if device else [])])

    @property
    def context(self) -> str:
        """What is being done, by a name that holds from run to run: a task of a pool, or a process."""
        return getattr(self.busy, "context", "") or self.process

    def within(self, context: str, work: Callable[[], Any]) -> Any:
        """Do a piece of work under a name of its own, whichever thread or process it falls to."""
        before = getattr(self.busy, "context", "")
        self.busy.context = context
        try:
            return work()
        finally:
            self.busy.context = before

    def _drawn(self, site: Site, number: int, num_bytes: int) -> bytes:
        key = self._earlier_key if self.pinned(site) else self.key
        origin = f"{key}|{self.context}|{unit(site)}|{number}".encode()
        return hashlib.shake_128(origin).digest(num_bytes)

    def _next(self, site: Site) -> int:
        name, context = unit(site), self.context
        with self.lock:
            record = self.sites.get(name)
            if record is None:
                self._events += 1
                place = dict(zip(("kind", "file", "line", "function"), site))
                record = self.sites[name] = {**place, "first": self._events, "counts": {}, "values": {}}
            number: int = record["counts"].get(context, 0)
            record["counts"][context] = number + 1
        return number

    def _note(self, site: Site, number: int, text: str) -> None:
        record = self.sites[unit(site)]
        values = record["values"].setdefault(self.context, {})
        last = record.setdefault("last", {})
        if text == last.get(self.context) and number not in values:
            return  # only changes are kept
        if len(values) < _MOST_VALUES and len(text) < _MOST_TEXT:
            values[number] = last[self.context] = text

    def _replayed(self, site: Site, number: int) -> str | None:
        """What the other run had there; None where it had nothing, or the site is not pinned."""
        if not self.pinned(site):
            return None
        return self._earlier.at(unit(site), self.context, number)


def unit(site: Iterable[Any]) -> str:
    """The name of a call site in orders and traces: kind, file and line."""
    kind, file, line, *_ = site
    return f"{kind}|{file}|{line}"


def _decoded(found: str | None, decode: Callable[[Any], Any]) -> Any:
    """The other run's value; nothing where it had none, or where this run cannot have the same."""
    if found is None or found == _RAISED:
        return _NOTHING
    try:
        return decode(literal_eval(found))
    except Exception:  # such as a folder that was made in one that this run has not
        return _NOTHING


def _same(value: Any) -> Any:
    return value
