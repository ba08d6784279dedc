"""Sweeps on a real Ray cluster of two nodes: the bytes of this machine, a node that is killed on the way."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import reprokit
from reprokit import runs
from support import ray_cluster
from support.command_recipe import Repository
from support.ray_cluster import Cluster
from support.sweep_program import RECIPE, run_folders

_WHY_NOT = "" if importlib.util.find_spec("ray") else "Ray is not installed (the extra ray)"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT or "Ray is here")]

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


@pytest.fixture
def ray() -> Iterator[Cluster]:
    with (
        tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder,
        ray_cluster.running(Path(folder)) as found,
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


def tool(root: Path, *words: str) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
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
    )


def answer_of(process: subprocess.Popen[str], seconds: float = 500.0) -> tuple[int, dict, str]:
    out, said = process.communicate(timeout=seconds)
    return process.returncode, json.loads(out) if out.startswith("{") else {}, said


def has_begun(folder: Path) -> bool:
    log = folder / "output" / "log.jsonl"
    return log.is_file() and log.read_text().count("\n") >= 6


def test_a_sweep_on_ray_loses_a_node_and_has_the_bytes_of_this_machine(theirs, ray):
    """Two runs, one a node; the second node is killed in the middle of its run."""
    (theirs.root / "slow").touch()
    on = ("--on", "ray", "--address", ray.address)
    process = tool(theirs.root, "sweep", "train", "--seeds", "3,4", *on, "--json")
    end = time.monotonic() + 400
    while sum(map(has_begun, run_folders(theirs.root))) < 2:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.2)
    begun = run_folders(theirs.root)
    ray.kill_node()
    (theirs.root / "slow").unlink()
    code, told, said = answer_of(process)
    assert (code, [one["state"] for one in told["members"]]) == (0, ["complete"] * 2), said
    assert sorted(one["attempts"] for one in told["members"]) == [1, 2]
    assert len(run_folders(theirs.root)) == len(begun) + 1
    here, same, _ = answer_of(
        tool(theirs.root, "sweep", "train", "--seeds", "3,4", "--json", "--runs-dir", "here")
    )
    assert here == 0
    for one, other in zip(told["members"], same["members"], strict=True):
        folder = theirs.root / "runs" / one["run"]
        assert runs.read(folder).complete
        record = json.loads((folder / "run.json").read_text())
        assert (record["where"], bool(record["machine"]["node"])) == ("ray", True)
        metrics = (theirs.root / "here" / other["run"] / "metrics.jsonl").read_bytes()
        assert (folder / "metrics.jsonl").read_bytes() == metrics
