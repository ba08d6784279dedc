"""Which samples went into which update, and what arrived for each: digested for many updates at a time.

    >>> ledger = Ledger()
    >>> ledger.add(412, as_ids(samples), (pixels, labels))
    >>> ledger.take()
    ([{'count': 64, 'digest': '…', 'ids': '17,4,…', 'contents': '…'}], None)

Beside an update of a few milliseconds, a digest of its own would cost four times as much: most of it is
Python that is no longer in the processor's caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from reprokit.errors import DataError, MetricsError
from reprokit.runtime.samples import Contents, Ids, ids_digest, sample_contents, spelled_each

Arrived = Sequence[torch.Tensor | npt.NDArray[Any]]

_MOST_BYTES = 4 << 20  # of copies of what arrived
_TABLE = 1 << 23  # ids below it stand in a table


class _Update(NamedTuple):
    """One update that was not digested yet; ``arrived`` holds copies, because trainers use memory again."""

    number: int
    ids: Ids
    arrived: tuple[Any, ...]


class Ledger:
    """The samples of a run."""

    def __init__(self) -> None:
        self._waiting: list[_Update] = []
        self._bytes = 0
        self._known = _Known()
        self._first_ids: list[tuple[int, Ids]] = []  # updates that brought new ids, and all of theirs

    @property
    def full(self) -> bool:
        """Whether the copies take so much memory that they should be digested."""
        return self._bytes >= _MOST_BYTES

    def add(self, update: int, ids: Ids, arrived: Arrived) -> None:
        """Keep the samples of one update.

        Args:
            update: Its number.
            ids: One a sample, in order.
            arrived: Inputs, labels, …, a row a sample; empty where what arrived is not recorded. An array
                that is read-only is not copied.

        Raises:
            MetricsError: A tensor has not one row for each id.
        """
        for tensor in arrived:
            if not tensor.ndim or len(tensor) != len(ids):
                actual = f"{tensor.dtype} of shape {tuple(tensor.shape)}"
                raise MetricsError("every sample needs its row", expected=f"{len(ids)} rows", actual=actual)
        copies = tuple([_kept(one) for one in arrived])
        self._bytes += sum([one.nbytes for one in copies])
        self._waiting.append(_Update(update, ids, copies))

    def take(self) -> tuple[list[dict[str, Any]], DataError | None]:
        """What the trace says of the updates that were added since the last call, in order.

        Returns:
            ``count``, ``digest``, ``ids`` and, where something arrived, ``contents`` of each; and None. Of
            the first sample that is not what it was, the error, and only the updates before it.

        Raises:
            MetricsError: What arrived has no rows of numbers.
        """
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        contents = _contents_of(waiting)
        recorded = [
            (one, content) for one, content in zip(waiting, contents, strict=True) if content is not None
        ]
        good, error = len(waiting), None
        if recorded:
            ids = np.concatenate([update.ids for update, _ in recorded])
            wrong, new = self._known.first_wrong(ids, np.concatenate([one for _, one in recorded]))
            if new:
                self._first_ids += [(update.number, update.ids) for update, _ in recorded]
            if wrong is not None:
                numbers = np.repeat(
                    [update.number for update, _ in recorded], [len(one) for _, one in recorded]
                )
                error = self._error(int(ids[wrong]), int(numbers[wrong]))
                good = next(n for n, update in enumerate(waiting) if update.number == numbers[wrong])
        return _told(waiting[:good], contents[:good]), error

    def _error(self, name: int, update: int) -> DataError:
        first = next(number for number, ids in self._first_ids if name in ids)
        return DataError(
            f"sample {name:,} of update {update:,} is not what it was in update {first:,}",
            fix="pass what arrived before augmentation, or find what changes the data",
        )


class _Known:
    """The content of every id so far: a table, because a dict would take a step of Python a sample."""

    def __init__(self) -> None:
        self._contents, self._there = np.zeros(0, np.uint64), np.zeros(0, np.bool_)
        self._numbers: dict[int, int] = {}  # of ids that lie beyond a table: negative ones, hashes

    def first_wrong(self, ids: Ids, contents: Contents) -> tuple[int | None, bool]:
        """The place of the first id that has another content than before; and whether any id was new."""
        places = self._places(ids)
        new = np.flatnonzero(~self._there[places])[::-1]  # backwards: of one id twice, the first counts
        self._contents[places[new]] = contents[new]
        self._there[places] = True
        wrong = np.flatnonzero(self._contents[places] != contents)
        return (int(wrong[0]) if wrong.size else None), bool(new.size)

    def _places(self, ids: Ids) -> Ids:
        beyond = (ids < 0) | (ids >= _TABLE)
        if beyond.any():
            numbers = self._numbers
            ids = ids.copy()
            ids[beyond] = [_TABLE + numbers.setdefault(one, len(numbers)) for one in ids[beyond].tolist()]
        if (size := int(ids.max(initial=0)) + 1) > len(self._there):
            contents, there = self._contents, self._there
            size = max(size, 2 * len(there))
            self._contents, self._there = np.zeros(size, np.uint64), np.zeros(size, np.bool_)
            self._contents[: len(there)], self._there[: len(there)] = contents, there
        return ids


def _kept(tensor: torch.Tensor | npt.NDArray[Any]) -> torch.Tensor | npt.NDArray[Any]:
    """A copy; of memory that nobody writes to, the same."""
    if not isinstance(tensor, np.ndarray):
        return tensor.detach().clone()
    owner = tensor if tensor.base is None else tensor.base
    return tensor if isinstance(owner, np.ndarray) and not owner.flags.writeable else tensor.copy()


def _told(updates: Sequence[_Update], contents: Sequence[Contents | None]) -> list[dict[str, Any]]:
    if not updates:
        return []
    told: list[dict[str, Any]] = [
        {"count": len(update.ids), "digest": ids_digest(update.ids), "ids": text}
        for update, text in zip(updates, spelled_each([one.ids for one in updates]), strict=True)
    ]
    for one, own in zip(told, contents, strict=True):
        if own is not None:
            one["contents"] = own.astype(">u8").tobytes().hex()
    return told


def _contents_of(waiting: list[_Update]) -> list[Contents | None]:
    """One number a sample of every update: at once where all have the same kinds of tensors."""
    kinds = {tuple((type(one), one.dtype, one.shape[1:]) for one in update.arrived) for update in waiting}
    if len(kinds) != 1:
        return [sample_contents(*update.arrived) if update.arrived else None for update in waiting]
    if not waiting[0].arrived:
        return [None] * len(waiting)
    whole = (
        torch.cat(parts) if isinstance(parts[0], torch.Tensor) else np.concatenate(parts)
        for parts in zip(*(update.arrived for update in waiting), strict=True)
    )
    ends = list(accumulate(len(update.ids) for update in waiting))
    return list(np.split(sample_contents(*whole), ends[:-1]))
