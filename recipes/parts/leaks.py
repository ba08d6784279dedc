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

    def changed(changes: dict[str, Any], where: Mask | npt.NDArray[np.int64]) -> list[int]:
        """The columns in which some of these rows are prepared in another way."""
        one, other = prepare(_changed(rows, **changes), training)[where], usual[where]
        equal = (one == other) | (np.isnan(one) & np.isnan(other))
        return np.flatnonzero(~equal.all(axis=0)).tolist()

    def told_of(column: int) -> str:
        return called[column] if usual.shape[1] == rows.features.shape[1] else str(column)

    for column in changed({"features": held_out, "labels": held_out}, training):
        guilty = (
            one for one in held_out if column in changed({"features": [one], "labels": [one]}, training)
        )
        row = int(next(guilty, held_out[0]))
        told = f"column {told_of(column)} of the training rows changes with held-out row {row} of fold {fold}"
        yield Leak(kind="fitted_on_held_out", fold=fold, row=row, column=column, told=told)
    for column in changed({"labels": held_out}, held_out):
        row = next(int(row) for row in held_out if changed({"labels": held_out}, np.array([row])))
        told = f"column {told_of(column)} of held-out row {row} of fold {fold} changes with held-out labels"
        yield Leak(kind="label_used", fold=fold, row=row, column=column, told=told)
    half = held_out[len(held_out) // 2 :]
    for column in changed({"features": half}, rest := held_out[: len(held_out) // 2]):
        what = f"column {told_of(column)} of held-out row {rest[0]} of fold {fold}"
        told = f"{what} changes with other held-out rows"
        yield Leak(kind="held_out_together", fold=fold, row=int(rest[0]), column=column, told=told)


def _changed(rows: Rows, *, features: Any = (), labels: Any = ()) -> Rows:
    """The table with other values in some rows, far outside of what is there, and other labels."""
    values, classes = rows.features.copy(), rows.labels.copy()
    values[list(features)] = 1 + 3 * np.abs(rows.features).max(axis=0) + rows.features[list(features)]
    classes[list(labels)] = (classes[list(labels)] + 1) % (classes.max() + 1)
    return Rows(values, classes)
