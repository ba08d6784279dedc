"""Two plain commands compared: real programs of the standard library, each side run twice."""

from __future__ import annotations

import json
import re
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reprokit import extras
from reprokit.errors import MissingExtraError, UsageError
from reprokit.features.compare.answer import FILE, Word
from reprokit.features.compare.audit import audit
from reprokit.features.compare.compare import compare_commands
from reprokit.harness.curation.prune import PruneChoice, plan_prune
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session
from support.recorded_progress import RecordedProgress

LOGS = """\
import json, math, os, random, sys
random.seed(int(sys.argv[1]))
folder, value = sys.argv[2], 1.0
with open(f"{folder}/log.jsonl", "w") as log:
    for step in range(RECORDS):
        value -= 0.1 * random.random()
        log.write(json.dumps({"step": step, **dict(METRICS)}) + "\\n")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def program(folder: Path, name: str, *, metrics: str = "loss=value", records: int = 6, more: str = "") -> str:
    text = LOGS.replace("RECORDS", str(records)).replace("dict(METRICS)", f"dict({metrics})")
    (folder / name).write_text(text + more)
    return name


def compared(folder: Path, a: str, b: str, *, only=None, **asked):
    commands = {
        side: (sys.executable, script, "{seed}", "{run_dir}") for side, script in (("a", a), ("b", b))
    }
    session = Session(project=Project.around(folder), progress=RecordedProgress())
    return compare_commands(commands, Request(**asked), only=only, session=session)


def test_programs_with_the_same_numbers_are_equal_and_the_report_follows_from_its_runs(folder):
    answer, report = compared(folder, program(folder, "one.py"), program(folder, "two.py"))
    assert (answer.answer, answer.exit_code) == (Word.EQUAL, 0)
    assert answer.records_compared == 6
    assert [len(answer.sides[name].runs) for name in ("a", "b")] == [2, 2]
    assert [one["kind"] for one in answer.what_differs] == ["command"]
    found = audit(report / FILE)
    assert (found.follows, found.exit_code) == (True, 0)


def test_output_files_that_differ_and_that_no_one_compared_are_named(folder):
    saves = "open(f'{folder}/m.bin', 'w').write(sys.argv[0])\n"
    other = program(folder, "two.py", more=saves)
    answer, report = compared(folder, program(folder, "one.py", more=saves), other)
    assert answer.answer is Word.EQUAL
    assert [note for note in answer.notes if note.endswith("not compared: m.bin")]
    assert audit(report / FILE).follows


def test_one_flipped_bit_is_named_with_its_record_and_metric(folder):
    other = program(folder, "two.py", metrics="loss=math.nextafter(value, 9) if step == 4 else value")
    answer, report = compared(folder, program(folder, "one.py"), other)
    assert (answer.answer, answer.exit_code) == (Word.DIFFERENT, 1)
    assert (answer.first["record"], answer.first["step"], answer.first["metric"]) == (4, 4, "loss")
    assert answer.first["ulps"] == 1
    assert audit(report / FILE).exit_code == 1
    page = (report / "report.html").read_text()
    assert "logarithmic scale" in page
    assert page.count("data-chart=") == 2
    index = report.parents[2] / "index.html"
    assert f'href="./{report.relative_to(index.parent)}/report.html"' in index.read_text()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({}, {"metrics": "loss=value, accuracy=0.5"}),
        ({"metrics": "loss=value, accuracy=0.5"}, {}),
    ],
)
def test_a_metric_that_one_side_alone_has_is_a_difference_unless_the_common_ones_are_asked_for(folder, a, b):
    one, other = program(folder, "one.py", **a), program(folder, "two.py", **b)
    answer, _ = compared(folder, one, other)
    assert (answer.answer, answer.first["metric"]) == (Word.DIFFERENT, "accuracy")
    assert "--metric" in answer.hint
    assert compared(folder, one, other, only=("loss",))[0].answer is Word.EQUAL


@pytest.mark.parametrize("records", [5, 7])
def test_another_number_of_records_is_a_difference(folder, records):
    one, other = program(folder, "one.py"), program(folder, "two.py", records=records)
    answer, _ = compared(folder, one, other)
    assert (answer.answer, answer.first["record"]) == (Word.DIFFERENT, min(6, records))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"metrics": "loss=value"}, {"metrics": "cost=value"}),
        ({"metrics": "loss=math.nan"}, {"metrics": "loss=math.nan"}),
        ({"metrics": "loss=None"}, {"metrics": "loss=None"}),
        ({"records": 0}, {"records": 0}),
        ({}, {"records": 0}),
    ],
    ids=["no common metric", "only NaN", "only null", "empty logs", "one empty log"],
)
def test_what_cannot_be_compared_is_unjudged_and_never_equal(folder, a, b):
    one, other = program(folder, "one.py", **a), program(folder, "two.py", **b)
    answer, report = compared(folder, one, other)
    assert (answer.answer, answer.exit_code) == (Word.UNJUDGED, 4)
    assert audit(report / FILE).exit_code == 4


@pytest.mark.parametrize(
    "asked", [{"only": ("los",)}, {"only": ("loss", "los")}, {"ignore": ("los",)}], ids=str
)
def test_a_metric_that_neither_side_has_is_a_wrong_question_and_the_nearest_is_named(folder, asked):
    one, other = program(folder, "one.py"), program(folder, "two.py")
    with pytest.raises(UsageError, match="no metric matches 'los'") as raised:
        compared(folder, one, other, **asked)
    assert "loss" in raised.value.fix


def test_asking_for_a_metric_that_one_side_alone_has_is_never_equal(folder):
    one, other = program(folder, "one.py"), program(folder, "two.py", metrics="loss=value, reward=1.5")
    assert compared(folder, one, other, only=("reward",))[0].answer is Word.UNJUDGED


def test_one_nan_among_numbers_at_another_place_is_a_difference(folder):
    nan = "loss=math.nan if step == {} else value"
    one = program(folder, "one.py", metrics=nan.format(2))
    assert compared(folder, one, program(folder, "two.py", metrics=nan.format(3)))[0].answer is Word.DIFFERENT
    assert compared(folder, one, program(folder, "three.py", metrics=nan.format(2)))[0].answer is Word.EQUAL


def test_a_single_record_is_compared_and_the_answer_says_that_it_is_one(folder):
    one, other = program(folder, "one.py", records=1), program(folder, "two.py", records=1)
    answer, _ = compared(folder, one, other)
    assert answer.answer is Word.EQUAL
    assert any("one record" in note for note in answer.notes)


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_side_that_does_not_repeat_is_unjudged_and_named(folder, side):
    drifting = program(folder, "drifting.py", metrics="loss=value + int.from_bytes(os.urandom(4))")
    steady = program(folder, "steady.py")
    answer, _ = compared(folder, *((drifting, steady) if side == "a" else (steady, drifting)))
    assert (answer.answer, answer.exit_code) == (Word.UNJUDGED, 4)
    assert answer.sentence.startswith(f"side {side} does not repeat")
    assert "diagnose" in answer.hint


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_side_that_fails_is_named_and_no_answer_is_given(folder, side):
    failing, steady = program(folder, "failing.py", more="sys.exit(7)\n"), program(folder, "steady.py")
    answer, report = compared(folder, *((failing, steady) if side == "a" else (steady, failing)))
    assert (answer.answer, answer.exit_code) == (None, 3)
    assert answer.sentence.startswith(f"side {side} did not run")
    assert audit(report / FILE).exit_code == 3


OVERWRITES = """
for other in sorted(os.scandir(folder + "/../../../plain-one"), key=lambda e: e.name):
    with open(f"{other.path}/log.jsonl", "w") as log, open(f"{folder}/log.jsonl") as own:
        log.write(own.read())
"""


def test_a_side_that_writes_its_numbers_into_the_runs_of_the_other_is_not_equal_to_it(folder):
    one = program(folder, "one.py")
    other = program(folder, "two.py", metrics="loss=value + 1", more=OVERWRITES)
    answer, _ = compared(folder, one, other)
    assert (answer.answer, answer.exit_code) == (Word.UNJUDGED, 4)


SEALS_TOO = """
import hashlib
def sealed(path):
    data = open(path, "rb").read()
    return {"sha256": "sha256:" + hashlib.sha256(data).hexdigest(), "bytes": len(data)}
for other in os.scandir(folder + "/../../../plain-one"):
    marker = json.load(open(f"{other.path}/COMPLETE"))
    marker["files"]["log.jsonl"] = {**marker["files"]["log.jsonl"], **sealed(f"{other.path}/log.jsonl")}
    json.dump(marker, open(f"{other.path}/COMPLETE", "w"))
"""


def test_a_side_that_seals_what_it_wrote_there_is_not_equal_either(folder):
    one = program(folder, "one.py")
    other = program(folder, "two.py", metrics="loss=value + 1", more=OVERWRITES + SEALS_TOO)
    answer, _ = compared(folder, one, other)
    assert (answer.answer, answer.exit_code) == (Word.UNJUDGED, 4)
    assert "changed after its run had ended" in answer.sentence


def test_declared_output_files_are_compared_too(folder):
    writes = "open(f'{folder}/model.bin', 'w').write('%s')\n"
    one, other = program(folder, "one.py", more=writes % "1"), program(folder, "two.py", more=writes % "2")
    assert compared(folder, one, other)[0].answer is Word.EQUAL
    answer, _ = compared(folder, one, other, outputs=("model.bin",))
    assert (answer.answer, answer.first["metric"]) == (Word.DIFFERENT, "output/model.bin")


@pytest.mark.parametrize("side", ["a", "b"])
def test_an_output_file_that_one_side_alone_leaves_is_a_difference_and_the_side_is_named(folder, side):
    writes = "open(f'{folder}/model.bin', 'w').write('1')\n"
    one = program(folder, "one.py", more=writes if side == "a" else "")
    other = program(folder, "two.py", more=writes if side == "b" else "")
    answer, report = compared(folder, one, other, outputs=("*.bin",))
    assert (answer.answer, answer.exit_code) == (Word.DIFFERENT, 1)
    assert f"only side {side} has 'output/model.bin'" in answer.sentence
    assert audit(report / FILE).follows


def test_a_pattern_of_output_files_that_fits_nothing_on_both_sides_is_a_wrong_question(folder):
    with pytest.raises(UsageError, match="model"):
        compared(folder, program(folder, "one.py"), program(folder, "two.py"), outputs=("model.*",))


def test_the_same_command_twice_is_a_wrong_question(folder):
    with pytest.raises(UsageError, match="the same"):
        compared(folder, program(folder, "one.py"), "one.py")


def test_a_report_that_was_edited_or_whose_runs_were_does_not_stand(folder):
    one, other = program(folder, "one.py"), program(folder, "two.py", metrics="loss=value + 1")
    _, report = compared(folder, one, other)
    file = report / FILE
    text = file.read_text()
    data = json.loads(text)
    data["answer"] |= {"answer": "equal", "exit_code": 0}
    file.write_text(json.dumps(data))
    found = audit(file)
    assert (found.follows, found.exit_code) == (False, 1)
    assert any(finding.startswith("answer ") for finding in found.findings)
    file.write_text(text)
    run = Path(data["answer"]["sides"]["b"]["runs"][0])
    (run / "log.jsonl").write_text((run / "log.jsonl").read_text().replace("0", "1"))
    assert audit(file).exit_code == 1


def test_words_of_another_version_are_named_and_its_answer_is_checked_all_the_same(folder):
    _, report = compared(
        folder, program(folder, "one.py"), program(folder, "two.py", metrics="loss=value + 1")
    )
    file = report / FILE
    data = json.loads(file.read_text()) | {"tool": {"name": "reprokit", "version": "0.0.9", "code": ""}}
    file.write_text(json.dumps(data | {"answer": data["answer"] | {"notes": ["as it was said then"]}}))
    found = audit(file)
    assert (found.follows, found.findings) == (True, ())
    assert any(one.startswith("notes ") for one in found.not_checked)
    file.write_text(json.dumps(data | {"answer": data["answer"] | {"answer": "equal", "exit_code": 0}}))
    assert audit(file).exit_code == 1


def test_a_report_that_does_not_say_which_version_made_it_does_not_stand(folder):
    one, other = program(folder, "one.py"), program(folder, "two.py", metrics="loss=value, more=value")
    _, report = compared(folder, one, other, only=("loss",))
    file = report / FILE
    data = json.loads(file.read_text())
    assert audit(file).compared == ("Only these metrics were compared: loss",)
    for tool in (None, {}, {"name": "reprokit"}):
        file.write_text(json.dumps(data | {"tool": tool}))
        found = audit(file)
        assert (found.follows, found.exit_code) == (False, 1)
        assert "does not say which version" in found.findings[0]
    del data["tool"]
    file.write_text(json.dumps(data))
    assert audit(file).exit_code == 1


def test_a_report_that_names_the_runs_of_one_side_twice_does_not_stand(folder):
    _, report = compared(
        folder, program(folder, "one.py"), program(folder, "two.py", metrics="loss=value + 1")
    )
    file = report / FILE
    data = json.loads(file.read_text())
    data["answer"]["sides"]["b"]["runs"] = data["answer"]["sides"]["a"]["runs"]
    data["answer"] |= {"answer": "equal", "exit_code": 0, "first": None}
    file.write_text(json.dumps(data))
    assert audit(file).exit_code == 1


def test_runs_that_a_comparison_stands_on_are_not_pruned(folder, monkeypatch):
    monkeypatch.setattr(
        sys.modules[plan_prune.__module__], "_at_work", lambda _run: ""
    )  # this process made them, and is still there
    _, report = compared(folder, program(folder, "one.py"), program(folder, "two.py"))
    everything = PruneChoice(keep=0)
    plan = plan_prune(Project.around(folder), everything, now=datetime.now(UTC))
    assert (plan.going, len(plan.kept)) == ((), 4)
    assert [kept.because for kept in plan.kept] == [f"{report / FILE} depends on it"] * 4
    (report / FILE).write_text("{")
    plan = plan_prune(Project.around(folder), everything, now=datetime.now(UTC))
    assert (plan.going, len(plan.kept)) == ((), 4)
    (report / FILE).unlink()
    assert len(plan_prune(Project.around(folder), everything, now=datetime.now(UTC)).going) == 4


def test_without_jinja_the_answer_is_given_and_a_page_says_what_is_missing(folder, monkeypatch):
    one, two = program(folder, "one.py"), program(folder, "two.py")
    _, drawn = compared(folder, one, two)
    monkeypatch.setattr(extras, "is_installed", lambda module: module != "jinja2")
    answer, report = compared(folder, one, two)
    assert answer.answer is Word.EQUAL
    assert "[html]" in (report / "report.html").read_text()
    assert audit(report / FILE).exit_code == 0
    with pytest.raises(MissingExtraError):
        audit(drawn / FILE)
    monkeypatch.undo()
    assert audit(report / FILE).exit_code == 0


def test_a_trace_on_one_side_alone_is_said_not_to_be_compared(folder):
    trace = (
        '\nopen(f"{folder}/trace.jsonl", "w").write(json.dumps({"update": 1, "parameters": "x"}) + "\\n")\n'
    )
    answer, _ = compared(folder, program(folder, "one.py"), program(folder, "two.py", more=trace))
    assert any("only one side has a trace" in note for note in answer.notes)


def test_a_program_that_goes_on_from_a_run_of_the_other_side_is_not_judged(folder):
    looks = program(folder, "two.py", metrics="loss=value")
    (folder / "two.py").write_text(
        "import pathlib, sys\n"
        "runs = pathlib.Path(sys.argv[2]).parent.parent\n"
        "[one.read_text() for one in runs.parent.rglob('*.jsonl')]\n" + (folder / "two.py").read_text()
    )
    answer, _ = compared(folder, program(folder, "one.py"), looks)
    assert answer.answer is Word.UNJUDGED
    assert answer.sentence.startswith("side b opened a file that is not its own: ")


KEEPS = """
import pathlib
cache = pathlib.Path.home() / ".cache" / "library"
cache.mkdir(parents=True, exist_ok=True)
kept = cache / "values.json"
if not kept.exists():
    kept.write_text(json.dumps(WHAT))
log = pathlib.Path(folder, "log.jsonl")
log.write_text(log.read_text() + json.dumps({"step": 6, "loss": json.loads(kept.read_text())}) + "\\n")
"""


@pytest.fixture
def home(folder, monkeypatch, tmp_path_factory):
    found = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(found))
    return found


@pytest.mark.parametrize("place", ["library", "a/b/c/d/e/f/library"])
def test_a_side_that_opens_what_the_other_left_in_a_cache_is_not_judged(folder, home, place):
    keeps = KEEPS.replace('"library"', f'"{place}"')
    one = program(folder, "one.py", more=keeps.replace("WHAT", "1.5"))
    other = program(folder, "two.py", more=keeps.replace("WHAT", "2.5"))
    answer, _ = compared(folder, one, other)
    assert answer.answer is Word.UNJUDGED
    assert answer.sentence.startswith("side b opened a file that is not its own: ")
    assert answer.sentence.endswith(f"/.cache/{place}/values.json")


def test_a_side_that_opens_what_the_other_left_in_their_folder_is_not_judged(folder):
    keeps = KEEPS.replace('pathlib.Path.home() / ".cache" / "library"', "pathlib.Path('left')")
    one = program(folder, "one.py", more=keeps.replace("WHAT", "1.5"))
    other = program(folder, "two.py", more=keeps.replace("WHAT", "2.5"))
    answer, _ = compared(folder, one, other)
    assert answer.answer is Word.UNJUDGED
    assert answer.sentence.endswith("/left/values.json")


@pytest.mark.parametrize("place", ["pathlib.Path.home() / '.cache' / 'library'", "pathlib.Path('left')"])
def test_a_side_that_lists_what_the_other_left_is_not_judged(folder, home, place):
    names = (
        f"\nimport pathlib\nkept = {place}\nkept.mkdir(parents=True, exist_ok=True)\n"
        "if not any(kept.glob('*')): (kept / 'NAME').touch()\n"
        "more = json.dumps({'step': 0, 'number': float(next(kept.iterdir()).name)})\n"
        "open(f'{folder}/more.jsonl', 'w').write(more)\n"
    )
    one = program(folder, "one.py", more=names.replace("NAME", "1.5"))
    other = program(folder, "two.py", more=names.replace("NAME", "2.5"))
    answer, _ = compared(folder, one, other)
    assert answer.answer is Word.UNJUDGED, answer.sentence
    assert re.match("side b listed a folder that is not its own: .*/(left|library)/$", answer.sentence)


def test_the_folder_of_the_programs_is_listed_by_every_python_and_tells_nothing(folder):
    leaves = "\nopen('left.txt', 'w').write('1')\n"
    one = program(folder, "one.py", more=leaves)
    other = program(folder, "two.py", more=leaves + "# a remark\nimport one_more\n")
    (folder / "one_more.py").write_text("")
    answer, _ = compared(folder, one, other)
    assert answer.answer is Word.EQUAL, answer.sentence
    assert any("left.txt" in note for note in answer.notes)


def test_what_was_in_a_cache_before_both_sides_may_be_read(folder, home):
    program(folder, "one.py", more=KEEPS.replace("WHAT", "1.5"))
    other = program(folder, "two.py", more=KEEPS.replace("WHAT", "1.5") + "# a remark\n")
    compared(folder, "one.py", other)
    assert compared(folder, "one.py", other)[0].answer is Word.EQUAL


def test_an_empty_file_in_a_cache_such_as_a_lock_tells_the_other_side_nothing(folder, home):
    locks = (
        "import pathlib\nfile = pathlib.Path.home() / '.cache' / 'lock'\n"
        "file.parent.mkdir(exist_ok=True)\nfile.open('w+').read()\n"
    )
    one, other = program(folder, "one.py", more=locks), program(folder, "two.py", more=locks + "# other\n")
    assert compared(folder, one, other)[0].answer is Word.EQUAL


PRINTS = 'for step in range(3):\n    print(f"step {step} loss {0.5**step + MORE}")\n'


def test_programs_that_only_print_run_once_and_the_line_that_compares_them_is_named(folder):
    for name, more in (("one.py", "0"), ("two.py", "0.25")):
        (folder / name).write_text(PRINTS.replace("MORE", more))
    commands = {"a": ("python", "one.py"), "b": ("python", "two.py")}
    session = Session(project=Project.around(folder), progress=RecordedProgress())
    answer, report = compare_commands(commands, Request(seed=3), only=("loss",), session=session)
    assert (answer.answer, answer.exit_code) == (Word.UNJUDGED, 4)
    assert (
        answer.sentence == "both sides only print their numbers; those of a plain command are read from files"
    )
    assert [len(answer.sides[name].runs) for name in "ab"] == [1, 1]
    assert answer.hint.endswith(
        "`reprokit compare --seed 3 --metric loss -- sh -c 'python one.py > {run_dir}/printed.log' "
        "--vs sh -c 'python two.py > {run_dir}/printed.log'`"
    )
    assert audit(report / FILE).follows
    typed = shlex.split(answer.hint.partition("`")[2].rstrip("`").partition(" -- ")[2])
    at = typed.index("--vs")
    commands = {"a": tuple(typed[:at]), "b": tuple(typed[at + 1 :])}
    assert compare_commands(commands, Request(), only=None, session=session)[0].answer is Word.DIFFERENT


def test_where_one_side_only_prints_the_other_command_stays_as_it_is(folder):
    (folder / "two.py").write_text(PRINTS.replace("MORE", "0"))
    answer, _ = compared(folder, program(folder, "one.py"), "two.py")
    assert answer.sentence.startswith("side b only prints its numbers")
    a, _, b = answer.hint.partition(" --vs ")
    assert "printed.log" not in a
    assert "printed.log" in b
