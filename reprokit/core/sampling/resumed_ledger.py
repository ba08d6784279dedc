"""The ledger of a resumed program, in the words of the run that was never stopped.

A resumed program counts its updates from the start, and may read its samples with other loaders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.core.sampling.samples import CONTENT_DIGITS, LEDGER, Record, ledgers_of, number_of, read_ids

_MOST_LEDGERS = 1_000


def continued(
    whole: Sequence[Record],
    resumed: Sequence[Record],
    *,
    began_with: Any,
    loaders: tuple[Sequence[Record], Sequence[Record]] = ((), ()),
) -> list[dict[str, Any]] | None:
    """The records of a resumed program, numbered as the whole run's are; None where no place fits.

    Args:
        whole: Records of the run that was never stopped, with ``parameters`` after each update.
        resumed: Those of the resumed one, which counts its updates from the start.
        began_with: The parameters that it had before its first update, given in the same way.
        loaders: What is known of the loaders of both, in the order of their ledgers. A resumed program may
            make one that the whole run never made, and numbers them from the start. Of several loaders of the
            same lines, in each update the one is meant that has the same samples there, if any has.

    A loop that resumes by iterating over what it has trained on is given those batches before its first
    update: of that update's samples only the last ones count, as many as the whole run's update has. What
    other loaders evaluate before it need not be what the whole run evaluates there.
    """
    at = next((one for one in whole if one.get("parameters") == began_with), None)
    if at is None:
        return None
    before = at.get("update") or 0
    ours = {(one.get("update"), one.get("process")): one for one in whole}
    same = _same_loaders(*loaders)
    numbered: list[dict[str, Any]] = []
    for one in resumed:
        read = one if numbered else _without_evaluations(one, loaders[1])
        record = {**read, "update": one["update"] + before}
        other = ours.get((record["update"], one.get("process")), {})
        numbered.append(_named_alike(record, other, same, is_first=not numbered))
    if numbered:
        _forget_what_was_read_before(numbered[0], ours)
    return numbered


def _without_evaluations(first: Record, loaders: Sequence[Record]) -> Record:
    """A record without the ledgers of loaders that are never read with gradients, next to one that is."""
    known = {name: loaders[number_of(name)] for name in ledgers_of(first) if number_of(name) < len(loaders)}
    evaluate = {
        name for name, one in known.items() if 0 < one.get("batches", 0) == one.get("without_gradients")
    }
    if len(evaluate) == len(ledgers_of(first)):
        return first
    return {name: value for name, value in first.items() if name not in evaluate}


def _forget_what_was_read_before(first: dict[str, Any], ours: Mapping[Any, Record]) -> None:
    """Leave out a ledger that is the end of the whole run's: a loader that continued where it was.

    Between two updates the whole run may have read more before the place where it was stopped: it evaluated.
    """
    other = ours.get((first.get("update"), first.get("process")), {})
    for name in ledgers_of(first):
        if name in other and _equal(first[name], _last_of(other[name], _count(first[name]))):
            del first[name]


def _same_loaders(ours: Sequence[Record], theirs: Sequence[Record]) -> dict[int, tuple[str, ...]]:
    """Number of a resumed run's loader → the names of the whole run's ledgers of the same lines."""
    known: dict[tuple[Any, ...], tuple[str, ...]] = {}
    for number, one in enumerate(ours):
        known[_lines_of(one)] = (*known.get(_lines_of(one), ()), _name(number))
    same = {number: known[_lines_of(one)] for number, one in enumerate(theirs) if _lines_of(one) in known}
    return same or {number: (_name(number),) for number in range(_MOST_LEDGERS)}


def _lines_of(loader: Record) -> tuple[Any, ...]:
    return tuple(loader.get(name) for name in ("file", "line", "used_at", "data_set"))


def _name(number: int) -> str:
    """Of the ledger of a loader; the inverse of ``number_of``."""
    return f"{LEDGER}_{number + 1}" if number else LEDGER


def _named_alike(
    record: dict[str, Any], other: Record, same: Mapping[int, tuple[str, ...]], *, is_first: bool
) -> dict[str, Any]:
    """A resumed run's record, whose ledgers have the names that the whole run has for them in this update."""
    mine, theirs = ledgers_of(record), ledgers_of(other)
    known = {name: same[number_of(name)] for name in mine if number_of(name) in same}
    given = _paired(record, other, known, is_first=is_first)
    free = [name for name in theirs if name not in given.values()] or theirs
    parts: dict[str, list[Record]] = {}
    for name in mine:
        target = given.get(name, "")
        if name not in known and len(free) == 1:
            target = free[0]
        if target:
            parts.setdefault(target, []).append({"of": name, **record[name]})
    plain = {name: value for name, value in record.items() if name not in mine}
    joined = {name: _joined(ledgers) for name, ledgers in parts.items()}
    if is_first:
        counts = {name: _count(other[name]) for name in theirs}
        joined = {
            name: _last_of(one, counts[name]) if name in counts else one for name, one in joined.items()
        }
    return {**plain, **joined}


def _paired(
    record: Record, other: Record, known: Mapping[str, tuple[str, ...]], *, is_first: bool
) -> dict[str, str]:
    """Ledger of the resumed run → that of the whole run, among those of the same lines.

    Those with the same samples in this update first, then those with as many, then any that the whole run has
    there. One that is left is of a loader that the whole run did not read from in this update.
    """
    given: dict[str, str] = {}
    for same in (_equal, _same_ids, _as_many, lambda *_: True):
        for name, candidates in known.items():
            there = [
                candidate
                for candidate in candidates
                if candidate in other and candidate not in given.values()
            ]
            found = (
                one
                for one in there
                if same(_last_of(record[name], _count(other[one])) if is_first else record[name], other[one])
            )
            target = None if name in given else next(found, None)
            if target is not None:
                given[name] = target
    for name, candidates in known.items():
        spare = (
            candidate
            for candidate in candidates
            if candidate not in other and candidate not in given.values()
        )
        target = None if name in given else next(spare, None)
        if target is not None:
            given[name] = target
    return given


def _equal(one: Record, other: Record) -> bool:
    alike = one.get("contents") == other.get("contents")
    return alike and (
        bool(one.get("stream")) or _same_ids(one, other)
    )  # a position is no name after a resume


def _same_ids(one: Record, other: Record) -> bool:
    return not one.get("stream") and read_ids(one.get("ids")) == read_ids(other.get("ids"))


def _as_many(one: Record, other: Record) -> bool:
    return _count(one) == _count(other)


def _count(ledger: Record) -> int:
    return len(read_ids(ledger.get("ids")))


def _joined(ledgers: Sequence[Record]) -> Record:
    """One ledger of an update that several loaders fed, one after the other."""
    first = ledgers[0]
    if len(ledgers) == 1:
        return first
    contents = [ledger.get("contents") for ledger in ledgers]
    known = (
        {"contents": "".join(map(str, contents))}
        if all(isinstance(content, str) for content in contents)
        else {}
    )
    plain = {name: value for name, value in first.items() if name != "contents"}
    return {**plain, "ids": [id_ for ledger in ledgers for id_ in read_ids(ledger.get("ids"))], **known}


def _last_of(ledger: Record, count: int) -> Record:
    ids = read_ids(ledger.get("ids"))
    if len(ids) <= count:
        return ledger
    contents = ledger.get("contents")
    kept = {"contents": contents[-count * CONTENT_DIGITS :]} if isinstance(contents, str) and count else {}
    return {**ledger, "ids": list(ids[len(ids) - count :]), **kept}
