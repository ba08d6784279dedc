"""How fast 10,000 run folders are listed: without an index, with one, and as a person types it.

Makes run folders and half as many reports, of the sizes that real ones have. Prints a table, then
one JSON object; exits 1 when a bound is missed.

    python benchmarks/runs_list.py [--runs N] [--repeats N] [--folder DIR]
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
from collections.abc import Callable
from functools import partial
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE))

from reprokit.project import Project  # noqa: E402
from reprokit.runs import listing  # noqa: E402

FULL = 10_000
#: situation → CPU seconds, for 10,000 runs; wall clock says as much about what else the machine does
BOUNDS = {"cold": 20.0, "warm": 0.8, "one run is new": 1.2, "typed, warm": 1.5}
FILES = {
    "config.yaml": 600,
    "environment.json": 6000,
    "runtime.json": 3000,
    "metrics.jsonl": 4000,
    "timing.jsonl": 2000,
    "trace.jsonl": 8000,
    "stdout.log": 500,
    "stderr.log": 0,
    "source/tiny/recipe.yaml": 2000,
    "source/trainers/ppo.py": 12000,
    "checkpoints/MANIFEST.json": 300,
    "checkpoints/final_model.pt": 1000,
}
OLD = 1_700_000_000


def write_run(runs_dir: Path, number: int) -> Path:
    """A complete run as the tool leaves it, but for the sizes of its checkpoints."""
    name = f"202611{number % 28 + 1:02d}T101500Z-{number // 2:06x}-seed{number % 5}-{number % 2 + 1}"
    folder = runs_dir / f"recipe_{number % 4}" / name
    for file, size in FILES.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    record = {
        "schema": 1,
        "recipe": folder.parent.name,
        "run_id": name,
        "seed": number % 5,
        "device": "cpu",
        "command": ["{python}", "-m", "reprokit.runtime.launch"],
        "backend": "docker",
        "modified": [],
        "image": {
            "variant": "cpu",
            "kind": "image",
            "digest": f"sha256:{number % 3:064x}",
            "lock_digest": "sha256:1",
        },
        "recipe_data": {f"key_{at}": "value" * 4 for at in range(80)},
        "state": "finished",
        "outcome": "completed",
        "exit_code": 0,
        "started_at": "2026-11-20T10:15:00+00:00",
        "ended_at": "2026-11-20T10:16:00+00:00",
        "duration_s": 60.0,
        "owner": {"pid": 1, "started": 1.0},
    }
    (folder / "run.json").write_text(json.dumps(record, indent=2))
    listed = {file: {"sha256": f"sha256:{0:064x}", "bytes": size} for file, size in FILES.items()}
    listed["run.json"] = {"sha256": f"sha256:{0:064x}", "bytes": 0}
    (folder / "COMPLETE").write_text(json.dumps({"schema": 1, "files": listed}, indent=2))
    return folder


def write_report(reports_dir: Path, number: int, folders: list[Path]) -> None:
    """A report with curves, which are most of its size."""
    place = reports_dir / folders[0].parent.name / f"20261120T101600Z-{number:06x}"
    place.mkdir(parents=True)
    curve = {"label": "run 1", "steps": list(range(400)), "values": [at / 7 for at in range(400)]}
    report = {
        "verdict": "REPRODUCED",
        "created_at": "2026-11-20T10:16:00+00:00",
        "golden": None,
        "runs": [str(folder) for folder in folders],
        "curves": {f"metric {at}": [curve] * 2 for at in range(4)},
    }
    (place / "report.json").write_text(json.dumps(report))


def timed(call: Callable[[], None]) -> tuple[float, float]:
    """CPU seconds, of processes that were started too, and seconds on the wall."""
    before, start = os.times(), time.perf_counter()
    call()
    wall, after = time.perf_counter() - start, os.times()
    return sum(after[:4]) - sum(before[:4]), wall


def look(project: Project, *, expected: int) -> None:
    """One list, which must be right."""
    found = listing.summaries(project.runs_dir, reports_dir=project.reports_dir, now_ns=time.time_ns())
    assert len(found) == expected
    assert {run.outcome for run in found} == {"complete"}
    assert sum(run.verdict == "REPRODUCED" for run in found) >= expected - 100


def typed(project: Project, *, expected: int) -> None:
    """``reprokit runs list`` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "reprokit", "runs", "list"],
        cwd=project.root,
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert done.stdout.count(b"\n") == expected + 1


def measure(project: Project, *, runs: int, repeats: int) -> dict[str, list[tuple[float, float]]]:
    """Every situation in turn."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in BOUNDS}
    for _ in range(min(repeats, 3)):
        for folder in (project.runs_dir, project.reports_dir):
            (folder / listing.CACHE).unlink(missing_ok=True)
        times["cold"].append(timed(lambda: look(project, expected=runs)))
    for _ in range(repeats):
        times["warm"].append(timed(lambda: look(project, expected=runs)))
    for number in range(repeats):
        write_run(project.runs_dir, runs + number)
        times["one run is new"].append(timed(partial(look, project, expected=runs + number + 1)))
    for _ in range(repeats):
        times["typed, warm"].append(timed(lambda: typed(project, expected=runs + repeats)))
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=FULL)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as root:
        (Path(root) / "recipes").mkdir()
        project = Project.around(Path(root))
        folders = [write_run(project.runs_dir, number) for number in range(options.runs)]
        pairs: dict[tuple[str, int], list[Path]] = {}
        for number, folder in enumerate(folders):
            pairs.setdefault((folder.parent.name, number // 8), []).append(folder)
        for number, pair in enumerate(pairs.values()):
            write_report(project.reports_dir, number, pair)
        time.sleep(2.5)  # what is younger than two seconds is not remembered
        times = measure(project, runs=options.runs, repeats=options.repeats)
    medians = {name: statistics.median(cpu for cpu, _ in found) for name, found in times.items()}
    walls = {name: statistics.median(wall for _, wall in found) for name, found in times.items()}
    print(f"{options.runs:,} runs, {len(pairs):,} reports")
    for name in times:
        bound = BOUNDS[name] * options.runs / FULL
        print(f"{name:<16} {medians[name]:6.2f} s CPU (bound {bound:.2f}), {walls[name]:6.2f} s wall")
    print(json.dumps({"runs": options.runs, "medians_cpu_s": medians, "medians_wall_s": walls}))
    return int(options.runs >= FULL and any(medians[name] > BOUNDS[name] for name in BOUNDS))


if __name__ == "__main__":
    sys.exit(main())
