"""What `reprokit diagnose` says before it has finished: at work, interrupted, and out of its budget."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

PROGRAM = """
import json, random, sys, time
from pathlib import Path
used = random.random()
unused = time.time()
time.sleep(0.5)
(Path(sys.argv[1]) / "metrics.jsonl").write_text(json.dumps({"step": 0, "loss": used}) + "\\n")
"""


@pytest.fixture
def begun(tmp_path):
    """A diagnosis that has been started; its messages go to a file."""
    (tmp_path / "train.py").write_text(PROGRAM)
    made = []

    def begin(*options):
        command = [
            sys.executable,
            "-m",
            "reprokit",
            "diagnose",
            "--json",
            "--reports-dir",
            "reports",
            *options,
        ]
        with (tmp_path / "said").open("w") as said:
            made.append(
                subprocess.Popen(
                    [*command, "--", sys.executable, "train.py", "{run_dir}"],
                    cwd=tmp_path,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    env={**os.environ, "COLUMNS": "300"},
                )
            )
        return made[0]

    yield begin
    for process in made:
        process.kill()
        process.wait()


def wait_for(path, text, *, within_s=120):
    until = time.monotonic() + within_s
    while text not in path.read_text():
        assert time.monotonic() < until, path.read_text()
        time.sleep(0.1)


def test_what_is_known_so_far_is_said_and_an_interruption_leaves_it_as_a_provisional_answer(begun, tmp_path):
    process = begun()
    wait_for(tmp_path / "said", "so far: perhaps train.py:4 (unseeded_rng); one more run checks it")
    process.send_signal(signal.SIGINT)
    answer = json.loads(process.communicate(timeout=60)[0])
    assert process.returncode == 130
    assert answer["verdict"] == "NONDETERMINISTIC"
    assert (answer["cause"]["line"], answer["cause"]["confidence"]) == (4, "low")
    assert "interrupted" in answer["provisional"]
    (stored,) = tmp_path.glob("reports/**/diagnosis.json")
    assert json.loads(stored.read_text()) == answer


def test_a_budget_of_time_ends_with_what_is_known(begun, tmp_path):
    process = begun("--budget", "1s")
    answer = json.loads(process.communicate(timeout=120)[0])
    assert process.returncode == 1
    assert answer["runs"] <= 3
    assert "budget" in answer["provisional"]
    assert answer["cause"] is None or answer["cause"]["confidence"] == "low"


@pytest.mark.parametrize("budget", ["1", "ten", "0m", "5d"])
def test_what_is_no_budget_is_refused(begun, tmp_path, budget):
    process = begun("--budget", budget)
    process.communicate(timeout=60)
    assert process.returncode == 2
    assert "neither a number of runs" in (tmp_path / "said").read_text()
