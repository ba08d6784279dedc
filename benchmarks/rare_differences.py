"""Ten programs that differ now and then, and their clean twins: as they are, and under `reproduce --stress`.

    python benchmarks/rare_differences.py [--runs 60] [--stressed 30] [--clean 30] [--diagnose] [NAME…]

Prints the table of docs/evidence/rare-differences.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

PROGRAMS = Path(__file__).parents[1] / "tests/integration/rare"


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--runs", type=int, default=60)
    asked.add_argument("--stressed", type=int, default=30)
    asked.add_argument("--clean", type=int, default=30)
    asked.add_argument("--diagnose", action="store_true")
    asked.add_argument("names", nargs="*")
    given = asked.parse_args()
    names = given.names or sorted(path.stem for path in (PROGRAMS / "differs").glob("*.py"))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[1]:.0f}", file=sys.stderr)
    print(
        "| program | as it is: pairs that differ | under stress | 95 % interval | clean twin | cause named |"
    )
    print("|---|---|---|---|---|---|")
    for name in names:
        bad, clean = PROGRAMS / "differs" / f"{name}.py", PROGRAMS / "clean" / f"{name}.py"
        code, found = _stressed(bad, given.stressed)
        twin, of_twin = _stressed(clean, given.clean)
        low, high = found["interval"]
        told = f"exit {code}, {found['differ']} of {found['runs']}"
        quiet = f"exit {twin}, {of_twin['differ']} of {of_twin['runs']}"
        cause = _cause(bad) if given.diagnose else "not asked"
        share = f"{_pairs(bad, given.runs):.0%}"
        row = (f"`{name}`", share, told, f"{low:.0%} to {high:.0%}", quiet, cause)
        print(f"| {' | '.join(row)} |", flush=True)


def _pairs(program: Path, runs: int) -> float:
    """Which share of all pairs of runs differs."""
    seen: Counter[bytes] = Counter()
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, program, folder], check=True)
            seen[(Path(folder) / "metrics.jsonl").read_bytes()] += 1
    return 1 - sum(count * (count - 1) for count in seen.values()) / (runs * (runs - 1))


def _stressed(program: Path, runs: int) -> tuple[int, dict]:
    code, report = _asked(program, "reproduce", "--stress", "--repeats", str(runs))
    if not report.get("stress"):
        raise SystemExit(f"{program}: {report.get('sentence')}")
    return code, report["stress"]


def _cause(program: Path) -> str:
    _, answer = _asked(program, "diagnose", "--stress", "--budget", "150s")
    cause = answer.get("cause") or {}
    return f"{cause.get('category')}, line {cause.get('line')}, {answer.get('runs')} runs"


def _asked(program: Path, *words: str) -> tuple[int, dict]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "reprokit", *words, "--json"]
        done = subprocess.run(
            [*command, "--", sys.executable, str(program), "{run_dir}"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if not done.stdout:
            raise SystemExit(done.stderr)
        return done.returncode, json.loads(done.stdout)


if __name__ == "__main__":
    main()
