"""A run with 150,000 names of metrics is judged, in whatever format they are written.

Work that grows with the square of the names would take longer than any test may.
"""

from __future__ import annotations

import json
import struct

import pytest

from reprokit.core.checklist import Verdict
from reprokit.harness import Request, judge_again

NAMES = 150_000


def _json_lines(output):
    row = {"step": 1, **{f"group{at // 100}/m{at}": at / 7 for at in range(NAMES)}}
    (output / "metrics.jsonl").write_text(json.dumps(row) + "\n")


def _json_lines_of_other_names(output):
    rows = ({"step": at, **{f"g{at}/m{i}": i / 7 for i in range(100)}} for at in range(NAMES // 100))
    (output / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _csv(output):
    header = ",".join(["step", *(f"group{at // 100}/m{at}" for at in range(NAMES))])
    row = ",".join(["1", *(str(at / 7) for at in range(NAMES))])
    (output / "progress.csv").write_text(f"{header}\n{row}\n")


def _tensorboard(output):
    with (output / "events.out.tfevents.1").open("wb") as stream:
        for at in range(NAMES):
            tag = f"group{at // 100}/m{at}".encode()
            value = b"\x0a" + bytes([len(tag)]) + tag + b"\x15" + struct.pack("<f", at / 7)
            summary = b"\x0a" + bytes([len(value)]) + value
            event = b"\x10\x01\x2a" + bytes([len(summary)]) + summary
            length = struct.pack("<Q", len(event))
            stream.write(length + _crc(length) + event + _crc(event))


def _of_byte(byte):
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F6_3B78 if byte & 1 else 0)
    return byte


_TABLE = [_of_byte(byte) for byte in range(256)]


def _crc(data):
    crc = 0xFFFF_FFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFF_FFFF
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282_EAD8) & 0xFFFF_FFFF)


@pytest.mark.sample(1)
@pytest.mark.parametrize("write", [_json_lines, _json_lines_of_other_names, _csv, _tensorboard])
def test_more_names_than_are_compared_are_judged_and_that_is_said(here, make, programs, write):
    def program(_spec, output, _on_tick):
        write(output)
        return programs["ended"]()

    pair = make.of_command(program, program)
    report = judge_again(pair, Request(), project=here)
    assert report.verdict is Verdict.UNJUDGED  # more than are compared, and said so
    assert any("more than 100,000 names" in row.reason for row in report.checks)
    assert len(report.curves) <= 24
