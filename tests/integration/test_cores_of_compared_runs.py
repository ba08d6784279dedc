"""A run that is compared with an earlier one has as many cores as that had: a program may count them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """\
import json, os, random, sys
random.seed(int(sys.argv[1]))
cores = len(os.sched_getaffinity(0))
os.makedirs(sys.argv[2], exist_ok=True)
with open(os.path.join(sys.argv[2], "metrics.jsonl"), "w") as log:
    log.write(json.dumps({"step": 0, "loss": cores + random.random()}) + "\\n")
"""
RECIPE = """\
schema: 1
name: train
title: a program that counts its cores
variant: none
command: [python, train.py, "{seed}", "{run_dir}"]
seeds: [1]
platforms: [cpu-x86_64]
"""


def several_cores() -> bool:
    return hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) > 1


def call(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=root, capture_output=True, text=True, check=False, timeout=300)


def reprokit(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return call(root, "env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "reprokit", *words)


def committed(root: Path) -> None:
    call(root, "git", "add", "--all")
    call(root, "git", "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "a commit")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not several_cores(), reason="with one core every run has the same number of cores")
def test_no_environment_is_blamed_for_the_cores_that_the_tool_gave(tmp_path: Path) -> None:
    (tmp_path / "recipes" / "train").mkdir(parents=True)
    (tmp_path / "recipes" / "train" / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / ".gitignore").write_text("runs/\nreports/\n")
    call(tmp_path, "git", "init", "-q")
    committed(tmp_path)

    alone = reprokit(tmp_path, "run", "train").stdout.strip()
    again = json.loads(reprokit(tmp_path, "runs", "reproduce", alone, "--json").stdout)
    assert again["verdict"] == "REPRODUCED", "a run that had every core is repeated with every core"

    reprokit(tmp_path, "reproduce", "train")
    reprokit(tmp_path, "golden", "promote", "train", "--reason", "first")
    committed(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM.replace("cores + ", "cores - "))
    judged = json.loads(reprokit(tmp_path, "reproduce", "train", "--attribute", "--json").stdout)
    assert judged["verdict"] == "REGRESSION"
    assert judged["attribution"]["answer"] == "code", "the golden's run had one core, as one of a pair"
