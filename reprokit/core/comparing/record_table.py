"""Many records of the same names, all numbers, kept together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

EXACT_IN_FLOAT = 2.0**53


@dataclass(frozen=True, slots=True)
class RecordTable:
    """Records of plain numbers.

    Attributes:
        names: The names that every record has, in one order.
        cells: The numbers, record after record, as ``json`` reads them.
        columns: The same numbers, shape (names, records), float64, C order.
    """

    names: Sequence[str]
    cells: Sequence[float]
    columns: npt.NDArray[np.float64]

    @classmethod
    def of(cls, names: Sequence[str], cells: Sequence[float]) -> RecordTable:
        """Lay out numbers, one for each name and record after record, as columns."""
        rows = np.fromiter(cells, dtype=np.float64, count=len(cells)).reshape(-1, len(names))
        return cls(names, cells, rows.T.copy())

    @property
    def num_records(self) -> int:
        return len(self.columns[0])

    @property
    def is_exact(self) -> bool:
        """Whether every number is finite and, if it is an integer, the same in float64."""
        return bool((np.abs(self.columns) < EXACT_IN_FLOAT).all())

    def record(self, at: int) -> dict[str, float]:
        """One record, at a position counted from 0."""
        width = len(self.names)
        return dict(zip(self.names, self.cells[at * width : (at + 1) * width], strict=True))

    def column(self, name: str) -> Sequence[float]:
        """The numbers of one name, as ``json`` reads them."""
        return self.cells[self.names.index(name) :: len(self.names)]
