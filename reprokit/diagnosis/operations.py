"""The first operation of two runs with equal inputs and different outputs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

_ARBITRARY = (
    "empty",
    "rand",
    "bernoulli",
    "normal",
    "uniform",
    "dropout",
    "multinomial",
    "exponential_",
    "resize",
    "cauchy",
    "geometric",
    "log_normal",
    "poisson",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call of an operation.

    Attributes:
        file: Of the program, or "".
        line: Of the file, or 0.
        function: That the line stands in, or "".
        number: Which operation of the run it is, from 0.
    """

    name: str
    file: str
    line: int
    function: str
    number: int


def _may_differ(name: str) -> bool:
    """Whether the output is arbitrary by nature; names of several words are the hook's own, no operations."""
    return " " not in name and any(word in name for word in _ARBITRARY)


def first_operation(one: Path, other: Path) -> Operation | None:
    """The first in the main process that had equal inputs and different outputs; None without one.

    Draws, environments and steps of optimizers count as well. Comparison ends where the runs' operations
    themselves differ.
    """
    streams = [json.loads((folder / "trace-0.json").read_bytes())["streams"] for folder in (one, other)]
    for number, (left, right) in enumerate(zip(*streams, strict=False)):
        if left[:4] != right[:4]:
            return None
        if left[4] == right[4] and left[5] != right[5] and not _may_differ(left[0]):
            name, file, line, function = left[:4]
            return Operation(name=name, file=file, line=line, function=function, number=number)
    return None
