"""Whether what is held out reaches what is trained on: a preparation is run again on changed rows.

    >>> found = leaks_of(prepare, rows, folds)
    >>> found[0].told
    'column 4 of the training rows changes with held-out row 17 of fold 2'

Nothing is known of the preparation: it is called as a function. What it makes of the training rows must be
the same to the bit whatever stands in the held-out rows; what it makes of a held-out row must not depend on
that row's label, nor on the other held-out rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from recipes.parts.labelled_rows import Rows, row_digests

Mask = npt.NDArray[np.bool_]
#: Rows, and which of them are trained on → features, float32 [rows, columns].
Prepare = Callable[[Rows, Mask], npt.NDArray[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """One way in which something that is held out is known in training.

    Attributes:
        kind: ``duplicate``, ``label_column``, ``fitted_on_held_out``, ``label_used``, ``held_out_together``.
        fold: The fold that is held out.
        row: A row that shows it, by its number in the file.
        column: The prepared column, from 0; of ``label_column`` the column of the file.
        told: What was seen, in a sentence.
    """

    kind: str
    fold: int
    row: int
    column: int
    told: str


def leaks_of(
    prepare: Prepare, rows: Rows, folds: npt.NDArray[np.int64], *, names: Sequence[str] = ()
) -> tuple[Leak, ...]:
    """Every leak that is found: at most one of each kind, fold and column.

    Args:
        prepare: The preparation, as the training calls it.
        rows: The table.
        folds: The fold of each row, int64 [rows].
        names: What the columns are called; numbers stand for those that have no name.
    """
    called = [names[i] if i < len(names) else str(i) for i in range(rows.features.shape[1])]
    found = [*_duplicates(rows, folds), *_label_columns(rows.features, rows.labels, called)]
    for fold in np.unique(folds).tolist():
        found += _leaks_of_fold(prepare, rows, folds != fold, fold=fold, called=called)
    return tuple(found)


def _duplicates(rows: Rows, folds: npt.NDArray[np.int64]) -> Iterator[Leak]:
    first: dict[bytes, int] = {}
    for row, digest in enumerate(row_digests(rows.features)):
        known = first.setdefault(digest, row)
        if folds[known] != folds[row]:
            told = f"row {row} of fold {folds[row]} is row {known} of fold {folds[known]} once more"
            yield Leak(kind="duplicate", fold=int(folds[row]), row=row, column=-1, told=told)


def _label_columns(
    features: npt.NDArray[np.float32], labels: npt.NDArray[np.int64], called: Sequence[str]
) -> Iterator[Leak]:
    """Columns of which each value belongs to one class, where most values come more than once."""
    for column in range(features.shape[1]):
        values, which, counts = np.unique(features[:, column], return_inverse=True, return_counts=True)
        pairs = len(np.unique(np.stack([which, labels]), axis=1).T)
        if pairs == len(values) and len(values) > 1 and counts.mean() >= 4:
            told = f"each of the {len(values)} values of column {called[column]} is of one class"
            yield Leak(kind="label_column", fold=-1, row=-1, column=column, told=told)


def _leaks_of_fold(
    prepare: Prepare, rows: Rows, training: Mask, *, fold: int, called: Sequence[str]
) -> Iterator[Leak]:
    usual, held_out = prepare(rows, training), np.flatnonzero(~training)
    found: dict[tuple[str, int], Leak] = {}

    def differing(changes: dict[str, Any], where: npt.NDArray[np.int64]) -> Mask:
        """Of each of these rows and each column, whether it is prepared in another way; [rows, columns]."""
        one, other = prepare(_changed(rows, **changes), training)[where], usual[where]
        equal: Mask = (one == other) | (np.isnan(one) & np.isnan(other))
        return ~equal

    def note(kind: str, column: int, row: int, told: str) -> None:
        name = called[column] if usual.shape[1] == rows.features.shape[1] else str(column)
        leak = Leak(kind=kind, fold=fold, row=row, column=column, told=f"column {name} of {told}")
        found.setdefault((kind, column), leak)

    trained = np.flatnonzero(training)
    for some, sign in product(_subsets(held_out), (1, -1)):
        both = differing({"features": some, "labels": some, "sign": sign}, trained)
        for column in np.flatnonzero(both.any(axis=0)).tolist():
            if ("fitted_on_held_out", column) not in found:
                each = ({"features": [one], "labels": [one], "sign": sign} for one in some)
                changes = (differing(change, trained)[:, column].any() for change in each)
                row = int(next((one for one, change in zip(some, changes, strict=True) if change), some[0]))
                told = f"the training rows changes with held-out row {row} of fold {fold}"
                note("fitted_on_held_out", column, row, told)
        for index, column in np.argwhere(differing({"labels": some}, held_out)).tolist():
            row = int(held_out[index])
            note("label_used", column, row, f"held-out row {row} of fold {fold} changes with held-out labels")
        others = np.setdiff1d(held_out, some)
        for index, column in np.argwhere(differing({"features": some, "sign": sign}, others)).tolist():
            row = int(others[index])
            told = f"held-out row {row} of fold {fold} changes with other held-out rows"
            note("held_out_together", column, row, told)
    yield from found.values()


def _subsets(held_out: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    """All of them, and then halves: of any two rows, one of these sets has the first and not the second."""
    yield held_out
    places = np.arange(len(held_out))
    for bit in range(int(len(held_out) - 1).bit_length()):
        for value in (0, 1):
            yield held_out[(places >> bit & 1) == value]


def _changed(rows: Rows, *, features: Any = (), labels: Any = (), sign: int = 1) -> Rows:
    """The table with other labels in some rows, and values far above, or far below, all that is there."""
    values, classes = rows.features.copy(), rows.labels.copy()
    far = sign * (1 + 3 * np.abs(rows.features).max(axis=0))
    values[list(features)] = far + rows.features[list(features)]
    classes[list(labels)] = (classes[list(labels)] + 1) % (classes.max() + 1)
    return Rows(values, classes)
