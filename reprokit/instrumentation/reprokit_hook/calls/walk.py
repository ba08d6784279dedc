"""The digest of any value: equal values give equal digests, in another process too.

Arrays and buffers by their bytes, containers in the order in which they iterate, sets without one, objects by
their attributes, and by pickle's protocol only where compiled code holds their state. Objects that occur
again are told by the place of their first occurrence. What cannot be read counts by its type, as not seen.

Only types are asked, never the truth, the attributes or the elements of a foreign object: a lazy object would
load, an expression of a query language would answer anything. A generator is never moved.

    >>> digest({"a": [1, 2]}, Seen()) == digest({"a": [1, 2]}, Seen())
    True
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable
from typing import Any

from . import arrays, generators, objects, own_values
from .objects import name_of

_SIZE = 8
_MOST_PARTS = 200_000
#: Objects in a set are walked one by one, and each may lead to all the others: so many parts in one digest.
_MOST_IN_SETS = 20_000
#: What a part counts for next to the bytes of arrays: walking one takes as long as reading these.
_BYTES_A_PART = 4096
_NUMBERS = frozenset([int, float, bool])
_ATOMS = frozenset([*_NUMBERS, complex, type(None), type(Ellipsis), type(NotImplemented)])


class Seen:
    """What a process could not read, by type: how often, and why; and types whose reading drew numbers."""

    def __init__(self) -> None:
        self.began = own_values.Beginning()
        self.unseen: dict[str, list[Any]] = {}
        self.moving: set[type] = set()

    def note(self, kind: type, why: str) -> None:
        self.unseen.setdefault(name_of(kind), [0, why])[0] += 1


def digest(
    value: Any,
    seen: Seen,
    *,
    generators_at: dict[str, str] | None = None,
    num_bytes: list[int] | None = None,
) -> str:
    """The digest of a value; it ends with ``?`` where a part of it was not seen.

    Args:
        value: Anything.
        seen: Takes up what could not be read.
        generators_at: Takes up the digest of the state of every random generator by its path.
        num_bytes: Takes up how many bytes of arrays and texts were read; a part counts for some, too.
    """
    walk = Walk(seen, generators_at)
    try:
        walk.go(value)
    except RecursionError:
        walk.miss(type(value), "too deep")
    except Exception as error:  # a foreign value; the watch must not end the program
        walk.miss(type(value), type(error).__name__)
    if num_bytes is not None:
        num_bytes.append(walk.num_bytes + walk.num_parts * _BYTES_A_PART)
    return str(walk.hash.hexdigest()) + ("?" if walk.missed else "")


def fingerprint(data: bytes) -> str:
    """The digest of bytes."""
    return hashlib.blake2b(data, digest_size=_SIZE).hexdigest()


class _TooManyPartsError(Exception):
    """The objects in sets have too many parts."""


class Walk:
    """One pass over a value."""

    def __init__(
        self, seen: Seen, generators_at: dict[str, str] | None = None, left: list[int] | None = None
    ) -> None:
        self.hash = hashlib.blake2b(digest_size=_SIZE)
        self.missed, self.num_bytes, self.num_parts = False, 0, 0
        #: How many parts may still be walked in sets; and whether this walk is in one.
        self._left, self._in_set = left or [_MOST_IN_SETS], left is not None
        self.seen, self._generators_at = seen, generators_at
        self._path: list[str] = []
        self._known: dict[int, int] = {}
        self._kept: list[Any] = []
        self._attribute = False

    def go(self, value: Any, name: str = "") -> None:
        """Add a value; ``name`` is what its owner calls it."""
        if self._generators_at is None:
            self._add(value)
            return
        self._path.append(name)
        try:
            self._add(value)
        finally:
            self._path.pop()

    def leaf(self, data: bytes) -> None:
        self.hash.update(b"%d:" % len(data))
        self.hash.update(data)

    def short(self, data: Any) -> bytes:
        """What stands for bytes in the digest; their number is counted."""
        view = memoryview(data)
        self.num_bytes += view.nbytes
        return arrays.short(view)

    def miss(self, kind: type, why: str) -> None:
        self.missed = True
        self.seen.note(kind, why)
        self.leaf(b"?" + name_of(kind).encode())

    def _add(self, value: Any) -> None:
        kind = type(value)
        if kind in _ATOMS:
            self._atom(value, kind)
        elif kind is str:
            text = own_values.text_of(value, started=self.seen.began.wall)
            self.leaf(b"s" + text.encode("utf-8", "surrogatepass"))
        elif kind is bytes or kind is bytearray:
            self.leaf(b"b" + self.short(value))
        else:
            self._once(value, kind)

    def _atom(self, value: Any, kind: type) -> None:
        if kind is int or kind is float:
            own = own_values.number_of(value, self.seen.began, attribute=self._attribute)
            if own:
                self.leaf(own.encode())
                return
        self.leaf(value.hex().encode() if kind is float else repr(value).encode())

    def _once(self, value: Any, kind: type) -> None:
        """Something that can occur again: its place then."""
        first = self._known.get(id(value))
        if first is not None:
            self.leaf(b"@%d" % first)
            return
        self._known[id(value)] = len(self._known)
        self._kept.append(value)
        self.num_parts += 1
        if self._in_set:
            self._left[0] -= 1
            if self._left[0] < 0:
                raise _TooManyPartsError
        if len(self._kept) > _MOST_PARTS:
            self.miss(kind, "too many parts")
            return
        attribute, self._attribute = self._attribute, False
        objects.add(self, value, kind)
        self._attribute = attribute

    def generator(self, kind: type, state: Any) -> None:
        """A random generator: its kind and its state."""
        self.leaf(b"R" + name_of(kind).encode())
        if self._generators_at is not None:
            path = f"{''.join(self._path)} ({kind.__name__})".strip()
            self._generators_at[path] = digest(state, self.seen)
        self.go(state, ".state")

    def items(self, values: list[Any] | tuple[Any, ...]) -> None:
        """Elements in their order; many of one plain kind at once."""
        if len(values) > 4:
            kinds = set(map(type, values))
            if kinds <= _NUMBERS:
                self.leaf(self.short(marshal.dumps(tuple(values), 2)))
                return
            if kinds == {str}:
                joined = own_values.text_of("\0".join(values), started=self.seen.began.wall)
                self.leaf(self.short(joined.encode("utf-8", "surrogatepass")))
                return
        for number, one in enumerate(values):
            self.go(one, f"[{number}]")

    def pairs(self, items: Any) -> None:
        """Keys and values, in their order."""
        for key, one in items:
            self.go(key, ".key")
            self.go(one, f"[{key!r}]" if type(key) in (str, int) else "[..]")

    def attributes(self, found: dict[str, Any]) -> None:
        for name, one in list(found.items()):
            self.leaf(b"." + str(name).encode("utf-8", "surrogatepass"))
            self._attribute = True
            self.go(one, f".{name}")
        self._attribute = False

    def unordered(self, values: Any) -> None:
        """A set: its elements' digests, sorted; one that leads to too much is not seen at all."""
        try:
            found = [self._alone(one) for one in values]
        except _TooManyPartsError:
            if self._in_set:
                raise
            self.miss(set, "too many parts")
        else:
            self.leaf(b"".join(sorted(found)))

    def _alone(self, value: Any) -> bytes:
        """The digest of an element, whichever of them were walked before it."""
        inner = Walk(self.seen, left=self._left)
        inner._known = dict(self._known)
        try:
            inner.go(value)
        finally:
            self.num_parts += inner.num_parts
            self.num_bytes += inner.num_bytes
        self.missed |= inner.missed
        return inner.hash.digest()

    def guarded(self, kind: type, read: Callable[[], Any]) -> tuple[bool, Any]:
        """Call foreign code that reads a state: (True, it); (False, None) where that failed or drew numbers.

        A generator that it moved is put back, and values of that type are not seen from then on.
        """
        if kind in self.seen.moving:
            self.miss(kind, "reading it draws random numbers")
            return False, None
        before = generators.states()
        try:
            found = read()
        except Exception as error:
            self.miss(kind, f"{type(error).__name__}: {str(error)[:60]}")
            return False, None
        finally:
            after = generators.states()
            if generators.as_bytes(before) != generators.as_bytes({one: after[one] for one in before}):
                generators.put(before)
                self.seen.moving.add(kind)
        if kind in self.seen.moving:
            self.miss(kind, "reading it draws random numbers")
            return False, None
        return True, found
