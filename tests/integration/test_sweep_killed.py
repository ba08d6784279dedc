"""A sweep whose tool is killed at random moments: nothing is lost, nothing doubled, nothing half counted."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import reprokit
from reprokit import runs
from reprokit.harness import finished_runs
from support.command_recipe import Repository
from support.sweep_program import RECIPE, run_folders

SOURCE = Path(reprokit.__file__).parent.parent
SEEDS = (1, 2, 3, 4, 5)
#: Half a second; its last line shows that it came to its end.
PROGRAM = """\
import json, random, sys, time
random.seed(int(sys.argv[1]))
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    for step in range(10):
        log.write(json.dumps({"step": step, "return": random.random()}) + "\\n")
        log.flush()
        time.sleep(0.05)
"""


@pytest.fixture
def theirs(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "theirs")
    made.root.mkdir()
    made.git("init", "--quiet")
    (made.root / ".gitignore").write_text("runs/\nreports/\n__pycache__/\n")
    made.write(train_py=PROGRAM, recipes__train__recipe_yaml=RECIPE)
    return made


def started(root: Path, *more: str) -> subprocess.Popen[str]:
    seeds = ",".join(map(str, SEEDS))
    return subprocess.Popen(
        [sys.executable, "-m", "reprokit", "sweep", "train", "--seeds", seeds, "--json", *more],
        cwd=root,
        env={
            **os.environ,
            "PYTHONPATH": str(SOURCE),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def programs(root: Path) -> list[int]:
    """The programs of its runs that are still there."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "train.py" in words and any(str(root) in word for word in words):
            found.append(process.pid)
    return found


def wait_for(condition, seconds: float = 180.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def expected_metrics(seed: int) -> list[float]:
    drawn = random.Random(seed)
    return [drawn.random() for _ in range(10)]


def check(root: Path) -> int:
    """Every finished run is whole and is there once; returns how many there are."""
    finished = [folder for folder in run_folders(root) if (folder / "COMPLETE").is_file()]
    for folder in finished:
        stored = runs.read(folder)
        assert stored.complete, stored.incomplete_because
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        assert [json.loads(line)["return"] for line in lines] == expected_metrics(stored.record.seed)
    seeds = [runs.read(folder, verify=False).record.seed for folder in finished]
    assert len(seeds) == len(set(seeds)), f"made twice: {sorted(seeds)}"
    return len(seeds)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [3, 20])
def test_it_goes_on_after_every_kill(theirs, kills):
    moments, finished, in_training = random.Random(kills), 0, 0
    for number in range(kills):
        tool = started(theirs.root)
        if number % 3 == 2:
            time.sleep(moments.uniform(0, 4))  # while it starts, looks at the host, or writes its record
        else:
            wait_for(lambda tool=tool: bool(programs(theirs.root)) or tool.poll() is not None)
            time.sleep(moments.uniform(0, 0.6))
        in_training += bool(programs(theirs.root))
        tool.send_signal(signal.SIGKILL)
        tool.communicate()
        wait_for(lambda: not programs(theirs.root))
        now = check(theirs.root)
        assert now >= finished, "a finished run was lost"
        finished = now
    tool = started(theirs.root)
    out, err = tool.communicate(timeout=300)
    assert tool.returncode == 0, err
    answer = json.loads(out)
    assert [member["state"] for member in answer["members"]] == ["complete"] * len(SEEDS)
    assert check(theirs.root) == len(SEEDS)
    assert in_training, "no kill met a training"
    found = finished_runs(Path(answer["path"]))
    assert (len(found.folders), found.missing) == (len(SEEDS), ())
    left = [folder for folder in run_folders(theirs.root) if not (folder / "COMPLETE").is_file()]
    told = {json.loads((folder / "run.json").read_text()).get("outcome") for folder in left}
    assert told <= {"interrupted"}, "what a kill left is closed as interrupted"


@pytest.mark.sample(1)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_sweep_leaves_nothing_running(theirs, number, code):
    tool = started(theirs.root)
    wait_for(lambda: bool(programs(theirs.root)))
    tool.send_signal(number)
    _, err = tool.communicate(timeout=60)
    assert (tool.returncode, programs(theirs.root)) == (code, []), err
    states = [json.loads((folder / "run.json").read_text())["state"] for folder in run_folders(theirs.root)]
    assert set(states) == {"finished"}
    record = runs.sweeps.read(next((theirs.root / "runs" / "sweeps").iterdir()))
    assert {str(member.state) for member in record} <= {"complete", "interrupted", "waiting"}
    assert "interrupted" in {str(member.state) for member in record}
