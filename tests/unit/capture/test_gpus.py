"""The state of GPUs as ``nvidia-smi`` tells it, here a stand-in (``support.stand_in_nvidia_smi``)."""

from __future__ import annotations

import os

import pytest

from reprokit.capture.gpus import GpuProcess, survey_gpus
from support.stand_in_nvidia_smi import app_line, gpu_line, install


@pytest.fixture
def smi(tmp_path, monkeypatch):
    """Puts the stand-in before whatever this machine has."""

    def there(**answers):
        folder = install(tmp_path / "bin", **answers)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return survey_gpus()

    return there


def test_every_gpu_is_told_with_the_programs_on_it(smi):
    found = smi(gpus=gpu_line(0) + gpu_line(1, free_mib=1024), apps=app_line(1, 4711))
    first, second = found.gpus
    assert (found.problem, first.index, first.name, first.driver) == ("", 0, "NVIDIA H200", "580.65.06")
    assert (first.mig, first.uncorrected_errors, first.slowed_by, first.processes) == (False, 0, (), ())
    assert second.free_bytes == 1 << 30
    assert second.processes == (GpuProcess(pid=4711, name="python3"),)


@pytest.mark.parametrize(
    ("told", "field", "value"),
    [
        ({"mig": "Enabled"}, "mig", True),
        ({"mig": "[N/A]"}, "mig", False),
        ({"errors": "3"}, "uncorrected_errors", 3),
        ({"errors": "[N/A]"}, "uncorrected_errors", 0),
        ({"reasons": "0x0000000000000000"}, "slowed_by", ()),
        ({"reasons": "0x0000000000000004"}, "slowed_by", ("its power limit",)),
        ({"reasons": "0x0000000000000060"}, "slowed_by", ("its temperature", "its temperature, by hardware")),
        ({"reasons": "[N/A]"}, "slowed_by", ()),
    ],
)
def test_what_may_be_wrong_with_a_gpu_is_told(smi, told, field, value):
    (gpu,) = smi(gpus=gpu_line(**told)).gpus
    assert getattr(gpu, field) == value


def test_an_older_driver_is_asked_by_the_older_name_of_its_clocks(smi):
    found = smi(gpus=gpu_line(reasons="0x0000000000000008"), unknown="clocks_event_reasons.active")
    assert found.gpus[0].slowed_by == ("its hardware (temperature or power)",)


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"gpus": "NVIDIA-SMI has failed\n", "code": 9}, "NVIDIA-SMI has failed"),
        ({"gpus": "", "code": 6}, "exit code 6"),
        ({"gpus": ""}, "lists no GPU"),
        ({"gpus": "No devices were found\n"}, "values expected"),
        ({"gpus": gpu_line(), "unknown": "mig.mode.current"}, "not a valid field"),
        ({"gpus": gpu_line(), "apps": app_line(7, 1)}, "not one of the GPUs"),
        ({"gpus": gpu_line(), "apps": "GPU-0abc, many, python\n"}, "many"),
    ],
)
def test_what_is_not_answered_is_a_problem_and_never_a_free_gpu(smi, answers, says):
    found = smi(**answers)
    assert found.gpus == ()
    assert says in found.problem


def test_a_host_without_the_program_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert survey_gpus().problem == "nvidia-smi is not installed"
