"""Operations of two runs side by side: the first that gave another output for the same inputs.

This module knows the hook's stream of operations; it refuses to know why a kernel differs.

    >>> first_operation(Path("traces/5"), Path("traces/6")).name
    'aten.index_put.default'
"""

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
        name: As PyTorch calls it.
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
    """Whether the output is arbitrary by what the operation is: unwritten memory, or a random draw.

    Names of more than one word are the hook's own, of what is no operation: their inputs are all that counts.
    """
    return " " not in name and any(word in name for word in _ARBITRARY)


def first_operation(one: Path, other: Path) -> Operation | None:
    """The first that had equal inputs and another output, in the main process; None without one.

    Operations, and what the hook tells beside them: draws, environments, steps of optimizers. What has other
    inputs is not to blame for its output. Where the operations themselves part there is nothing more to
    compare.
    """
    streams = [json.loads((folder / "trace-0.json").read_bytes())["streams"] for folder in (one, other)]
    for number, (left, right) in enumerate(zip(*streams, strict=False)):
        if left[:4] != right[:4]:
            return None
        if left[4] == right[4] and left[5] != right[5] and not _may_differ(left[0]):
            name, file, line, function = left[:4]
            return Operation(name=name, file=file, line=line, function=function, number=number)
    return None
