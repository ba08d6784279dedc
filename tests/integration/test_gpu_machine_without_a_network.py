"""`tests/cuda/bare.py` on the CPU: what it compares, and that a difference or a lack is never a pass."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tests" / "cuda" / "bare.py"
SHORT = [
    *("--set", "training.total_timesteps=8192", "--set", "logging.save_interval=4096"),
    *("--set", "logging.final_eval_episodes=2", "--set", "logging.eval_episodes=2"),
]


def bare(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, FILE, *words], capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bare") / "carried"
    done = bare("prepare", folder, "--only", "cartpole_baseline", *SHORT)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_runs_that_are_equal_and_resumed_are_told_with_what_they_ran_on(prepared, tmp_path):
    done = bare("run", prepared, "--device", "cpu", "--output", tmp_path / "findings.json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "findings.json").read_text())["cartpole_baseline"]
    assert (found["result"], found["device"]) == ("equal", {"kind": "cpu"})
    assert found["last_record"]["step"] == 8192


def test_a_gpu_that_is_not_there_is_no_pass(prepared, tmp_path):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    done = bare("run", prepared, "--output", tmp_path / "findings.json")
    assert done.returncode == 3
    assert "torch finds none" in (tmp_path / "findings.json").read_text()
    (line,) = (line for line in done.stdout.splitlines() if "cartpole_baseline" in line)
    assert "not run: exit code 3: " in line
    assert "torch finds none" in line


@pytest.mark.parametrize(
    ("results", "code"),
    [
        (["equal", "equal"], 0),
        (["equal", "differs: trace.jsonl of the second run"], 1),
        (["equal", "not run: this Python has no gymnasium"], 3),
        ([], 3),
    ],
)
def test_only_what_was_all_trained_and_all_equal_is_a_pass(results, code):
    spec = importlib.util.spec_from_file_location("bare", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.code_of({str(n): {"result": one} for n, one in enumerate(results)}) == code


@pytest.mark.slow
def test_a_training_that_differs_the_second_time_is_found(prepared, tmp_path):
    config = prepared / "cartpole_baseline.yaml"
    plan = prepared / "plan.json"
    was = plan.read_text()
    trainer = tmp_path / "ppo.py"
    source = (ROOT / "recipes" / "trainers" / "ppo.py").read_text()
    seeds = "    run.seeding.seed_everything()\n"
    assert seeds in source
    unseeded = "    import os\n    np.random.seed(os.getpid())\n    torch.manual_seed(os.getpid())\n"
    trainer.write_text(source.replace(seeds, seeds + unseeded))
    changed = json.loads(was)
    changed["cartpole_baseline"]["trainer"] = str(trainer)
    plan.write_text(json.dumps(changed))
    try:
        done = bare("run", prepared, "--device", "cpu", "--output", tmp_path / "findings.json")
    finally:
        plan.write_text(was)
    assert config.exists()
    assert done.returncode == 1, done.stdout
    assert "metrics.jsonl of the second run" in done.stdout
