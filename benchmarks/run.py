"""Every benchmark of this folder, one after the other: ``make bench``.

Ends with 1 if one of them misses a bound that it states. Name some to run only those:

    $ python benchmarks/run.py compare
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
#: What they share, and what simulates tables.
NOT_TIMED = {
    *("run", "race", "small_samples", "gate_error_rates", "dot_plot", "structure"),
    *("gate_data", "gate_of_returns", "gate_on_plants", "learning_regressions"),
}


def main(names: list[str]) -> int:
    """Run the benchmarks named, or all; returns the exit code."""
    every = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in NOT_TIMED)
    unknown = sorted(set(names) - set(every))
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(every)}", file=sys.stderr)
        return 2
    failed = []
    for name in names or every:
        print(f"\n== {name}", flush=True)
        if subprocess.run([sys.executable, str(FOLDER / f"{name}.py")], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nbounds missed or not measured: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
