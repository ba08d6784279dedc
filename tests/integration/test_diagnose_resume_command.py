"""`reprokit diagnose --resume` on small programs, as a user types it."""

import json
import subprocess
import sys

import pytest

PROGRAM = """\
import argparse, json
from pathlib import Path

class Optimizer:
    def __init__(self):
        self.speed = 0.0
    def step(self, point):
        self.speed = 0.5 * self.speed - point
        return point + 0.1 * self.speed

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--stop-after", type=int, default=0)
parser.add_argument("--save-every", type=int, default=0)
parser.add_argument("--resume", type=Path)
given = parser.parse_args()
optimizer, point, first, lines = Optimizer(), 1.0, 0, []
best = 9.0
if given.resume:
    file = given.resume / "saved.json" if given.resume.is_dir() else given.resume
    saved = json.loads(file.read_text())
    point, first = saved["point"], saved["step"]
    LOAD
for step in range(first, given.stop_after or 9):
    point = optimizer.step(point)
    best = min(best, abs(point))  # only printed
    lines.append(json.dumps({"step": step, "loss": point}))
    if given.save_every and step % given.save_every == 1:
        saved = {"point": point, "step": step + 1, "speed": optimizer.speed, "lines": lines}
        (given.folder / f"saved-{step}.json").write_text(json.dumps(saved))
print(best)
saved = {"point": point, "step": step + 1, "speed": optimizer.speed, "lines": lines}
(given.folder / "saved.json").write_text(json.dumps(saved))
(given.folder / "metrics.jsonl").write_text("\\n".join(lines) + "\\n")
"""
SPEED, CARRY = 'optimizer.speed = saved["speed"]', 'lines = saved["lines"]'
HIDDEN = """\
def hidden():
    speed = 0.0
    def step(point):
        nonlocal speed
        speed = 0.5 * speed - point
        return point + 0.1 * speed
    return step

"""
#: All variables of the loop; the state of the optimizer begins again.
BEST = f"{CARRY}; best = min(abs(json.loads(one)['loss']) for one in lines)"
STOP, GO_ON = "--stop-after 4", "--resume {stopped_run_dir}"


@pytest.fixture
def told(tmp_path):
    def make(load, *, stop=STOP, go_on=GO_ON, more=()):
        (tmp_path / "train.py").write_text(PROGRAM.replace("LOAD", load))
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "reprokit",
                "diagnose",
                "--reports-dir",
                str(tmp_path / "reports"),
                "--resume",
                *(["--stop-args", stop] if stop else []),
                "--resume-args",
                go_on,
                "--",
                sys.executable,
                "train.py",
                "{run_dir}",
                *more,
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return make


def test_a_resumed_run_that_writes_only_its_own_records_and_loses_nothing_is_repeatable(told):
    done = told(SPEED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "varied ones" not in done.stdout
    assert "conditions were not varied" in done.stdout


@pytest.mark.slow
def test_a_resumed_run_that_carries_its_records_on_and_loses_nothing_is_repeatable(told):
    done = told(f"{SPEED}; {CARRY}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_what_the_program_holds_and_did_not_restore_is_named_and_not_what_is_only_printed(told):
    done = told(CARRY)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("NONDETERMINISTIC: first differs at step 4, in loss; cause: train.py:")
    assert ": `optimizer.speed` is not restored" in done.stdout
    assert "confidence: high" in done.stdout
    assert "`best`" not in done.stdout


def hidden():
    """The program with an optimizer whose state is in a function that another one made."""
    made = PROGRAM.replace("parser =", HIDDEN + "parser =", 1).replace("Optimizer(), 1.0", "hidden(), 1.0")
    return made.replace("optimizer.step(point)", "optimizer(point)").replace("optimizer.speed", "0")


@pytest.mark.slow
def test_of_what_cannot_be_reached_the_line_that_reads_the_checkpoint_is_named(told, monkeypatch):
    monkeypatch.setitem(globals(), "PROGRAM", hidden())
    done = told(CARRY)
    assert done.returncode == 1, done.stderr
    assert "saved = json.loads(file.read_text())" in done.stdout
    assert (
        "not everything that the training continues from is restored by reading saved.json here"
        in done.stdout
    )
    assert "confidence: medium" in done.stdout


@pytest.mark.slow
def test_where_two_resumed_runs_differ_the_line_is_no_cause(told, monkeypatch):
    monkeypatch.setitem(globals(), "PROGRAM", hidden())
    done = told(f"{CARRY}; import os; point = int.from_bytes(os.urandom(4), 'big') / 2**32")
    assert done.returncode == 1, done.stderr
    assert "two resumed runs differ" in done.stdout
    assert "resume_state" not in done.stdout


@pytest.mark.slow
def test_what_is_drawn_anew_instead_of_restored_is_named(told):
    done = told(f"{BEST}; import os; optimizer.speed = int.from_bytes(os.urandom(4), 'big') / 2**32")
    assert done.returncode == 1, done.stderr
    assert "`optimizer.speed` is not restored" in done.stdout


@pytest.mark.slow
def test_where_two_uninterrupted_runs_differ_that_is_diagnosed(told, tmp_path, monkeypatch):
    unseeded = PROGRAM.replace("import argparse, json", "import argparse, json, random").replace(
        "point = optimizer.step(point)", "point = optimizer.step(point + random.random())"
    )
    monkeypatch.setitem(globals(), "PROGRAM", unseeded)
    done = told(SPEED)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "point = optimizer.step(point + random.random())" in done.stdout
    assert "confidence: high" in done.stdout
    assert "two uninterrupted runs differ, which is diagnosed; resuming is not judged" in done.stderr
    (kept,) = (tmp_path / "reports").glob("*/*-diagnose/diagnosis.json")
    assert "resuming was not judged" in json.loads(kept.read_text())["known"][0]


def test_words_that_stop_nothing_are_refused(told):
    done = told(f"{SPEED}; {CARRY}", stop="--stop-after 0")
    assert (done.returncode, "nothing was stopped" in done.stderr) == (2, True), done.stdout


@pytest.mark.slow
def test_words_that_resume_nothing_are_refused(told):
    done = told(SPEED, go_on="--stop-after 0")
    assert (done.returncode, "nothing was resumed" in done.stderr) == (2, True), done.stdout


AT_THE_MIDDLE = "--resume {stopped_run_dir}/saved-*.json"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("load", "code"),
    [(SPEED, 0), ("pass", 1), pytest.param(f"{SPEED}; {CARRY}", 0, marks=pytest.mark.slow)],
)
def test_a_checkpoint_on_the_way_of_a_run_that_goes_on_to_its_end_is_enough(told, load, code):
    done = told(load, stop="--save-every 3", go_on=AT_THE_MIDDLE)
    assert done.returncode == code, done.stdout + done.stderr
    if code:
        assert "first differs at step 5, in loss" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("load", "code"), [(SPEED, 0), (CARRY, 1)])
def test_a_checkpoint_of_the_whole_run_is_enough(told, load, code):
    done = told(load, stop="", go_on=AT_THE_MIDDLE, more=("--save-every", "3"))
    assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.slow
def test_a_pattern_that_no_checkpoint_fits_is_refused(told):
    done = told(SPEED, stop="--save-every 3", go_on="--resume {stopped_run_dir}/none-*.json")
    assert (done.returncode, "no checkpoint matches" in done.stderr) == (2, True), done.stdout


@pytest.mark.slow
def test_a_checkpoint_of_the_end_from_which_nothing_goes_on_is_no_verdict(told):
    done = told(f"{SPEED}; {CARRY}; step = first - 1", stop="--save-every 3")
    assert (done.returncode, "continued or started again" in done.stderr) == (4, True), done.stdout


def test_a_program_that_logs_its_time_is_compared_without_it_and_that_is_said(told, monkeypatch):
    timed = PROGRAM.replace("import argparse, json", "import argparse, json, time; begun = time.time()")
    timed = timed.replace('"loss": point}', '"loss": point, "time/elapsed": time.time() - begun}')
    monkeypatch.setattr(
        sys.modules[__name__], "PROGRAM", timed.replace("    best =", "    time.sleep(0.02); best =")
    )
    done = told(SPEED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "left out: time/elapsed (duration)" in done.stdout
    assert "--ignore-metric time/elapsed" in done.stdout
