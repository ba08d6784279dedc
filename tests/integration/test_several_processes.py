"""Several processes as one run: `torchrun` starts them, and all of them end with the run."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprokit.core.checklist import Report
from support.command_recipe import Repository

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

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
import json, sys
import torch
from torch import distributed

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


def log_of(report: Report) -> str:
    return (Path(report.runs[0]) / "stderr.log").read_text()


def test_two_ranks_are_one_run_with_a_golden(theirs: Repository) -> None:
    theirs.write(train_py=TOGETHER)
    first = theirs.reproduce()
    assert first.verdict == "NO_GOLDEN", log_of(first)
    assert '"ranks": 2' in (Path(first.runs[0]) / "metrics.jsonl").read_text()
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
