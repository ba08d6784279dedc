"""Which run.json is read: with a value of another form, nothing in it is believed."""

import json

import pytest

from reprokit.core.run_record import OutsideCode, RunRecord
from reprokit.errors import ReportError
from reprokit.records import run_json
from reprokit.runs import listing, reading

GOOD = {
    "seed": 42,
    "command": ["python"],
    "image": {"variant": "cpu"},
    "outcome": "completed",
    "exit_code": 0,
}


def of(**changes):
    return run_json.of({**GOOD, **changes}, where="run.json")


def refusal_of(folder, content):
    (folder / "run.json").write_bytes(content)
    with pytest.raises(ReportError) as caught:
        run_json.read(folder)
    assert run_json.recorded(folder) == RunRecord()
    assert caught.value.where == str(folder / "run.json")
    assert caught.value.fix
    return caught.value


def test_what_reprokit_writes_fits_and_other_keys_may_hold_anything():
    record = of(image=None, duration_s=5, **{"something new": [{}]})
    assert (record.seed, record.command, record.image, record.duration_s) == (42, ("python",), None, 5)
    for recipe in (None, {}, {"ranks": None}, {"ranks": {"world_size": 64, "shards": 64}, "seeds": [1]}):
        assert of(recipe_data=recipe).recipe_data == (recipe or {})


def test_what_an_older_version_did_not_write_is_not_recorded():
    record = run_json.of({}, where="run.json")
    assert record == RunRecord()
    assert (record.modified, record.outputs, record.plain_command, record.has_make) == (
        None,
        None,
        None,
        None,
    )


def test_code_that_no_one_looked_for_is_told_from_none_that_was_found():
    assert of().outside_code is None
    assert of(outside_code={}).outside_code == OutsideCode(files={}, unknown=None)
    assert of(outside_code={"files": {"a.py": "sha256:1"}}).outside_code.files == {"a.py": "sha256:1"}
    assert of(outside_code={"unknown": "", "files": {}}).outside_code.unknown == ""


def test_a_name_that_is_no_text_in_utf_8_stays_as_it_is(tmp_path):
    (tmp_path / "run.json").write_text(
        json.dumps({"program": {"files": {"\udcff.py": "sha256:\udcff"}}, "\udcfe": 1})
    )
    assert run_json.read(tmp_path).program.files == {"\udcff.py": "sha256:\udcff"}


@pytest.mark.parametrize(
    ("name", "value", "place"),
    [
        ("seed", "42", ""),
        ("seed", True, ""),
        ("seed", 42.0, ""),
        ("command", "python", ""),
        ("command", [None], ""),
        ("image", [], ""),
        ("image", {"variant": 1}, "image.variant"),
        ("left_because", True, ""),
        ("environment", {"A": 1}, "environment.A"),
        ("owner", {"pid": "1"}, "owner.pid"),
        ("duration_s", "5", ""),
        ("duration_s", 10**400, ""),
        ("duration_s", float("nan"), ""),
        ("varied", True, ""),
        ("resumed_from", "a run", ""),
        ("resumed_from", {"step": "3"}, "resumed_from.step"),
        ("stopped_by", "words", ""),
        ("outside_code", "none", ""),
        ("outside_code", [], ""),
        ("outside_code", {"files": ["a.py"]}, "outside_code.files"),
        ("outside_code", {"files": {"a.py": None}}, "outside_code.files.a.py"),
        ("outside_code", {"unknown": False}, "outside_code.unknown"),
        ("modified", [1], ""),
        ("recipe_data", [], ""),
        ("recipe_data", {"ranks": 2}, "recipe_data.ranks"),
        ("recipe_data", {"ranks": {"world_size": "2"}}, "recipe_data.ranks.world_size"),
        ("recipe_data", {"ranks": {"world_size": True}}, "recipe_data.ranks.world_size"),
        ("recipe_data", {"ranks": {"world_size": 100_000_000}}, "recipe_data.ranks.world_size"),
    ],
)
def test_a_value_of_another_kind_is_named_and_the_run_is_not_complete(tmp_path, name, value, place):
    run = tmp_path / "runs" / "train" / "20261120T101500Z-aaaa-seed42-1"
    run.mkdir(parents=True)
    refused = refusal_of(run, json.dumps({**GOOD, name: value}).encode())
    assert f"run.json is damaged: {place or name!r}" in refused.what
    assert refused.expected
    assert refused.actual
    (run / "COMPLETE").write_text(json.dumps({"files": {"run.json": {}}}))
    stored = reading.read(run)
    assert (stored.complete, stored.record, stored.document) == (False, RunRecord(), {})
    assert stored.incomplete_because == refused.what
    (row,) = listing.summaries(tmp_path / "runs", reports_dir=tmp_path / "reports", now_ns=0)
    assert row.outcome == "damaged"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "Expecting value"),
        (b"[]", "it does not hold a JSON object"),
        (b'{"seed": 1, "seed": 2}', "the key 'seed' is repeated"),
        (b'{"digests": {"lock": "a", "lock": "b"}}', "the key 'lock' is repeated"),
        (b'{"seed": ' + b"1" * 5000 + b"}", "4300 digits"),
        (b'{"seed": ' * 100_000, "nested too deeply"),
        (b'\xff{"seed": 1}', "decode"),
    ],
)
def test_what_is_no_json_object_is_refused(tmp_path, content, why):
    assert why in refusal_of(tmp_path, content).what


def test_a_file_of_a_newer_version_is_told_from_a_damaged_one(tmp_path):
    refused = refusal_of(tmp_path, json.dumps({**GOOD, "schema": 2, "seed": "of another form"}).encode())
    assert "newer version of reprokit, with schema 2" in refused.what
    assert "upgrade" in refused.fix


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ReportError, match=r"run\.json cannot be read: No such file"):
        run_json.read(tmp_path)
