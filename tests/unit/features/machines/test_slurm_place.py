"""What Slurm is told of the machines that a task may go to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reprokit.features.machines import slurm
from reprokit.features.machines.place import Task


class FakeExecutor:
    """What submitit is told, and nothing handed over."""

    def __init__(self, told: list[dict[str, Any]]) -> None:
        self._told = told

    def update_parameters(self, **told: Any) -> None:
        self._told.append(told["additional_parameters"])

    def map_array(self, _call: Any, commands: list[Any]) -> list[Any]:
        return [type("Job", (), {"job_id": "7"}) for _ in commands]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    fake = type("submitit", (), {"SlurmExecutor": lambda folder: FakeExecutor(found)})
    monkeypatch.setitem(__import__("sys").modules, "submitit", fake)
    monkeypatch.setattr(slurm, "_answer", lambda *_command: "n1 idle\nn2 mixed\nn3 down*\nn4 idle\n")
    return found


def submitted(folder: Path, *machines: str) -> None:
    place = slurm.SlurmPlace({}, folder=folder)
    place.submit([Task(name="a", command=("true",), working_dir=folder, log=folder / "l", machines=machines)])


def test_one_machine_is_named_and_of_several_the_others_are_kept_out(told, tmp_path):
    submitted(tmp_path, "n2")
    assert told[-1]["nodelist"] == "n2"
    submitted(tmp_path, "n1", "n4")
    assert told[-1]["exclude"] == "n2,n3", "a node that is down may come back"
    assert "nodelist" not in told[-1]


def test_a_task_for_any_machine_and_one_for_all_of_them_say_nothing(told, tmp_path):
    submitted(tmp_path)
    submitted(tmp_path, "n1", "n2", "n3", "n4")
    assert all({"nodelist", "exclude"}.isdisjoint(one) for one in told)


def test_only_machines_that_are_up_are_asked(told, tmp_path):
    assert slurm.SlurmPlace({}, folder=tmp_path).machines() == ("n1", "n2", "n4")
