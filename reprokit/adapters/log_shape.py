"""The shape of a metrics file: how many records, which metrics, and which of these are not always finite."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from reprokit.adapters import sources
from reprokit.adapters.summaries import read
from reprokit.core.comparing import steps
from reprokit.core.log_shape import LogShape

#: As some programs log them in JSON, which has no such numbers.
_NOT_FINITE = frozenset({"nan", "inf", "infinity"})


def shape_of(path: Path) -> LogShape:
    """Read a metrics file from end to end.

    Raises:
        MetricsError: It cannot be read.
    """
    records, metrics, not_finite = 0, set[str](), set[str]()
    for reading in read(sources.source_of(path)):
        if reading.record is None:
            continue
        records += 1
        step = steps.name_in(reading.record)
        for name, value in reading.record.items():
            if name != step:
                metrics.add(name)
                if not _is_finite(value):
                    not_finite.add(name)
    return LogShape(records=records, metrics=frozenset(metrics), not_finite=frozenset(not_finite))


def _is_finite(value: Any) -> bool:
    if isinstance(value, list | dict):
        return all(map(_is_finite, value.values() if isinstance(value, dict) else value))
    if isinstance(value, str):
        return value.strip().lower().lstrip("+-") not in _NOT_FINITE
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))
