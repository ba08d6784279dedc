"""Fuzz for as long as you like: ``python -m fuzz --seconds 120 [TARGET…]``; a process a target."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
import traceback

from . import checkpoint_files, json_records, library_logs, metrics_files, project_files
from .target import fuzz, limit_memory

TARGETS = {
    one.name: one
    for module in (metrics_files, library_logs, checkpoint_files, json_records, project_files)
    for one in module.TARGETS
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; default: all")
    parser.add_argument("--seconds", type=float, default=120, help="for each target")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if unknown := set(asked.targets) - set(TARGETS):
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    if asked.here:
        return _here(asked.targets[0], seconds=asked.seconds)
    failed = []
    for name in asked.targets or TARGETS:
        command = [sys.executable, "-m", "fuzz", "--here", "--seconds", str(asked.seconds), name]
        ended = subprocess.run(
            command, check=False
        )  # a crash of the interpreter is that target's fault alone
        if ended.returncode:
            failed.append(name)
            print(f"{name}: FAULT (exit status {ended.returncode})", flush=True)
    return bool(failed)


def _here(name: str, *, seconds: float) -> int:
    limit_memory()
    begun = time.monotonic()
    try:
        tally = fuzz(TARGETS[name], seconds=seconds)
    except BaseException:
        traceback.print_exc()  # with the input, which Hypothesis adds to the exception
        return 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{name}: {tally.inputs:,} inputs ({tally.read:,} read) in {time.monotonic() - begun:.0f} s, "
        f"slowest {tally.slowest_s:.2f} s, peak {peak} MiB",
        flush=True,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
