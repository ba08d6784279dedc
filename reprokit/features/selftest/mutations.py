"""Faults in a metrics file, as functions from records to records and from bytes to bytes.

Pure: a generator comes in, nothing else. What a function returns is never equal to what it was given,
or it raises.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeAlias

from reprokit.errors import CannotJudgeError

Record: TypeAlias = dict[str, Any]
OnRecords: TypeAlias = Callable[[list[Record], Random], list[Record]]
OnBytes: TypeAlias = Callable[[bytes, Random], bytes]

STEP = "step"
_TRIES = 200


def read(data: bytes) -> list[Record]:
    """The records of a metrics file that is whole."""
    return [json.loads(line) for line in data.splitlines()]


def write(found: list[Record]) -> bytes:
    """Records as the runtime writes them: one object a line, floats in full precision."""
    return "".join(f"{json.dumps(record)}\n" for record in found).encode()


def records(found: list[Record], mutate: OnRecords, *, rng: Random) -> list[Record]:
    """Mutate until bits, names or order really changed; a ``CannotJudgeError`` where nothing can."""
    before = write(found)
    for _ in range(_TRIES):
        try:
            after = mutate([dict(record) for record in found], rng)
        except (IndexError, ValueError):  # nothing, or too little, to choose from
            break
        if write(after) != before:
            return after
    raise not_plantable(mutate.__name__)


def raw(data: bytes, mutate: OnBytes, *, rng: Random) -> bytes:
    """The same for bytes."""
    for _ in range(_TRIES):
        try:
            after = mutate(data, rng)
        except (IndexError, ValueError):
            break
        if after != data:
            return after
    raise not_plantable(mutate.__name__)


def not_plantable(what: str) -> CannotJudgeError:
    """The error for a fault that these files have no place for."""
    return CannotJudgeError(f"these runs have no place for the fault {what!r}")


def number(value: Callable[[float, Random], float]) -> OnRecords:
    """Another value for one float of one record."""

    def mutate(found: list[Record], rng: Random) -> list[Record]:
        index, name = rng.choice(list(floats(found)))
        found[index][name] = value(found[index][name], rng)
        return found

    mutate.__name__ = value.__name__
    return mutate


def floats(found: list[Record], *, but: frozenset[str] = frozenset()) -> Iterator[tuple[int, str]]:
    """Record and name of every finite float."""
    for index, record in enumerate(found):
        for name, value in record.items():
            if name not in but and isinstance(value, float) and math.isfinite(value):
                yield index, name


def flipped_bit(value: float, rng: Random) -> float:
    """One of the 64 bits of a double the other way round."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    (flipped,) = struct.unpack("<d", struct.pack("<Q", bits ^ (1 << rng.randrange(64))))
    return float(flipped)


def one_ulp(value: float, rng: Random) -> float:
    """The next double above or below."""
    return math.nextafter(value, rng.choice((math.inf, -math.inf)))


def negative_zero(value: float, rng: Random) -> float:
    """Zero with the sign that a comparison with ``==`` does not see."""
    return -0.0


def nan(value: float, rng: Random) -> float:
    """Not a number."""
    return math.nan


def infinity(value: float, rng: Random) -> float:
    """One of the two."""
    return rng.choice((math.inf, -math.inf))


def opposite_sign(value: float, rng: Random) -> float:
    """The value, negated."""
    return -value


def sign_of_zero(found: list[Record], rng: Random) -> list[Record]:
    """0.0 as -0.0, or the other way round: equal to ``==``, another number all the same."""
    zeros = [(index, name) for index, name in floats(found) if found[index][name] == 0]
    index, name = rng.choice(zeros)
    found[index][name] = -found[index][name]
    return found


def rounded(found: list[Record], rng: Random) -> list[Record]:
    """Every float as a log for people has it: with so many decimals."""
    decimals = rng.choice((4, 6, 8, 12))
    for index, name in floats(found):
        found[index][name] = round(found[index][name], decimals)
    return found


def another_type(found: list[Record], rng: Random) -> list[Record]:
    """A number as text, null or true."""
    index, name = rng.choice(list(floats(found)))
    found[index][name] = rng.choice((repr(found[index][name]), None, True))
    return found


def another_step(found: list[Record], rng: Random) -> list[Record]:
    """A step that is off by one."""
    rng.choice(found)[STEP] += rng.choice((-1, 1))
    return found


def drop_record(found: list[Record], rng: Random) -> list[Record]:
    """One record less."""
    del found[rng.randrange(len(found))]
    return found


def double_record(found: list[Record], rng: Random) -> list[Record]:
    """One record twice."""
    index = rng.randrange(len(found))
    return [*found[: index + 1], *found[index:]]


def swap_records(found: list[Record], rng: Random) -> list[Record]:
    """Two records in each other's place."""
    first, second = rng.sample(range(len(found)), 2)
    found[first], found[second] = found[second], found[first]
    return found


def shift_metric(found: list[Record], rng: Random) -> list[Record]:
    """The values of one metric, each in the place of the one before."""
    name = rng.choice(_names(found))
    holders = [record for record in found if name in record]
    values = [record[name] for record in holders]
    for record, value in zip(holders, [*values[1:], values[0]], strict=True):
        record[name] = value
    return found


def swap_metrics(found: list[Record], rng: Random) -> list[Record]:
    """The values of two metrics of one record in each other's place."""
    record = rng.choice(found)
    first, second = rng.sample([name for name in record if name != STEP], 2)
    record[first], record[second] = record[second], record[first]
    return found


def drop_metric(found: list[Record], rng: Random) -> list[Record]:
    """A metric that one record, or none, has."""
    names = _names(found)
    name = rng.choice(names)
    everywhere = len(names) > 1 and rng.random() < 0.5  # without any metric there is nothing to compare
    for record in found if everywhere else [rng.choice(found)]:
        record.pop(name, None)
    return found


def rename_metric(found: list[Record], rng: Random) -> list[Record]:
    """A metric under another name, in one record or in all."""
    name = rng.choice(_names(found))
    other = f"{name}{rng.choice(('_', '2', ' ', 'é'))}"
    chosen = found if rng.random() < 0.5 else [rng.choice(found)]
    return [
        {other if key == name and record in chosen else key: value for key, value in record.items()}
        for record in found
    ]


def extra_metric(found: list[Record], rng: Random) -> list[Record]:
    """A metric that no one else logs."""
    rng.choice(found)["selftest/extra"] = rng.random()
    return found


def another_order(found: list[Record], rng: Random) -> list[Record]:
    """The names of every record in another order, which means nothing."""
    return [dict(rng.sample(list(record.items()), len(record))) for record in found]


def cut_in_a_line(data: bytes, rng: Random) -> bytes:
    """The file ends in a line: anywhere but at its end."""
    start, end = rng.choice(list(_lines(data)))
    return data[: rng.randrange(start + 1, end)]


def cut_in_a_number(data: bytes, rng: Random) -> bytes:
    """The file ends between two digits of a number."""
    digits = [i for i in range(1, len(data)) if data[i - 1 : i].isdigit() and data[i : i + 1].isdigit()]
    return data[: rng.choice(digits)]


def cut_at_a_line_end(data: bytes, rng: Random) -> bytes:
    """The file ends with a whole record, before the last one."""
    return data[: rng.choice([end + 1 for _, end in _lines(data)][:-1])]


def cut_before_the_newline(data: bytes, rng: Random) -> bytes:
    """The file ends with the last record, without the end of its line."""
    return data.rstrip(b"\n")


def emptied(data: bytes, rng: Random) -> bytes:
    """The file is there, and there is nothing in it."""
    return b""


def more_white_space(data: bytes, rng: Random) -> bytes:
    """White space between the tokens of every line, which means nothing."""
    spaced = (json.dumps(record, separators=(rng.choice((", ", ",", " , ")), " : ")) for record in read(data))
    return "".join(f"{line}\n" for line in spaced).encode()


def _names(found: list[Record]) -> list[str]:
    return sorted({name for record in found for name in record} - {STEP})


def _lines(data: bytes) -> Iterator[tuple[int, int]]:
    """Start of every line, and the place of its newline."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield start, end
        start = end + 1
