"""Operations on an accelerator: where results lie, copies from and to the host, streams, and their order.

Streams work side by side, and so does the host after a copy of pinned memory that it does not wait for, until
an event or a synchronisation orders them. An operation that touches memory which unfinished work may still
write, or writes what that may still read, is recorded with the place of that work.

    >>> order.of(func, args, options, made, ("train.py", 88))
    {"device": "cpu", "stream": 0, "copy": "device to host", "bytes": 4096, "non_blocking": True}

Source: PyTorch's notes "CUDA semantics", sections "CUDA streams" and "Use pinned memory buffers"; the waits
are those that ``torch.cuda._sanitizer`` listens to. Not seen: memory that the allocator gives out again while
another stream reads it (``record_stream``), reads without an operation (``.numpy()``), captured graphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from . import digests

_HOST = -1
_COPIES = ("aten.copy_.", "aten._to_copy.")
_WAITS = "aten._local_scalar_dense."
_MOST_ACCESSES, _MOST_STORAGES = 32, 4096

if TYPE_CHECKING:
    Clock = dict[int, int]
else:  # before Python 3.9 they take no parameters
    Clock = dict


class _Access(NamedTuple):
    """Of some bytes of a storage, by work on a stream: the number-th that was started."""

    begin: int
    end: int
    writes: bool
    stream: int
    number: int
    by: list[Any]


class DeviceOrder:
    """What was started on which stream, and what is known to be done before what."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._listens = False
        self._numbers: dict[int, int] = {0: 0}
        self._started = 0
        self._last: Clock = {}
        self._before: dict[int, Clock] = {_HOST: {}}
        self._events: dict[int, Clock] = {}
        self._touched: dict[int, tuple[Any, list[_Access]]] = {}

    def place(self, tensor: Any) -> str:
        """Where a tensor lies: ``cpu``, ``cuda:0``."""
        return str(tensor.device)

    def stream(self) -> int | None:
        """The current stream's own number, 0 for the default one; None where the device has none."""
        cuda = self._torch.cuda
        return int(cuda.current_stream().cuda_stream) if cuda.is_initialized() else None

    def is_pinned(self, tensor: Any) -> bool:
        """Whether copies from and to a tensor of the host can continue while the host does."""
        return bool(tensor.is_pinned())

    def of(self, func: Any, args: Any, options: Any, made: Any, at: tuple[str, int]) -> dict[str, Any]:
        """What is recorded of an operation that was just started; empty where no accelerator takes part."""
        given = [*_given(func, args, options)]
        results = [(tensor, True) for tensor in _tensors(made)]
        places = [self.place(one) for one, _ in (*given, *results)]
        on_device = any(not place.startswith("cpu") for place in places)
        if not on_device and not self._touched:
            return {}
        if on_device and not self._listens:
            self._listen()
        stream = self.stream() if on_device else _HOST
        told: dict[str, Any] = {}
        if on_device:
            told["device"] = self.place(results[0][0]) if results else places[0]
            if stream is not None:
                told["stream"] = self._numbers.setdefault(stream, len(self._numbers))
            told.update(self._copy(str(func), args, options, made))
        if stream is None or _is_view(func):
            return told
        return told | self._ordered(func, [*given, *self._new(given, results)], stream, told, at)

    def _ordered(
        self, func: Any, tensors: list[tuple[Any, bool]], stream: int, told: Mapping[str, Any], at: Any
    ) -> dict[str, Any]:
        self._started += 1
        found: _Access | None = None
        by = [str(func), *at]
        for tensor, writes in tensors:
            begin, end = _bytes(tensor)
            known = self._accesses(tensor, keep=stream != _HOST)
            for one in known:
                meets = one.begin < end and begin < one.end and (writes or one.writes)
                if meets and not self._is_before(one, stream):
                    found = found or one
            if stream != _HOST:
                known[:] = [one for one in known if not (writes and begin <= one.begin and one.end <= end)]
                del known[: len(known) + 1 - _MOST_ACCESSES]
                known.append(_Access(begin, end, writes, stream, self._started, by))
        if stream != _HOST:
            self._last[stream] = self._started
            if str(func).startswith(_WAITS) or (told.get("copy") and not self._goes_on(told, tensors)):
                self.host_waits_for_stream(stream)
        return {} if found is None else {"unordered": [*found.by, self._numbers.get(found.stream, 0)]}

    def _is_before(self, one: _Access, who: int) -> bool:
        known = (self._before.get(who, {}), self._before[_HOST])
        return one.stream == who or one.number <= max(clock.get(one.stream, 0) for clock in known)

    def _accesses(self, tensor: Any, *, keep: bool) -> list[_Access]:
        from torch.multiprocessing import reductions  # type: ignore[import-not-found, unused-ignore]

        weak: Any = reductions.StorageWeakRef
        # The reference keeps the address of a storage that is gone from being another one's.
        reference = weak(tensor.untyped_storage())
        if reference.cdata in self._touched or not keep:
            return self._touched.get(reference.cdata, (None, []))[1]
        if len(self._touched) >= _MOST_STORAGES:
            self._touched = {key: one for key, one in self._touched.items() if not one[0].expired()}
        made: list[_Access] = []
        self._touched[reference.cdata] = (reference, made)
        return made

    def _new(self, given: list[tuple[Any, bool]], results: list[tuple[Any, bool]]) -> list[tuple[Any, bool]]:
        known = {one.untyped_storage()._cdata for one, _ in given}
        return [pair for pair in results if pair[0].untyped_storage()._cdata not in known]

    def _copy(self, name: str, args: Any, options: Any, made: Any) -> dict[str, Any]:
        if not name.startswith(_COPIES):
            return {}
        in_place = name.startswith(_COPIES[0])
        source = args[1] if in_place else args[0]
        ends = [self.place(one).partition(":")[0] != "cpu" for one in (source, made)]
        if ends[0] == ends[1]:
            return {}
        waits_not = options.get("non_blocking", in_place and len(args) > 2 and args[2])
        size = {"bytes": made.numel() * made.element_size(), "non_blocking": bool(waits_not)}
        return {"copy": "device to host" if ends[0] else "host to device", **size}

    def _goes_on(self, told: Mapping[str, Any], tensors: list[tuple[Any, bool]]) -> bool:
        """Whether the host continues while a copy is made."""
        host = [one for one, _ in tensors if self.place(one).startswith("cpu")]
        return bool(told["non_blocking"]) and all(self.is_pinned(one) for one in host)

    def _listen(self) -> None:
        self._listens = True
        try:
            from torch.cuda import _gpu_trace as trace  # type: ignore[import-not-found, unused-ignore]

            trace.register_callback_for_event_record(self.event_recorded)
            trace.register_callback_for_event_wait(self.stream_waits)
            trace.register_callback_for_event_synchronization(self.host_waits_for_event)
            trace.register_callback_for_stream_synchronization(self.host_waits_for_stream)
            trace.register_callback_for_device_synchronization(self.host_waits_for_all)
            self._torch._C._activate_gpu_trace()
        except (ImportError, AttributeError):  # another PyTorch: nothing is said of an order that is not seen
            self.stream = lambda: None  # type: ignore[method-assign]

    def event_recorded(self, event: int, stream: int) -> None:
        """All that was started on a stream by now is before the event."""
        self._events[event] = self._until(stream)

    def stream_waits(self, event: int, stream: int) -> None:
        """What is started on a stream from now on is after an event."""
        _merge(self._before.setdefault(stream, {}), self._events.get(event, {}))

    def host_waits_for_event(self, event: int) -> None:
        """The host has waited for an event."""
        _merge(self._before[_HOST], self._events.get(event, {}))

    def host_waits_for_stream(self, stream: int) -> None:
        """The host has waited for all that a stream was given; not where a digest waited, in this package."""
        if not digests.at_work:
            _merge(self._before[_HOST], self._until(stream))

    def host_waits_for_all(self) -> None:
        """The host has waited for the device."""
        _merge(self._before[_HOST], self._last)

    def _until(self, stream: int) -> Clock:
        return {**self._before.get(stream, {}), stream: self._last.get(stream, 0)}


def goes_on(told: Mapping[str, Any]) -> bool:
    """Whether a result is not there yet when the host reads it: its digest would be of anything."""
    return told.get("copy") == "device to host" and bool(told.get("non_blocking"))


def _merge(clock: Clock, other: Clock) -> None:
    for stream, number in other.items():
        clock[stream] = max(number, clock.get(stream, 0))


def _is_view(func: Any) -> bool:
    """Whether an operation only looks at its input in another way: nothing is read or written."""
    return any(one.alias_info is not None and not one.alias_info.is_write for one in func._schema.returns)


def _given(func: Any, args: Any, options: Any) -> Iterator[tuple[Any, bool]]:
    """Tensors of arguments, each with whether the operation writes it."""
    for number, argument in enumerate(func._schema.arguments):
        value = args[number] if number < len(args) else options.get(argument.name)
        writes = argument.alias_info is not None and argument.alias_info.is_write
        for tensor in _tensors(value):
            yield tensor, writes


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one)
    elif hasattr(value, "untyped_storage"):
        yield value


def _bytes(tensor: Any) -> tuple[int, int]:
    """Of a tensor's storage: the first byte that it covers, and the one after its last."""
    if not tensor.numel():
        return 0, 0
    last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride()))
    size = tensor.element_size()
    return tensor.storage_offset() * size, (tensor.storage_offset() + last + 1) * size
