"""What the host wrote down of a program's output keeps no secret; the program's own files are left alone."""

import pytest

from reprokit.runs import logs

PLANTED = "hunter2-S3cr3t"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "stdout.log").write_bytes(b"")
    (tmp_path / "stderr.log").write_bytes(b"")
    return tmp_path


def test_a_secret_goes_and_everything_else_stays_byte_for_byte(folder):
    printed = b"step 1\r\n\xff\x00 token=%s end\nlast" % PLANTED.encode()
    (folder / "stdout.log").write_bytes(printed)
    logs.redact_logs(folder)
    redacted = printed.replace(PLANTED.encode(), b"<redacted>")
    assert (folder / "stdout.log").read_bytes() == redacted
    assert sorted(path.name for path in folder.iterdir()) == ["stderr.log", "stdout.log"]


def test_a_known_value_goes_where_no_name_stands_before_it(folder):
    (folder / "stderr.log").write_text(f"KeyError: {PLANTED!r}\n")
    logs.redact_logs(folder, (PLANTED,))
    assert (folder / "stderr.log").read_text() == "KeyError: '<redacted>'\n"


def test_a_log_without_secrets_is_not_written_again(folder):
    (folder / "stdout.log").write_text("step 1, 512 tokens\n")
    before = (folder / "stdout.log").stat()
    logs.redact_logs(folder, (PLANTED,))
    after = (folder / "stdout.log").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_secret_or_a_key_across_the_parts_of_a_long_log_goes(folder, monkeypatch):
    monkeypatch.setattr(logs, "_PART_BYTES", 64)
    key = f"-----BEGIN PRIVATE KEY-----\n{PLANTED}\n{PLANTED}\n-----END PRIVATE KEY-----\n"
    lines = [f"step {step} token={PLANTED}\n" for step in range(50)]
    (folder / "stdout.log").write_text("".join(lines[:25]) + key + "".join(lines[25:]))
    logs.redact_logs(folder)
    assert PLANTED not in (folder / "stdout.log").read_text()
    assert (folder / "stdout.log").read_text().count("step") == 50


def test_a_log_that_is_a_link_is_not_followed(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "notes"
    outside.write_text(f"token={PLANTED}")
    (folder / "stdout.log").unlink()
    (folder / "stdout.log").symlink_to(outside)
    logs.redact_logs(folder)
    assert PLANTED in outside.read_text()
