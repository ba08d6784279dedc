"""What does a tool say of the rebuilt reports, and of their correct twins?

    python benchmarks/reports/run.py --tool reprokit [NAME…] [--held] [--look first] [--limit 900]
    python benchmarks/reports/run.py --table > docs/evidence/reports.md

A tool is the name of a program in `adapters/`, or a command of your own. It is started once for each program, with
a JSON object on standard input: `python`, `program`, `arguments` (where `{out}` stands for a new folder),
`variables` (the environment of either side, where the report is about two), `stop` and `resume` (where it is about
resuming; `{stopped}` is the stopped run's folder), `limit_s`. It prints a JSON object: `verdict` (`differs`, `equal`
or `crash`), and where it knows them `line` of the program and `category`. What takes longer is `time limit`.

Answers are kept in `results/LOOK/TOOL.jsonl`, one line a program, and what is there is not asked again. Held cases
are asked only with `--held`.
"""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cases_read import HERE, Case, all_cases, python_of, read_case
from check import CACHE
from table import page

ADAPTERS = HERE / "adapters"
RESULTS = HERE / "results"


def command_of(tool: str) -> list[str]:
    """The command of a tool: an adapter beside this file, or what was given."""
    adapter = ADAPTERS / f"{tool}.py"
    return [sys.executable, str(adapter)] if adapter.is_file() else shlex.split(tool)


def question(case: Case, program: Path, *, python: Path, limit_s: float) -> dict[str, Any]:
    """What the tool is told of one program: nothing of what is right."""
    variables = [side.get("variables", {}) for side in case.sides] or [{}, {}]
    return {
        "python": str(python),
        "program": str(program),
        "arguments": ["{out}"],
        "variables": [{key: str(value) for key, value in side.items()} for side in variables],
        "stop": list(case.parts[0]) if case.parts else None,
        "resume": list(case.parts[-1]) if case.parts else None,
        "limit_s": limit_s,
    }


def ask(tool: str, asked: dict[str, Any]) -> dict[str, Any]:
    """The answer of a tool on one program, with the minutes that it took."""
    began = time.monotonic()
    answer: dict[str, Any]
    with subprocess.Popen(
        command_of(tool),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(json.dumps(asked), timeout=asked["limit_s"] + 120)
            answer = json.loads(out) if process.returncode == 0 else {"verdict": "crash", "why": err[-300:]}
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            answer = {"verdict": "time limit"}
        except json.JSONDecodeError:
            answer = {"verdict": "crash", "why": "what it printed is no JSON"}
    return {**answer, "minutes": round((time.monotonic() - began) / 60, 1)}


def main() -> int:
    """Ask the tool of each case that it was not asked of before."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--tool")
    parser.add_argument("--held", action="store_true")
    parser.add_argument("--look", default="today")
    parser.add_argument("--limit", type=float, default=900.0)
    parser.add_argument("--environments", type=Path, default=CACHE)
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    if asked.table or not asked.tool:
        print(page(), end="")
        return 0
    kept = RESULTS / asked.look / f"{Path(shlex.split(asked.tool)[0]).stem}.jsonl"
    kept.parent.mkdir(parents=True, exist_ok=True)
    known = {(row["case"], row["program"]) for row in map(json.loads, _lines(kept))}
    for name in asked.names or all_cases():
        case = read_case(name)
        if case.held and not asked.held:
            continue
        python = python_of(case.environment, cache=asked.environments)
        for program in ("program.py", "twin.py"):
            if (name, program) in known:
                continue
            answer = ask(
                asked.tool, question(case, case.folder / program, python=python, limit_s=asked.limit)
            )
            with kept.open("a") as file:
                file.write(json.dumps({"case": name, "program": program, **answer}) + "\n")
            print(name, program, answer, flush=True)
    return 0


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.is_file() else []


if __name__ == "__main__":
    sys.exit(main())
