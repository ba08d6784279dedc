"""The frame of a race between training programs: equal terms for everybody.

Every training is a process and a folder of its own, one thread, under the same numerics profile; the
contestants take turns, so that a busy machine hits all of them alike. Knows no contestant: a benchmark
names them, each a generator that makes everything ready up to its first ``yield`` and trains after it.

    race.run(__file__, CONTESTANTS, race.options(__doc__, PROFILES), trained=train_once, told=judged)
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.core import numerics

PROJECT = Path(__file__).resolve().parent.parent
LOCK = PROJECT / "benchmarks" / "requirements.lock"
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"  # where pip cannot reach it, it warns and continues
OURS = "reprokit"

Results = dict[str, list[dict[str, float]]]


def options(told: str, profiles: Sequence[str], *, steps: int | None = None) -> argparse.Namespace:
    """The words that every race understands; ``steps`` where their number can be chosen."""
    parser = argparse.ArgumentParser(description=told.split("\n", maxsplit=1)[0])
    parser.add_argument("--repeats", type=int, default=3)
    if steps is not None:
        parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--profile", choices=profiles, action="append", help="all when left out")
    parser.add_argument(
        "--cleanrl",
        type=Path,
        default=os.environ.get("REPROKIT_CLEANRL"),
        help="a clone of CleanRL (or REPROKIT_CLEANRL); left out of the race without it",
    )
    parser.add_argument("--python", type=Path, help="an interpreter with everything in requirements.lock")
    parser.add_argument("--contestant", help=argparse.SUPPRESS)
    found = parser.parse_args()
    found.profile = found.profile or list(profiles)
    found.cleanrl = Path(found.cleanrl).resolve() if found.cleanrl else None
    return found


def environment_python(folder: Path) -> Path:
    """The interpreter of an environment made from benchmarks/requirements.lock; made when it is not there."""
    python, mark = folder / "bin" / "python", folder / "made-from"
    if mark.is_file() and mark.read_bytes() == LOCK.read_bytes():
        return python
    print(f"making {folder} from {LOCK.name} (minutes, once)", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    subprocess.run(
        [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--require-hashes",
            "--only-binary",
            ":all:",
            "--retries",
            "0",
            "--extra-index-url",
            TORCH_INDEX,
            "--requirement",
            LOCK,
        ],
        check=True,
    )
    mark.write_bytes(LOCK.read_bytes())
    return python


def timed(training: Iterator[Any]) -> tuple[dict[str, float], Any]:
    """Wall clock and CPU seconds of a training from its first ``yield`` on, and the last thing it yields."""
    next(training)
    start, cpu = time.perf_counter(), time.process_time()
    yielded = list(training)
    seconds = {"wall_s": time.perf_counter() - start, "cpu_s": time.process_time() - cpu}
    return seconds, yielded[-1] if yielded else None


def measure(
    script: str, name: str, profile: str, words: argparse.Namespace, python: Path
) -> dict[str, float]:
    """One training of a contestant: what it says in the last line that it prints."""
    known = {key for one in numerics.PROFILES for key in numerics.variables(one.name, hash_seed=0)}
    clean = {key: value for key, value in os.environ.items() if key not in known}
    environment = {**clean, **numerics.variables(profile, hash_seed=0), "PYTHONPATH": str(PROJECT)}
    command: list[Any] = [python, script, "--contestant", name]
    command += ["--steps", str(words.steps)] if "steps" in words else []
    command += ["--cleanrl", words.cleanrl] if words.cleanrl else []
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as folder:
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, check=False
        )
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(
    script: str,
    contestants: Mapping[str, Callable[..., Iterator[Any]]],
    words: argparse.Namespace,
    *,
    trained: Callable[[str], dict[str, float]],
    told: Callable[[str, Results], dict[str, Any]],
) -> int:
    """Be one contestant, or let all of them race; returns the exit code: 1 where a bound is missed.

    Args:
        script: The benchmark's own file.
        contestants: Name → training.
        words: Of the command line.
        trained: Trains one contestant in this process; returns its figures.
        told: Of a profile and all figures: prints its table, returns its verdict with the key ``missed``.
    """
    if words.contestant:
        import torch  # noqa: PLC0415 - only a contestant has it

        torch.set_num_threads(1)
        print(json.dumps(trained(words.contestant)))
        return 0
    python = words.python or environment_python(PROJECT / "build" / "benchmarks")
    names = [name for name in contestants if words.cleanrl or name != "CleanRL"]
    results: dict[str, Results] = {profile: {name: [] for name in names} for profile in words.profile}
    for _ in range(words.repeats):
        for profile in words.profile:
            for name in names:
                results[profile][name].append(measure(script, name, profile, words, python))
                print(f"{profile} {name}: {results[profile][name][-1]}", file=sys.stderr)
    report = {profile: told(profile, results[profile]) for profile in words.profile}
    print(json.dumps({"benchmark": Path(script).stem, "profiles": report}))
    return int(any(verdict["missed"] for verdict in report.values()))
