"""Finding the environment record that a path leads to."""

import json

import pytest

from reprokit.capture.read_record import read_record
from reprokit.errors import ReportError

RECORD = {"schema": 1, "inside": {"packages": {"numpy": "2.4.6"}}, "host": {"kernel": "6.1"}}


def put(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("environment.json", RECORD),
        ("provenance.json", {"reason": "x", "environment": RECORD}),
        ("report.json", {"verdict": "REPRODUCED", "environment": RECORD}),
    ],
)
def test_a_record_is_found_in_its_folder_and_by_its_file(tmp_path, name, content):
    file = put(tmp_path / "x" / name, content)
    assert read_record(file.parent) == RECORD
    assert read_record(file) == RECORD


def test_an_unfinished_run_has_what_the_program_wrote(tmp_path):
    put(tmp_path / "output" / "environment.json", {"schema": 1, "packages": {"numpy": "1"}})
    assert read_record(tmp_path) == {"inside": {"schema": 1, "packages": {"numpy": "1"}}}


def test_a_recipes_goldens_are_one_record_while_their_environments_agree(tmp_path):
    put(tmp_path / "cpu-x86_64" / "seed-1" / "provenance.json", {"environment": RECORD})
    put(tmp_path / "cpu-x86_64" / "seed-2" / "provenance.json", {"environment": {**RECORD, "host": {}}})
    assert read_record(tmp_path) == RECORD


def test_goldens_of_several_environments_must_be_named(tmp_path):
    put(tmp_path / "a" / "provenance.json", {"environment": RECORD})
    other = {**RECORD, "inside": {"packages": {"numpy": "3"}}}
    put(tmp_path / "b" / "provenance.json", {"environment": other})
    with pytest.raises(ReportError, match="several environments") as caught:
        read_record(tmp_path)
    assert str(tmp_path / "a") in caught.value.fix
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not an environment record"),
        ("{}", "not an environment record"),
        ('{"environment": []}', "not an environment record"),
        ('{"inside": 3}', "not an environment record"),
        ('{"verdict": "REPRODUCED"}', "not an environment record"),
    ],
)
def test_what_is_no_record_is_refused_by_name(tmp_path, content, says):
    file = put(tmp_path / "environment.json", content)
    with pytest.raises(ReportError, match=says) as caught:
        read_record(file)
    assert caught.value.where == str(file)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "x.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ReportError, match="not JSON"):
        read_record(tmp_path / "x.json")


def test_a_path_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ReportError, match="no such file"):
        read_record(tmp_path / "none")


def test_an_empty_folder_is_refused_with_what_was_looked_for(tmp_path):
    with pytest.raises(ReportError, match="no environment record") as caught:
        read_record(tmp_path)
    assert "environment.json" in caught.value.expected


def test_a_huge_file_is_not_read(tmp_path):
    with (tmp_path / "x.json").open("wb") as stream:
        stream.truncate(65 << 20)
    with pytest.raises(ReportError, match="too large"):
        read_record(tmp_path / "x.json")
