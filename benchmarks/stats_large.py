"""How long statistics over 1,000 runs of 1,000 records and 20 metrics take, as a person types them.

Makes finished run folders, each file digested in COMPLETE. Prints a table, then one JSON object; exits 1 when
the bound is missed.

    python benchmarks/stats_large.py [--runs N] [--records N] [--metrics N] [--repeats N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE))

from reprokit.core.records import digest_bytes  # noqa: E402

FULL = (1_000, 1_000, 20)
BOUND_S = 10.0
FIXED = {
    "config.yaml": b"training: {gamma: 0.99, learning_rate: 3.0e-4}\n",
    "environment.json": b"{}\n",
    "stdout.log": b"trained\n",
    "stderr.log": b"",
}


def write_run(runs_dir: Path, seed: int, *, num_records: int, num_metrics: int) -> None:
    """One finished run, its metrics in full precision."""
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(num_records, num_metrics)).cumsum(axis=0)
    names = [f"group/metric_{at}" for at in range(num_metrics)]
    lines = [
        json.dumps({"step": 256 * (at + 1), **dict(zip(names, row, strict=True))})
        for at, row in enumerate(values.tolist())
    ]
    name = f"20261122T101500Z-{seed:06x}-seed{seed}-1"
    record = {
        "schema": 1,
        "recipe": "large",
        "run_id": name,
        "seed": seed,
        "device": "cpu",
        "command": ["python", "train.py", "--seed", "{seed}"],
        "backend": "local",
        "modified": [],
        "digests": {"recipe": "sha256:1", "program": "sha256:2", "config": "sha256:3", "lock": "sha256:4"},
        "state": "finished",
        "outcome": "completed",
        "exit_code": 0,
        "started_at": "2026-11-22T10:15:00+00:00",
        "ended_at": "2026-11-22T10:16:00+00:00",
        "duration_s": 60.0,
    }
    files = {
        **FIXED,
        "run.json": json.dumps(record).encode(),
        "metrics.jsonl": "".join(f"{line}\n" for line in lines).encode(),
    }
    folder = runs_dir / "large" / name
    folder.mkdir(parents=True)
    for file, content in files.items():
        (folder / file).write_bytes(content)
    listed = {
        file: {"sha256": digest_bytes(content), "bytes": len(content)} for file, content in files.items()
    }
    (folder / "COMPLETE").write_text(json.dumps({"schema": 1, "files": listed}))


def timed(words: list[str], *, root: Path, expected: int) -> tuple[float, float]:
    """Seconds on the wall and of the CPU that one call takes; its answer must name every seed."""
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "reprokit", "stats", *words],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    wall, after = time.perf_counter() - start, os.times()
    if "--json" in words:
        assert len(json.loads(done.stdout)["groups"][0]["seeds"]) == expected
    else:
        assert f"large: {expected:,} seeds" in done.stdout
    return wall, sum(after[2:4]) - sum(before[2:4])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in zip(("runs", "records", "metrics"), FULL, strict=True):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        root = Path(made)
        (root / "recipes").mkdir()
        for seed in range(options.runs):
            write_run(root / "runs", seed, num_records=options.records, num_metrics=options.metrics)
        size = sum(path.stat().st_size for path in (root / "runs").rglob("metrics.jsonl"))
        made_of = f"{options.runs:,} runs, {options.records:,} records, {options.metrics} metrics"
        print(f"{made_of}: {size / 1e6:,.0f} MB")
        times = {
            " ".join(["stats", *words]): [
                timed(words, root=root, expected=options.runs) for _ in range(options.repeats)
            ]
            for words in (["large"], ["large", "--json"])
        }
    medians = {
        name: tuple(statistics.median(one[at] for one in found) for at in (0, 1))
        for name, found in times.items()
    }
    for name, (wall, cpu) in medians.items():
        print(f"{name:<20} {wall:6.2f} s wall, {cpu:6.2f} s CPU (bound {BOUND_S:.0f} s)")
    print(json.dumps({"bytes": size, "medians_s": medians}))
    whole = (options.runs, options.records, options.metrics) >= FULL
    return int(whole and any(wall > BOUND_S for wall, _ in medians.values()))


if __name__ == "__main__":
    sys.exit(main())
