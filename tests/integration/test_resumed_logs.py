"""`reprokit diagnose --resume` names the line that takes over what was logged after the checkpoint."""

import json
import subprocess
import sys

import pytest

PROGRAM = """\
import argparse, json, random, shutil
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--stop", type=int, default=12)
parser.add_argument("--resume", type=Path)
given = parser.parse_args()

first, value, draws = 0, 1.0, random.Random(5)
log = given.folder / "metrics.jsonl"
if given.resume:
    shutil.copy(given.resume / "metrics.jsonl", log)
    saved = json.loads((given.resume / "saved.json").read_text())
    first, value, state = saved["step"], saved["value"], saved["state"]
    draws.setstate((state[0], tuple(state[1]), state[2]))
    CUT
for step in range(first, given.stop):
    if step % 5 == 0:
        saved = {"step": step, "value": value, "state": draws.getstate()}
        (given.folder / "saved.json").write_text(json.dumps(saved))
    value = 0.9 * value + draws.random()
    with log.open("a") as stream:
        stream.write(json.dumps({"step": step, "value": value}) + "\\n")
"""
CUT = 'log.write_text("".join(log.read_text().splitlines(keepends=True)[:first]))'


@pytest.mark.slow
@pytest.mark.parametrize("cut", [CUT, "pass"], ids=["cut", "not cut"])
def test_a_log_that_goes_on_without_being_cut_is_named_where_it_is_taken_over(tmp_path, cut):
    (tmp_path / "train.py").write_text(PROGRAM.replace("CUT", cut))
    command = [sys.executable, "-m", "reprokit", "diagnose", "--json", "--resume"]
    command += ["--reports-dir", str(tmp_path / "reports"), "--stop-args", "--stop 8"]
    command += ["--resume-args", "--resume {stopped_run_dir}", "--", sys.executable, "train.py", "{run_dir}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    if cut == CUT:
        assert (done.returncode, found["verdict"], found["cause"]) == (0, "REPEATABLE", None)
        return
    line = 1 + PROGRAM.splitlines().index('    shutil.copy(given.resume / "metrics.jsonl", log)')
    named = found["cause"]["category"], found["cause"]["line"], found["cause"]["confidence"]
    assert (done.returncode, *named) == (1, "resume_state", line, "medium")
    assert "with steps 5 to 7, which the resumed run logs once more" in found["cause"]["what"]
