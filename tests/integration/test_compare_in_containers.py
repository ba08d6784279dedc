"""Two sides of a recipe compared in hardened containers, each from its own commit and lock."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from reprokit.features.compare.answer import FILE, Word
from reprokit.features.compare.asked import sides_asked
from reprokit.features.compare.audit import audit
from reprokit.features.compare.compare import compare_recipe
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session
from support.command_recipe import Repository
from support.recorded_progress import RecordedProgress

ROOT = Path(__file__).resolve().parents[2]
RECIPE = """\
schema: 1
name: train
title: A program with numpy
variant: cpu
command: [python, train.py, "{seed}", "{run_dir}"]
seeds: [3]
platforms: [cpu-x86_64]
"""
PROGRAM = """\
import json, sys
import numpy as np
from settings import RATE
generator = np.random.default_rng(int(sys.argv[1]))
value = 1.0
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    for step in range(4):
        value -= RATE * float(generator.random())
        log.write(json.dumps({"step": step, "loss": value}) + "\\n")
"""


@pytest.mark.slow
@pytest.mark.engine
def test_each_side_has_the_files_of_its_own_commit(tmp_path, cpu_image):
    repository = Repository(tmp_path)
    repository.git("init", "--quiet")
    shutil.copytree(ROOT / "images", tmp_path / "images")
    (tmp_path / ".gitignore").write_text("runs/\nreports/\n")
    repository.write(train_py=PROGRAM, settings_py="RATE = 0.1\n", recipes__train__recipe_yaml=RECIPE)
    repository.write(settings_py="RATE = 0.1 + 2**-60\n")
    answer, report = compared(tmp_path)
    assert answer.answer is Word.EQUAL, answer.sentence  # the sum is 0.1
    repository.write(settings_py="RATE = 0.2\n")
    answer, report = compared(tmp_path)
    assert (answer.answer, answer.first["record"]) == (Word.DIFFERENT, 0), answer.sentence
    assert {"kind": "code", "what": "settings.py:1 (+1 -1 lines)"} in answer.what_differs
    assert answer.sides["b"].environment["backend"] == "docker"
    assert report is not None
    assert audit(report / FILE).exit_code == 1
    listed = subprocess.run(
        ["git", "worktree", "list"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert len(listed.stdout.splitlines()) == 1


def compared(root: Path):
    session = Session(project=Project.around(root), progress=RecordedProgress())
    asked = sides_asked({"a": "HEAD~1", "b": "HEAD"})
    return compare_recipe("train", asked, Request(backend="docker"), only=None, share=(), session=session)
