"""Several processes as one run: a launcher starts them, and all of them end with the run."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "real"))

from real_programs import CannotBeMadeError, programs, python_for

from reprokit.core.checklist import Report
from support.command_recipe import Repository

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

#: `mpirun` must be told that it may be root; accelerate starts several processes on GPUs or by MPI only.
LAUNCHERS = {
    "torchrun": '[torchrun, --standalone, --nproc-per-node, "2", ',
    "accelerate": '[accelerate, launch, --cpu, --num_processes, "1", --num_machines, "1", '
    '--mixed_precision, "no", --dynamo_backend, "no", ',
    "mpirun": '[mpirun, --allow-run-as-root, --oversubscribe, -n, "2", python, ',
}
RECIPE = """\
schema: 1
name: train
title: Two processes
variant: none
command: [torchrun, --standalone, --nproc-per-node, "2", train.py, "{seed}", "{run_dir}"]
seeds: [3]
platforms: [cpu-x86_64]
unresponsive: {because: saves a run}
"""
TOGETHER = """\
import json, os, sys
import torch
from torch import distributed

found = os.environ
if "RANK" not in found:  # mpirun has words of its own, and accelerate says nothing to one process
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getppid() % 20000)}
    place |= {"RANK": "0", "WORLD_SIZE": "1"} if "OMPI_COMM_WORLD_RANK" not in found else {
        "RANK": found["OMPI_COMM_WORLD_RANK"], "WORLD_SIZE": found["OMPI_COMM_WORLD_SIZE"]}
    found |= place
distributed.init_process_group("gloo")
rank = distributed.get_rank()
torch.manual_seed(int(sys.argv[1]) + rank)
records = []
for step in range(3):
    value = torch.rand(())
    distributed.all_reduce(value)
    records.append({"step": step, "sum": value.item(), "ranks": distributed.get_world_size()})
if rank == 0:
    with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
        log.writelines(json.dumps(record) + "\\n" for record in records)
distributed.destroy_process_group()
"""
ONE_DIES = """\
import os, sys, time
with open(f"{sys.argv[2]}/pid-{os.environ['RANK']}", "w") as file:
    file.write(str(os.getpid()))
if os.environ["RANK"] == "1":
    while not os.path.exists(f"{sys.argv[2]}/pid-0"):
        time.sleep(0.1)
    raise ValueError("rank 1 has had enough")
time.sleep(600)
"""
NEVER_ENDS = """\
import os, sys, time
with open(f"{sys.argv[2]}/pid-{os.environ['RANK']}", "w") as file:
    file.write(str(os.getpid()))
time.sleep(600)
"""


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if shutil.which("torchrun") is None:
        pytest.skip("this Python has no torchrun")
    made = Repository(tmp_path / "theirs")
    made.root.mkdir()
    made.git("init", "--quiet")
    made.write(recipes__train__recipe_yaml=RECIPE)
    (made.root / ".gitignore").write_text("runs/\nreports/\n")
    yield made
    for pid in ranks(made):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)


def ranks(made: Repository) -> list[int]:
    return [int(file.read_text()) for file in made.root.glob("runs/train/*/output/pid-*")]


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()


def all_ended(made: Repository) -> bool:
    deadline = time.monotonic() + 20
    while any(map(lives, ranks(made))) and time.monotonic() < deadline:
        time.sleep(0.2)
    return not any(map(lives, ranks(made)))


def folder_with_accelerate() -> Path:
    """Where `accelerate` is, of the environment of the real programs."""
    (program,) = (one for one in programs() if one.name == "hf_trainer")
    try:
        return python_for(program).parent
    except CannotBeMadeError as problem:
        pytest.skip(f"the environment with accelerate cannot be made here: {problem}")


def log_of(report: Report) -> str:
    return (Path(report.runs[0]) / "stderr.log").read_text()


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_what_a_launcher_starts_is_one_run_with_a_golden(
    theirs: Repository, launcher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if launcher == "accelerate":
        monkeypatch.setenv("PATH", os.pathsep.join([str(folder_with_accelerate()), os.environ["PATH"]]))
    elif shutil.which(launcher) is None:
        pytest.skip(f"needs {launcher}: apt-get install openmpi-bin")
    recipe = RECIPE.replace(LAUNCHERS["torchrun"], LAUNCHERS[launcher])
    theirs.write(train_py=TOGETHER, recipes__train__recipe_yaml=recipe)
    first = theirs.reproduce()
    assert first.verdict == "NO_GOLDEN", log_of(first)
    ranks_of_all = f'"ranks": {1 if launcher == "accelerate" else 2}'
    assert ranks_of_all in (Path(first.runs[0]) / "metrics.jsonl").read_text()
    theirs.promote(first)
    assert theirs.reproduce().verdict == "REPRODUCED"


def test_a_rank_that_dies_ends_the_run_and_is_the_reason(theirs: Repository) -> None:
    theirs.write(train_py=ONE_DIES)
    report = theirs.reproduce()
    assert (report.verdict, report.exit_code) == ("NOT_RUN", 3)
    assert report.not_run["outcome"] == "crashed"
    assert "exit code 1: rank 1: ValueError: rank 1 has had enough" in report.sentence
    assert len(ranks(theirs)) >= 2
    assert all_ended(theirs)


def test_all_ranks_end_with_a_run_that_is_stopped(theirs: Repository) -> None:
    theirs.write(train_py=NEVER_ENDS)
    report = theirs.reproduce(timeout_s=20)
    assert (report.verdict, report.exit_code) == ("NOT_RUN", 3)
    assert report.not_run["outcome"] == "timed_out"
    assert len(ranks(theirs)) >= 2
    assert all_ended(theirs)
