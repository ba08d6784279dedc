"""The first wrong sample of two ledgers: which update trained on another one, and where the right one went.

A ledger is what the records of a trace hold under ``samples``: the ids of an update in order, and where it is
known a digest of what arrived under each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEDGER = "samples"
CONTENT_DIGITS = 16
_SHOWN = 4
_SHORT = 10
_ALIKE = 8
_MOST_IDS = 1 << 24
#: An integer, or the name of a sample that has no number.
Id = int | str
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongSample:
    """Where two ledgers first differ.

    Attributes:
        update: Of the run that is compared, from 1.
        step: As its record has it; None where it has none.
        position: In the update, from 0.
        expected: The id that the other run has there; None where it has no more.
        actual: The id; None where there are no more.
        how: ``again``, ``skipped``, ``order``, ``worker``, ``other``, ``missing``, ``extra`` or ``content``.
        ledger: Which of that run's: ``samples``, or ``samples_2`` of its second loader.
        told: A sentence without a subject: ``update 412 trained on samples 9,120, 9,121.. again``.
    """

    update: int
    step: Any
    position: int
    expected: Id | None
    actual: Id | None
    how: str
    told: str
    ledger: str = LEDGER

    def as_data(self) -> dict[str, Any]:
        """Its attributes, for a report."""
        return {name: getattr(self, name) for name in self.__slots__}


def read_ids(ids: Any) -> tuple[Id, ...]:
    """Ids as a trace spells them: ``4-6,9``, or a list of names.

    Raises:
        ValueError: They are spelled otherwise, or are more than 2^24.

    >>> read_ids("4-6,9,-1")
    (4, 5, 6, 9, -1)
    """
    if isinstance(ids, list):
        return tuple(id_ if isinstance(id_, int) and not isinstance(id_, bool) else str(id_) for id_ in ids)
    if not isinstance(ids, str):
        raise ValueError(f"ids are spelled as {type(ids).__name__}")  # noqa: TRY004 - a damaged file
    found: list[int] = []
    for part in ids.split(",") if ids else ():
        at = part.find("-", 1)
        first, last = (int(part), int(part)) if at < 0 else (int(part[:at]), int(part[at + 1 :]))
        if last - first > _MOST_IDS or len(found) > _MOST_IDS:
            raise ValueError("there are more ids than any update has")
        found.extend(range(first, last + 1))
    return tuple(found)


def ledgers_of(record: Record) -> list[str]:
    """Their names, in the order in which their loaders were first used."""
    found = [name for name in record if name == LEDGER or name.startswith(f"{LEDGER}_")]
    return sorted(found, key=number_of)


def number_of(ledger: str) -> int:
    """Which loader of a run a ledger is of, from 0.

    >>> number_of("samples"), number_of("samples_2")
    (0, 1)
    """
    return int(ledger.partition("_")[2] or 1) - 1


def first_wrong_sample(expected: Iterable[Record], actual: Iterable[Record]) -> WrongSample | None:
    """The first sample in which two traces differ; None where no ledger differs, or one of them has none.

    Args:
        expected: Records of the uninterrupted or blessed run; of a thinned trace those that it has.
        actual: Records of the other run, its updates numbered as those of ``expected`` are.

    Raises:
        ValueError: A ledger is damaged.
    """
    ours, theirs = list(expected), list(actual)
    names = sorted({name for one in ours for name in ledgers_of(one)})
    processes = dict.fromkeys(one.get("process") for one in ours)
    found = [
        wrong
        for process in processes
        for name in names
        if (wrong := _first(*(_ledger(side, name, process) for side in (ours, theirs))))
    ]
    return min(found, key=lambda one: one.update, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """What a record says of its samples."""

    update: int
    step: Any
    ids: tuple[Id, ...]
    contents: tuple[str, ...]
    worker: Any
    ledger: str


def _ledger(records: Iterable[Record], name: str, process: Any) -> list[_Line]:
    return [
        _line(record, record[name], name)
        for record in records
        if name in record and record.get("process") == process
    ]


def _line(record: Record, ledger: Any, name: str) -> _Line:
    update, text = record.get("update"), ledger.get("contents") if isinstance(ledger, Mapping) else None
    if not isinstance(update, int) or not isinstance(ledger, Mapping):
        raise ValueError("a record has no number of its update, or no samples")  # noqa: TRY004 - as above
    text = text if isinstance(text, str) else ""
    contents = tuple(text[n : n + CONTENT_DIGITS] for n in range(0, len(text), CONTENT_DIGITS))
    ids = read_ids(ledger.get("ids"))
    known = bool(ledger.get("stream")) and len(contents) == len(ids)  # a position is no name after a resume
    return _Line(
        update=update,
        step=record.get("step"),
        ids=tuple(f"#{content[:_SHORT]}" for content in contents) if known else ids,
        contents=contents,
        worker=ledger.get("worker"),
        ledger=str(ledger.get("of", name)),
    )


def _first(ours: Sequence[_Line], theirs: Sequence[_Line]) -> WrongSample | None:
    if not ours or not theirs:
        return None
    others = {one.update: one for one in theirs}
    for index, one in enumerate(ours):
        other = others.get(one.update)
        if other is None and one.update > theirs[-1].update:
            return None  # a trace that ends early is another difference
        found = None if other is None else _wrong(ours, index, other)
        if found is not None:
            return found
    return None


def _wrong(ours: Sequence[_Line], index: int, other: _Line) -> WrongSample | None:
    mine, theirs = ours[index].ids, other.ids
    if mine == theirs:
        return _other_content(ours[index], other)
    at = next((n for n, pair in enumerate(zip(mine, theirs, strict=False)) if pair[0] != pair[1]), None)
    position = min(len(mine), len(theirs)) if at is None else at
    how, told = _explained(ours, index, theirs, position)
    return WrongSample(
        update=other.update,
        step=other.step,
        position=position,
        expected=mine[position] if position < len(mine) else None,
        actual=theirs[position] if position < len(theirs) else None,
        how=how,
        told=f"update {other.update:,} {told}",
        ledger=other.ledger,
    )


def _explained(ours: Sequence[_Line], index: int, theirs: Sequence[Id], at: int) -> tuple[str, str]:
    """What became of the right sample, and what the update has done in its place."""
    mine = ours[index].ids
    if at >= len(theirs):
        return "missing", f"did not train on sample {_shown(mine[at:])}"
    if at >= len(mine):
        return "extra", f"trained on sample {_shown(theirs[at:])} too, which the other run did not"
    return _replaced(ours, index, theirs, at)


def _replaced(ours: Sequence[_Line], index: int, theirs: Sequence[Id], at: int) -> tuple[str, str]:
    mine = ours[index].ids
    expected = f"expected {_shown(mine[at:])}"
    if sorted(map(str, mine)) == sorted(map(str, theirs)):
        return "order", f"trained on its samples in a different order: {_shown(theirs[at:])}, {expected}"
    twice = _twice(mine, theirs)
    if twice:
        return "other", twice
    place = _place(ours, index, theirs[at:])
    if place is None:
        return "other", f"trained on sample {_shown(theirs[at:])}, {expected}"
    gap = place - index
    name = f"update {ours[place].update:,}"
    workers = {ours[place].worker, ours[index].worker} - {None}
    if len(workers) == 2:
        return "worker", f"trained on another worker's samples {_shown(theirs[at:])}, of {name}; {expected}"
    if gap < 0:
        return "again", f"trained on samples {_shown(theirs[at:])} again, those of {name}; {expected}"
    return "skipped", f"skipped samples {_shown(mine[at:])} and trained on {_shown(theirs[at:])}, of {name}"


def _twice(mine: Sequence[Id], theirs: Sequence[Id]) -> str:
    """What an update trained on too often, and what it lacks; "" where it has samples of others."""
    ours, others = Counter(mine), Counter(theirs)
    if not set(others) <= set(ours):
        return ""
    more, missing = list((others - ours).elements()), list((ours - others).elements())
    without = f" and not on sample {_shown(missing)}" if missing else ""
    return f"trained on sample {_shown(more)} more often than expected{without}" if more else ""


def _place(ours: Sequence[_Line], index: int, wanted: Sequence[Id]) -> int | None:
    """The nearest other record of ours that has these ids one after the other; earlier ones first."""
    begin = tuple(wanted[:_ALIKE])
    others: list[int] = [n for n in range(len(ours)) if n != index]
    for number in sorted(others, key=lambda n: (abs(n - index), n)):
        ids = ours[number].ids
        if begin[0] not in ids:
            continue
        after = ours[number + 1].ids if number + 1 < len(ours) else ()
        starts = [n for n, one in enumerate(ids) if one == begin[0]]
        if any((ids + after)[start : start + len(begin)] == begin for start in starts):
            return number
    return None


def _other_content(one: _Line, other: _Line) -> WrongSample | None:
    """Equal ids: the first that stands for something else."""
    pairs = zip(one.ids, one.contents, other.contents, strict=False)
    at = next((n for n, (_, mine, theirs) in enumerate(pairs) if mine != theirs), None)
    if at is None:
        return None
    shown = _shown(one.ids[at : at + 1])
    return WrongSample(
        update=other.update,
        step=other.step,
        position=at,
        expected=one.ids[at],
        actual=one.ids[at],
        how="content",
        told=f"update {other.update:,} trained on sample {shown}, whose contents differ there",
        ledger=other.ledger,
    )


def _shown(ids: Sequence[Id]) -> str:
    """The first few ids, and two points where there are more.

    >>> _shown([9120, 9121, 9122, 9123, 9124])
    '9,120, 9,121, 9,122, 9,123..'
    """
    words = [f"{id_:,}" if isinstance(id_, int) else id_ for id_ in ids[:_SHOWN]]
    return ", ".join(words) + (".." if len(ids) > _SHOWN else "")
