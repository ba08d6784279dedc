"""``environment.json``: what is of another form says nothing; what no one knows is a fact all the same."""

import json

import pytest

from reprokit.capture.read_record import read_record
from reprokit.core import fingerprint
from reprokit.errors import ReportError
from reprokit.records import environment_json

RECORD = {
    "schema": 1,
    "inside": {"cpu": {"architecture": "x86_64", "avx2": True}, "brand_new": {"flag": 1}},
    "host": {"gpus": [], "tpu": None},
    "image": None,
    "missing": {},
}


@pytest.fixture
def recorded(tmp_path):
    def write(data):
        (tmp_path / "environment.json").write_text(json.dumps(data))
        return environment_json.recorded(tmp_path)

    return write


def test_a_record_is_what_stands_in_the_file_with_what_no_one_knows(recorded):
    assert recorded(RECORD) == RECORD
    assert "inside.brand_new.flag" in fingerprint.facts(recorded(RECORD))


@pytest.mark.parametrize(
    "damage",
    [
        {"inside": []},
        {"inside": {"device": "cuda"}},
        {"inside": {"packages": {"numpy": 2}}},
        {"host": {"gpus": [{"name": 7}]}},
        {"missing": ["inside.python"]},
        {"schema": 2},
    ],
)
def test_a_record_of_another_form_says_nothing(recorded, damage):
    assert recorded({**RECORD, **damage}) == {}


def test_a_file_that_repeats_a_key_says_nothing(tmp_path):
    (tmp_path / "environment.json").write_text('{"schema": 1, "inside": {}, "inside": {}}')
    assert environment_json.recorded(tmp_path) == {}


def test_a_record_that_a_person_names_is_refused_with_the_place(tmp_path):
    file = tmp_path / "environment.json"
    file.write_text(json.dumps({**RECORD, "inside": {"device": {"kind": 3}}}))
    with pytest.raises(ReportError) as caught:
        read_record(file)
    assert "'inside.device.kind' has a value of the wrong type" in str(caught.value)
