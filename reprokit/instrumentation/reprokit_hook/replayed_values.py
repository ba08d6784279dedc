"""What an earlier run had at a call site: its values by context, and its order of names."""

from __future__ import annotations

import json
import os
from ast import literal_eval
from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

#: How many there were, the numbers at which the value changed, and to what.
if TYPE_CHECKING:
    _Values = tuple[int, list[int], list[str]]
else:  # before Python 3.9 they take no parameters
    _Values = tuple


class Earlier:
    """The values of an earlier run: call site → context → values."""

    def __init__(self, values: dict[str, dict[str, _Values]]) -> None:
        self._values = values

    @classmethod
    def read(cls, folder: str | None) -> Earlier:
        """Of every process; nothing where there is no folder. An ``OSError`` where it cannot be read."""
        merged: dict[str, dict[str, _Values]] = {}
        if not folder:
            return cls(merged)
        for name in sorted(os.listdir(folder)):
            if not (name.startswith("trace-") and name.endswith(".json")):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as stream:
                sites = json.load(stream)["sites"]
            for one, record in sites.items():
                for context, values in record["values"].items():
                    pairs = sorted((int(at), text) for at, text in values.items())
                    found = record["counts"][context], [at for at, _ in pairs], [text for _, text in pairs]
                    merged.setdefault(one, {})[context] = found
        return cls(merged)

    def at(self, unit: str, context: str, number: int) -> str | None:
        found = self._values.get(unit, {}).get(context)
        if found is None or number >= found[0]:
            return None
        at = bisect_right(found[1], number) - 1
        return found[2][at] if at >= 0 else None

    def ranks(self, unit: str) -> dict[int, int]:
        """Which came when: number → rank."""
        found = self._values.get(unit, {}).values()
        seen = sorted(pair for one in found for pair in zip(one[1], one[2]))
        return {int(literal_eval(number)): rank for rank, (_, number) in enumerate(seen)}


def reordered(both: list[tuple[str, Any]], plain: list[str], names: list[str]) -> list[tuple[str, Any]]:
    """Items in the order of the other run's names; where names differ, in the same shuffle."""
    ranks = {name: rank for rank, name in enumerate(names)}
    if len(names) == len(both) and not set(plain) <= set(ranks):
        ranks = dict(zip(plain, (ranks[name] for name in sorted(names))))
    return sorted(both, key=lambda one: ranks.get(one[0], len(ranks)))


def named(items: list[Any], key: Callable[[Any], str]) -> list[tuple[str, Any]]:
    """Items with their names; equal names are told apart by how often they came before."""
    seen: dict[str, int] = {}
    both = []
    for item in items:
        name = key(item)
        seen[name] = number = seen.get(name, -1) + 1
        both.append((f"{name} {number}" if number else name, item))
    return both
