"""Every form in which a file was ever written is read by today's readers, and says what it said."""

import json
import shutil
from pathlib import Path

import pytest

from reprokit import golden
from reprokit.capture.read_record import read_record
from reprokit.core import fingerprint
from reprokit.errors import GoldenError
from reprokit.features.tune.studies import Trial, TrialState
from reprokit.harness.judging.extension_evidence import missing_of
from reprokit.records import provenance_json, run_json
from reprokit.reports.formats import to_json
from reprokit.runs import sweeps

SCHEMAS = Path(__file__).resolve().parents[2] / "data" / "schemas"


def examples(name):
    return sorted((SCHEMAS / name).iterdir())


def run_of(path):
    return run_json.of(json.loads(path.read_text()), where=str(path))


@pytest.mark.parametrize("path", examples("run.json"), ids=lambda path: path.stem)
def test_a_run_says_what_it_said(path):
    record, said = run_of(path), json.loads(path.read_text())
    assert (record.schema, record.completed, record.exit_code) == (1, True, 0)
    for name in ("recipe", "run_id", "seed", "device", "started_at", "duration_s", "state"):
        assert getattr(record, name) == said[name]
    assert (record.modified, record.is_whole, record.world_size) == ((), True, 1)
    assert record.owner.pid == said["owner"]["pid"]
    assert record.keeps_output is ("program" in said)
    assert (record.plain_command is None) is ("plain_command" not in said)


def test_what_a_run_did_not_record_yet_is_not_known():
    first, last = (run_of(SCHEMAS / "run.json" / f"plain-command-{at}.json") for at in ("09ce7d0", "416de84"))
    assert (first.outputs, first.outside_code, first.has_make, first.where) == (None, None, None, None)
    assert (last.outputs, last.outside_code.unknown, last.has_make, last.where) == ((), None, False, "local")


@pytest.mark.parametrize("path", examples("environment.json"), ids=lambda path: path.stem)
def test_an_environment_names_its_platform(path):
    assert fingerprint.platform_of(read_record(path)) == "cpu-x86_64"


@pytest.mark.parametrize("path", examples("provenance.json"), ids=lambda path: path.stem)
def test_a_provenance_is_one_of_a_golden_whose_other_files_are_missing(tmp_path, path):
    """The examples are without metrics, at which alone their readers may stop."""
    said = json.loads(path.read_text())
    name = f"seed-{said['seed']}" if "seed" in said else "ensemble"
    folder = tmp_path / said["recipe"] / said["platform"] / name
    folder.mkdir(parents=True)
    shutil.copy(path, folder / "provenance.json")
    load, missing = (
        (golden.load, "metrics.jsonl") if "seed" in said else (golden.load_ensemble, "ensemble.jsonl")
    )
    with pytest.raises(GoldenError) as caught:
        load(folder)
    assert caught.value.where == str(folder / missing)
    assert fingerprint.platform_of(read_record(path)) == said["platform"]


@pytest.mark.parametrize("path", examples("report.json"), ids=lambda path: path.stem)
def test_a_report_keeps_its_verdict(path):
    report, said = to_json.load(path), json.loads(path.read_text())
    assert (str(report.verdict), report.exit_code, list(report.runs)) == ("REPEATABLE", 0, said["runs"])
    assert {row.id: str(row.status) for row in report.checks} == {
        row["id"]: row["status"] for row in said["checks"]
    }


@pytest.mark.parametrize("path", examples("sweep.json"), ids=lambda path: path.stem)
def test_a_sweep_has_its_members(path):
    said = json.loads(path.read_text())["members"]
    found = [
        (one.recipe, one.seed, one.identity, str(one.state), one.run, one.mixed) for one in sweeps.read(path)
    ]
    assert found == [
        (row["recipe"], row["seed"], row["identity"], row["state"], row["run"], row.get("mixed", False))
        for row in said
    ]


def test_a_search_is_written_with_the_keys_that_it_had():
    """Only people and their programs read it, so that no key may be lost."""
    (path,) = examples("study.json")
    for said in json.loads(path.read_text())["trials"]:
        trial = Trial(number=said["number"], params=said["params"], state=TrialState(said["state"]))
        assert list(trial.as_data()) == list(said)


WITH_EXTENSION = "a8bb277"
PBS = ("pbs-queue", "1.0", "sha256:cd698bd6bd0da5025620f6114e4c5713b1af8a7edd675211364d0481c7764edb")


def test_the_extensions_of_a_run_and_of_a_report_are_read_with_what_they_did():
    run = run_of(SCHEMAS / "run.json" / f"plain-command-{WITH_EXTENSION}.json")
    (one,) = run.extensions
    assert (one.name, one.version, one.digest, one.log_formats, one.places) == (*PBS, ("pbslog",), ("pbs",))
    report = to_json.load(SCHEMAS / "report.json" / f"plain-command-{WITH_EXTENSION}.json")
    (told,) = report.extensions
    assert (told.name, told.version, told.digest) == PBS
    assert told.had_say == ("its log format pbslog read train.pbslog",)
    (section,) = report.sections
    assert (section.label, section.title) == ("pbs-queue 1.0", "Where the runs were made")
    assert section.tables[0].head == ("Run", "Made at")
    assert (
        json.loads(to_json.to_json(report))["sections"]
        == json.loads((SCHEMAS / "report.json" / f"plain-command-{WITH_EXTENSION}.json").read_text())[
            "sections"
        ]
    )


def test_a_golden_of_then_that_names_an_extension_is_not_judged_without_it():
    file = SCHEMAS / "provenance.json" / f"command-recipe-{WITH_EXTENSION}.json"
    found, _ = provenance_json.read_golden(file)
    assert [(one.name, one.version, one.digest) for one in found.extensions] == [PBS]
    assert missing_of(found.extensions, whose="the golden") == (
        "the golden was promoted with it, and the extension pbs-queue 1.0 is not named in [tool.reprokit] "
        "extensions"
    )


@pytest.mark.parametrize("name", ["run.json", "provenance.json", "report.json"])
def test_what_was_written_before_extensions_names_none(name):
    before = [path for path in examples(name) if WITH_EXTENSION not in path.name]
    assert before
    for path in before:
        said = json.loads(path.read_text())
        assert "extensions" not in said
        if name == "run.json":
            assert run_of(path).extensions == ()
        elif name == "report.json":
            assert to_json.load(path).extensions == ()
