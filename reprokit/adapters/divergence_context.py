"""The records around a divergence, so that a person sees what came before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.adapters.folders.run_folders import Pair
from reprokit.adapters.summaries import read_from
from reprokit.core.comparing import steps
from reprokit.core.comparing.difference import Divergence, NearbyRecord
from reprokit.core.json_values import MISSING

RADIUS = 3


def around(
    pairs: Sequence[Pair], divergence: Divergence, *, radius: int = RADIUS
) -> tuple[NearbyRecord, ...]:
    """The records from ``radius`` before a divergence to as many after it."""
    found = _pair_of(pairs, divergence.metric)
    if found is None:
        return ()
    (left, right), metric = found
    first = max(0, divergence.record - radius)
    count = divergence.record + radius + 1 - first
    expected, actual = (
        [reading.record for reading in read_from(source, first=first, count=count)]
        for source in (left, right)
    )
    return tuple(
        NearbyRecord(
            record=first + at,
            step=_step(_at(expected, at), _at(actual, at)),
            expected=_value(_at(expected, at), metric),
            actual=_value(_at(actual, at), metric),
            is_divergence=first + at == divergence.record,
        )
        for at in range(max(len(expected), len(actual)))
    )


def _pair_of(pairs: Sequence[Pair], metric: str | None) -> tuple[Pair, str | None] | None:
    """The pair that a metric is from, and its name there."""
    if len(pairs) == 1 and (metric is None or not metric.startswith(f"{pairs[0][0].name}:")):
        return pairs[0], metric
    for pair in pairs:
        name = pair[0].name
        if metric == name:
            return pair, None
        if metric is not None and metric.startswith(f"{name}:"):
            return pair, metric.removeprefix(f"{name}:")
    return None


def _at(records: Sequence[Mapping[str, Any] | None], at: int) -> Mapping[str, Any] | None:
    return records[at] if at < len(records) else None


def _step(expected: Mapping[str, Any] | None, actual: Mapping[str, Any] | None) -> Any:
    for record in (expected, actual):
        name = steps.name_in(record or {})
        if record is not None and name is not None:
            return record[name]
    return None


def _value(record: Mapping[str, Any] | None, metric: str | None) -> Any:
    if record is None:
        return MISSING
    return record if metric is None else record.get(metric, MISSING)
