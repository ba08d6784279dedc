"""What a run in a virtual environment takes, compared with the same run in a container.

Both are `reprokit run` of one recipe, in turns, with everything that the verb does: the look at the
environment before and after, the start, imports, training, closing of the folder. The training is short,
so that what a backend adds counts. The median of the turns' ratios; exits 1 beyond the bound, or without a container engine.

    python benchmarks/local_cost.py [--repeats N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from functools import partial

from job import PROJECT, seconds

from reprokit import images

RECIPE, SHORT, TIMES = "cartpole_baseline", "training.total_timesteps=8192", 1.15


def run(backend: str) -> None:
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as folder:
        words = [sys.executable, "-m", "reprokit", "run", RECIPE, "--set", SHORT, "--backend", backend]
        subprocess.run(
            [*words, "--runs-dir", f"{folder}/runs"],
            cwd=PROJECT,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    images.resolve("cpu", project=PROJECT, kind="venv", on_progress=print)
    images.resolve("cpu", project=PROJECT, kind="image", on_progress=print)
    calls = {"local": partial(run, "local"), "docker": partial(run, "docker")}
    for call in calls.values():
        call()  # what is made or read once
    turns = [{name: seconds(call) for name, call in calls.items()} for _ in range(options.repeats)]
    found = {name: statistics.median(turn[name] for turn in turns) for name in calls}
    times = statistics.median(turn["local"] / turn["docker"] for turn in turns)
    print(f"a run in a virtual environment {found['local']:.2f} s, in a container {found['docker']:.2f} s")
    print(f"times a container {times:.3f}  (bound {TIMES}){'  MISSED' if times > TIMES else ''}")
    print(json.dumps({"benchmark": "local_cost", "found": {**found, "times": times}}))
    return int(times > TIMES)


if __name__ == "__main__":
    sys.exit(main())
