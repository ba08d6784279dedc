"""What the watch of ``diagnose`` costs on tasks in pools, by how long a task takes.

A program gives so many tasks to a pool of two workers, by every way of asking; it is run with and without
the watch, in turns. A task computes for about so many microseconds. Told are the medians of CPU seconds,
of the work in the pool and its processes alone, and what the watch adds to a task.
Exits 1 where it adds more than 100 microseconds to a task of 10, or tasks of a millisecond take more than
1.25 times as long.

    python benchmarks/watched_pools.py [--tasks N] [--repeats N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HOOK = Path(__file__).resolve().parent.parent / "reprokit" / "instrumentation"
WAYS = ("thread map", "thread imap_unordered", "thread apply_async", "thread submit", "process map", "submit")
BOUND_US, BOUND_TIMES = 100.0, 1.25
PROGRAM = """
import resource, sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import Pool
from multiprocessing.pool import ThreadPool

def task(micro):
    for _ in range(micro * 90):
        pass

def spent():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)

if __name__ == "__main__":
    way, micro, tasks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    given = [micro] * tasks
    kinds = {"thread submit": ThreadPoolExecutor, "submit": ProcessPoolExecutor, "process map": Pool}
    begun = spent()
    with kinds.get(way, ThreadPool)(2) as pool:
        if way.endswith(" map"):
            pool.map(task, given, chunksize=1)
        elif way.endswith("imap_unordered"):
            list(pool.imap_unordered(task, given))
        elif way.endswith("apply_async"):
            [one.get() for one in [pool.apply_async(task, (micro,)) for _ in given]]
        else:
            [one.result() for one in [pool.submit(task, micro) for _ in given]]
        if way == "process map":
            pool.close()
            pool.join()
    print(spent() - begun)
"""


def seconds(way: str, micro: int, tasks: int, *, watched: bool) -> float:
    """How long the pool worked."""
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as made:
        program, traced = Path(made, "program.py"), Path(made, "trace")
        program.write_text(PROGRAM)
        traced.mkdir()
        environment = dict(os.environ)
        if watched:
            orders = {"out": str(traced), "output": made, "key": "0", "level": "light"}
            (traced / "orders.json").write_text(json.dumps(orders))
            environment |= {"PYTHONPATH": str(HOOK), "REPROKIT_HOOK": str(traced / "orders.json")}
        command = [sys.executable, str(program), way, str(micro), str(tasks)]
        done = subprocess.run(
            command, env=environment, cwd=made, capture_output=True, text=True, check=True, timeout=600
        )
        return float(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rows, missed = [], False
    print("way                    task      plain    watched   times   a task more")
    for micro in (10, 1_000):
        for way in WAYS:
            pairs = [
                [seconds(way, micro, options.tasks, watched=watched) for watched in (False, True)]
                for _ in range(options.repeats)
            ]
            plain, watched = (statistics.median(column) for column in zip(*pairs, strict=True))
            more_us = (watched - plain) / options.tasks * 1e6
            missed |= more_us > BOUND_US if micro == 10 else watched / plain > BOUND_TIMES
            rows.append({"way": way, "task_us": micro, "times": watched / plain, "more_us": more_us})
            print(
                f"{way:<22} {micro:>5} us {plain:7.3f} s {watched:7.3f} s "
                f"{watched / plain:6.2f} {more_us:9.1f} us",
                flush=True,
            )
    print(json.dumps({"benchmark": "watched_pools", "rows": rows, "missed": missed}))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
