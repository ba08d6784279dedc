"""What adapters share: the question on standard input, the answer on standard output, two runs of a program."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cases_read import INHERITED, ONE_THREAD


def read_question() -> dict[str, Any]:
    """The object that `run.py` wrote."""
    asked: dict[str, Any] = json.load(sys.stdin)
    return asked


def answer(verdict: str, **more: Any) -> None:
    """The object that `run.py` reads."""
    print(json.dumps({"verdict": verdict, **more}))


def environment(variables: dict[str, str]) -> dict[str, str]:
    """What a run is started with: the same as in the case's own check."""
    kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**kept, **ONE_THREAD, **variables}


def two_runs(asked: dict[str, Any], command: list[str]) -> tuple[Any, Any]:
    """What two runs wrote: of either side, or a whole run and what follows on a stopped one."""
    with tempfile.TemporaryDirectory() as folder:
        first = _records(asked, command, Path(folder) / "first", asked["variables"][0], [])
        if asked["stop"] is None:
            return first, _records(asked, command, Path(folder) / "second", asked["variables"][1], [])
        stopped = Path(folder) / "stopped"
        _records(asked, command, stopped, {}, asked["stop"])
        resume = [word.replace("{stopped}", str(stopped)) for word in asked["resume"]]
        after = _records(asked, command, Path(folder) / "resumed", {}, resume)
        return first[len(first) - len(after) :], after


def _records(
    asked: dict[str, Any], command: list[str], out: Path, variables: dict[str, str], extra: list[str]
) -> list[Any]:
    out.mkdir()
    words = [word.replace("{out}", str(out)) for word in asked["arguments"]]
    subprocess.run(
        [*command, *words, *extra],
        cwd=out,
        env=environment(variables),
        stdout=subprocess.DEVNULL,
        timeout=asked["limit_s"],
        check=True,
    )
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
