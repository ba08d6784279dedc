"""Are correct programs left alone by the watches of `diagnose`? Each is run without, and under both of them.

    python benchmarks/watched_clean.py benchmarks/clean/*.py --python VENV/bin/python

A program writes `metrics.jsonl` to the folder that it is given. Its numbers have to be the same without a
watch, with values recorded and with every call watched; calls that differ and reach no number are told.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from reprokit.diagnosis.calls import inexplicable, read_calls

HOOK = Path(__file__).resolve().parent.parent / "reprokit/instrumentation"
WATCHES: dict[str, dict[str, Any]] = {
    "values": {},
    "calls": {"level": "calls", "calls": {"mode": "watch"}},
    "calls again": {"level": "calls", "calls": {"mode": "watch"}},
}


def ran(program: Path, folder: Path, *, python: str, orders: dict[str, Any] | None) -> tuple[str, float]:
    """The metrics of one run, or the last line of its complaint; and its seconds."""
    out, trace = folder / "run", folder / "trace"
    out.mkdir(parents=True)
    trace.mkdir()
    environment = {**os.environ, "PYTHONHASHSEED": "random"}
    if orders is not None:
        told = {"out": str(trace), "output": str(out), "key": folder.name, **orders}
        (folder / "orders.json").write_text(json.dumps(told))
        environment |= {"PYTHONPATH": str(HOOK), "REPROKIT_HOOK": str(folder / "orders.json")}
    begun = time.monotonic()
    done = subprocess.run(
        [python, str(program), str(out)],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    taken = time.monotonic() - begun
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr.strip().splitlines()[-1:]}", taken
    return (out / "metrics.jsonl").read_text(), taken


def judged(program: Path, *, python: str) -> str:
    """What became of one program; it ends with "changed" where a watch changed it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, seconds = ran(program, folder / "plain", python=python, orders=None)
        told = [f"{seconds:.1f} s"]
        changed = plain.startswith("exit code")
        for label, orders in WATCHES.items():
            found, seconds = ran(program, folder / label, python=python, orders=orders)
            told.append(f"{label} {seconds:.1f} s")
            if found != plain:
                changed = True
                told.append(found if found.startswith("exit code") else "other numbers")
        if not changed:
            unlike = inexplicable(*(read_calls(folder / label / "trace") for label in list(WATCHES)[1:]))
            seen = [f"{one.name}:{one.line}" for one in unlike.candidates]
            told.append(f"calls that differ and reach no number: {', '.join(seen) or 'none'}")
    return ", ".join([*told, "changed" if changed else "unchanged"])


def main() -> int:
    """Run all programs; 1 where a watch changed one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument(
        "--python", default=Path(sys.executable), type=Path, help="the Python that has their libraries"
    )
    asked = parser.parse_args()
    wrong = 0
    for program in asked.programs:
        told = judged(program.resolve(), python=str(asked.python.absolute()))
        wrong += not told.endswith(", unchanged")
        print(f"{program.stem}: {told}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
