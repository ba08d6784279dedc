"""metrics.jsonl and timing.jsonl: whole lines, full precision, nothing that is no number."""

import errno
import json
import math
import os
import signal
import struct
import subprocess
import sys

import numpy as np
import pytest

from reprokit.errors import MetricsError, WorkspaceError
from reprokit.runtime.metrics import MetricsWriter, TimingWriter


@pytest.fixture
def metrics(tmp_path):
    with MetricsWriter(tmp_path / "metrics.jsonl") as writer:
        yield writer


def lines(writer):
    return writer.path.read_text(encoding="utf-8").splitlines()


def test_step_comes_first(metrics):
    metrics.write(**{"loss/policy": 0.5}, step=8)
    assert lines(metrics) == ['{"step": 8, "loss/policy": 0.5}']


@pytest.mark.parametrize(
    "bits", [0x3FB999999999999A, 0x0000000000000001, 0x8000000000000000, 0x7FEFFFFFFFFFFFFF]
)
def test_a_float_reads_back_as_the_same_bits(metrics, bits):
    value = struct.unpack("<d", struct.pack("<Q", bits))[0]
    metrics.write(step=0, **{"a/b": value})
    read_back = json.loads(lines(metrics)[0])["a/b"]
    assert struct.pack("<d", read_back) == struct.pack("<d", value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_json_has_no_number_for_reads_back_in_python(metrics, value):
    metrics.write(step=0, **{"a/b": value})
    read_back = json.loads(lines(metrics)[0])["a/b"]
    assert read_back == value or (math.isnan(read_back) and math.isnan(value))


@pytest.mark.parametrize("value", [np.float32(0.1), np.array([[0.5]], dtype=np.float32), np.int64(3)])
def test_a_number_of_numpy_is_written_with_its_bits(metrics, value):
    metrics.write(step=np.int64(1), **{"a/b": value})
    assert json.loads(lines(metrics)[0]) == {"step": 1, "a/b": value.item()}


@pytest.mark.parametrize("value", [True, "0.5", None, [0.5], np.bool_(True), 1j])
def test_what_is_no_number_is_refused(metrics, value):
    with pytest.raises(MetricsError, match="a/b is no number"):
        metrics.write(step=0, **{"a/b": value})
    assert lines(metrics) == []


@pytest.mark.parametrize("name", ["loss", "/loss", "loss/", "a b/c", "a//b", ""])
def test_a_name_without_a_group_is_refused(metrics, name):
    with pytest.raises(MetricsError, match="group/name"):
        metrics.write(step=0, **{name: 1.0})


def test_a_file_that_is_there_is_never_appended_to(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n')
    with pytest.raises(WorkspaceError, match="there already"):
        MetricsWriter(tmp_path / "metrics.jsonl")
    assert (tmp_path / "metrics.jsonl").read_text() == '{"step": 1}\n'


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(WorkspaceError, match="nowhere"):
        MetricsWriter(tmp_path / "nowhere" / "metrics.jsonl")


def test_a_line_is_one_call_of_the_operating_system(metrics, monkeypatch):
    calls = []
    write = os.write

    def counting(file, data):
        calls.append(bytes(data))
        return write(file, data)

    monkeypatch.setattr(os, "write", counting)
    metrics.write(step=1, **{f"group/{i}": float(i) for i in range(2000)})
    assert len(calls) == 1
    assert calls[0].endswith(b"}\n")


def test_a_full_disk_is_an_error_that_names_the_file(metrics, monkeypatch):
    def full(file, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(WorkspaceError, match=r"metrics\.jsonl.*No space left"):
        metrics.write(step=1, **{"a/b": 1.0})


_WRITES_FOREVER = """
import sys
from pathlib import Path
from reprokit.runtime.metrics import MetricsWriter
with MetricsWriter(Path(sys.argv[1])) as metrics:
    step = 0
    while True:
        metrics.write(step=step, **{f"group/{i}": step / 7 for i in range(50)})
        step += 1
"""


def test_a_killed_program_leaves_whole_lines_and_at_most_one_torn_one(tmp_path):
    path = tmp_path / "metrics.jsonl"
    program = subprocess.Popen([sys.executable, "-c", _WRITES_FOREVER, str(path)])
    while not (path.exists() and path.stat().st_size > 200_000):
        assert program.poll() is None
    program.send_signal(signal.SIGKILL)
    program.wait()
    *whole, rest = path.read_bytes().split(b"\n")
    assert [json.loads(line)["step"] for line in whole] == list(range(len(whole)))
    assert rest == b"" or rest.startswith(b'{"step": ')


def test_timing_says_how_far_and_how_fast(tmp_path):
    now = iter([100.0, 102.0])
    with TimingWriter(tmp_path / "timing.jsonl", clock=lambda: next(now)) as timing:
        timing.write(step=1000, total_steps=4000, phase="train", update_s=0.25)
    assert json.loads(lines(timing)[0]) == {
        "step": 1000,
        "total_steps": 4000,
        "phase": "train",
        "steps_per_s": 500.0,
        "elapsed_s": 2.0,
        "eta_s": 6.0,
        "update_s": 0.25,
    }


def test_a_resumed_run_counts_its_own_steps_only(tmp_path):
    now = iter([0.0, 10.0, 12.0])
    with TimingWriter(tmp_path / "timing.jsonl", clock=lambda: next(now)) as timing:
        timing.resume_at(3000)
        timing.write(step=3500, total_steps=4000, phase="train")
    assert json.loads(lines(timing)[0])["steps_per_s"] == 250.0


def test_the_first_instant_has_no_speed(tmp_path):
    with TimingWriter(tmp_path / "timing.jsonl", clock=lambda: 5.0) as timing:
        timing.write(step=0, total_steps=10, phase="train")
    assert json.loads(lines(timing)[0])["steps_per_s"] is None
