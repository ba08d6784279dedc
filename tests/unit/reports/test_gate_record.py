"""gate.json: read back strictly, and never green by what it leaves out."""

from __future__ import annotations

import json

import pytest

from reprokit.core.checklist import Verdict
from reprokit.errors import ReportError
from reprokit.reports.gate_record import GateRecord, GateRow, gate_json, read_gate

GOOD = GateRow(recipe="a", seed=3, verdict=Verdict.REPRODUCED, exit_code=0, report="reports/a/1/report.json")
BAD = GateRow(recipe="b", seed=3, verdict=Verdict.REGRESSION, exit_code=1, report="reports/b/1/report.json")
BROKEN = GateRow(recipe="c", exit_code=2, error="recipe.yaml:3: unknown key")
LEFT_OUT = GateRow(recipe="d", exit_code=0, left_out="nothing changed since 0123abcd")


def written(**changes) -> bytes:
    data = json.loads(gate_json(GateRecord(exit_code=1, recipes=(GOOD, BAD, BROKEN, LEFT_OUT))))
    return json.dumps(data | changes).encode()


def with_row(**changes) -> bytes:
    data = json.loads(written())
    data["recipes"][0] |= changes
    return json.dumps(data).encode()


def test_what_was_written_is_read_back():
    record = GateRecord(exit_code=1, recipes=(GOOD, BAD, BROKEN, LEFT_OUT))
    found = read_gate(gate_json(record).encode())
    assert (found.exit_code, tuple(found.recipes)) == (1, tuple(record.recipes))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'"x"',
        b"{" * 100_000,
        b"\xff\xfe",
        b'{"schema": 1, "exit_code": 0, "exit_code": 1, "recipes": []}',
        written(schema=2),
        written(schema=True),
        written(exit_code=0),  # one of them did not pass
        written(exit_code=7),
        written(exit_code="1"),
        written(exit_code=1.0),
        written(recipes={}),
        written(recipes=[1]),
        written(further=1),
        with_row(exit_code=1),  # not that of REPRODUCED
        with_row(verdict="reproduced"),
        with_row(verdict=None),
        with_row(report=""),
        with_row(seed=None),
        with_row(seed="3"),
        with_row(error="and an error"),
        with_row(left_out="and left out"),
        with_row(further=1),
        b'{"schema": 1, "exit_code": 0, "recipes": []}',  # nothing judged is no pass
        b'{"schema": 1, "exit_code": 0, "recipes": [{"recipe": "a", "exit_code": 0, "error": "x"}]}',
        b'{"schema": 1, "exit_code": 1, "recipes": [{"recipe": "a", "exit_code": 1, "left_out": "x"}]}',
        b" " * (5 << 20),
    ],
)
def test_anything_else_is_refused(content):
    with pytest.raises(ReportError):
        read_gate(content)
