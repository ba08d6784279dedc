"""Does `diagnose` accuse correct programs, and is it ever wrong and sure of it?

    python benchmarks/diagnose_many.py benchmarks/clean/*.py benchmarks/reports/*/twin.py --times 3 --python VENV/bin/python
    python benchmarks/diagnose_many.py benchmarks/reports/*/program.py --python VENV/bin/python

A `program.py` has a `case.yaml` beside it that says what a right answer is; all others are correct: of them the
only right answer is that nothing differs. One line a diagnosis. It ends with 1 where a correct program was accused or
broken, or a wrong cause was named with confidence `high`. VENV has the libraries of the programs (`requirements.txt`
beside the cases), and reprokit need not be in it.
"""  # noqa: E501 - a command

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True, kw_only=True)
class Told:
    """One diagnosis: what it said, how often the program was run, and how long that took."""

    code: int
    cause: dict[str, Any]
    runs: int
    minutes: float


def diagnosed(program: Path, *, python: str, budget: str) -> Told:
    """The answer of one diagnosis, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "reprokit", "diagnose", "--json", "--seed", "0", "--budget", budget]
        command += ["--runs-dir", f"{folder}/runs", "--reports-dir", f"{folder}/reports"]
        begun = time.monotonic()
        done = subprocess.run(
            [*command, "--", python, str(program), "{run_dir}"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    answer = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    minutes = (time.monotonic() - begun) / 60
    cause, runs = answer.get("cause") or {}, int(answer.get("runs") or 0)
    return Told(code=done.returncode, cause=cause, runs=runs, minutes=minutes)


def judged(program: Path, told: Told) -> str:
    """``right``, ``line`` (not its category), ``unknown``, ``wrong``; ``WRONG`` is what no answer may be."""
    if program.name != "program.py":
        return "right" if told.code == 0 and not told.cause else "WRONG"
    case = yaml.safe_load((program.parent / "case.yaml").read_text())
    if told.cause.get("line") in case["lines"]:
        return "right" if told.cause["category"] in case["categories"] else "line"
    if told.cause.get("category", "unknown") == "unknown":
        return "unknown"
    return "WRONG" if told.cause["confidence"] == "high" else "wrong"


def main() -> int:
    """Diagnose all programs so many times; 1 where one answer may not be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--budget", default="15m")
    parser.add_argument("--python", default=Path(sys.executable), type=Path)
    asked = parser.parse_args()
    worst = 0
    for program in asked.programs:
        name = program.parent.name if program.name in {"program.py", "twin.py"} else program.stem
        for _ in range(asked.times):
            told = diagnosed(program.resolve(), python=str(asked.python.absolute()), budget=asked.budget)
            verdict = judged(program, told)
            worst = max(worst, int(verdict == "WRONG"))
            keys = ("category", "line", "confidence", "fix")
            said = " ".join(str(told.cause.get(key, "-")) for key in keys)
            print(
                f"{name} {program.stem}: {verdict}: exit {told.code}, {said}, "
                f"{told.runs} runs, {told.minutes:.1f} minutes",
                flush=True,
            )
    return worst


if __name__ == "__main__":
    sys.exit(main())
