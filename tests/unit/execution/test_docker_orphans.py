"""What a killed tool left is removed; what is someone's own is never touched."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
import requests

from reprokit.core.records import RunSpec
from reprokit.execution.docker_orphans import OWNER_LABEL, RUN_LABEL, OwnerProcess, labels_for, remove_orphans

MINE = OwnerProcess.of_process(os.getpid())


@pytest.fixture
def gone() -> OwnerProcess:
    """A process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    return replace(MINE, pid=child.pid)


def put(engine: Any, name: str, spec: RunSpec, owner: str, *, workspace: str = "/w") -> None:
    labels = {**labels_for(spec, workspace=workspace), OWNER_LABEL: owner}
    engine.containers_by_name[name] = {"Labels": labels}


def test_this_process_is_not_gone_and_its_label_reads_back():
    assert not MINE.is_gone()
    assert OwnerProcess.from_label(MINE.label()) == MINE


def test_a_process_that_ended_is_gone(gone: OwnerProcess):
    assert gone.is_gone()


def test_a_process_that_ended_but_was_not_collected_is_gone():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        owner = OwnerProcess.of_process(child.pid)
        assert not owner.is_gone()
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # its remains stay
        assert owner.is_gone()


def test_another_process_under_a_reused_number_does_not_count():
    assert replace(MINE, started="1").is_gone()


def test_a_process_of_an_earlier_boot_is_gone():
    assert replace(MINE, boot="earlier").is_gone()


def test_of_a_process_on_another_host_nothing_is_known(gone: OwnerProcess):
    assert not replace(gone, host="elsewhere", boot="other").is_gone()


@pytest.mark.parametrize("label", ["", "hello", "1 2 3", "x 2 3 4", "1 2 3 4 5", "-1 2 3 4"])
def test_a_label_that_is_not_ours_names_nobody(label: str):
    assert OwnerProcess.from_label(label) is None


def test_labels_name_workspace_run_and_owner(container_spec: RunSpec):
    labels = labels_for(container_spec, workspace="/home/ada/runs")
    assert labels == {
        "dev.reprokit.workspace": "/home/ada/runs",
        RUN_LABEL: "cartpole/run-1",
        OWNER_LABEL: MINE.label(),
    }
    assert platform.node() in labels[OWNER_LABEL]


def test_only_this_workspaces_containers_of_ended_processes_are_removed(
    engine: Any, container_spec: RunSpec, gone: OwnerProcess
):
    put(engine, "left", container_spec, gone.label())
    put(engine, "alive", container_spec, MINE.label())
    put(engine, "neighbour", container_spec, gone.label(), workspace="/w2")
    put(engine, "of-another-host", container_spec, replace(gone, host="elsewhere").label())
    put(engine, "forged", container_spec, "nonsense")
    engine.containers_by_name["foreign"] = {"Labels": {}}
    assert remove_orphans("/w", client_factory=engine.client) == ("left",)
    assert set(engine.containers_by_name) == {"alive", "neighbour", "of-another-host", "forged", "foreign"}


def test_a_container_that_somebody_else_removes_first_is_no_error(
    engine: Any, container_spec: RunSpec, gone: OwnerProcess
):
    put(engine, "left", container_spec, gone.label())
    engine.refuse("remove", "removal of container left is already in progress")
    assert remove_orphans("/w", client_factory=engine.client) == ()


def test_without_an_engine_there_is_nothing_to_remove(engine: Any):
    engine.failing["connect"] = requests.ConnectionError("no one there")
    assert remove_orphans("/w", client_factory=engine.client) == ()
