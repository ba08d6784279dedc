"""Every operation of PyTorch: digests of inputs and outputs, and the line (level ``deep``).

Without a stretch of the training to record, from the first operation on; else only there.
"""

from __future__ import annotations

from typing import Any

from . import digests
from .device_order import DeviceOrder, goes_on
from .frames import own_caller
from .watch import Watch


def watch_operations(torch: Any, dispatch: Any, watch: Watch) -> None:
    """Begin to write operations into the trace: now, or where the next update is due."""
    progress = watch.progress
    if progress is None or progress.mode != "deep":
        _mode(torch, dispatch, watch).__enter__()
        return
    entered: list[Any] = []

    def listen() -> None:
        if progress.due and not entered:
            entered.append(_mode(torch, dispatch, watch))
            entered[0].__enter__()
        elif entered and not progress.due and dispatch._get_current_dispatch_mode() is entered[0]:
            entered.pop().__exit__(None, None, None)

    progress.changed.append(listen)
    listen()


def _mode(torch: Any, dispatch: Any, watch: Watch) -> Any:
    order = DeviceOrder(torch)
    progress = watch.progress if watch.progress is not None and watch.progress.mode == "deep" else None

    class Operations(dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined, unused-ignore]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            options = kwargs or {}
            if digests.at_work or watch.full or (progress is not None and not progress.due):
                return func(*args, **options)
            given = digests.of(args, options)
            made = func(*args, **options)
            frame = own_caller()
            at = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
            try:
                device = order.of(func, args, options, made, at)
            except (AttributeError, NotImplementedError, RuntimeError):  # a tensor without memory of its own
                device = {}
            result = "" if goes_on(device) else digests.of(made)
            watch.note_operation(str(func), frame, given=given, made=result, device=device)
            return made

    return Operations()
