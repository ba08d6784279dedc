"""Code outside the repository that a program imports: a regression says what of it is not the golden's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit.capture import outside_code
from reprokit.harness import Request, audit, reproduce_command
from reprokit.harness.running import start_runs
from reprokit.project import Project
from reprokit.session import Session
from support.command_recipe import PROGRAM
from support.recorded_progress import RecordedProgress

USES = PROGRAM.replace("from settings import RATE", "from helper import RATE")


@pytest.fixture
def helper(tmp_path, monkeypatch):
    """The helper, in a folder of its own on PYTHONPATH."""
    file = tmp_path / "elsewhere" / "helper.py"
    file.parent.mkdir()
    file.write_text("RATE = 0.1\n")
    monkeypatch.setenv("PYTHONPATH", str(file.parent))
    # A file that is written twice within a second would run from the byte-code of the first.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return file


@pytest.fixture
def here(repository, monkeypatch):
    monkeypatch.chdir(repository.root)
    repository.write(train_py=USES)
    return repository


def test_an_edited_helper_is_named(here, helper):
    here.promote(here.reproduce())
    assert here.reproduce().verdict == "REPRODUCED"
    helper.write_text("RATE = 0.2\n")
    report, folder = here.reproduced()
    assert report.verdict == "REGRESSION"
    assert "changed since then: helper.py (outside the repository)" in report.sentence
    assert audit(folder / "report.json", project=Project.around(here.root)).findings == ()


def test_where_it_did_not_change_that_is_said(here, helper):
    rate = helper.with_name("rate.txt")
    rate.write_text("0.1")
    helper.write_text(f"RATE = float(open({str(rate)!r}).read())\n")
    here.promote(here.reproduce())
    rate.write_text("0.2")
    report = here.reproduce()
    assert report.verdict == "REGRESSION"
    assert "nothing in the recipe has changed since then; code outside" in report.sentence
    assert "that it can import (helper.py) has not changed" in report.sentence


def test_where_there_is_none_it_says_what_is_not_recorded(here, monkeypatch):
    here.write(
        train_py="import os\n" + USES.replace("from helper import RATE", "RATE = float(os.environ['RATE'])")
    )
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("RATE", "0.1")
    here.promote(here.reproduce())
    monkeypatch.setenv("RATE", "0.2")
    report = here.reproduce()
    assert report.verdict == "REGRESSION"
    assert "since then; the variables of its environment, and files outside the repository" in report.sentence


def test_a_new_module_and_one_that_went_are_named(here, helper):
    other = helper.with_name("old.py")
    other.write_text("")
    here.promote(here.reproduce())
    other.rename(helper.with_name("new.py"))
    helper.write_text("RATE = 0.2\n")
    sentence = here.reproduce().sentence
    assert "helper.py (outside the repository)" in sentence
    assert "old.py is gone (outside the repository)" in sentence
    assert "new.py is new (outside the repository)" in sentence


def test_a_golden_of_before_does_not_say_it(here, helper):
    here.promote(here.reproduce())
    provenance = next(here.root.glob("golden/*/*/*/provenance.json"))
    told = json.loads(provenance.read_text())
    del told["outside_code"]
    provenance.write_text(json.dumps(told))
    here.commit()
    helper.write_text("RATE = 0.2\n")
    sentence = here.reproduce().sentence
    assert "nothing in the recipe has changed since then; whether code outside the repository" in sentence
    assert "(helper.py) has changed is not known: the golden does not say" in sentence


def test_a_plain_command_too(here, helper, monkeypatch, inside):
    told = {**inside, "device": {"kind": "cpu"}}
    monkeypatch.setattr(start_runs.capture, "capture_interpreter", lambda command: told)
    (here.root / "recipes" / "train" / "recipe.yaml").unlink()
    (here.root / "golden").mkdir()
    here.commit()
    command = ("python", "train.py", "{seed}", "{run_dir}")

    def judged():
        project = Project.around(here.root)
        request = Request(seed=3, against_golden=True)
        return reproduce_command(
            command, request, session=Session(project=project, progress=RecordedProgress())
        )[0]

    here.promote(judged())
    helper.write_text("RATE = 0.2\n")
    report = judged()
    assert report.verdict == "REGRESSION"
    assert "helper.py (outside the repository)" in report.sentence
    helper.write_text("RATE = 0.1\n")
    here.write(train_py=USES.replace("value = 1.0", "value = 2.0"))
    report = judged()
    assert report.verdict == "REGRESSION"
    assert "the command is the same; a golden of a plain command does not say what its files were" in (
        report.sentence
    )


def files_of(root: Path, *command: str):
    return outside_code(command or ("python", "train.py"), root=root, working_dir=root)


def test_what_the_repository_has_itself_is_not_outside(tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "module.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", f"src:{tmp_path}:")
    assert files_of(tmp_path) == {}


def test_the_first_folder_counts_as_for_python_and_packages_are_looked_into(tmp_path, monkeypatch):
    root, one, two = (tmp_path / name for name in ("root", "one", "two"))
    for folder in (root, one / "package" / "__pycache__", two):
        folder.mkdir(parents=True)
    (one / "package" / "deep.py").write_text("1")
    (one / "package" / "__pycache__" / "deep.cpython-311.pyc").write_text("1")
    (one / "module.py").write_text("one")
    (two / "module.py").write_text("two")
    (two / "notes.txt").write_text("no code")
    monkeypatch.setenv("PYTHONPATH", f"{one}:../two")
    found = files_of(root)["files"]
    assert found.keys() == {"module.py", "package/deep.py"}
    monkeypatch.setenv("PYTHONPATH", f"../two:{one}")
    assert files_of(root)["files"]["module.py"] != found["module.py"]


def test_modules_beside_a_program_that_lies_elsewhere(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    root, other = tmp_path / "root", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    (other / "train.py").write_text("import helper")
    (other / "helper.py").write_text("")
    assert files_of(root, "python", "../other/train.py")["files"].keys() == {"train.py", "helper.py"}


def test_too_much_is_said_to_be_unknown(tmp_path, monkeypatch):
    root, other = tmp_path / "root", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    for number in range(2_001):
        (other / f"m{number}.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(other))
    assert "more than 2,000 files" in files_of(root)["unknown"]
