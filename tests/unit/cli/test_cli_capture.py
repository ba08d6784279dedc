"""`reprokit env capture`: the record on a screen, as JSON, in a file."""

import json
import sys

import pytest

from reprokit.cli import main
from reprokit.cli.commands.capture import default_python
from reprokit.core import fingerprint

PLANTED = "hunter2-S3cr3t"


def reprokit(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["capture", "--python", sys.executable, "--no-torch", *arguments])
    return ended.value.code


def test_json_is_a_whole_record_without_secrets(capsys, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", PLANTED)
    assert reprokit("--json") == 0
    out = capsys.readouterr().out
    record = json.loads(out)
    assert {"inside", "host", "source", "missing"} <= record.keys()
    assert "pytest" in record["inside"]["packages"]
    assert PLANTED not in out


def test_a_file_can_be_written_and_nothing_is_printed_then(capsys, tmp_path):
    assert reprokit("--output", str(tmp_path / "x.json")) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Written: " in captured.err
    assert json.loads((tmp_path / "x.json").read_text())["schema"] == 1


def test_a_file_that_cannot_be_written_is_an_error_with_its_place(capsys, tmp_path):
    assert reprokit("--output", str(tmp_path / "none" / "x.json")) == 3
    assert "none/x.json" in capsys.readouterr().err


def test_people_see_the_platform_and_what_is_missing(capsys):
    assert reprokit() == 0
    out = capsys.readouterr().out
    assert "platform" in out
    assert "sha256:" in out
    assert "inside.torch: not asked" in out


def test_the_same_environment_twice_has_one_fingerprint(capsys):
    assert reprokit("--json") == 0
    first = json.loads(capsys.readouterr().out)
    assert reprokit("--json") == 0
    assert fingerprint.same(first, json.loads(capsys.readouterr().out))


def test_without_a_python_on_the_path_the_tools_own_is_asked(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert default_python() == sys.executable
    (tmp_path / "python").symlink_to(sys.executable)
    assert default_python() == str(tmp_path / "python")


@pytest.mark.parametrize("python", ["/nope", "true"])
def test_a_python_that_cannot_be_asked_is_an_error_and_no_record(capsys, python):
    with pytest.raises(SystemExit) as ended:
        main(["capture", "--python", python, "--no-torch"])
    captured = capsys.readouterr()
    assert (ended.value.code, captured.out) == (2, "")
    assert f"{python}: this Python cannot be inspected" in captured.err
