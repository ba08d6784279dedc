"""Why a program does not find a module: it lies in a submodule, or it ran in reprokit's own Python."""

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from reprokit.core.records import Outcome, RunResult, RunSpec
from reprokit.harness.running import run_end
from reprokit.harness.running.programs.unseen_module import explained, in_own_python
from tests.unit.harness.running.test_program import REALISATION

CRASH = RunResult(
    outcome=Outcome.CRASHED,
    exit_code=1,
    signal=None,
    message="the program ended with exit code 1: ModuleNotFoundError: No module named 'sklearn' (train.py:1)",
    remedy="",
    started_at="2026-01-01T00:00:00.000+00:00",
    ended_at="2026-01-01T00:00:01.000+00:00",
    duration_s=1.0,
)


def spec(python, **more):
    return RunSpec(recipe="", run_id="a", seed=0, device="cpu", command=(str(python), "train.py"), **more)


def test_a_module_that_the_tools_own_python_lacks_is_said_to_be_sought_there():
    said = in_own_python(CRASH, spec(sys.executable))
    assert said.message.endswith(f"{sys.executable} is the Python that reprokit itself is installed in")
    assert "activate the program's own environment" in said.remedy
    assert "install sklearn" in said.remedy


def test_nothing_is_said_of_another_python_nor_of_a_locked_environment(tmp_path):
    other = tmp_path / "python"
    other.symlink_to(sys.executable)
    assert in_own_python(CRASH, spec(other)) == CRASH
    assert in_own_python(CRASH, spec(sys.executable, realisation=REALISATION)) == CRASH


@pytest.fixture
def with_submodule(tmp_path):
    """A project with ``lib/k.py`` in a submodule, and ``train.py``."""
    for folder, file in (("library", "k.py"), ("project", "train.py")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text("")
        git(tmp_path / folder, "init", "-q")
        git(tmp_path / folder, "add", "-A")
        git(tmp_path / folder, "commit", "-qm", "first")
    project = tmp_path / "project"
    git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../library", "lib")
    return project


def git(folder, *arguments):
    person = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *person, *arguments], cwd=folder, check=True, capture_output=True)


def lacks(module):
    return replace(CRASH, message=CRASH.message.replace("sklearn", module))


@pytest.mark.parametrize("module", ["k", "lib", "lib.k"])
def test_a_module_in_a_submodule_is_said_to_lie_there(with_submodule, module):
    said = explained(lacks(module), project=with_submodule, seen=["train.py"])
    assert said.message.endswith("it lies in the submodule lib, whose files no run has")
    assert said.remedy.startswith("put the files of lib into the project")


def test_a_module_that_lies_nowhere_is_not_blamed_on_a_submodule(with_submodule):
    assert explained(CRASH, project=with_submodule, seen=["train.py"]) == CRASH


def test_where_the_file_is_known_the_tools_own_python_is_not_blamed_too(with_submodule):
    plan = SimpleNamespace(
        program=True,
        project=with_submodule,
        specs=[spec(sys.executable)],
        facts={"program": {"files": {"train.py": "sha256:1"}}},
    )
    assert "reprokit itself" not in run_end._explained(lacks("k"), plan).message
    assert "reprokit itself" in run_end._explained(CRASH, plan).message
