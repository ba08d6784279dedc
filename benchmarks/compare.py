"""How fast two large metrics files are compared, and in how much memory.

Two files of about 300 MB, 1,000,000 records of 12 metrics each, in three situations; bounds from
the project's own promise. Prints a table, then one JSON object; exits 1 when a bound is missed.

    python benchmarks/compare.py [--records N] [--repeats N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FULL = 1_000_000
METRICS = [f"m/{number:02d}" for number in range(12)]
MAX_GROWTH_MB = 64.0
#: situation → (seconds, repeats)
BOUNDS = {"equal bytes": (0.1, 9), "one value differs": (0.25, 9), "every record differs": (6.0, 3)}
FILES = {"equal bytes": "equal", "one value differs": "one", "every record differs": "every"}

# Runs in a process of its own, so that its memory is that of one comparison.
CHILD = """
import json, re, sys, time
from pathlib import Path
from reprokit import adapters
# Not ru_maxrss, which starts with the peak of the process that started this one.
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
adapters.adapters()
before, times = peak(), []
for _ in range(int(sys.argv[3])):
    start = time.perf_counter()
    found = adapters.compare(Path(sys.argv[1]), Path(sys.argv[2]))
    times.append(time.perf_counter() - start)
print(json.dumps({
    "times": times, "growth": peak() - before,
    "identical": found.identical, "records": found.records_compared,
    "metrics": found.metrics_compared, "divergence": found.divergence and found.divergence.record,
    "mismatches": sum(one.mismatches for one in found.per_metric.values()),
}))
"""


def write_files(folder: Path, *, records: int) -> None:
    """The expected file, a copy, one with one other value near the end, and one with none alike."""
    rng = random.Random(20261120)
    special = records * 9 // 10
    with (
        (folder / "expected.jsonl").open("w") as expected,
        (folder / "one.jsonl").open("w") as one,
        (folder / "every.jsonl").open("w") as every,
    ):
        for record in range(records):
            values = [rng.random() for _ in METRICS]
            line = _line(record, values)
            expected.write(line)
            one.write(line if record != special else _line(record, [*values[:-1], 0.5]))
            every.write(_line(record, [value * (1 + 1e-9) for value in values]))
    shutil.copyfile(folder / "expected.jsonl", folder / "equal.jsonl")


def _line(record: int, values: list[float]) -> str:
    texts = [f'"{name}":{value!r}' for name, value in zip(METRICS, values, strict=True)]
    return f'{{"step":{record * 256},{",".join(texts)}}}\n'


def measure(folder: Path, situation: str, *, repeats: int, records: int) -> dict[str, object]:
    """Compare one pair of files, and make sure that the answer is right."""
    paths = [str(folder / "expected.jsonl"), str(folder / f"{FILES[situation]}.jsonl")]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *paths, str(repeats)],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    found = json.loads(done.stdout)
    assert found["records"] == records
    assert found["metrics"] == len(METRICS)
    assert found["identical"] == (situation == "equal bytes")
    right = {"equal bytes": (None, 0), "one value differs": (records * 9 // 10, 1)}
    assert (found["divergence"], found["mismatches"]) == right.get(situation, (0, records * len(METRICS)))
    return {
        "situation": situation,
        "median_s": statistics.median(found["times"]),
        "best_s": min(found["times"]),
        "bound_s": BOUNDS[situation][0],
        "memory_growth_mb": found["growth"] / 2**20,
        "repeats": repeats,
    }


def reading_alone(folder: Path, *, repeats: int = 5) -> float:
    """Seconds (median) to read the two equal files once, one after the other, and do nothing else."""
    block, times = bytearray(1 << 18), []
    for _ in range(repeats):
        start = time.perf_counter()
        for name in ("expected", "equal"):
            with (folder / f"{name}.jsonl").open("rb", buffering=0) as file:
                while file.readinto(block):
                    pass
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> int:
    """Write the files, measure, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=FULL, help="bounds are judged at 1,000,000 only")
    parser.add_argument("--repeats", type=int, help="how often each is measured")
    parser.add_argument("--folder", type=Path, help="keep the files here, or use those that are here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "equal.jsonl").exists():
            write_files(folder, records=options.records)
        reading = reading_alone(folder)
        size_mb = (folder / "expected.jsonl").stat().st_size / 1e6
        rows = [
            measure(folder, situation, repeats=options.repeats or repeats, records=options.records)
            for situation, (_, repeats) in BOUNDS.items()
        ]
    judged = options.records == FULL
    print(f"two files of {size_mb:.0f} MB, {options.records:,} records of {len(METRICS)} metrics")
    print(f"{'situation':22} {'median':>9} {'best':>9} {'bound':>8} {'memory':>9}")
    missed = False
    for row in rows:
        slow = row["median_s"] > row["bound_s"] or row["memory_growth_mb"] > MAX_GROWTH_MB
        row["missed"] = judged and slow
        missed |= row["missed"]
        print(
            f"{row['situation']:22} {row['median_s']:8.3f}s {row['best_s']:8.3f}s {row['bound_s']:7.2f}s "
            f"{row['memory_growth_mb']:6.1f} MB{'  MISSED' if row['missed'] else ''}"
        )
    print(f"reading the two files and nothing else, one thread: {reading:.3f}s on this machine")
    answer = {"benchmark": "compare", "size_mb": size_mb, "records": options.records, "rows": rows}
    print(json.dumps({**answer, "reading_alone_s": reading}))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
