"""A file of a version to come is refused as that (exit code 2), whichever it is, and not called damaged."""

import json
import shutil
from pathlib import Path

import pytest

from reprokit import golden, recipes, runs
from reprokit.errors import UsageError
from reprokit.features.bundles import manifest as bundle_manifest
from reprokit.features.compare import answer
from reprokit.features.numerics import determinism_claims
from reprokit.features.tune import studies
from reprokit.harness import Project, Request, judge_again
from reprokit.records import json_file
from reprokit.reports import comparison_record, gate_record
from reprokit.reports.formats import to_json
from reprokit.runs import sweeps

DATA = Path(__file__).parents[2] / "data"
PAST = DATA / "schema-1"
(RUN,) = sorted(PAST.glob("runs/*/*/run.json"))[:1]
(REPORT,) = PAST.glob("reports/*/*/report.json")
(PROVENANCE,) = PAST.glob("golden/*/*/seed-*/provenance.json")
READERS = {
    "run.json": (RUN, lambda file: runs.find(file.parents[2], str(file.parent))),
    "report.json": (REPORT, to_json.load),
    "provenance.json": (PROVENANCE, lambda file: golden.load(file.parent)),
    "sweep.json": (next(DATA.glob("schemas/sweep.json/*.json")), lambda file: sweeps.read(file.parent)),
    "compare.json": (None, answer.load),
    "gate.json": (None, lambda file: gate_record.read_gate(file.read_bytes())),
    "comparisons.json": (None, lambda file: comparison_record.read_comparisons(file.read_bytes())),
}


@pytest.mark.parametrize("name", READERS)
def test_a_file_with_a_later_schema_is_of_a_newer_version(tmp_path, name):
    file, read = READERS[name]
    folder = tmp_path / "folder"
    if file is None:
        folder.mkdir()
    else:
        shutil.copytree(file.parent, folder)
    data = json.loads(file.read_text()) if file else {}
    (folder / name).write_text(json.dumps({**data, "schema": 2}))
    with pytest.raises(UsageError, match="written by a newer version of reprokit, with schema 2") as refused:
        read(folder / name)
    assert refused.value.exit_code == 2
    assert "pip install --upgrade" in str(refused.value)


def test_a_recipe_with_a_later_schema_is_wrong_usage_that_names_the_schema_that_is_read(tmp_path):
    folder = tmp_path / "recipes" / "x"
    folder.mkdir(parents=True)
    (folder / "recipe.yaml").write_text("schema: 2\nname: x\n")
    with pytest.raises(UsageError, match="newer version of reprokit"):
        recipes.load("x", recipes_dir=folder.parent)


def manifest(**changed):
    told = {
        "format": 1,
        "of": "run",
        "recipe": "x",
        "platform": "",
        "seed": 1,
        "variant": "none",
        "modified": [],
        "digests": {},
        "commit": "",
        "tool": "0.1.0",
        "vendored": False,
        "left_out": [],
        "files": {},
    }
    return json.dumps({**told, **changed}).encode()


def test_a_bundle_with_a_later_form_is_of_a_newer_version():
    assert bundle_manifest.read(manifest(), where="a.tar.gz").recipe == "x"
    with pytest.raises(UsageError, match="this bundle was written by a newer version"):
        bundle_manifest.read(manifest(format=2), where="a.tar.gz")


@pytest.mark.parametrize(("tool", "newer"), [("99.0", True), ("0.0.1", False), (7, False)])
def test_a_bundle_with_a_key_that_is_not_known_is_newer_only_if_its_version_is(tool, newer):
    with pytest.raises(UsageError) as refused:
        bundle_manifest.read(manifest(tool=tool, later=1), where="a.tar.gz")
    assert ("newer version of reprokit, 99.0" in refused.value.what) is newer
    assert ("malformed" in refused.value.what) is not newer
    assert refused.value.exit_code == 2


def test_a_bundle_that_is_no_object_is_malformed():
    with pytest.raises(UsageError, match="malformed"):
        bundle_manifest.read(b"[]", where="a.tar.gz")


def test_the_record_of_a_search_of_a_newer_version_is_not_written_over(tmp_path):
    studies.must_not_be_newer(tmp_path)
    for said in ('{"schema": 1}', "{", "[]", "{}"):
        (tmp_path / "study.json").write_text(said)
        studies.must_not_be_newer(tmp_path)
    (tmp_path / "study.json").write_text('{"schema": 2}')
    with pytest.raises(
        UsageError, match=r"study\.json was written by a newer version of reprokit"
    ) as refused:
        studies.must_not_be_newer(tmp_path)
    assert refused.value.exit_code == 2


def test_findings_of_a_newer_version_are_refused_as_that(tmp_path):
    (tmp_path / "a.json").write_text('{"schema": 2, "rows": []}')
    with pytest.raises(UsageError, match=r"a\.json was written by a newer version of reprokit"):
        determinism_claims.read_findings(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("version", "newer"), [("99.0", True), ("0.0.1", False), (None, False), ("not a version", False)]
)
def test_a_report_with_a_key_that_is_not_known_is_newer_only_if_its_version_is(version, newer):
    data = json.loads(REPORT.read_text())
    tool = {"name": "reprokit", "version": version, "code": ""} if version else None
    with pytest.raises(UsageError) as refused:
        to_json.from_dict({**data, "tool": tool, "later": 1})
    assert ("newer version of reprokit, 99.0" in refused.value.what) is newer
    assert ("unknown key 'later'" in refused.value.what) is not newer


def test_keys_of_a_newer_version_in_files_of_this_schema_are_read_over():
    data = json.loads(RUN.read_text())
    record = json_file.of(
        {**data, "later": [1]}, type(runs.read(RUN.parent).record), where="run.json", fix=""
    )
    assert record.schema == 1


def test_runs_of_a_newer_version_are_not_judged(tmp_path):
    folder = tmp_path / "runs" / "x" / "1"
    shutil.copytree(RUN.parent, folder)
    (folder / "run.json").write_text(json.dumps({**json.loads(RUN.read_text()), "schema": 2}))
    with pytest.raises(UsageError, match="newer version of reprokit"):
        judge_again([folder], Request(), project=Project.around(tmp_path))
