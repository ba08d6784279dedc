"""The run folder as a backend uses it."""

import errno
import os
from pathlib import Path

import pytest

from reprokit.execution.run_folder import free_bytes, open_logs, stderr_tail


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    (tmp_path / "output").mkdir()
    return tmp_path


def test_logs_begin_empty_and_keep_what_is_written_at_once(run_dir: Path):
    (run_dir / "stderr.log").write_text("of an earlier try")
    stdout, stderr = open_logs(run_dir)
    with stdout, stderr:
        stdout.write(b"\xff\x00")
        assert (run_dir / "stdout.log").read_bytes() == b"\xff\x00"
        assert (run_dir / "stderr.log").read_bytes() == b""


def test_a_missing_output_folder_is_an_error_of_the_system(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        open_logs(tmp_path)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_an_output_folder_without_permission_is_refused(run_dir: Path):
    (run_dir / "output").chmod(0o500)
    with pytest.raises(OSError, match="Permission denied") as caught:
        open_logs(run_dir)
    assert caught.value.errno == errno.EACCES


def test_a_log_that_cannot_be_opened_closes_the_other(run_dir: Path):
    (run_dir / "stderr.log").mkdir()
    with pytest.raises(IsADirectoryError):
        open_logs(run_dir)


def test_only_the_end_of_a_long_log_is_read(run_dir: Path):
    (run_dir / "stderr.log").write_bytes(b"first\n" + b"x" * (1 << 20) + b"\nlast")
    tail = stderr_tail(run_dir)
    assert tail.endswith("\nlast")
    assert len(tail) == 64 << 10


def test_bytes_that_are_no_text_are_replaced(run_dir: Path):
    (run_dir / "stderr.log").write_bytes(b"\xff\xfe oh")
    assert stderr_tail(run_dir) == "�� oh"


def test_no_log_reads_as_nothing(run_dir: Path):
    assert stderr_tail(run_dir) == ""


def test_space_left_is_a_number_where_the_folder_exists(run_dir: Path):
    assert (free_bytes(run_dir) or 0) > 0
    assert free_bytes(run_dir / "nowhere") is None
