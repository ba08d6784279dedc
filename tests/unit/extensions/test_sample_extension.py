"""The sample extension passes the suites that its author runs; and each suite finds planted faults."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit.api import testing
from reprokit.api.extensions import (
    Extension,
    LogFormat,
    NamedCause,
    Proposal,
    Reading,
    Row,
    Section,
    SectionContent,
    TaskState,
    Variation,
    Verb,
    passed,
)

SAMPLE = Path(__file__).parents[2] / "sample_extension"
LOG = b"".join(b"step=%d|loss=%r\n" % (step, 1 / step) for step in range(1, 9))


@pytest.fixture(autouse=True)
def _sample(monkeypatch):
    monkeypatch.syspath_prepend(str(SAMPLE / "src"))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "labkit_ext"]:
        del sys.modules[name]


@pytest.fixture
def pbs(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{SAMPLE / 'tests' / 'fake_pbs'}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_PBS", str(tmp_path / "jobs"))


def run_folder(folder):
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"schema": 1}))
    return folder


def test_it_passes_the_suites_that_its_author_runs(tmp_path):
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    told = subprocess.run(
        [*words, f"--rootdir={SAMPLE}", f"--basetemp={tmp_path / 'pytest'}", str(SAMPLE / "tests")],
        env={**os.environ, "PYTHONPATH": str(SAMPLE / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout
    assert "10 passed" in told.stdout


TAP = {"category": "clock", "file": "/lab/train.py", "line": 3, "differs": True}
IS_IT, IS_NOT = {"taps": [TAP]}, {"taps": [{**TAP, "differs": False}]}


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (lambda judged, verdict: SectionContent(paragraphs=[str(time.monotonic_ns())]), "two answers"),
        (lambda judged, verdict: "<b>all is well</b>", "gave a str"),
        (lambda judged, verdict: SectionContent(), "nothing to show"),
        (
            lambda judged, verdict: judged.recipe.clear() or SectionContent(paragraphs=["x"]),
            "changes nothing",
        ),
    ],
)
def test_a_section_that_no_report_could_stand_on_is_found(tmp_path, write, told):
    section = Section(title="x", write=write)
    with pytest.raises(AssertionError, match=told):
        testing.check_section(section, runs=[run_folder(tmp_path / "1")])


@pytest.mark.parametrize(
    ("name", "propose", "told"),
    [
        ("job_number", lambda found: None, "nothing is proposed"),
        ("job_number", lambda found: Proposal(what="x", fix="y"), "where it is not the cause"),
        ("job_number", lambda found: Proposal(what="x", fix=str(time.monotonic_ns())), "two answers"),
        ("job_number", lambda found: found.clear() or Proposal(what="x", fix="y"), "changes nothing"),
        ("job_number", lambda found: Proposal(what="x", fix=""), "are texts"),
        ("hash-order", lambda found: Proposal(what="x", fix="y"), "is built in"),
    ],
)
def test_a_cause_that_says_nothing_or_always_the_same_is_found(name, propose, told):
    with pytest.raises(AssertionError, match=told):
        testing.check_cause(name, NamedCause(propose=propose), is_it=IS_IT, is_not=IS_NOT)


def test_a_log_format_that_invents_records_of_a_torn_log_is_found(tmp_path):
    def invents(path):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            yield Reading(line=number, record={"step": number, "loss": float(line.rpartition("=")[2] or 0)})

    form = LogFormat(patterns=("*.pbslog",), read=invents)
    with pytest.raises(AssertionError, match="that the log does not have"):
        testing.check_log_format(form, name="train.pbslog", content=LOG, folder=tmp_path)


def test_a_log_format_that_reads_another_thing_each_time_is_found(tmp_path):
    times = []

    def read(path):
        times.append(path)
        yield from (Reading(line=1, record={"step": step, "n": len(times)}) for step in range(3))

    form = LogFormat(patterns=("*.pbslog",), read=read)
    with pytest.raises(AssertionError, match="two readings of one file differ"):
        testing.check_log_format(form, name="train.pbslog", content=LOG, folder=tmp_path)


def test_a_row_that_passes_everything_is_found(tmp_path):
    row = Row(title="All is well", check=lambda judged: passed("all is well"))
    folder = run_folder(tmp_path / "1")
    with pytest.raises(AssertionError, match="PASSED of"):
        testing.check_row(row, good=[folder], bad=[folder])


def test_a_variation_that_changes_nothing_is_found():
    from labkit_ext.variation import VARIATION

    nothing = replace(VARIATION, makes=Variation(category="environment", fix="none"))
    with pytest.raises(AssertionError, match="it changes nothing"):
        testing.check_variation("nothing", nothing)


def test_a_place_that_says_that_what_runs_has_ended_is_found(pbs, tmp_path):
    from labkit_ext.place import PbsPlace

    class Hasty(PbsPlace):
        def standing(self, handles):
            return tuple(replace(one, going=TaskState.ENDED) for one in super().standing(handles))

    def open_hasty(settings, *, folder):
        return Hasty(settings, folder)

    with pytest.raises(AssertionError, match=r"did not run|does not end when its place"):
        testing.check_place(open_hasty, settings={}, folder=tmp_path)


def test_a_verb_without_an_example_is_found():
    from labkit_ext.verb import command

    command.epilog = ""
    with pytest.raises(AssertionError, match="example in its epilog"):
        testing.check_verb(command)


@pytest.mark.parametrize(
    "declared",
    [
        {"log_formats": {"csv": "labkit_ext.log_format:FORMAT"}},
        {"variations": {"umask": "labkit_ext.variation:VARIATION"}},
        {"places": {"slurm": "labkit_ext.place:open_place"}},
        {"causes": {"hash_order": "labkit_ext.cause:CAUSE"}},
        {"causes": {"hash-order": "labkit_ext.cause:CAUSE"}},
        {"verbs": {"verify": Verb(command="labkit_ext.verb:command", help="")}},
    ],
)
def test_a_declaration_of_something_that_is_built_in_is_found(declared):
    with pytest.raises(AssertionError, match="that one is built in"):
        testing.check_extension(Extension(**declared))
