"""A checkpoint split into its tensors by name and a JSON tree of everything else, without loss.

JSON has no tuples, NaN or exact large integers, and only text as keys: the tree tags each of these.

    >>> tree, tensors = pack({"step": 5, "model": {"bias": tensor}})
    >>> tree
    {'dict': [['step', 5], ['model', {'dict': [['bias', {'tensor': 'model.bias'}]]}]]}
    >>> unpack(tree, tensors)["step"]
    5
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from reprokit.checkpoints.flatten import dict_key, leaves
from reprokit.checkpoints.tensors import Tensor
from reprokit.errors import CheckpointError

_EXACT = 2**53  # JSON readers keep integers exact up to here


def pack(state: Any) -> tuple[Any, dict[str, Tensor]]:
    """Split a checkpoint into a JSON tree, in which a tensor is ``{"tensor": name}``, and its tensors.

    Raises:
        CheckpointError: It is nested too deep, or holds something that is not plain data.
    """
    for _ in leaves(state):  # refuses what is nested too deep, or contains itself
        pass
    tensors: dict[str, Tensor] = {}
    return _packed(state, at="", tensors=tensors), tensors


def unpack(tree: Any, tensors: Mapping[str, Tensor]) -> Any:
    """Put together what ``pack`` split.

    Raises:
        CheckpointError: The tree is corrupt, or does not name every tensor exactly once.
    """
    unused = dict(tensors)
    try:
        state = _unpacked(tree, unused)
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise CheckpointError(f"its tree of values is corrupt: {str(error)[:120]}") from error
    if unused:
        raise CheckpointError(f"its tree of values does not name the tensor {next(iter(unused))[:80]!r}")
    return state


def _packed(value: Any, *, at: str, tensors: dict[str, Tensor]) -> Any:
    if value is None or type(value) in {bool, str}:
        return value
    if type(value) is int:
        return value if abs(value) <= _EXACT else {"int": str(value)}
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, Tensor):
        name = _unused_name(at or "tensor", tensors)
        tensors[name] = value
        return {"tensor": name}
    if isinstance(value, Mapping):
        items = ((key, item, f"{at}.{key}" if at else str(key)) for key, item in value.items())
        return {"dict": [[key, _packed(item, at=name, tensors=tensors)] for key, item, name in items]}
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        items_of = (_packed(item, at=f"{at}.{index}", tensors=tensors) for index, item in enumerate(value))
        return {kind: list(items_of)}
    raise CheckpointError("it holds something that is not plain data", where=at, actual=type(value).__name__)


def _unused_name(path: str, taken: Mapping[str, Tensor]) -> str:
    """A path as a name that is valid UTF-8, not reserved by safetensors, and not that of another tensor."""
    name = path.encode("utf-8", "backslashreplace").decode()
    number, candidate = 1, name
    while candidate in taken or candidate == "__metadata__":
        number += 1
        candidate = f"{name}#{number}"
    return candidate


def _unpacked(tree: Any, unused: dict[str, Tensor]) -> Any:
    if not isinstance(tree, dict):
        if isinstance(tree, list):
            raise CheckpointError("its tree of values is corrupt: an untagged list")
        return tree
    ((kind, value),) = tree.items()
    if kind == "tensor":
        return unused.pop(value)
    if kind == "dict":
        return {dict_key(key): _unpacked(item, unused) for key, item in value}
    return _KINDS[kind](value, unused)


_KINDS: Mapping[str, Callable[[Any, dict[str, Tensor]], Any]] = {
    "list": lambda items, unused: [_unpacked(item, unused) for item in items],
    "tuple": lambda items, unused: tuple(_unpacked(item, unused) for item in items),
    "int": lambda digits, _unused: int(digits),
    "float": lambda word, _unused: float(word),
}
