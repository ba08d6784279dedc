"""Metrics that a log keeps one by one, put together to records of one step each.

>>> list(records([(0, "a", 0.5), (0, "b", 2.0), (1, "a", 0.25)]))
[{'step': 0, 'a': 0.5, 'b': 2.0}, {'step': 1, 'a': 0.25}]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

MAX_METRICS = 100_000
MAX_VALUES_OF_STEP = 1_000_000


class TooManyError(ValueError):
    """A step has more names or values than are read."""


def records(values: Iterable[tuple[int, str, float]]) -> Iterator[dict[str, Any]]:
    """A record for each step; where a metric has several values at one, the second is in a second record.

    Args:
        values: Step, name and number, sorted by step, and those of one name in the order they were logged.

    Raises:
        TooManyError: Names or values of one step are too many to be held.
    """
    for step, of_step in groupby(values, key=itemgetter(0)):
        by_name: dict[str, list[float]] = {}
        for count, (_, name, value) in enumerate(of_step):
            by_name.setdefault(name, []).append(value)
            if len(by_name) > MAX_METRICS or count >= MAX_VALUES_OF_STEP:
                raise TooManyError(f"step {step} has more than {MAX_METRICS:,} metrics or {count:,} values")
        for turn in range(max(map(len, by_name.values()))):
            record = {name: by_name[name][turn] for name in sorted(by_name) if turn < len(by_name[name])}
            yield {"_step" if "step" in record else "step": step, **record}
