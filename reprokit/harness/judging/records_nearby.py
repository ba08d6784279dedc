"""The records before and after the first divergence, for the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import adapters
from reprokit.core.checklist import Evidence, Verdict
from reprokit.core.comparing.difference import Divergence, NearbyRecord
from reprokit.core.json_values import MISSING
from reprokit.errors import MetricsError
from reprokit.layout import METRICS


def records_nearby(
    evidence: Evidence, verdict: Verdict, divergence: Divergence | None, *, folders: Sequence[Path]
) -> tuple[NearbyRecord, ...]:
    """The records around a divergence, None where a side has no value; empty where none can be read."""
    sides = differing_sides(evidence, verdict, folders)
    if divergence is None or divergence.metric is None or sides is None:
        return ()
    try:
        left, right = (adapters.source_of(folder / METRICS) for folder in sides)
        found = adapters.around([(left, right)], divergence)
    except (MetricsError, OSError):
        return ()
    known = tuple(replace(one, expected=_known(one.expected), actual=_known(one.actual)) for one in found)
    return known if any(_is_of(one, divergence) for one in known) else ()


def _is_of(record: NearbyRecord, divergence: Divergence) -> bool:
    """Whether this is the record that differs first; a metric of another log has other values in it."""
    pairs = ((record.expected, divergence.expected), (record.actual, divergence.actual))
    return record.is_divergence and all(_is_same(one, other) for one, other in pairs)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of one type; NaN is no other value than NaN."""
    return type(one) is type(other) and (one == other or (one != one and other != other))  # noqa: PLR0124


def differing_sides(
    evidence: Evidence, verdict: Verdict, folders: Sequence[Path]
) -> tuple[Path, Path] | None:
    """The two folders that the divergence of a report is between."""
    if verdict is Verdict.NONDETERMINISTIC:
        later = zip(folders[1:], evidence.repeats, strict=False)
        return next(((folders[0], folder) for folder, one in later if not one.identical), None)
    golden = evidence.golden
    if golden is None or golden.is_foreign or not folders:  # a foreign log is compared by steps, not records
        return None
    return Path(golden.path), folders[0]


def _known(value: Any) -> Any:
    return None if value is MISSING else value
