"""Whether the logs of new seeds have the shape of an ensemble's: its metrics, its records, its finite values.

What is judged of a log is one number of it; a training that ended at its first record, or whose other metrics
are all NaN, can have the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reprokit.core.provenance import LogsOfSeeds

#: Where the ensemble's own seeds differ in their numbers of records, a new one may have so many times fewer.
_FACTOR = 2
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LogShape:
    """How many records a log has, which metrics, and which of these have a value that is not finite."""

    records: int
    metrics: frozenset[str]
    not_finite: frozenset[str]


def of_ensemble(shapes: Iterable[LogShape]) -> LogsOfSeeds:
    """What an ensemble keeps of the logs of its seeds."""
    every = list(shapes)
    always = frozenset.intersection(*(one.metrics for one in every))
    return LogsOfSeeds(
        records=(min(one.records for one in every), max(one.records for one in every)),
        always=tuple(sorted(always)),
        sometimes=tuple(sorted(frozenset().union(*(one.metrics for one in every)) - always)),
        not_finite=tuple(sorted(frozenset().union(*(one.not_finite for one in every)))),
    )


def why_other(known: LogsOfSeeds, shape: LogShape, *, of: str = "the ensemble") -> str:
    """How a log is not as those of an ensemble, or of what ``of`` names; "" where it is as they are.

    >>> known = of_ensemble([LogShape(records=10, metrics=frozenset({"loss"}), not_finite=frozenset())])
    >>> why_other(known, LogShape(records=1, metrics=frozenset({"loss"}), not_finite=frozenset({"loss"})))
    'logged 1 record, the ensemble 10'
    """
    least, most = known.records
    if least == most != shape.records:
        return f"logged {shape.records} record{'s' * (shape.records != 1)}, {of} {most}"
    if not least / _FACTOR <= shape.records <= most * _FACTOR:
        return f"logged {shape.records} record{'s' * (shape.records != 1)}, {of} {least} to {most}"
    always, may_be = set(known.always), {*known.always, *known.sometimes}
    for names, what in (
        (always - shape.metrics, f"did not log {{}}, which {of} has"),
        (shape.metrics - may_be, f"logged {{}}, which {of} does not have"),
        (
            shape.not_finite - {*known.not_finite},
            f"has values of {{}} that are not finite, {of} none",
        ),
    ):
        if names:
            return what.format(_listed(sorted(names)))
    return ""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
