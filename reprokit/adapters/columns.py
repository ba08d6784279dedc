"""Every number of a metrics file as arrays: what statistics over many runs read.

>>> read_columns(Path("runs/x/metrics.jsonl")).series["loss/policy"][1].shape  # steps, values
(400,)
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from reprokit.adapters import from_jsonl, sources
from reprokit.adapters.jsonl.jsonl_block import read_table
from reprokit.adapters.jsonl.jsonl_file import LineFile, LineTooLongError
from reprokit.adapters.jsonl.jsonl_line import LONG_LINE_BYTES
from reprokit.adapters.summaries import as_float, read
from reprokit.core import json_values
from reprokit.core.comparing import steps
from reprokit.core.comparing.record_table import RecordTable

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricColumns:
    """The numbers of a metrics file.

    Attributes:
        series: Metric → steps (or positions of records, where they have none) and values, NaN and infinities
            among them; null is no value.
        not_numbers: Metrics with texts, truth values, lists or objects → how many.
        num_unreadable: Records that could not be read.
    """

    series: Mapping[str, tuple[Numbers, Numbers]]
    not_numbers: Mapping[str, int]
    num_unreadable: int


def read_columns(path: Path) -> MetricColumns:
    """Read a metrics file of any format.

    Raises:
        MetricsError: The path cannot be opened.
    """
    source = sources.source_of(path)
    tables = _tables(path) if source.adapter == from_jsonl.NAME else None
    if tables is not None:
        return _of_tables(tables)
    collected: dict[str, tuple[array[float], array[float]]] = {}
    others: dict[str, int] = {}
    step_name: str | None = None
    num_unreadable = 0
    for position, reading in enumerate(read(source)):
        if reading.record is None:
            num_unreadable += 1
            continue
        step_name = step_name or steps.name_in(reading.record)
        step = as_float(reading.record.get(step_name or "step", position), otherwise=float(position))
        for name, value in reading.record.items():
            if name == step_name or value is None:
                continue
            if json_values.kind(value) != "number":
                others[name] = others.get(name, 0) + 1
                continue
            at, found = collected.setdefault(name, (array("d"), array("d")))
            at.append(step)
            found.append(as_float(value))
    series = {name: (np.array(at), np.array(found)) for name, (at, found) in collected.items()}
    return MetricColumns(series=series, not_numbers=others, num_unreadable=num_unreadable)


def _tables(path: Path) -> list[RecordTable] | None:
    """The file as tables of the same names; None where some block of it is no table."""
    tables: list[RecordTable] = []
    with LineFile(path) as file:
        try:
            for block in file.blocks():
                table = read_table(block) if len(block.data) <= LONG_LINE_BYTES else None
                if table is None or table.names != (tables or [table])[0].names:
                    return None
                tables.append(table)
        except LineTooLongError:
            return None
    return tables or None


def _of_tables(tables: list[RecordTable]) -> MetricColumns:
    columns = np.concatenate([table.columns for table in tables], axis=1)
    names = list(tables[0].names)
    step_name = steps.name_in(tables[0].record(0))
    at = columns[names.index(step_name)] if step_name else np.arange(columns.shape[1], dtype=np.float64)
    series = {name: (at, column) for name, column in zip(names, columns, strict=True) if name != step_name}
    return MetricColumns(series=series, not_numbers={}, num_unreadable=0)
