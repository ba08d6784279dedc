"""Write and read ``gate.json``: which recipes a gate judged, with which answer, and where each report lies.

A job that did not run the gate reads it, together with the reports, to say what became of every recipe. A
report that the list names and that is not there is then a fault, never a recipe less.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Sequence
from typing import Annotated

from annotated_types import Len
from pydantic import ConfigDict, TypeAdapter, ValidationError

from reprokit.core.checklist import Verdict, exit_code
from reprokit.core.records import SCHEMA_VERSION
from reprokit.errors import ReportError
from reprokit.records.newer import refuse_newer_schema
from reprokit.reports.escaping import one_line
from reprokit.reports.formats import to_json

#: Name of the file in what a CI job keeps.
GATE_FILE = "gate.json"

_MAX_ROWS = 10_000
_MAX_BYTES = 4 << 20
_EXIT_CODES = (0, 1, 2, 3, 4, 130, 143)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GateRow:
    """One recipe and seed: a verdict with its report, an error in its place, or why it was left out.

    Attributes:
        report: Path of its ``report.json`` from the folder of ``gate.json``.
    """

    recipe: str
    exit_code: int
    seed: int | None = None
    verdict: Verdict | None = None
    report: str = ""
    error: str = ""
    left_out: str = ""

    def __post_init__(self) -> None:
        told = [bool(self.verdict), bool(self.error), bool(self.left_out)]
        if sum(told) != 1:
            raise ValueError("a recipe has a verdict, an error, or a reason for being left out")
        if (self.verdict is None) != (not self.report) or (self.verdict is None) != (self.seed is None):
            raise ValueError("a verdict comes with a seed and a report, and nothing else does")
        good = self.exit_code in _EXIT_CODES
        if self.verdict is not None:
            good = self.exit_code == exit_code(self.verdict)
        elif self.left_out:
            good = self.exit_code == 0
        elif self.error:
            good = good and self.exit_code != 0
        if not good:
            raise ValueError(f"{self.exit_code} is not the exit code of what is said of the recipe")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GateRecord:
    """What a gate said: its exit code, and a row for each recipe and seed."""

    exit_code: int
    recipes: Annotated[Sequence[GateRow], Len(0, _MAX_ROWS)]
    schema: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        if self.schema != SCHEMA_VERSION:
            raise ValueError(f"schema {self.schema} is not {SCHEMA_VERSION}")
        if self.exit_code not in _EXIT_CODES:
            raise ValueError(f"{self.exit_code} is not an exit code")
        if self.exit_code == 0 and (not self.recipes or any(row.exit_code for row in self.recipes)):
            raise ValueError("the exit code is 0, but not every recipe passed")


def gate_json(record: GateRecord) -> str:
    """``gate.json`` as text: pure ASCII."""
    return json.dumps(dataclasses.asdict(record), indent=2, allow_nan=False) + "\n"


def read_gate(content: bytes, *, where: str = GATE_FILE) -> GateRecord:
    """Read ``gate.json`` back, strictly: others act on what it says.

    Raises:
        ReportError: Too large, not JSON, missing or unknown keys, wrong types, or rows that contradict the
            exit code.
    """
    if len(content) > _MAX_BYTES:
        raise ReportError(
            "too large to be the answers of a gate", where=where, expected=f"at most {_MAX_BYTES >> 20} MiB"
        )
    data = to_json.parse(content, where=where)  # pydantic's own parser takes repeated keys
    if isinstance(data, dict):
        refuse_newer_schema(data.get("schema"), name=GATE_FILE, where=where, error=ReportError)
    try:
        record = _reader().validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise _refused(f"{place}: {first['msg']}" if place else first["msg"], where) from error
    if record is None:
        raise _refused("null is not an answer", where)
    return record


def _refused(what: str, where: str) -> ReportError:
    return ReportError(
        one_line(what), where=one_line(where), fix="make it again with: reprokit verify --gate-file"
    )


@functools.cache
def _reader() -> TypeAdapter[GateRecord | None]:
    # An adapter configures dataclasses only within another type; `null` is refused above.
    return TypeAdapter(GateRecord | None, config=ConfigDict(strict=True, extra="forbid"))
