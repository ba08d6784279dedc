"""What `reprokit run` adds to a program of a moment, against another version of the package.

The program takes 0.2 s. It runs alone, by `reprokit run` of the other version, and by that of this one, in
turns. The cost is what a run takes beyond the bare program; the clock on the wall and the CPU time of all its
processes are both compared. Prints a table, then one JSON object; exits 1 when the cost is more than half of
the other's.

    python benchmarks/fixed_cost.py [--before PATH | --before COMMIT] [--repeats N]
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
from collections.abc import Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
#: The last commit at which a run loaded all that any verb needs.
BEFORE = "d8c6f31"
BOUND = 0.5

PROGRAM = """
import sys, time
time.sleep(0.15)
with open(sys.argv[1] + "/metrics.csv", "w") as log:
    log.write("step,loss\\n1,2.0\\n2,1.0\\n")
"""


def tree_of(before: str, folder: Path) -> Path:
    """The checkout of that path, or the package as it was at that commit."""
    if Path(before).is_dir():
        return Path(before).resolve()
    packed = subprocess.run(
        ["git", "-C", str(PROJECT), "archive", before, "reprokit"], check=True, capture_output=True
    )
    folder.mkdir()
    subprocess.run(["tar", "--extract"], input=packed.stdout, cwd=folder, check=True)
    return folder


def seconds(command: Sequence[str], *, package: Path, folder: Path) -> tuple[float, float]:
    """Wall clock and CPU time of a command with all that it waits for."""
    start = time.perf_counter()
    child = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(package)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, command
    return time.perf_counter() - start, used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", default=BEFORE, metavar="PATH|COMMIT", help="the other version")
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as scratch:
        folder = Path(scratch) / "project"
        folder.mkdir()
        (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
        program = [sys.executable, "train.py"]
        tool = [sys.executable, "-m", "reprokit", "run", "--", *program, "{run_dir}"]
        before = tree_of(options.before, Path(scratch) / "before")
        ways = {
            "bare": ([*program, "."], PROJECT),
            "before": (tool, before),
            "here": (tool, PROJECT),
        }
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for number in range(options.repeats + 1):
            for name, (command, package) in ways.items():
                found = seconds(command, package=package, folder=folder)
                if number:  # the first one of each compiles and fills caches
                    taken[name].append(found)
    median = {
        name: [statistics.median(column) for column in zip(*rows, strict=True)]
        for name, rows in taken.items()
    }
    cost = {
        name: [one - bare for one, bare in zip(median[name], median["bare"], strict=True)]
        for name in ("before", "here")
    }
    ratios = [here / other for here, other in zip(cost["here"], cost["before"], strict=True)]
    print(f"{'':8} {'wall s':>8} {'CPU s':>8}   beyond the bare program")
    for name, row in median.items():
        beyond = "" if name == "bare" else f"   {cost[name][0]:.3f} s, CPU {cost[name][1]:.3f} s"
        print(f"{name:8} {row[0]:8.3f} {row[1]:8.3f}{beyond}")
    print(
        f"cost here / before: {ratios[0]:.2f} by the wall clock, {ratios[1]:.2f} in CPU time (bound {BOUND})"
    )
    answer = {"repeats": options.repeats, "wall_ratio": ratios[0], "cpu_ratio": ratios[1], "bound": BOUND}
    print(json.dumps({**answer, "median": median}))
    return 1 if max(ratios) > BOUND else 0


def _medians(rows: Sequence[tuple[float, float]]) -> list[float]:
    return [statistics.median(column) for column in zip(*rows, strict=True)]


if __name__ == "__main__":
    sys.exit(main())
