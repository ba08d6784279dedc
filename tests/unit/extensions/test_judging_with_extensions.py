"""What an extension can do to a verdict: be named in its sentence, and take it away; never give one."""

import importlib
from dataclasses import replace

import pytest

from reprokit import adapters, checks, extensions, harness, variations
from reprokit.adapters.folders import run_files
from reprokit.api import read_run
from reprokit.core.checklist import Status, Verdict, judgement
from reprokit.core.extension_record import RecordedExtension, ReportedExtension
from reprokit.errors import MetricsError, UsageError
from reprokit.extensions.sections import foreign_sections
from reprokit.harness.judging import build_report
from reprokit.harness.judging.extension_evidence import missing_of
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session
from reprokit.variations.variation import RunPlace
from support import planted
from support.installed_extension import install
from support.recorded_progress import RecordedProgress

READER = ReportedExtension(
    name="logs", version="1.0", digest="sha256:0", had_say=("its log format x read a.x",)
)
ROW = """\
from reprokit.api.extensions import Extension, Finding, Row, failed, passed, unjudged

EXTENSION = Extension(rows={{"mine": "planted_one:ROW"}})
ROW = Row(title="Mine", check=lambda judged: {answer})
"""
ANSWERS = {
    "passed('all is well')": Status.PASSED,
    "failed('nothing is well', 'pay')": Status.FAILED,
    "unjudged('no one knows', 'ask')": Status.ERROR,
    "1 / 0": Status.ERROR,
    "exit(0)": Status.ERROR,
    "None": Status.ERROR,
    "True": Status.ERROR,
    "passed('', x=1)": Status.ERROR,
    "passed('odd', x=object())": Status.ERROR,
    "Finding(status='PASSED', reason='a word')": Status.ERROR,
}


@pytest.fixture(autouse=True)
def _nothing_loaded():
    extensions.unload()
    yield
    extensions.unload()


@pytest.fixture
def loaded(tmp_path):
    def load(code, name="planted-one"):
        install(tmp_path, {"__init__.py": code}, name=name)
        extensions.load([f"{name}==1.0"], site_packages=tmp_path)
        assert extensions.broken() == ()

    return load


def judged(evidence):
    return judgement(evidence, checks.run_all(evidence), registry=checks.registry())


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("answer", ANSWERS)
def test_a_row_of_an_extension_is_shown_and_changes_no_verdict(loaded, answer, strict):
    good = planted.CLEAN["data_recorded"](planted.clean(strict=strict))
    bad = replace(good, repeats=(planted.DIFFERENT,))
    before = [judged(good), judged(bad)]
    loaded(ROW.format(answer=answer))
    row = checks.run_all(good)[-1]
    assert (row.id, row.status, row.required) == ("extension/planted-one/mine", ANSWERS[answer], False)
    assert [judged(good), judged(bad)] == before
    assert [one.verdict for one in before] == [Verdict.REPRODUCED, Verdict.NONDETERMINISTIC]


def test_a_row_that_says_of_itself_that_it_is_required_does_not_decide():
    row = replace(checks.run_all(planted.clean())[0], id="extension/a/b", status=Status.FAILED, required=True)
    rows = (*checks.run_all(planted.clean()), row)
    assert judgement(planted.clean(), rows, registry=checks.registry()).verdict is Verdict.REPRODUCED


def test_a_recipe_that_requires_a_row_of_an_extension_has_a_mistake(loaded):
    loaded(ROW.format(answer="passed('all is well')"))
    recipe = {**(planted.clean().recipe or {}), "checks": {"require": ["extension/planted-one/mine"]}}
    assert judged(planted.clean(recipe=recipe)).verdict is not Verdict.REPRODUCED


def test_what_an_extension_prints_stays_out_of_the_answer_on_standard_output(loaded, capsys):
    loaded("print('imported')\n" + ROW.format(answer="print('asked') or passed('all is well')"))
    assert checks.run_all(planted.clean())[-1].status is Status.PASSED
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "imported\nasked\n"


def test_a_row_gets_a_copy_of_the_recipe_that_it_may_spoil(loaded):
    loaded(ROW.format(answer="judged.recipe.clear() or passed('spoilt')"))
    evidence = planted.clean()
    checks.run_all(evidence)
    assert evidence.recipe == planted.clean().recipe


@pytest.mark.parametrize("kind", ["row", "section"])
def test_one_that_reads_a_run_does_so_wherever_the_process_was_started(loaded, tmp_path, monkeypatch, kind):
    """The working folder names no extension, or another: that one is not what judges."""
    code = {
        "row": "EXTENSION = Extension(rows={'mine': 'planted_one:ROW'})\n"
        "ROW = Row(title='Mine', check=lambda judged: read_run(FOLDER) and passed('read'))",
        "section": "EXTENSION = Extension(sections={'mine': 'planted_one:SECTION'})\n"
        "SECTION = Section(title='x', write=lambda judged, verdict: "
        "read_run(FOLDER) and SectionContent(paragraphs=['read']))",
    }[kind]
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text('{"schema": 1}')
    loaded(
        "from reprokit.api import read_run\n"
        "from reprokit.api.extensions import Extension, Row, Section, SectionContent, passed\n"
        f"FOLDER = {str(run)!r}\n{code}\n"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="this process has loaded other extensions"):
        read_run(run)
    if kind == "row":
        assert checks.run_all(planted.clean())[-1].reason == "read"
    else:
        (section,) = foreign_sections(planted.clean(), Verdict.REPRODUCED)
        assert section.paragraphs == ("read",)


def test_every_loaded_extension_is_named_with_what_it_did():
    evidence = planted.clean(extensions=(READER, ReportedExtension(name="b", version="2", digest="sha256:1")))
    assert build_report._of_others(evidence.extensions) == (
        "Loaded from outside reprokit: logs 1.0 (its log format x read a.x), b 2."
    )
    assert build_report._of_others(planted.clean().extensions) == ""


def test_under_strict_the_sentence_names_it_beside_rows_that_were_not_judged():
    lax = planted.CLEAN["data_recorded"](planted.clean(extensions=(READER,)))
    rows = [
        replace(row, status=Status.SKIPPED) if row.required else row
        for row in checks.run_all(replace(lax, strict=True))
    ]
    told = judgement(replace(lax, strict=True), rows, registry=checks.registry())
    assert told.verdict is Verdict.UNJUDGED
    assert told.because.startswith("required checks were not judged: ")
    assert told.because.endswith(
        "; an extension had a say in what was compared: logs 1.0 (its log format x read a.x)"
    )
    assert "had a say" not in judgement(lax, rows, registry=checks.registry()).because


@pytest.mark.parametrize("kind", ["rows", "sections"])
@pytest.mark.parametrize("place", ["NOTHING", "EXTENSION"])
def test_what_is_declared_and_not_there_is_wrong_usage_before_anything_is_run(
    loaded, tmp_path, monkeypatch, kind, place
):
    declared = f"EXTENSION = Extension({kind}={{'mine': 'planted_one:{place}'}})"
    loaded(f"from reprokit.api.extensions import Extension\n{declared}\n")
    module = importlib.import_module("reprokit.harness.reproduce")
    monkeypatch.setattr(module, "run_command", lambda *a, **k: pytest.fail("it was run"))
    session = Session(project=Project.around(tmp_path), progress=RecordedProgress())
    with pytest.raises(UsageError, match=r"mine of the extension planted-one 1\.0"):
        harness.reproduce_command(["true"], Request(), session=session)
    with pytest.raises(UsageError, match=r"mine of the extension planted-one 1\.0"):
        harness.reproduce("no_such_recipe", Request(), session=session)


def test_under_strict_nothing_passes_in_which_an_extension_had_a_say():
    lax = planted.CLEAN["data_recorded"](planted.clean(extensions=(READER,)))
    assert judged(lax).verdict is Verdict.REPRODUCED
    told = judged(replace(lax, strict=True))
    assert told.verdict is Verdict.UNJUDGED
    assert told.because == (
        "an extension had a say in what was compared: logs 1.0 (its log format x read a.x)"
    )
    beside = replace(READER, had_say=(), beside=("its row x is advisory",))
    assert judged(replace(lax, strict=True, extensions=(beside,))).verdict is Verdict.REPRODUCED


@pytest.mark.parametrize("fingerprint", [True, False])
def test_a_golden_whose_extension_is_not_loaded_is_never_a_regression_nor_stale(fingerprint):
    missing = planted.clean(extension_missing="it is not loaded")
    assert judged(missing).verdict is Verdict.UNJUDGED
    golden = replace(planted.golden(), comparison=planted.DIFFERENT, fingerprint_equal=fingerprint)
    told = judged(replace(missing, golden=golden))
    assert (told.verdict, told.because) == (Verdict.UNJUDGED, "it is not loaded")
    assert judged(replace(missing, repeats=(planted.DIFFERENT,))).verdict is Verdict.NONDETERMINISTIC


def test_a_golden_names_what_must_be_loaded_by_version_and_digest(loaded):
    loaded(ROW.format(answer="passed('all is well')"))
    (mine,) = extensions.recorded()
    assert missing_of([mine], whose="the golden") == ""
    assert missing_of([], whose="the golden") == ""
    assert "loaded here with version 1.0" in missing_of([mine._replace(version="2.0")], whose="the golden")
    other = mine._replace(digest="sha256:other")
    assert "loaded here with another digest" in missing_of([other], whose="the golden")
    gone = RecordedExtension(name="gone", version="1", digest="")
    assert "gone 1 is not named in [tool.reprokit]" in missing_of([gone], whose="the golden")


FORMAT = """\
from reprokit.api.extensions import Extension, LogFormat, Reading

EXTENSION = Extension(log_formats={{"{name}": "planted_one:FORMAT"}})


def read(path):
    {body}


FORMAT = LogFormat(patterns=["*.mine", "*.csv"], read=read)
"""


def test_a_log_format_reads_what_no_built_in_reads_and_nothing_else(loaded, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "a.mine").write_text("x")
    (run / "b.csv").write_text("step,loss\n1,0.5\n")
    loaded(FORMAT.format(name="mine", body="yield Reading(line=1, record={'step': 1, 'loss': 2.0})"))
    assert {source.name: source.adapter for source in adapters.find_all(run)} == {
        "a.mine": "mine",
        "b.csv": "csv",
    }


TAKES_ALL = FORMAT.replace('["*.mine", "*.csv"]', '["*", "*.log", "*.json", "*.jsonl.gz"]')
CONSTANT = "yield Reading(line=1, record={'step': 1, 'loss': 0.0})"


def test_a_log_format_gets_no_file_that_the_tool_writes(loaded, tmp_path):
    run = tmp_path / "run"
    for name in (*run_files._NAMES, "trace.rank3.jsonl", "metrics.jsonl.gz", "STDOUT.LOG"):
        for place in (run, run / "inner"):
            place.mkdir(exist_ok=True)
            (place / name).write_text("nothing that is a number\n")
    (run / "other").write_text("x")
    loaded(TAKES_ALL.format(name="mine", body=CONSTANT))
    found = adapters.find_all(run, by_content=False)
    assert [source.name for source in found if source.adapter == "mine"] == ["other"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.log", "step 1 loss 0.5\nstep 2 loss 0.25\n"),
        ("log.txt", '{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.25}\n'),
        ("results.json", '{"loss": 0.5}'),
    ],
)
def test_a_log_format_gets_no_file_that_is_read_by_its_content(loaded, tmp_path, name, text):
    run = tmp_path / "run"
    run.mkdir()
    (run / name).write_text(text)
    before = adapters.find_all(run)
    loaded(TAKES_ALL.format(name="mine", body=CONSTANT))
    assert [source.adapter for source in adapters.find_all(run)] == [source.adapter for source in before]
    assert adapters.source_of(run / name).adapter == before[0].adapter
    (run / name).write_text("@5 of words\n")
    theirs = "json" if name.endswith(".json") else "mine"  # such a name is a document, whatever it holds
    assert [source.adapter for source in adapters.find_all(run)] == [theirs]


@pytest.mark.parametrize(
    "body",
    [
        "raise KeyError('x')",
        "yield {'step': 1}",
        "yield Reading(line=1, record=None)",
        "yield Reading(line=1, record={'loss': object()})",
        "yield Reading(line=1, record={1: 2.0})",
        "yield Reading(line=1, record={'a': 1}, notes=(('no such word', ''),))",
        "import numpy; yield Reading(line=1, record={'loss': numpy.float64(1)})",
    ],
)
def test_a_faulty_log_format_is_an_error_that_names_it(loaded, tmp_path, body):
    (tmp_path / "a.mine").write_text("x")
    loaded(FORMAT.format(name="mine", body=body))
    with pytest.raises(
        MetricsError, match=r"the log format mine of the extension planted-one 1\.0 is faulty"
    ):
        list(adapters.adapter_named("mine").read(tmp_path / "a.mine"))


def test_a_log_format_called_as_a_built_in_is_wrong_usage(loaded):
    loaded(FORMAT.format(name="csv", body="yield"))
    with pytest.raises(UsageError, match="brings a log format called 'csv', which is built in"):
        adapters.adapters()


VARIATION = """\
from reprokit.api.extensions import Extension, NamedVariation, Variation, VariationNotMade

EXTENSION = Extension(variations={{"{name}": "planted_one:VARIATION"}})
VARIATION = NamedVariation(says="a thing", makes=lambda there: {makes})
"""


@pytest.mark.parametrize(
    "makes", ["1 / 0", "None", "VariationNotMade(why='all runs are like that', held=True)"]
)
def test_a_variation_that_makes_no_change_was_not_made_and_is_not_held_either(loaded, makes):
    loaded(VARIATION.format(name="thing", makes=makes))
    found = variations.survey(RunPlace(container=False, folder="/x"), only=("thing",))
    assert found.made == ()
    assert [one.held for one in found.unmade] == [False]


@pytest.mark.parametrize("environment", [{}, {"MODE": "a"}])
def test_a_variation_that_sets_what_every_run_has_anyway_was_not_made(loaded, environment):
    makes = f"Variation(category='environment', fix='do not read it', environment={environment})"
    loaded(VARIATION.format(name="thing", makes=makes))
    place = RunPlace(container=False, folder="/x", environment={"MODE": "a"})
    found = variations.survey(place, only=("thing",))
    assert found.made == ()
    assert [(one.why, one.held) for one in found.unmade] == [
        ("what the extension planted-one 1.0 sets is so in every run", False)
    ]


def test_a_variation_called_as_a_built_in_is_wrong_usage(loaded):
    loaded(VARIATION.format(name="umask", makes="None"))
    with pytest.raises(UsageError, match="brings a variation called 'umask', which is built in"):
        variations.names()
