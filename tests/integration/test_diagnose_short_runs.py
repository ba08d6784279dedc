"""Slow programs are cut after the first difference, and what is found so is confirmed by whole runs."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, random, sys, time
from pathlib import Path
early = random.random()
late = time.time() if LATE else 0.0
with open(Path(sys.argv[1]) / "metrics.jsonl", "w") as file:
    for step in range(60):
        time.sleep(0.1)
        file.write(json.dumps({"step": step, "loss": early, "end": late if step > 50 else 0.0}) + "\\n")
        file.flush()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("late", "lines"), [("False", {4}), ("True", {4, 5})])
def test_runs_are_cut_where_the_first_two_part_and_what_differs_later_is_found(tmp_path, late, lines):
    (tmp_path / "train.py").write_text(PROGRAM.replace("LATE", late))
    command = [sys.executable, "-m", "reprokit", "diagnose", "--json", "--reports-dir", "reports"]
    done = subprocess.run(
        [*command, "--", sys.executable, "train.py", "{run_dir}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert {one["line"] for one in answer["causes"]} == lines
    kept = sorted(tmp_path.glob("reports/*/*/[0-9]*/output/metrics.jsonl"))
    sizes = [len(path.read_text().splitlines()) for path in kept]
    assert sizes.count(1) >= 2  # cut
    assert sizes[:2] == [60, 60]
    assert sizes.count(60) >= 4  # the two, and one each that confirms
