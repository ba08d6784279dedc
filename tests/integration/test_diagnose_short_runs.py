"""Slow programs are cut after the first difference, and what is found so is confirmed by whole runs."""

import json
import subprocess
import sys

import pytest

IDENTITY = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
PROGRAM = """
import json, os, sys, time
from pathlib import Path
early = os.getpid() / 7
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


RECIPE = """\
schema: 1
name: train
title: A program as it is
variant: none
command: [python, train.py, "{run_dir}"]
seeds: [3]
platforms: [cpu-x86_64]
"""


VOLATILE = "volatile: [{metric: end, because: the clock}]\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "are_cut"), [("", True), (VOLATILE, True), ("outputs: [metrics.jsonl]\n", False)]
)
def test_the_program_of_a_recipe_is_cut_unless_what_it_leaves_at_its_end_is_compared(tmp_path, more, are_cut):
    (tmp_path / "train.py").write_text(PROGRAM.replace("LATE", "True" if "volatile" in more else "False"))
    (tmp_path / "recipes" / "train").mkdir(parents=True)
    (tmp_path / "recipes" / "train" / "recipe.yaml").write_text(RECIPE + more)
    for words in (["init", "--quiet"], ["add", "--all"], [*IDENTITY, "commit", "--quiet", "-m", "a program"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "reprokit", "diagnose", "train", "--json", "--vary", "hash_seed"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    answer = json.loads(done.stdout)
    assert {one["line"] for one in answer["causes"]} == {4}, done.stderr
    kept = sorted(tmp_path.glob("reports/*/*/[0-9]*/metrics.jsonl"))
    sizes = [len(path.read_text().splitlines()) for path in kept]
    assert (sizes.count(1) >= 2) is are_cut, sizes


PRINTS = """
import random
for epoch in range(5):
    print(f"epoch {epoch} loss {random.random():.4f}")
"""


def test_a_program_that_only_prints_gets_the_command_that_reads_it_and_leaves_no_folder(tmp_path):
    (tmp_path / "fit.py").write_text(PRINTS)
    done = subprocess.run(
        [sys.executable, "-m", "reprokit", "diagnose", "--", sys.executable, "fit.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 2
    assert "fit.py: the program only prints its numbers" in done.stderr
    assert "fit.py > {run_dir}/printed.log" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["fit.py"]
