"""The ledger of a resumed program, told as the run that was never stopped tells it.

A resumed program counts its updates anew, and may read its samples with other loaders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.core.samples import CONTENT_DIGITS, LEDGER, Record, ledgers_of, number_of, read_ids

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
        resumed: Those of the resumed one, which counts its updates anew.
        began_with: The parameters that it had before its first update, told in the same way.
        loaders: What is known of the loaders of both, in the order of their ledgers. A resumed program may
            make one that the whole run never made, and numbers them anew: those of one line are one.

    A loop that resumes by iterating over what it has trained on is given those batches before its first
    update: of that update's samples only the last ones count, as many as the whole run's update has.
    """
    at = next((one for one in whole if one.get("parameters") == began_with), None)
    if at is None:
        return None
    before = at.get("update") or 0
    ours = {(one.get("update"), one.get("process")): one for one in whole}
    same = _same_loaders(*loaders)
    numbered: list[dict[str, Any]] = []
    for one in resumed:
        record = {**one, "update": one["update"] + before}
        numbered.append(_named_alike(record, ours.get((record["update"], one.get("process")), {}), same))
    first = ours.get((numbered[0]["update"], numbered[0].get("process")), {}) if numbered else {}
    for name in ledgers_of(first):
        if name in numbered[0]:
            numbered[0][name] = _last_of(numbered[0][name], len(read_ids(first[name].get("ids"))))
    return numbered


def _same_loaders(ours: Sequence[Record], theirs: Sequence[Record]) -> dict[int, int]:
    """Number of a resumed run's loader → the whole run's of the same lines."""
    known = {_lines_of(one): number for number, one in reversed([*enumerate(ours)])}
    same = {number: known[_lines_of(one)] for number, one in enumerate(theirs) if _lines_of(one) in known}
    return same or {number: number for number in range(_MOST_LEDGERS)}


def _lines_of(loader: Record) -> tuple[Any, ...]:
    return tuple(loader.get(name) for name in ("file", "line", "used_at", "data_set"))


def _named_alike(record: dict[str, Any], other: Record, same: Mapping[int, int]) -> dict[str, Any]:
    """A resumed run's record, whose ledgers have the names that the whole run has for them in this update."""
    mine, theirs = ledgers_of(record), ledgers_of(other)
    given = {name: f"{LEDGER}_{same[number_of(name)] + 1}" for name in mine if number_of(name) in same}
    given = {name: LEDGER if number_of(one) == 0 else one for name, one in given.items()}
    free = [name for name in theirs if name not in given.values()] or theirs
    parts: dict[str, list[Record]] = {}
    for name in mine:
        target = given.get(name) or (free[0] if len(free) == 1 else "")
        if target:
            parts.setdefault(target, []).append({"of": name, **record[name]})
    plain = {name: value for name, value in record.items() if name not in mine}
    return {**plain, **{name: _joined(ledgers) for name, ledgers in parts.items()}}


def _joined(ledgers: Sequence[Record]) -> Record:
    """One ledger of an update that several loaders fed, one after the other."""
    first = ledgers[0]
    if len(ledgers) == 1:
        return first
    contents = [one.get("contents") for one in ledgers]
    known = {"contents": "".join(map(str, contents))} if all(isinstance(one, str) for one in contents) else {}
    plain = {name: value for name, value in first.items() if name != "contents"}
    return {**plain, "ids": [id_ for one in ledgers for id_ in read_ids(one.get("ids"))], **known}


def _last_of(ledger: Record, count: int) -> Record:
    ids = read_ids(ledger.get("ids"))
    if len(ids) <= count:
        return ledger
    contents = ledger.get("contents")
    kept = {"contents": contents[-count * CONTENT_DIGITS :]} if isinstance(contents, str) and count else {}
    return {**ledger, "ids": list(ids[len(ids) - count :]), **kept}
