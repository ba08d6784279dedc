"""The fields of a protobuf message, from its bytes; unknown ones are given like all others.

Source: protobuf.dev/programming-guides/encoding.

    >>> list(fields(bytes.fromhex("10 80 02")))
    [(2, 0, 256)]
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # the wire types that are in use

Field = tuple[int, int, int | bytes]
"""Its number, its wire type, and a varint's number or anything else's bytes."""


def fields(data: bytes) -> Iterator[Field]:
    """The fields of a message in order.

    Raises:
        ValueError: These bytes are no message.
    """
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if not number:
            raise ValueError("a field has the number 0")
        if wire == VARINT:
            value, at = varint(data, at)
            yield number, wire, value
            continue
        if wire == BYTES:
            length, at = varint(data, at)
        elif wire in {FIXED64, FIXED32}:
            length = 8 if wire == FIXED64 else 4
        else:
            raise ValueError(f"a field has the wire type {wire}")
        if at + length > len(data):
            raise ValueError("a field is cut off")
        yield number, wire, data[at : at + length]
        at += length


def varint(data: bytes, at: int) -> tuple[int, int]:
    """An integer of seven bits a byte, and where it ends; a ``ValueError`` where there is none."""
    number = shift = 0
    while shift < 70:
        if at >= len(data):
            raise ValueError("an integer is cut off")
        number |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return number & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
    raise ValueError("an integer has more than ten bytes")


def signed(number: int) -> int:
    """An integer of 64 bits as the negative number that it may stand for."""
    return number - (1 << 64) if number >> 63 else number
