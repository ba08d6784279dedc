"""A program whose return follows its seed, and the ensemble of its first twenty seeds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reprokit.core.checklist import Report
from reprokit.golden import USUAL_SEEDS, Ensemble, Promotion
from reprokit.harness import GateAnswer, Request, verify
from reprokit.harness.curation import promote_sweep
from reprokit.project import Project
from reprokit.session import Session
from support.command_recipe import Repository
from support.recorded_progress import RecordedProgress
from support.sweep_program import swept

NOW = "2026-01-01T00:00:00+00:00"
RECIPE = """\
schema: 1
name: train
title: A return that follows the seed
variant: none
command: [python, train.py, "{seed}", "{run_dir}"]
seeds: [0]
platforms: [cpu-x86_64]
statistical: {metric: return, window: mean_last_3, margin: 2.0, direction: higher}
"""
#: ``settings.py`` says what is wrong with it; ``NOISE`` moves every bit and no mean.
PROGRAM = """\
import json, os, random, sys
import settings
seed, run_dir = int(sys.argv[1]), sys.argv[2]
generator = random.Random(seed)
level = settings.level(seed, generator)
with open(f"{run_dir}/log.jsonl", "w") as log:
    for step in range(6):
        value = level + settings.NOISE * generator.gauss(0, 1)
        log.write(json.dumps({"step": step, "return": value, "other": generator.random()}) + "\\n")
"""
SETTINGS = """\
NOISE = 0.1
def level(seed, generator):
    return generator.gauss(100.0, 1.0)
"""
NOISIER = SETTINGS.replace("0.1", "0.11")
WORSE = SETTINGS.replace("generator.gauss(100.0, 1.0)", "generator.gauss(95.0, 1.0)")
BETTER = WORSE.replace("95.0", "105.0")
CEILING = SETTINGS.replace("0.1", "0.0").replace("generator.gauss(100.0, 1.0)", "100.0")


@dataclass(frozen=True)
class StatisticalProject(Repository):
    """The project in its repository."""

    @property
    def project(self) -> Project:
        return Project.around(self.root)

    @property
    def ensemble(self) -> Path:
        return self.root / "golden" / "train" / "cpu-x86_64" / "ensemble"

    def begin(self, *, settings: str = SETTINGS, recipe: str = RECIPE) -> StatisticalProject:
        self.root.mkdir(parents=True)
        self.git("init", "--quiet")
        (self.root / ".gitignore").write_text("runs/\nreports/\n__pycache__/\n")
        self.write(train_py=PROGRAM, settings_py=settings, recipes__train__recipe_yaml=recipe)
        return self

    def sweep(self, seeds: str = "20") -> StatisticalProject:
        swept(self.root, seeds=seeds)
        return self

    def runs(self) -> set[str]:
        return {str(path.parent) for path in self.root.glob("runs/train/*/run.json")}

    def bless(self, *, min_seeds: int = USUAL_SEEDS, **allowed: bool) -> Ensemble:
        made = promote_sweep(
            "train",
            project=self.project,
            promotion=Promotion(reason="first", created_at=NOW, **allowed),
            min_seeds=min_seeds,
        )
        self.commit()
        return made

    def answer(self, **asked: object) -> GateAnswer:
        request = Request(backend="local", side_by_side=False, **{"statistical": True, **asked})
        (found,) = verify(
            request, session=Session(project=self.project, progress=RecordedProgress()), names=("train",)
        )
        return found

    def judged(self, **asked: object) -> Report:
        found = self.answer(**asked)
        assert found.report is not None, found.error
        assert found.exit_code == found.report.exit_code
        return found.report
