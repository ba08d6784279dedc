"""The first operation of two runs with equal inputs and different outputs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
class UnfinishedWork:
    """Work on an accelerator that may not have ended when another operation touches its memory.

    Attributes:
        stream: That it was started on: 0 is the default one.
    """

    name: str
    file: str
    line: int
    stream: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call of an operation.

    Attributes:
        file: Of the program, or "".
        line: Of the file, or 0.
        function: That the line stands in, or "".
        number: Which operation of the run it is, from 0.
        device: Where its result lies, its stream, and what copy it is, as the hook has it; empty on a CPU.
        beside: The operation that nothing orders before it, though both touch the same memory; or None.
        same_inputs: Whether what went in was equal.
    """

    name: str
    file: str
    line: int
    function: str
    number: int
    device: Mapping[str, Any] = field(default_factory=dict)
    beside: UnfinishedWork | None = None
    same_inputs: bool = True


def _may_differ(name: str) -> bool:
    """Whether the output is arbitrary by nature; names of several words are the hook's own, no operations."""
    return " " not in name and any(word in name for word in _ARBITRARY)


def first_operation(one: Path, other: Path) -> Operation | None:
    """The first in the main process that had equal inputs and different outputs; None without one.

    Draws, environments and steps of optimizers count as well. Where the very first difference is in what an
    operation reads, and nothing orders it after the work that writes that, it is this one: a race. Comparison
    ends where the runs' operations themselves differ.
    """
    streams = _streams(one, other)
    nothing_differed = True
    for number, (left, right) in enumerate(zip(*streams, strict=False)):
        if left[:4] != right[:4]:
            return None
        same, found = left[4] == right[4], left[4:6] != right[4:6]
        beside = _beside(left) or _beside(right)
        raced = beside is not None and nothing_differed and found
        if raced or (same and found and not _may_differ(left[0])):
            name, file, line, function = left[:4] if left[1] else _line_of_forward(left, streams[0][:number])
            return Operation(
                name=name,
                file=file,
                line=line,
                function=function,
                number=number,
                device=_device(left),
                beside=beside,
                same_inputs=same,
            )
        nothing_differed = nothing_differed and not found
    return None


def same_operations(one: Path, other: Path) -> bool | None:
    """Whether the main processes of two runs called the same operations from the same lines, to their end.

    None where one left no record.
    """
    streams = [[record[:4] for record in stream] for stream in _streams(one, other)]
    return streams[0] == streams[1] if streams else None


def _streams(*folders: Path) -> list[Any]:
    """What the main process of each recorded; none where one was killed, or ended by ``_exit``."""
    files = [folder / "trace-0.json" for folder in folders]
    if not all(file.is_file() for file in files):
        return []
    return [json.loads(file.read_bytes())["streams"] for file in files]


def _line_of_forward(record: Sequence[Any], before: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """A backward operation, with the one line that ran its forward pass, where there is but one.

    On a GPU the backward pass runs in a thread of its own, which no line of the program has called.
    """
    forward, is_backward, _ = record[0].partition("_backward.")
    lines = {tuple(one[1:4]) for one in before if one[1] and one[0].startswith(f"{forward}.")}
    return [record[0], *lines.pop()] if is_backward and len(lines) == 1 else record[:4]


def _device(record: Sequence[Any]) -> dict[str, Any]:
    """What the hook adds to an operation of an accelerator."""
    told = record[6] if len(record) > 6 else {}
    return {name: one for name, one in told.items() if name != "unordered"}


def _beside(record: Sequence[Any]) -> UnfinishedWork | None:
    found = record[6].get("unordered") if len(record) > 6 else None
    if not found:
        return None
    name, file, line, stream = found
    return UnfinishedWork(name=str(name), file=str(file), line=int(line), stream=int(stream))
