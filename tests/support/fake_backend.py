"""A backend that starts no process: it does in this one what a program would have done in ``output/``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit.core.records import Outcome, Realisation, RunResult, RunSpec
from reprokit.execution.outcome import StopRunError

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
        try:
            return self.program(spec, run_dir / "output", on_tick) or ended()
        except StopRunError as stop:
            return ended(stop.why.outcome, None, stop.why.message)


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
