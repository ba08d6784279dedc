"""What the attacks share: a program in git, its runs made without a process, and their verdict."""

from __future__ import annotations

import copy
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reprokit import file_tree, recipes
from reprokit.core.checklist import Report
from reprokit.core.records import RunResult, RunSpec
from reprokit.golden import Promotion
from reprokit.harness import Project, Request, judge_again
from reprokit.harness.curation.promote import promote
from reprokit.harness.running.engine import Engine
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.plan import plan_recipe
from reprokit.harness.running.run_kinds import WholeRun
from support.fake_backend import HOST, INSIDE, FakeBackend
from support.recorded_progress import RecordedProgress

NOW = "2026-11-20T10:15:00+00:00"
RECIPE = """\
schema: 1
name: train
title: A program as it is
variant: none
command: [python, train.py, "{seed}", "{run_dir}"]
seeds: [3]
platforms: [cpu-x86_64]
unresponsive: {because: what these tests run in its place has no generator}
"""
PASSED = frozenset({"REPRODUCED", "REPEATABLE"})

#: What a program does: its output folder, and which run it is, counted from 1.
Body = Callable[[Path, int], RunResult | None]


def git(folder: Path, *arguments: str, **more: Any) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")
    ended = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True, **more
    )
    return ended.stdout.strip()


@dataclass(slots=True)
class Lab:
    """A project with one recipe of a command, whose runs are made without a process."""

    here: Project
    count: int = 0

    def recipe(self, more: str = "", *, text: str = RECIPE) -> recipes.Recipe:
        file = self.here.recipes_dir / "train" / "recipe.yaml"
        file.write_text(text + more)
        return recipes.load("train", recipes_dir=self.here.recipes_dir)

    def runs(
        self, body: Body, more: str = "", *, repeats: int = 2, host: Mapping[str, Any] | None = None
    ) -> tuple[Path, ...]:
        """The folders of runs of a body."""
        self.count += 1
        plan = plan_recipe(
            self.recipe(more),
            WholeRun(repeats=repeats),
            seed=3,
            environment=Environment(realisation=None, backend="local", runs_dir=self.here.runs_dir),
            stamp=f"20261120T1015{self.count:02d}Z-aaaa",
        )
        plan.facts["digests"] = {**plan.facts["digests"], "lock": f"sha256:{'1' * 64}"}

        def program(spec: RunSpec, output: Path, tick: Callable[[], None]) -> RunResult | None:
            return body(output, int(spec.run_id.rsplit("-", 1)[1]))

        engine = Engine(
            backend=FakeBackend(program),
            runs_dir=self.here.runs_dir,
            host=dict(host or machine()),
            progress=RecordedProgress(),
        )
        return engine.make(plan)

    def report(self, body: Body, more: str = "", **asked: Any) -> Report:
        """The verdict of two runs of a body, compared with a golden of its first run, where that can be."""
        return judge_again(self.runs(body, more), Request(**asked), project=self.here)

    def promote(self, folders: tuple[Path, ...], **asked: Any) -> None:
        promote(folders, project=self.here, promotion=Promotion(reason="first", created_at=NOW, **asked))


def machine() -> dict[str, Any]:
    """What the host says of itself: enough for every row of the checklist."""
    inside = {
        **copy.deepcopy(INSIDE),
        "libc": {"name": "glibc", "version": "2.36"},
        "missing": {},
        "sources": {},
    }
    return {**copy.deepcopy(HOST), "plain_inside": inside}


@pytest.fixture(scope="session")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project under git, with one program and one recipe; no one changes it."""
    root = tmp_path_factory.mktemp("theirs") / "project"
    (root / "recipes" / "train").mkdir(parents=True)
    (root / "recipes" / "train" / "recipe.yaml").write_text(RECIPE)
    (root / "train.py").write_text("print('trained')\n")
    (root / ".gitignore").write_text("runs/\nreports/\n")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "first")
    return root


@pytest.fixture(scope="session")
def lab_in(committed: Path) -> Callable[[Path], Lab]:
    """The project, with runs, reports and goldens in a folder."""

    def made(folder: Path) -> Lab:
        places = {f"{name}_dir": folder / name for name in ("runs", "reports", "golden")}
        return Lab(here=Project.around(committed, **places))

    return made


@pytest.fixture
def lab(committed: Path, lab_in: Callable[[Path], Lab], tmp_path: Path) -> Iterator[Lab]:
    """The project, with runs, reports and goldens of this test's own."""
    yield lab_in(tmp_path)
    (committed / "recipes" / "train" / "recipe.yaml").write_text(RECIPE)
    if (tmp_path / "runs").is_dir():
        file_tree.remove(tmp_path / "runs")  # some nest folders deeper than pytest removes them
