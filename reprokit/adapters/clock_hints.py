"""Which differing metrics measure the machine and not the training: clocks, speeds, memory, by name and form.

An advice for someone who compares two logs, of whose runs nothing else is known; nothing is left out by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from reprokit.adapters.reading import MetricsSource
from reprokit.adapters.summaries import read
from reprokit.core import json_values
from reprokit.core.comparing import clock_metrics, clock_texts
from reprokit.core.comparing.difference import Comparison

_MOST_RECORDS = 20_000


def machine_metrics(
    pairs: Sequence[tuple[MetricsSource, MetricsSource]], comparison: Comparison
) -> dict[str, str]:
    """The differing metrics that are called or written so: name as the comparison has it → kind.

    Kinds are ``duration``, ``time left``, ``time stamp``, ``rate`` and ``memory``. A number that differs in
    few of the records is none of them.
    """
    differing = {name for name, one in comparison.per_metric.items() if one.mismatches}
    found: dict[str, str] = {}
    for pair in pairs if differing else ():
        prefix = f"{pair[0].name}:" if len(pairs) > 1 else ""
        names = {name.removeprefix(prefix) for name in differing if name.startswith(prefix)}
        sides = [_values(side, names) for side in pair]
        for name in sorted(names):
            kind = _kind_of(name, sides[0].get(name, []), sides[1].get(name, []))
            if kind:
                found[prefix + name] = kind
        left = "time left" in found.values()
        if left and "Passed" in names:  # CatBoost's, next to what remains
            found[f"{prefix}Passed"] = "duration"
        if (
            left and "data" in names and found.get(f"{prefix}time")
        ):  # torchvision's: the part spent on loading
            found[f"{prefix}data"] = "duration"
    return {name: found[name] for name in comparison.per_metric if name in found}


def _values(source: MetricsSource, names: Iterable[str]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {name: [] for name in names}
    for reading in islice(read(source), _MOST_RECORDS):
        for name in found.keys() & (reading.record or {}).keys():
            found[name].append((reading.record or {})[name])
    return found


def _kind_of(name: str, first: Sequence[Any], other: Sequence[Any]) -> str:
    values = [value for value in (*first, *other) if value is not None]
    forms = {clock_texts.form_of(value) if isinstance(value, str) else None for value in values}
    by_name = clock_metrics.kind_by_name(name)
    if None not in forms and "" not in forms and forms:
        return "time left" if by_name == "time left" else min(filter(None, forms))
    numbers = [value for value in values if json_values.kind(value) == "number"]
    if not by_name or len(numbers) < len(values) or not all(value >= 0 for value in numbers):
        return ""
    pairs = list(zip(first, other, strict=False))
    is_coarse = all(value == int(value) for value in numbers if json_values.is_finite(value))
    return by_name if is_coarse or 2 * sum(one != two for one, two in pairs) >= len(pairs) else ""
