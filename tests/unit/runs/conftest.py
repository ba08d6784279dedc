"""Run folders, reports and goldens as files, without training anything."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reprokit import runs
from reprokit.core.records import Outcome, Realisation, RunResult, RunSpec
from reprokit.project import Project

DEAD = {"pid": 2**22 + 1, "started": 1.0, "boot": 1.0}
METRICS = '{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.25}\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """A project folder and quick ways to fill it."""

    project: Project

    @property
    def runs(self) -> Path:
        return self.project.runs_dir

    def run(
        self,
        run_id: str = "20261120T101500Z-aaaa-seed42-1",
        *,
        recipe: str = "tiny",
        metrics: str = METRICS,
        outcome: Outcome = Outcome.COMPLETED,
        owner: dict[str, Any] | None = None,
        files: dict[str, bytes] | None = None,
        **facts: Any,
    ) -> Path:
        """A run that has ended, made by a tool that is gone (or by ``owner``)."""
        pinned = Realisation(
            variant="cpu",
            kind="venv",
            reference="/env",
            python="/env/bin/python",
            digest=f"sha256:{'ab' * 32}",
            lock_digest=f"sha256:{'cd' * 32}",
        )
        spec = RunSpec(
            recipe=recipe, run_id=run_id, seed=42, device="cpu", command=("{python}",), realisation=pinned
        )
        folder = runs.create(
            self.runs,
            spec,
            facts={"backend": "local", "modified": [], **facts},
            files={"config.yaml": b"training: {gamma: 0.99}\n", **(files or {})},
        )
        self.change(folder, owner=owner or DEAD)
        (folder / "output" / "metrics.jsonl").write_text(metrics)
        began = (
            f"{run_id[:4]}-{run_id[4:6]}-{run_id[6:8]}T{run_id[9:11]}:{run_id[11:13]}:{run_id[13:15]}+00:00"
        )
        code = 0 if outcome is Outcome.COMPLETED else 1
        result = RunResult(
            outcome=outcome,
            exit_code=code,
            started_at=began,
            ended_at=began,
            duration_s=5.0,
            message="" if code == 0 else "the program crashed",
        )
        runs.finish(folder, result, environment={"schema": 1})
        return folder

    def change(self, folder: Path, **facts: Any) -> None:
        record = json.loads((folder / "run.json").read_text())
        (folder / "run.json").write_text(json.dumps({**record, **facts}))

    def report(
        self,
        *folders: Path,
        verdict: str = "REPRODUCED",
        time: str = "2026-11-20T10:20:00+00:00",
        golden: str | None = None,
        recipe: str = "tiny",
    ) -> Path:
        """As much of a report as lists and prunes look at."""
        place = self.project.reports_dir / recipe / time.replace(":", "")
        place.mkdir(parents=True)
        text = {
            "verdict": verdict,
            "created_at": time,
            "runs": [str(one) for one in folders],
            "golden": golden,
        }
        (place / "report.json").write_text(json.dumps(text))
        return place / "report.json"

    def golden(self, *, made: str, metrics: str = METRICS, recipe: str = "tiny") -> Path:
        """A golden that loads."""
        folder = self.project.golden_dir / recipe / "cpu-x86_64" / "seed-42"
        folder.mkdir(parents=True)
        trace = '{"update": 0}\n'
        (folder / "metrics.jsonl").write_text(metrics)
        (folder / "trace.jsonl").write_text(trace)
        digests = dict.fromkeys(("recipe", "trainer", "runtime", "config", "lock"), f"sha256:{'0' * 64}")
        digests |= {"metrics": _sha256(metrics), "trace": _sha256(trace)}
        provenance = {
            "schema": 1,
            "recipe": recipe,
            "platform": "cpu-x86_64",
            "seed": 42,
            "created_at": made,
            "reason": "first",
            "runs_agreed": 2,
            "digests": digests,
            "image": {},
            "fingerprint": "sha256:0",
            "fingerprint_facts": {},
            "environment": {},
            "config": {},
            "tolerances": {},
            "previous": None,
            "tool": {"name": "reprokit", "version": "0"},
        }
        (folder / "provenance.json").write_text(json.dumps(provenance))
        return folder


def _sha256(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """An empty project."""
    (tmp_path / "recipes").mkdir()
    return Workshop(project=Project.around(tmp_path))


@pytest.fixture
def later() -> Callable[[], int]:
    """A clock that is far enough ahead for every file to be remembered."""
    return lambda: time.time_ns() + 10_000_000_000
