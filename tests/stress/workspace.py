"""A project with one command recipe, the tool started in it, and what must hold of it after any harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from reprokit.runs import reading

ROOT = Path(__file__).resolve().parents[2]
SLOW, QUICK = 3, 9  # seeds: about five seconds, and none
_RECIPE = f"""\
schema: 1
name: train
title: A program of about five seconds
variant: none
command: [python, train.py, "{{seed}}", "{{run_dir}}"]
seeds: [{SLOW}, {QUICK}]
platforms: [cpu-x86_64]
"""
_PROGRAM = f"""\
import json, os, random, sys, time
seed = int(sys.argv[1])
random.seed(seed)
with open(f"{{sys.argv[2]}}/log.jsonl", "w") as log:
    for step in range(20):
        log.write(json.dumps({{"step": step, "loss": random.random()}}) + "\\n")
        log.flush()
        time.sleep(0.25 if seed == {SLOW} else 0)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How the tool ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def verdict(self) -> str:
        return str(self.json["verdict"])


@dataclass(slots=True, kw_only=True)
class Workspace:
    """The project, and the bytes that a good run of each seed has."""

    root: Path
    good: dict[int, bytes] = field(default_factory=dict)

    @property
    def runs(self) -> list[Path]:
        return sorted(path.parent for path in (self.root / "runs").glob("*/*/run.json"))

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "reprokit", *arguments],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def ask(self, *arguments: str, **environment: str) -> Answer:
        with self.start(*arguments, **environment) as tool:
            out, err = tool.communicate(timeout=600)
        assert "Traceback" not in err, err
        return Answer(code=tool.returncode, out=out, err=err)

    def reproduce(self, seed: int = QUICK, *more: str, **environment: str) -> Answer:
        return self.ask(*command(seed), *more, **environment)

    def must_reproduce(self, seed: int = QUICK) -> None:
        answer = self.reproduce(seed)
        assert (answer.code, answer.verdict) == (0, "REPRODUCED"), answer.out[:300] + answer.err

    def check(self) -> int:
        """Every run that is complete is so byte for byte; returns how many there are."""
        listed = self.ask("runs", "list", "--json")
        assert listed.code == 0, listed.err
        told = {row["run_id"]: row["outcome"] for row in listed.json}
        complete = 0
        for run in self.runs:
            if (run / "COMPLETE").exists():
                stored = reading.read(run)
                assert stored.complete, f"{run}: {stored.incomplete_because}"
                assert (run / "metrics.jsonl").read_bytes() == self.good[stored.record.seed], run
            assert (told[run.name] == "complete") == (run / "COMPLETE").exists(), (run, told[run.name])
            complete += (run / "COMPLETE").exists()
        return complete

    def programs(self) -> list[psutil.Process]:
        """The programs of its runs that are still there."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or []
            if any(word.endswith("train.py") for word in words) and any(
                str(self.root) in word for word in words
            ):
                found.append(process)
        return found

    def wait_for_programs(self, *, there: bool) -> None:
        end = time.monotonic() + 60
        while bool(self.programs()) != there:
            assert time.monotonic() < end, f"programs: {self.programs()}"
            time.sleep(0.05)


def command(seed: int) -> tuple[str, ...]:
    return ("reproduce", "train", "--backend", "local", "--seed", str(seed), "--json")


def make(root: Path) -> Workspace:
    """The project with a golden of each seed."""
    folder = root / "recipes" / "train"
    folder.mkdir(parents=True)
    (folder / "recipe.yaml").write_text(_RECIPE)
    (root / "train.py").write_text(_PROGRAM)
    (root / ".gitignore").write_text("runs/\nreports/\n__pycache__/\n")
    git(root, "init", "--quiet")
    commit(root)
    made = Workspace(root=root)
    for seed in (SLOW, QUICK):
        answer = made.reproduce(seed)
        assert answer.verdict == "NO_GOLDEN", answer.out[:300] + answer.err
        run = Path(answer.json["runs"][0])
        made.good[seed] = (root / run / "metrics.jsonl").read_bytes()
        promoted = made.ask("golden", "promote", "train", "--seed", str(seed), "--reason", "first")
        assert promoted.code == 0, promoted.err
        commit(root)
    return made


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(
        root,
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
        "commit",
        "--quiet",
        "--message",
        "a change",
    )


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)
