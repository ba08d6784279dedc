"""Logs of libraries, in folders called by time and chance: found by `init` and by plain commands, unasked."""

from __future__ import annotations

import subprocess
import sys

import pytest

from reprokit.features.init import write_recipe as init
from reprokit.harness import Request
from reprokit.harness.reproduce import reproduce_command
from reprokit.harness.running import start_runs
from reprokit.project import Project
from reprokit.session import Session
from tests.support.recorded_progress import RecordedProgress

#: Writes what Hydra, Hugging Face and MLflow write, with names that are new in every run.
PROGRAM = """\
import argparse, json, os, random, sqlite3, time, uuid
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--out")
options = parser.parse_args()
random.seed(options.seed)
losses = [random.random() for _ in range(4)]
place = options.out + time.strftime("/outputs/%Y-%m-%d/%H-%M-%S")
os.makedirs(place)
with open(f"{place}/trainer_state.json", "w") as state:
    history = [{"step": step, "loss": loss, "file": options.out} for step, loss in enumerate(losses)]
    json.dump({"log_history": history}, state, indent=2)
run = uuid.UUID(bytes=os.urandom(16)).hex
os.makedirs(f"{options.out}/mlruns/0/{run}/metrics")
with open(f"{options.out}/mlruns/0/{run}/metrics/loss", "w") as log:
    log.writelines(f"{int(time.time() * 1000)} {loss} {step}\\n" for step, loss in enumerate(losses))
with sqlite3.connect(f"{options.out}/mlflow.db") as database:
    database.execute("CREATE TABLE runs (run_uuid TEXT PRIMARY KEY, start_time BIGINT)")
    columns = "key TEXT, value FLOAT, timestamp BIGINT, run_uuid TEXT, step BIGINT, is_nan BOOLEAN"
    database.execute(f"CREATE TABLE metrics ({columns})")
    database.execute("INSERT INTO runs VALUES (?, ?)", (run, time.time_ns()))
    rows = [("loss", loss, time.time_ns(), run, step, 0) for step, loss in enumerate(losses)]
    database.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", rows)
time.sleep(1)
"""
SOURCES = ("mlflow.db (mlflow)", "mlruns/0/{id} (mlflow_files)")


@pytest.fixture
def theirs(tmp_path, monkeypatch, inside):
    monkeypatch.setattr(
        start_runs, "inside_of", lambda spec, *, backend: {**inside, "device": {"kind": "cpu"}}
    )
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / ".gitignore").write_text("runs/\nreports/\n")
    subprocess.run(["git", "add", "--all"], cwd=tmp_path, check=True)
    return tmp_path


def reproduced(root):
    command = [sys.executable, str(root / "train.py"), "--seed", "{seed}", "--out", "{run_dir}"]
    request = Request(backend="local", side_by_side=False, seed=3)
    project = Project.around(root)
    return reproduce_command(command, request, session=Session(project=project, progress=RecordedProgress()))[
        0
    ]


def test_a_plain_command_is_repeatable_without_a_word(theirs):
    report = reproduced(theirs)
    assert report.verdict == "REPEATABLE", report.sentence
    row = next(row for row in report.checks if row.id == "repeatable")
    assert (row.evidence["records"], row.evidence["metrics"]) == (12, 4)


@pytest.mark.sample(1)
@pytest.mark.parametrize("of", ['"loss": loss', "{loss} {step}", '("loss", loss'])
def test_a_number_that_differs_in_one_of_them_is_found(theirs, of):
    noisy = of.replace("loss}", "loss + os.urandom(1)[0]}").replace(": loss", ": loss + os.urandom(1)[0]")
    noisy = noisy.replace(", loss", ", loss + os.urandom(1)[0]")
    (theirs / "train.py").write_text(PROGRAM.replace(of, noisy))
    report = reproduced(theirs)
    assert report.verdict == "NONDETERMINISTIC"
    assert report.divergence.metric.endswith(":loss")


@pytest.mark.slow
def test_init_finds_them(theirs):
    proposal = init.propose(
        (), name=None, session=Session(project=Project.around(theirs), progress=RecordedProgress())
    )
    assert not proposal.problem
    assert all(source in proposal.found["metrics"] for source in SOURCES)
    assert "outputs/{date}/{time}/trainer_state.json (trainer_state)" in proposal.found["metrics"]
    assert "bit for bit" in proposal.found["repeats"]
