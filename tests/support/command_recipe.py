"""Someone's program in a repository of its own, with a recipe that runs it in this Python."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from reprokit.golden import Promotion
from reprokit.harness import Request, reproduce
from reprokit.harness.curation.promote import promote
from reprokit.project import Project
from reprokit.session import Session
from support.recorded_progress import RecordedProgress

RECIPE = """\
schema: 1
name: train
title: A program as it is
variant: none
command: [python, train.py, "{seed}", "{run_dir}"]
seeds: [3]
platforms: [cpu-x86_64]
"""
PROGRAM = """\
import json, random, sys
from settings import RATE
random.seed(int(sys.argv[1]))
value = 1.0
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    for step in range(4):
        value -= RATE * random.random()
        log.write(json.dumps({"step": step, "loss": value}) + "\\n")
print("step 3 loss", value)
"""


@dataclass(frozen=True)
class Repository:
    root: Path

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = self.root / name.replace("__", "/").replace("_py", ".py").replace("_yaml", ".yaml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.commit()

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a change")

    def commit_of(self, revision: str) -> str:
        """As answers name it."""
        words = ["git", "rev-parse", "--short=12", revision]
        return subprocess.run(words, cwd=self.root, check=True, capture_output=True, text=True).stdout.strip()

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True)

    def reproduce(self, **asked):
        return self.reproduced(**asked)[0]

    def reproduced(self, **asked):
        request = Request(backend="local", side_by_side=False, **asked)
        project = Project.around(self.root)
        return reproduce("train", request, session=Session(project=project, progress=RecordedProgress()))

    def promote(self, report, **allowed) -> None:
        folders = [Path(run) for run in report.runs]
        now = "2026-01-01T00:00:00+00:00"
        promote(
            folders,
            project=Project.around(self.root),
            promotion=Promotion(reason="first", created_at=now, **allowed),
        )
        self.commit()
