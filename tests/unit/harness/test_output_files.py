"""Output files of two runs: those that differ are named, and those that are asked for count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit.cli import main
from reprokit.harness import Request, audit, judge_again, reproduce_command
from reprokit.project import Project
from reprokit.session import Session
from reprokit.workspace import sha256_of
from support.command_recipe import PROGRAM, RECIPE
from support.recorded_progress import RecordedProgress

COMMAND = ("python", "train.py", "{seed}", "{run_dir}")
SAME = 'open(sys.argv[2] + "/same.bin", "wb").write(b"same")\n'
LEAVES = """
import os, pathlib, time
left = pathlib.Path(sys.argv[2])
(left / "models").mkdir()
(left / "models" / "model.bin").write_bytes(os.urandom(8))
(left / "results.json").write_text(json.dumps({"accuracy": time.time()}))
"""


@pytest.fixture
def here(repository, monkeypatch):
    monkeypatch.chdir(repository.root)
    return repository


def leaving(here, text: str):
    here.write(train_py=PROGRAM + text)
    return here


def judged(here, *outputs: str, **asked):
    request = Request(seed=3, outputs=outputs, **asked)
    project = Project.around(here.root)
    return reproduce_command(COMMAND, request, session=Session(project=project, progress=RecordedProgress()))


def row_of(report):
    return next((row for row in report.checks if row.id == "output_files/not_compared"), None)


def ended(*words: str) -> int:
    with pytest.raises(SystemExit) as raised:
        main(list(words))
    return int(raised.value.code or 0)


@pytest.mark.parametrize(
    ("comment", "named"),
    [
        ("f'# final {os.urandom(4).hex()}'", {"table.csv (its comments)"}),
        ("f'# in {sys.argv[2]}'", set()),
        ("'#{\"t_start\": ' + str(time.time_ns()) + '}'", set()),
    ],
)
def test_comments_of_a_table_that_differ_are_named(here, comment, named):
    table = f"(left / 'table.csv').write_text({comment} + '\\nstep,loss\\n0,0.5\\n1,0.25\\n')\n"
    begin = "\nimport os, pathlib, time\nleft = pathlib.Path(sys.argv[2])\n"
    report, _ = judged(leaving(here, begin + table))
    assert report.verdict == "REPEATABLE", report.sentence
    found = row_of(report)
    assert set(found.evidence["files"] if found else ()) == named


def test_files_that_differ_are_named_and_said_to_be_not_compared(here):
    report, folder = judged(leaving(here, LEAVES + SAME))
    assert report.verdict == "REPEATABLE"
    assert report.sentence == (
        "2 runs agree with each other in every metric, bit for bit. "
        "2 output files differ and were not compared: models/model.bin, results.json."
    )
    assert set(row_of(report).evidence["files"]) == {"models/model.bin", "results.json"}
    assert audit(folder / "report.json", project=Project.around(here.root)).findings == ()


@pytest.mark.parametrize(
    "text",
    [
        SAME,
        'open(sys.argv[2] + "/arguments.json", "w").write(json.dumps(sys.argv))\n',
        'import time; open(f"{sys.argv[2]}/events-{time.time()}.bin", "w").write("same")\n',
        'import time; print(time.time()); open(sys.argv[2] + "/timing.jsonl", "w").write(str(time.time()))\n',
    ],
    ids=["equal", "its own folder", "the time in the name", "durations"],
)
def test_nothing_is_said_of_files_that_do_not_differ(here, text):
    report, _ = judged(leaving(here, text))
    assert report.sentence == "2 runs agree with each other in every metric, bit for bit."
    assert row_of(report) is None


def test_a_file_of_one_run_only_is_named(here):
    text = 'import os, pathlib; mark = pathlib.Path("../seen")\n'
    text += 'open(sys.argv[2] + "/cache.bin", "w").write("x") if not mark.exists() else None\nmark.touch()\n'
    report, _ = judged(leaving(here, text))
    assert row_of(report).evidence["files"] == {"cache.bin": "left by one run only"}


@pytest.mark.parametrize("pattern", ["models/", "*.bin"])
def test_files_that_are_asked_for_count(here, pattern):
    report, folder = judged(leaving(here, LEAVES + SAME), pattern)
    assert (report.verdict, report.exit_code) == ("NONDETERMINISTIC", 1)
    assert "have equal metrics, but " in report.sentence
    assert "models/model.bin" in report.sentence
    assert f"--output {pattern}" in report.rerun.replace("'", "")
    assert ended("diff", *report.runs) == 1
    project = Project.around(here.root)
    assert audit(folder / "report.json", project=project).findings == ()
    assert judge_again([Path(run) for run in report.runs], Request(), project=project).exit_code == 1


def test_equal_files_that_are_asked_for_are_said_to_agree(here):
    report, _ = judged(leaving(here, LEAVES + SAME), "same.bin")
    assert (report.verdict, report.exit_code) == ("REPEATABLE", 0)
    assert "in every metric and in same.bin, bit for bit" in report.sentence


def test_one_that_only_the_first_run_leaves_is_a_difference(here):
    text = 'import pathlib; mark = pathlib.Path("../seen")\n'
    text += 'open(sys.argv[2] + "/cache.bin", "w").write("x") if not mark.exists() else None\nmark.touch()\n'
    report, _ = judged(leaving(here, text), "*.bin")
    assert report.verdict != "REPEATABLE"
    assert report.exit_code != 0


@pytest.mark.parametrize("more", [(), ("--golden", "golden")], ids=["alone", "against a golden"])
def test_a_pattern_that_fits_no_file_is_an_error_after_the_first_run(here, capsys, more):
    (here.root / "golden").mkdir()
    leaving(here, LEAVES)
    assert ended("reproduce", *more, "--output", "*.bn", "--output", "results.json", "--", *COMMAND) == 2
    told = capsys.readouterr().err
    assert "the program left no file that matches '*.bn'" in told
    assert "'models/model.bin'" in told
    assert len(list((here.root / "runs").glob("*/*"))) == 1


def test_against_a_golden_they_are_outputs_of_its_recipe(here):
    (here.root / "golden").mkdir()
    report, _ = judged(leaving(here, LEAVES), "models/*", against_golden=True)
    assert report.verdict == "NONDETERMINISTIC"
    report, _ = judged(leaving(here, SAME), "same.bin", against_golden=True)
    here.promote(report)
    leaving(here, SAME.replace('b"same"', 'b"other"'))
    assert judged(here, "same.bin", against_golden=True)[0].verdict == "REGRESSION"


def test_a_recipe_that_declares_none_has_them_named(here):
    leaving(here, LEAVES)
    report = here.reproduce()
    assert "2 output files differ and were not compared" in report.sentence
    assert "`outputs` in recipe.yaml" in row_of(report).remedy
    here.write(recipes__train__recipe_yaml=RECIPE + "outputs: [models]\n")
    assert here.reproduce().verdict == "NONDETERMINISTIC"


def test_runs_with_other_files_to_compare_are_not_compared(here):
    first, second = judged(leaving(here, SAME), "same.bin")[0], judged(here)[0]
    assert ended("diff", first.runs[0], second.runs[0]) == 2


def test_a_recipe_takes_no_such_option(here, capsys):
    assert ended("reproduce", "train", "--output", "x") == 2
    assert "a recipe declares `outputs`" in capsys.readouterr().err


def test_runs_of_before_are_judged_as_they_were(here):
    report, _ = judged(leaving(here, LEAVES))
    folders = [Path(run) for run in report.runs]
    for folder in folders:
        record = json.loads((folder / "run.json").read_text())
        del record["outputs"]
        (folder / "run.json").write_text(json.dumps(record))
        marker = json.loads((folder / "COMPLETE").read_text())
        size = (folder / "run.json").stat().st_size
        marker["files"]["run.json"] = {"sha256": sha256_of(folder / "run.json"), "bytes": size}
        (folder / "COMPLETE").write_text(json.dumps(marker))
    again = judge_again(folders, Request(), project=Project.around(here.root))
    assert again.sentence == "2 runs agree with each other, bit for bit."
    assert row_of(again) is None
