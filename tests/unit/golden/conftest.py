"""Runs that deserve to be blessed, and the goldens made of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from reprokit.golden import Golden, GoldenCandidate, Promotion, promote


def digest_of(letter: str) -> str:
    return f"sha256:{letter * 64}"


@pytest.fixture
def candidate(tmp_path: Path) -> Callable[..., GoldenCandidate]:
    """Make a run folder with 30 records of metrics and of trace."""
    count = iter(range(100))

    def make(*, metrics: str | None = None, trace: str | None = None, **fields: Any) -> GoldenCandidate:
        path = tmp_path / "runs" / f"run-{next(count)}"
        path.mkdir(parents=True)
        records = [{"step": step, "train/loss": 1 / (step + 3)} for step in range(30)]
        updates = [{"step": step, "parameters": f"{step:064x}"} for step in range(30)]
        whole = ["".join(json.dumps(line) + "\n" for line in lines) for lines in (records, updates)]
        (path / "metrics.jsonl").write_text(whole[0] if metrics is None else metrics)
        (path / "trace.jsonl").write_text(whole[1] if trace is None else trace)
        return GoldenCandidate(
            **{
                "path": path,
                "complete": True,
                "recipe": "cartpole",
                "seed": 42,
                "platform": "cpu-x86_64",
                "modified": (),
                "dirty": False,
                "metrics": path / "metrics.jsonl",
                "trace": path / "trace.jsonl",
                "digests": {
                    name: digest_of("a") for name in ("recipe", "trainer", "runtime", "config", "lock")
                },
                "image": {"kind": "image", "digest": digest_of("b"), "base": f"base@{digest_of('c')}"},
                "fingerprint": digest_of("d"),
                "fingerprint_facts": {"torch": "2.13.0"},
                "environment": {"inside": {"torch": "2.13.0"}},
                "config": {"training": {"gamma": 0.99}},
                **fields,
            }
        )

    return make


@pytest.fixture
def bless(tmp_path: Path, candidate: Callable[..., GoldenCandidate]) -> Callable[..., Golden]:
    """Promote two good runs, or those given."""

    def promoted(*runs: GoldenCandidate, **words: Any) -> Golden:
        said = {"reason": "first golden", "created_at": "2026-11-20T10:15:00+00:00"}
        names = {field.name for field in fields(Promotion)}
        said |= {name: words.pop(name) for name in names & words.keys()}
        return promote(
            tmp_path / "golden",
            promotion=Promotion(**said),
            **{
                "runs": runs or (candidate(), candidate()),
                "tolerances": {"default": {"rtol": 0.0, "atol": 0.0}},
                **words,
            },
        )

    return promoted
