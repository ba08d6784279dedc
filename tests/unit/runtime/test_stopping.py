"""A training that is killed at a step: its records are whole up to there, and nothing runs after it."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.runtime import launch

pytest.importorskip("torch")

PROJECT = Path(__file__).resolve().parents[3]
PROGRAM = """
import sys
from pathlib import Path
from reprokit.runtime.stopping import StoppingMetrics
try:
    with StoppingMetrics(Path("metrics.jsonl"), stop_at=int(sys.argv[1])) as metrics:
        for step in range(10, 60, 10):
            metrics.write(step=step, **{"loss/policy": 0.5})
            print("after", step, flush=True)
finally:
    print("tidied up", flush=True)
"""


@pytest.mark.parametrize(("stop_at", "last"), [(10, 10), (11, 20), (30, 30), (50, 50)])
def test_it_is_killed_right_after_the_record_at_or_after_the_step(tmp_path, stop_at, last):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(stop_at)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    steps = [json.loads(line)["step"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert steps == list(range(10, last + 1, 10))
    assert done.stdout.split() == [word for step in steps[:-1] for word in ("after", str(step))]


def test_a_step_beyond_the_end_kills_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "51"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(PROJECT)},
        check=False,
        capture_output=True,
    )
    assert done.returncode == 0


@pytest.mark.parametrize("more", [("--stop-at", "0"), ("--stop-at", "5", "--max-updates", "1")])
def test_a_place_that_means_nothing_is_refused(tmp_path, more, capsys):
    with pytest.raises(SystemExit) as ended:
        launch.main(["--run-dir", str(tmp_path), "--config", "c", "--seed", "1", *more, "--", "t.py"])
    assert ended.value.code == 2
    assert "--stop-at wants a step" in capsys.readouterr().err
