"""Digests of what a program computes with: equal bits give equal digests, others do not.

On the CPU BLAKE2b over the memory itself. On an accelerator the digest is computed there: two sums of the
32-bit words, each times a random 64-bit weight, modulo 2**64; 16 bytes a chunk come back. Two tensors that
differ collide with probability below 2**-60. A value whose bits cannot be read counts by its type.

    >>> of([1.0, "a"]) == of([1.0, "a"])
    True
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

_CHUNK = 1 << 22
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_DEEPEST = 8
#: Not empty while a tensor is read: PyTorch's operations for that are not the program's.
at_work: list[bool] = []


def new() -> Any:
    """An empty digest to feed."""
    return hashlib.blake2b(digest_size=12)


def of(*values: Any) -> str:
    """The digest of values, in order."""
    seen = new()
    for value in values:
        feed(seen, value)
    return str(seen.hexdigest())


def feed(seen: Any, value: Any, deep: int = 0) -> None:
    """Add a value to a digest: numbers, text, arrays, tensors, and lists, tuples and dicts of these."""
    if isinstance(value, _PLAIN):
        seen.update(f"{type(value).__name__}{value!r};".encode("utf-8", "surrogatepass"))
    elif hasattr(value, "tobytes") and hasattr(value, "dtype"):
        seen.update(f"{value.dtype}{value.shape}".encode())
        seen.update(repr(value.tolist()).encode() if value.dtype.hasobject else value.tobytes())
    elif isinstance(value, (list, tuple)) and deep < _DEEPEST:
        seen.update(f"[{len(value)}".encode())
        for one in value:
            feed(seen, one, deep + 1)
    elif isinstance(value, dict) and deep < _DEEPEST:
        for key, one in value.items():
            feed(seen, key, deep + 1)
            feed(seen, one, deep + 1)
    else:
        _feed_tensor(seen, value)


def _feed_tensor(seen: Any, value: Any) -> None:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        seen.update(_text_of(torch, value).encode("utf-8", "replace"))
        return
    seen.update(f"{tuple(value.shape)}{value.dtype}".encode())
    if value.is_meta or not value.numel():
        return
    try:
        at_work.append(True)
        seen.update(_bits(torch, value))
    except (RuntimeError, TypeError, ValueError, AttributeError):  # no storage: a fake or functional tensor
        seen.update(b"unread")
    finally:
        at_work.pop()


def _bits(torch: Any, value: Any) -> Any:
    plain = value.detach()
    plain = plain if plain.layout is torch.strided else plain.to_dense()
    words = plain.contiguous().reshape(-1).view(torch.uint8)
    return words.numpy() if words.device.type == "cpu" else _sums(torch, words)


def _text_of(torch: Any, value: Any) -> str:
    """A value without bits: a setting such as a type or a device by its text, anything else by its type."""
    settings = () if torch is None else (torch.dtype, torch.device, torch.layout, torch.memory_format)
    if isinstance(value, settings):
        return repr(value)
    if torch is not None and isinstance(value, torch.Generator):
        return of(value.get_state())
    return type(value).__name__


def _sums(torch: Any, words: Any) -> bytes:
    if words.numel() % 4:
        words = torch.nn.functional.pad(words, (0, 4 - words.numel() % 4))
    numbers = words.view(torch.int32)
    weights = _weights(torch, str(words.device))
    sums = [
        (chunk.to(torch.int64) * weights[which, : chunk.numel()]).sum()
        for chunk in numbers.split(_CHUNK)
        for which in (0, 1)
    ]
    return bytes(torch.stack(sums).cpu().numpy().tobytes())


def _weights(torch: Any, device: str, made: dict[str, Any] = {}) -> Any:  # noqa: B006 - kept for the next call
    if device not in made:
        drawn = torch.Generator().manual_seed(0x5EED)
        made[device] = torch.randint(-(2**63), 2**63 - 1, (2, _CHUNK), generator=drawn).to(device)
    return made[device]
