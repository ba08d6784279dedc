"""A backend written by hand, and runs made with it: real folders, real files, no process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from reprokit import layout, recipes
from reprokit.core.records import Outcome, Realisation, RunResult, RunSpec, digest_bytes
from reprokit.harness import Project
from reprokit.harness.running.execute import execute
from reprokit.harness.running.plan import plan_command, plan_recipe
from reprokit.harness.running.run_kinds import WholeRun
from reprokit.recipes import Recipe

ROOT = Path(__file__).resolve().parents[3]

HOST: dict[str, Any] = {
    "kernel": "6.1.0-21-amd64",
    "os": {"system": "Linux", "name": "Debian GNU/Linux 12"},
    "libc": {"name": "glibc", "version": "2.36"},
    "cpu": {
        "architecture": "x86_64",
        "model": "A CPU",
        "features": ["avx2"],
        "usable": 2,
        "logical": 2,
    },
    "memory": {"total_bytes": 2**34},
    "gpus": [],
    "tool": {"version": "0.1.0"},
    "source": {"commit": "4be1c02", "dirty": False, "unrecorded": False, "changed": 0},
    "plain_inside": {"python": {"version": "3.11.7"}},
}
INSIDE: dict[str, Any] = {
    "schema": 1,
    "python": {"version": "3.11.7"},
    "packages": {"torch": "2.13.0+cpu", "numpy": "2.4.6"},
    "device": {"kind": "cpu"},
    "cpu": {"architecture": "x86_64", "avx2": True},
}
REALISATION = Realisation(
    variant="cpu",
    kind="venv",
    reference="/env",
    digest="sha256:0",
    python="/env/bin/python",
    lock_digest=f"sha256:{'1' * 64}",
)

Program = Callable[[RunSpec, Path, Callable[[], None]], RunResult | None]


def ended(outcome: Outcome = Outcome.COMPLETED, code: int | None = 0, message: str = "") -> RunResult:
    return RunResult(
        outcome=outcome,
        exit_code=code,
        message=message,
        remedy="look at its log" if message else "",
        started_at="2026-11-20T10:15:00+00:00",
        ended_at="2026-11-20T10:15:05+00:00",
        duration_s=5.0,
        isolation={"backend": "local"},
    )


@dataclass(slots=True)
class FakeBackend:
    """Does in this process what a program would have done in ``output/``.

    Attributes:
        program: Called with the specification, ``output/`` and ``on_tick``; None means that it completed.
        seen: Run ids in the order they were started.
    """

    program: Program
    name: str = "fake"
    seen: list[str] = field(default_factory=list)

    def run(self, spec: RunSpec, run_dir: Path, *, on_tick: Callable[[], None]) -> RunResult:
        self.seen.append(spec.run_id)
        (run_dir / "stdout.log").write_text("trained\n")
        (run_dir / "stderr.log").write_text("")
        on_tick()
        return self.program(spec, run_dir / "output", on_tick) or ended()


@dataclass(slots=True)
class Told:
    """A progress display that remembers."""

    phases: list[str] = field(default_factory=list)
    updates: list[tuple[str, int, int | None]] = field(default_factory=list)
    signs: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def phase(self, name: str) -> None:
        self.phases.append(name)

    def update(
        self, run_label: str, step: int, total: int | None, *, steps_per_s: float | None, eta_s: float | None
    ) -> None:
        self.updates.append((run_label, step, total))

    def alive(self, run_label: str, seen: str) -> None:
        self.signs.append((run_label, seen))

    def note(self, text: str) -> None:
        self.notes.append(text)


def write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def training(*, loss: Callable[[int], float] = lambda step: 1 / step, records: int = 5) -> Program:
    """A program that leaves what a recipe's training leaves."""

    def program(spec: RunSpec, output: Path, on_tick: Callable[[], None]) -> None:
        steps = [4096 * (index + 1) for index in range(records)]
        write_lines(output / "metrics.jsonl", [{"step": step, "losses/policy": loss(step)} for step in steps])
        write_lines(
            output / "trace.jsonl",
            [
                {
                    "step": step,
                    "update": update,
                    "parameters": hashlib.sha256(repr(loss(step)).encode()).hexdigest(),
                }
                for update, step in enumerate(steps, start=1)
            ],
        )
        (output / "checkpoints").mkdir()
        weights = b"weights"
        (output / "checkpoints" / "final_model.pt").write_bytes(weights)
        sha256 = f"sha256:{hashlib.sha256(weights).hexdigest()}"
        manifest = {"files": {"final_model.pt": {"step": steps[-1], "sha256": sha256}}}
        (output / "checkpoints" / "MANIFEST.json").write_text(json.dumps(manifest))
        proof = {"checkpoints": {"final_model.pt": {"loadable": True, "sha256": sha256}}}
        (output / "runtime.json").write_text(json.dumps(proof))
        (output / "environment.json").write_text(json.dumps(INSIDE))

    return program


def logging(*, loss: Callable[[int], float] = lambda step: 1 / step, name: str = "metrics.jsonl") -> Program:
    """A plain program that logs a metric."""

    def program(spec: RunSpec, output: Path, on_tick: Callable[[], None]) -> None:
        write_lines(output / name, [{"step": step, "loss": loss(step)} for step in range(1, 6)])

    return program


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture(scope="session")
def recipe() -> Recipe:
    return recipes.load("cartpole_baseline", recipes_dir=ROOT / "recipes")


@pytest.fixture
def here(tmp_path: Path) -> Project:
    """A project with no recipes of its own, in a temporary folder."""
    return Project.around(tmp_path)


@dataclass(slots=True)
class Runs:
    """Makes run folders with the fake backend."""

    here: Project
    recipe: Recipe
    told: Told
    count: int = 0

    def of_recipe(self, *programs: Program, seed: int = 42, lock: bytes = b"") -> tuple[Path, ...]:
        """One run of the recipe a program, all of one ``reproduce``, in an environment of a lock."""
        realisation = replace(REALISATION, lock_digest=digest_bytes(lock)) if lock else REALISATION
        plan = plan_recipe(
            self.recipe,
            WholeRun(repeats=len(programs)),
            seed=seed,
            realisation=realisation,
            backend="local",
            stamp=self._stamp(),
            runs_dir=self.here.runs_dir,
            files={layout.LOCK: lock} if lock else {},
        )
        return self._execute(plan, programs)

    def of_command(
        self, *programs: Program, command: tuple[str, ...] = ("python", "train.py")
    ) -> tuple[Path, ...]:
        return self._execute(
            plan_command(command, seed=7, repeats=len(programs), stamp=self._stamp()), programs
        )

    def _stamp(self) -> str:
        self.count += 1
        return f"20261120T1015{self.count:02d}Z-aaaa"

    def _execute(self, plan, programs) -> tuple[Path, ...]:
        by_id = dict(zip([spec.run_id for spec in plan.specs], programs, strict=True))
        backend = FakeBackend(lambda spec, output, tick: by_id[spec.run_id](spec, output, tick))
        return execute(plan, backend=backend, runs_dir=self.here.runs_dir, host=HOST, progress=self.told)


@pytest.fixture
def make(here: Project, recipe: Recipe, told: Told) -> Runs:
    return Runs(here=here, recipe=recipe, told=told)


@pytest.fixture
def fake() -> type[FakeBackend]:
    return FakeBackend


@pytest.fixture
def programs() -> dict[str, Any]:
    """The fake programs and results, by name (test files cannot import each other)."""
    made = {"training": training, "logging": logging, "ended": ended}
    return {**made, "host": HOST, "realisation": REALISATION}


@pytest.fixture
def plant() -> Callable[..., None]:
    """Plants another value under a key of ``core.comparability`` in a run folder, and closes it again."""

    def planted(folder: Path, path: str) -> None:
        if path == "config":
            (folder / "config.yaml").write_text("training: {gamma: 0.5}\n")
            return _close_again(folder, "config.yaml")
        record = json.loads((folder / "run.json").read_text())
        *above, last = path.split(".")
        section = record
        for name in above:
            section[name] = dict(section.get(name) or {})
            section = section[name]
        section[last] = {"trainer": "another"} if path == "digests" else ["another"]
        (folder / "run.json").write_text(json.dumps(record))
        return _close_again(folder, "run.json")

    return planted


def _close_again(folder: Path, name: str) -> None:
    marker = folder / "COMPLETE"
    if marker.is_file():
        data = (folder / name).read_bytes()
        closed = json.loads(marker.read_text())
        closed["files"][name] = {"sha256": digest_bytes(data), "bytes": len(data)}
        marker.write_text(json.dumps(closed))
