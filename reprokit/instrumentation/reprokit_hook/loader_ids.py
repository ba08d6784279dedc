"""The ids of a batch: integers as they are, anything else by its text, an object without a name by its place.

>>> list(of_batch([3, "cat"]).ids)
[3, "'cat'"]
"""

from __future__ import annotations

import array
import hashlib
import operator
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

_LONGEST = 60
_BEGINNING = 43
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True)
class Ids:
    """What a sampler asked for.

    Attributes:
        ids: In order; a text without its address where an object has no name.
        nameless: Places, from 0, of the ids that are told by an address alone.
        opaque: True where the batch cannot be looked into, such as an iterator: nothing of it is taken.
    """

    ids: list[Any]
    nameless: tuple[int, ...] = ()
    opaque: bool = False


def of_batch(index: Any) -> Ids:
    """The ids of a batch, or of the one sample that a loader without batches asks for."""
    if isinstance(index, list) and set(map(type, index)) <= {int}:
        return Ids(list(index))
    if isinstance(index, range):
        return Ids(list(index))
    if _is_array(index):
        members = index.tolist()
    elif isinstance(index, (Sequence, Set, array.array)) and not isinstance(index, (str, bytes, bytearray)):
        members = list(index)
    else:
        members = [index]
    ids = [_id(member) for member in members]
    nameless = tuple(n for n, one in enumerate(members) if not isinstance(one, str) and _is_nameless(ids[n]))
    for place in nameless:
        ids[place] = _ADDRESS.sub("", ids[place])
    opaque = bool(nameless) and len(members) == 1 and members[0] is index
    return Ids([_short(id_) for id_ in ids], nameless, opaque)


def _is_nameless(one: Any) -> bool:
    return isinstance(one, str) and bool(_ADDRESS.search(one))


def _is_array(one: Any) -> bool:
    return hasattr(one, "tolist") and bool(getattr(one, "ndim", 0))


def _id(one: Any) -> Any:
    try:
        return operator.index(one)
    except (TypeError, ValueError, RuntimeError):
        return _text(one)


def _text(one: Any) -> str:
    """The same for equal values; of tensors and arrays all numbers, whatever their length."""
    for kind in (str, float):
        if isinstance(one, kind):
            return kind.__repr__(one)
    if type(one) in (tuple, list):
        inside = ", ".join(map(_text, one))
        comma = "," if len(one) == 1 and type(one) is tuple else ""
        return f"({inside}{comma})" if type(one) is tuple else f"[{inside}]"
    if hasattr(one, "tolist") and hasattr(one, "ndim"):
        return repr(one.tolist())
    return repr(one)


def _short(one: Any) -> Any:
    """A long text by its beginning and a digest of all of it."""
    if not isinstance(one, str) or len(one) <= _LONGEST:
        return one
    seen = hashlib.blake2b(one.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{one[:_BEGINNING]}~{seen}"
