"""What a trial of ``reprokit tune`` costs next to its program, and next to what the run itself costs.

    python benchmarks/tune_overhead.py --trials 30

A program of a moment is tuned in this process, one trial after the other. Printed for each trial: wall-clock
time less the time that its program ran (``duration_s`` of run.json), the tool's own CPU time, and how much of
that is the search: drawing, reading results, writing study.json. What is left is what any run costs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE))

from reprokit.features.tune.asked import Asked  # noqa: E402
from reprokit.features.tune.trials import carry_out as tuning_carry_out  # noqa: E402
from reprokit.features.tune.tune import tune  # noqa: E402
from reprokit.harness import Request  # noqa: E402
from reprokit.harness.sweeping import carry_out  # noqa: E402
from reprokit.project import Project  # noqa: E402
from reprokit.recipes import read_search_space  # noqa: E402
from reprokit.reports.sweep_display import SweepDisplay  # noqa: E402

RECIPE = """\
schema: 1
name: train
title: A program of a moment
variant: none
command: [python, train.py, "{seed}", "{run_dir}"]
env: {RATE: "0.5", SIZE: "3"}
seeds: [3]
platforms: [cpu-x86_64]
"""
PROGRAM = """\
import json, os, sys
rate, size = float(os.environ["RATE"]), int(os.environ["SIZE"])
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    log.write(json.dumps({"step": 0, "return": -(rate - 0.3) ** 2 - 0.01 * (size - 4) ** 2}) + "\\n")
"""
SPACE = """\
env.RATE: {type: float, low: 0.001, high: 1.0, log: true}
env.SIZE: {type: int, low: 1, high: 8}
"""


def project(root: Path) -> Project:
    """A repository with the program and its recipe."""
    (root / "recipes/train").mkdir(parents=True)
    (root / "recipes/train/recipe.yaml").write_text(RECIPE)
    (root / "train.py").write_text(PROGRAM)
    (root / "space.yaml").write_text(SPACE)
    (root / ".gitignore").write_text("runs/\nspace.yaml\nbin/\n")
    (root / "bin").mkdir()
    (root / "bin/python").symlink_to(Path(sys.executable).resolve())
    os.environ["PATH"] = os.pathsep.join([str(root / "bin"), os.environ["PATH"]])
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "first"]):
        subprocess.run([*git, *words], cwd=root, check=True)
    return Project.around(root)


def timed_runs() -> dict[str, float]:
    """Have the time inside ``run_member`` summed up."""
    spent = {"wall": 0.0, "cpu": 0.0}
    made = carry_out.run_member

    def run_member(*words: object, **named: object) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        made(*words, **named)
        spent["wall"] += time.perf_counter() - wall
        spent["cpu"] += time.process_time() - cpu

    tuning_carry_out.run_member = run_member
    return spent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=30)
    trials = parser.parse_args().trials
    spent = timed_runs()
    with tempfile.TemporaryDirectory() as name, Path(os.devnull).open("w") as nowhere:
        made = project(Path(name))
        space = read_search_space(Path(name) / "space.yaml")

        def search(count: int) -> tuple[float, float]:
            wall, cpu = time.perf_counter(), time.process_time()
            tune(
                "train",
                Request(backend="local"),
                project=made,
                progress=SweepDisplay(stream=nowhere),
                asked=Asked(space=space, trials=count),
                workers=1,
            )
            return time.perf_counter() - wall, time.process_time() - cpu

        search(1)  # loads Optuna, and asks what is in the environment
        spent["wall"] = spent["cpu"] = 0.0
        start_wall, start_cpu = search(1)
        wall, cpu = search(trials + 1)
        records = [json.loads(path.read_text()) for path in Path(name).glob("runs/train/*/run.json")]
        again_wall, _ = search(trials + 1)
    programs = sum(record["duration_s"] for record in records[1:]) / len(records[1:])
    each_wall, each_cpu = (wall - start_wall) / trials, (cpu - start_cpu) / trials
    runs_wall, runs_cpu = spent["wall"] / trials, spent["cpu"] / trials
    print(f"{trials} trials, one after the other; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"a trial: {each_wall:.3f} s, of which its program {programs:.3f} s")
    print(f"beside the program: {each_wall - programs:.3f} s, of which CPU of the tool {each_cpu:.3f} s")
    print(f"of that the search: {each_wall - runs_wall:.3f} s, of which CPU {each_cpu - runs_cpu:.3f} s")
    print(f"start of a call: {start_wall:.1f} s; reading {trials} finished trials again: {again_wall:.1f} s")


if __name__ == "__main__":
    main()
