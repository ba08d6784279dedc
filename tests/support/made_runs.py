"""Run folders made with the fake backend: real folders, real files, no process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reprokit import layout
from reprokit.core.records import digest_bytes
from reprokit.harness import Project
from reprokit.harness.running.engine import Engine
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.plan import plan_command, plan_recipe
from reprokit.harness.running.run_kinds import WholeRun
from reprokit.recipes import Recipe
from support.fake_backend import HOST, REALISATION, FakeBackend, Program
from support.recorded_progress import RecordedProgress


@dataclass(slots=True)
class MadeRuns:
    """Makes run folders with the fake backend."""

    here: Project
    recipe: Recipe
    told: RecordedProgress
    count: int = 0

    def of_recipe(
        self,
        *programs: Program,
        seed: int = 42,
        lock: bytes = b"",
        cores: tuple[int, ...] = (),
        **how: Any,
    ) -> tuple[Path, ...]:
        """One run of the recipe a program, all of one ``reproduce``; ``how`` they are carried out.

        ``cores`` are those that they are pinned to, one each.
        """
        realisation = replace(REALISATION, lock_digest=digest_bytes(lock)) if lock else REALISATION
        plan = plan_recipe(
            self.recipe,
            WholeRun(repeats=len(programs)),
            seed=seed,
            environment=Environment(
                realisation=realisation, backend="local", runs_dir=self.here.runs_dir, cores=cores
            ),
            stamp=self._stamp(),
        )
        looked_at = {
            "installed": {"files": 2, "whole": True, "foreign": [], "num_foreign": 0},
            "outside_code": {},
        }
        files = {**plan.files, **({layout.LOCK: lock} if lock else {})}
        plan = replace(plan, files=files, facts={**plan.facts, **looked_at})
        return self._execute(plan, programs, **how)

    def of_command(
        self, *programs: Program, command: tuple[str, ...] = ("python", "train.py")
    ) -> tuple[Path, ...]:
        return self._execute(
            plan_command(command, seed=7, repeats=len(programs), stamp=self._stamp()), programs
        )

    def _stamp(self) -> str:
        self.count += 1
        return f"20261120T1015{self.count:02d}Z-aaaa"

    def _execute(self, plan, programs, **how: Any) -> tuple[Path, ...]:
        by_id = dict(zip([spec.run_id for spec in plan.specs], programs, strict=True))
        backend = FakeBackend(lambda spec, output, tick: by_id[spec.run_id](spec, output, tick))
        engine = Engine(backend=backend, runs_dir=self.here.runs_dir, host=HOST, progress=self.told)
        return engine.make(plan, **how)
