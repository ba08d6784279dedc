"""A plain command with `--golden`: judged as a recipe of that command, run as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit.cli import main
from reprokit.errors import GoldenError
from reprokit.harness import Request, audit, reproduce_command
from reprokit.harness.running import start_runs
from reprokit.project import Project
from reprokit.session import Session
from support.command_recipe import PROGRAM
from support.recorded_progress import RecordedProgress

COMMAND = ("python", "train.py", "{seed}", "{run_dir}")
GOLDEN = "golden/plain-train/cpu-x86_64/seed-3"


@pytest.fixture
def plain(repository, monkeypatch, inside):
    """A repository without a recipe, and with an empty folder of goldens."""
    told = {**inside, "device": {"kind": "cpu"}}
    monkeypatch.setattr(start_runs.capture, "capture_interpreter", lambda command: told)
    monkeypatch.chdir(repository.root)
    (repository.root / "recipes" / "train" / "recipe.yaml").unlink()
    (repository.root / "golden").mkdir()
    repository.commit()
    return repository


def judged(plain, *command: str, against_golden: bool = True, **asked):
    request = Request(seed=3, against_golden=against_golden, **asked)
    project = Project.around(plain.root)
    return reproduce_command(
        command or COMMAND, request, session=Session(project=project, progress=RecordedProgress())
    )


def seeds_run(plain) -> list[int]:
    return sorted(json.loads(file.read_text())["seed"] for file in plain.root.glob("runs/*/*/run.json"))


def promoted(plain):
    plain.promote(judged(plain)[0])
    return plain


def test_without_a_golden_folder_it_is_repeatable_as_ever(plain):
    report, _ = judged(plain, against_golden=False)
    assert (report.verdict, report.exit_code) == ("REPEATABLE", 0)
    with pytest.raises(GoldenError, match=r"a plain command has no golden.*--golden DIR"):
        plain.promote(report)


def test_it_is_promoted_and_reproduced_in_an_environment_that_nothing_pins(plain):
    first, _ = judged(plain)
    assert (first.verdict, first.exit_code) == ("NO_GOLDEN", 4)
    plain.promote(first)
    told = json.loads((plain.root / GOLDEN / "provenance.json").read_text())
    assert (told["command"], told["responds"]) == (list(COMMAND), {"seed": 4, "metrics": ["loss"]})
    report, folder = judged(plain)
    assert (report.verdict, report.exit_code) == ("REPRODUCED", 0)
    assert "in an environment that nothing pins" in report.sentence
    assert "--golden golden" in report.rerun
    assert report.rerun.endswith("-- python train.py {seed} {run_dir}")
    assert audit(folder / "report.json", project=Project.around(plain.root)).findings == ()
    assert seeds_run(plain) == [3, 3, 3, 3, 4]


def test_another_number_is_a_regression(plain):
    promoted(plain).write(settings_py="RATE = 0.2\n")
    report, folder = judged(plain)
    assert (report.verdict, report.exit_code) == ("REGRESSION", 1)
    assert audit(folder / "report.json", project=Project.around(plain.root)).findings == ()


def test_a_golden_of_another_command_is_none_of_this_one(plain):
    report, _ = judged(promoted(plain), *COMMAND, "--extra")
    assert (report.verdict, report.exit_code) == ("NO_GOLDEN", 4)
    assert "is of another command" in report.sentence


def test_a_metric_that_is_left_out_is_told(plain):
    noisy = PROGRAM.replace('"loss": value', '"loss": value, "seconds": __import__("time").time()')
    plain.write(train_py=noisy)
    assert judged(plain)[0].verdict == "NONDETERMINISTIC"
    report, folder = judged(plain, ignore=("sec*",))
    assert report.verdict == "NO_GOLDEN"
    row = next(row for row in report.checks if row.id == "volatile_metric/seconds")
    assert "--ignore-metric" in row.reason
    assert "--ignore-metric 'sec*'" in report.rerun
    assert audit(folder / "report.json", project=Project.around(plain.root)).findings == ()


def test_the_program_is_run_where_it_is_and_its_folder_is_not_copied(plain):
    report, _ = judged(plain)
    record = json.loads((Path(report.runs[0]) / "run.json").read_text())
    assert record["program"]["files"] == {}
    assert not (Path(report.runs[0]) / "program").exists()


def ended(*words: str) -> int:
    with pytest.raises(SystemExit) as raised:
        main(list(words))
    return int(raised.value.code or 0)


def test_on_the_command_line(plain, capsys):
    promoted(plain)
    assert ended("reproduce", "--seed", "3", "--golden", "golden", "--", *COMMAND) == 0
    assert "REPRODUCED" in capsys.readouterr().out
    assert ended("golden", "lint") == 0
    assert ended("reproduce", "--seed", "3", "--golden", "nowhere", "--", *COMMAND) == 2
    assert "there is no such folder of goldens" in capsys.readouterr().err
    assert ended("reproduce", "--seed", "3", "--golden", GOLDEN, "--", *COMMAND) == 2
    assert "name the folder of goldens" in capsys.readouterr().err
    (plain.root / GOLDEN / "metrics.jsonl").write_text('{"step": 0, "loss": 1.0}\n')
    assert ended("reproduce", "--seed", "3", "--golden", "golden", "--", *COMMAND) == 2
    assert "differs from the one that was promoted" in capsys.readouterr().err
