"""A checkpoint flattened to paths such as ``random.environments.3``, and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reprokit.errors import CheckpointError

_MAX_LEAVES = 1_000_000
_MAX_DEPTH = 60


def leaves(state: Any) -> Iterator[tuple[str, Any]]:
    """Every value with its path, in the file's order; an empty dict or list is a value too.

    Raises:
        CheckpointError: It is nested too deep, or contains itself.
    """
    for count, leaf in enumerate(_below(state, at="", depth=0)):
        if count >= _MAX_LEAVES:
            raise CheckpointError(f"it expands to more than {_MAX_LEAVES:,} values")
        yield leaf


def dict_key(key: Any) -> str | int:
    """The key, if JSON and torch both can hold it; else a `CheckpointError`."""
    if isinstance(key, str | int):
        return key
    raise CheckpointError("it holds a dict whose key is neither text nor a number")


def _below(value: Any, *, at: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > _MAX_DEPTH:
        raise CheckpointError(
            f"it is nested more than {_MAX_DEPTH} levels deep, or contains itself", where=at[:80]
        )
    if isinstance(value, Mapping) and value:
        items = list(value.items())
    elif isinstance(value, list | tuple) and value:
        items = list(enumerate(value))
    else:
        yield at, value
        return
    for name, inner in items:
        yield from _below(inner, at=f"{at}.{name}" if at else str(name), depth=depth + 1)
