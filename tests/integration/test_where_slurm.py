"""Sweeps on a real Slurm of two nodes: the bytes of this machine, scancel, a lost node, a killed tool."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import reprokit
from reprokit import runs
from support import slurm_cluster
from support.command_recipe import Repository
from support.slurm_cluster import Cluster
from support.sweep_program import RECIPE, run_folders

_WHY_NOT = slurm_cluster.why_none() or (
    "" if importlib.util.find_spec("submitit") else "submitit is not installed (the extra slurm)"
)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT or "Slurm is here")]

#: Ten records; after the sixth it waits while there is a file ``slow`` beside the folder of runs.
PROGRAM = """\
import json, os, random, sys, time
seed, run_dir = int(sys.argv[1]), sys.argv[2]
random.seed(seed)
with open(f"{run_dir}/log.jsonl", "w") as log:
    for step in range(10):
        log.write(json.dumps({"step": step, "return": random.random()}) + "\\n")
        log.flush()
        while step == 5 and os.path.exists(f"{run_dir}/../../../../slow"):
            time.sleep(0.05)
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[Cluster]:
    with (
        tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder,
        slurm_cluster.running(Path(folder) / "c") as found,
    ):
        yield found


@pytest.fixture
def theirs(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "theirs")
    made.root.mkdir()
    made.git("init", "--quiet")
    (made.root / ".gitignore").write_text("runs/\nhere/\nreports/\n__pycache__/\nslow\n")
    made.write(train_py=PROGRAM, recipes__train__recipe_yaml=RECIPE)
    return made


def tool(root: Path, slurm: Cluster, *words: str) -> subprocess.Popen[str]:
    environment = {
        **slurm.environment,
        "PYTHONPATH": os.pathsep.join([str(Path(reprokit.__file__).parent.parent), *sys.path[1:]]),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "reprokit", *words],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def answer_of(process: subprocess.Popen[str], seconds: float = 500.0) -> tuple[int, dict, str]:
    out, said = process.communicate(timeout=seconds)
    return process.returncode, json.loads(out) if out.startswith("{") else {}, said


def wait_until(condition, seconds: float = 400.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.2)


def has_begun(folder: Path) -> bool:
    log = folder / "output" / "log.jsonl"
    return log.is_file() and log.read_text().count("\n") >= 6


def test_a_sweep_on_slurm_has_the_bytes_of_this_machine(theirs, slurm):
    there, told, said = answer_of(tool(theirs.root, slurm, "sweep", "train", "--on", "slurm", "--json"))
    assert there == 0, said
    here, same, _ = answer_of(tool(theirs.root, slurm, "sweep", "train", "--json", "--runs-dir", "here"))
    assert (here, same["name"]) == (0, told["name"])
    for one, other in zip(told["members"], same["members"], strict=True):
        assert runs.read(theirs.root / "runs" / one["run"]).complete
        paths = theirs.root / "runs" / one["run"], theirs.root / "here" / other["run"]
        assert len({(path / "metrics.jsonl").read_bytes() for path in paths}) == 1
        record = json.loads((paths[0] / "run.json").read_text())
        assert record["where"] == "slurm"
        assert record["machine"]["node"] in {"n1", "n2"}


def test_scancel_ends_a_run_that_is_then_no_complete_one(theirs, slurm):
    (theirs.root / "slow").touch()
    process = tool(theirs.root, slurm, "sweep", "train", "--seeds", "3,", "--on", "slurm", "--json")
    wait_until(lambda: any(map(has_begun, run_folders(theirs.root))))
    (folder,) = run_folders(theirs.root)
    (handle,) = (theirs.root / "runs" / "sweeps").glob("*/jobs/*.handle.json")
    slurm.ask("scancel", json.loads(handle.read_text())["handle"])
    code, told, said = answer_of(process)
    assert (code, told["members"][0]["state"]) == (3, "interrupted"), said
    assert not runs.read(folder).complete
    assert len(run_folders(theirs.root)) == 1, "a person ended it: it is not tried again"


def test_a_tool_that_was_killed_finds_its_runs_again(theirs, slurm):
    (theirs.root / "slow").touch()
    process = tool(theirs.root, slurm, "sweep", "train", "--seeds", "3,4", "--on", "slurm", "--json")
    wait_until(lambda: sum(map(has_begun, run_folders(theirs.root))) == 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    begun = run_folders(theirs.root)
    (sweep,) = (theirs.root / "runs" / "sweeps").glob("*/sweep.json")
    again = tool(theirs.root, slurm, "runs", "attach", str(sweep), "--json")
    (theirs.root / "slow").unlink()
    code, told, said = answer_of(again)
    assert (code, [one["state"] for one in told["members"]]) == (0, ["complete"] * 2), said
    assert run_folders(theirs.root) == begun


def test_a_node_that_is_set_down_costs_an_attempt(theirs, slurm):
    (theirs.root / "slow").touch()
    process = tool(theirs.root, slurm, "sweep", "train", "--seeds", "3,", "--on", "slurm", "--json")
    wait_until(lambda: any(map(has_begun, run_folders(theirs.root))))
    (folder,) = run_folders(theirs.root)
    node = json.loads((folder / "run.json").read_text())["machine"]["node"]
    try:
        slurm.ask("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
        wait_until(lambda: json.loads((folder / "run.json").read_text())["state"] == "finished")
        (theirs.root / "slow").unlink()
        code, told, said = answer_of(process)
    finally:
        slurm.ask("scontrol", "update", f"nodename={node}", "state=resume")
    assert (code, told["members"][0]["state"], told["members"][0]["attempts"]) == (0, "complete", 2), said
    assert not runs.read(folder).complete
    assert len([one for one in run_folders(theirs.root) if runs.read(one).complete]) == 1
