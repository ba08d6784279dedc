"""Why a program does not find a module: it ran in reprokit's own Python."""

import sys

from reprokit.core.records import Outcome, RunResult, RunSpec
from reprokit.harness.running.programs.unseen_module import in_own_python
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
