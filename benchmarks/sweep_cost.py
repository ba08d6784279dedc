"""What a sweep of five seeds takes on two cores, against bare trainings of the same recipe.

A bare training has the environment, the settings and one of the two cores to itself; no host looks at it and
no one judges it. Five of them on two cores take at least the time of two and a half; how much more they take
without the tool, because they share caches and memory, is measured and printed too. Medians of turns; of a
machine with more cores two are used, but for containers, which use all. Exits 1 beyond the bound.

    python benchmarks/sweep_cost.py [--repeats N] [--backend local|docker]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from job import PROJECT, in_turns, train

from reprokit import images

RECIPE, SEEDS, CORES = "cartpole_baseline", "42,123,456,789,1024", 2
BARE_RUNS, TIMES = 2.5, 1.15


def sweep(backend: str) -> None:
    """A sweep that finds no run of an earlier one."""
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as folder:
        words = [sys.executable, "-m", "reprokit", "sweep", RECIPE, "--seeds", SEEDS]
        subprocess.run(
            [*words, "--backend", backend, "--runs-dir", f"{folder}/runs"],
            cwd=PROJECT,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def five_at_once(python: str) -> None:
    """As many bare trainings as the sweep has seeds, all at one time."""
    with ThreadPoolExecutor(max_workers=5) as pool:
        list(pool.map(lambda _: train(python, "bare"), SEEDS.split(",")))


def _counted(cpu_s: list[float], call: Callable[[], object]) -> None:
    """Add the CPU seconds of what a call starts."""
    before = os.times()
    call()
    after = os.times()
    cpu_s.append(after.children_user + after.children_system - before.children_user - before.children_system)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--backend", choices=("local", "docker"), default="local")
    options = parser.parse_args()
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < CORES:
        print(f"not measured: it takes {CORES} cores, and there is {len(usable)}", file=sys.stderr)
        return 1
    os.sched_setaffinity(0, usable[:CORES])
    venv = images.resolve("cpu", project=PROJECT, kind="venv", on_progress=print)
    if options.backend == "docker":
        images.resolve("cpu", project=PROJECT, kind="image", on_progress=print)
    cpu_s: dict[str, list[float]] = {"bare": [], "sweep": []}
    found = in_turns(
        {
            "bare": lambda: _counted(cpu_s["bare"], lambda: train(venv.python, "bare")),
            "sweep": lambda: _counted(cpu_s["sweep"], lambda: sweep(options.backend)),
            "five at once": lambda: five_at_once(venv.python),
        },
        repeats=options.repeats,
    )
    bare_cpu_s, sweep_cpu_s = map(statistics.median, cpu_s.values())
    if options.backend == "local":  # what a container takes is not counted here
        print(
            f"CPU time, times five bare runs {sweep_cpu_s / (5 * bare_cpu_s):.3f}  (steadier than the clock)"
        )
    times = found["sweep"] / (BARE_RUNS * found["bare"])
    print(f"one bare run {found['bare']:.1f} s, five seeds on two cores {found['sweep']:.1f} s")
    print(f"times {BARE_RUNS} bare runs {times:.3f}  (bound {TIMES}){'  MISSED' if times > TIMES else ''}")
    beside = found["sweep"] / found["five at once"]
    print(f"five bare runs at once {found['five at once']:.1f} s; the sweep takes {beside:.3f} times these")
    print(json.dumps({"benchmark": "sweep_cost", "found": {**found, "times": times}}))
    return int(times > TIMES)


if __name__ == "__main__":
    sys.exit(main())
