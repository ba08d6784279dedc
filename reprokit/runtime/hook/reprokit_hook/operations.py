"""Every operation of PyTorch: digests of what went in and came out, and the line: level ``deep``.

>>> watch_operations(torch, dispatch, watch)
"""

from __future__ import annotations

import hashlib
from typing import Any

from .frames import own_caller, real
from .watching import Watch

_MOST = 200_000


def watch_operations(torch: Any, dispatch: Any, watch: Watch) -> None:
    """Begin to write operations into the trace."""
    stream = watch.streams

    class Operations(dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined, unused-ignore]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            options = kwargs or {}
            if len(stream) >= _MOST:
                return func(*args, **options)
            given = _digest(torch, (args, options))
            made = func(*args, **options)
            frame = own_caller()
            place = (
                (real(frame.f_code.co_filename), frame.f_lineno, frame.f_code.co_name)
                if frame
                else ("", 0, "")
            )
            stream.append([str(func), *place, given, _digest(torch, made)])
            return made

    Operations().__enter__()


def _digest(torch: Any, value: Any) -> str:
    seen = hashlib.blake2b(digest_size=12)
    _feed(torch, value, seen)
    return seen.hexdigest()


def _feed(torch: Any, value: Any, seen: Any) -> None:
    if isinstance(value, torch.Tensor):
        seen.update(f"{tuple(value.shape)}{value.dtype}".encode())
        with torch.utils._python_dispatch._disable_current_modes():
            plain = value.detach().to("cpu").contiguous().view(-1)
            if plain.numel():
                seen.update(plain.view(torch.uint8).numpy())
    elif isinstance(value, (list, tuple)):
        for one in value:
            _feed(torch, one, seen)
    elif isinstance(value, dict):
        for name in sorted(value):
            seen.update(name.encode())
            _feed(torch, value[name], seen)
    elif isinstance(value, torch.Generator):
        _feed(torch, value.get_state(), seen)
    else:
        seen.update(repr(value).encode())
