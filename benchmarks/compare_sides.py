"""What `reprokit compare` costs, next to `reprokit reproduce` of the same two commits.

Two commits that differ in a remark, so that both sides are equal and have to run. Three things are timed in
turns: `reproduce` of both commits, `compare` of them without any run, and `compare` where the runs of one
side are there already. Prints a table of medians on the wall clock and of CPU time of all processes, the
medians of the shares of each round, then one JSON object; exits 1 when a share is above its bound.

    python benchmarks/compare_sides.py [--recipe NAME [--backend docker|local]] [--seconds S] [--repeats N]

Without `--recipe`: a program of so many seconds in a repository of three files, which nothing pins. Its runs
are never used again, since it can depend on more than its inputs, so that no side of it is ever known: both
run, and there is no bound on that. With it: a recipe of this repository.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
#: What is timed → its share, and of which `reproduce`s.
BOUNDS = {"both sides new": (1.2, "two reproduces"), "one side known": (1.2, "one reproduce")}
RECIPE = """\
schema: 1
name: work
title: A program that computes for some seconds
variant: none
command: [python, work.py, "{seed}", "{run_dir}"]
seeds: [3]
platforms: [cpu-x86_64]
"""
PROGRAM = """\
import json, random, sys
random.seed(int(sys.argv[1]))
value = 0.0
with open(sys.argv[2] + "/log.jsonl", "w") as log:
    for step in range(%d):
        for _ in range(200_000):
            value += random.random() - 0.5
        log.write(json.dumps({"step": step, "loss": value}) + "\\n")
"""
STEPS_A_SECOND = 60
_OWN = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def git(folder: Path, *words: str) -> None:
    """Run git with a name of its own."""
    name = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)


def repository(folder: Path, *, recipe: str | None, seconds: float) -> str:
    """Make a repository of two commits; the recipe's name."""
    if recipe is None:
        (folder / "recipes" / "work").mkdir(parents=True)
        (folder / "recipes" / "work" / "recipe.yaml").write_text(RECIPE)
        (folder / "work.py").write_text(PROGRAM % max(1, round(seconds * STEPS_A_SECOND)))
        (folder / ".gitignore").write_text("runs/\nreports/\n")
        git(folder, "init", "--quiet")
        remarked = folder / "work.py"
    else:
        subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(folder)], check=True)
        name = next(
            line.split()[1]
            for line in (folder / "recipes" / recipe / "recipe.yaml").read_text().splitlines()
            if line.startswith("trainer:")
        )
        remarked = folder / "recipes" / "trainers" / f"{name}.py"
    for _ in range(2):
        remarked.write_text(remarked.read_text() + "# a remark\n")
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", "a remark")
    return recipe or "work"


def timed(words: list[str], folder: Path, *, fine: tuple[int, ...] = (0,)) -> tuple[float, float]:
    """Seconds on the wall clock and of CPU time of a call of the tool, which must end well."""
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "reprokit", *words],
        cwd=folder,
        env={**_OWN, "PYTHONPATH": str(PROJECT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in fine:
        raise SystemExit(f"{' '.join(words)} ended with {child.returncode}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime


def one_round(folder: Path, name: str, more: list[str]) -> dict[str, tuple[float, float]]:
    """Each of the three once."""

    def without_runs() -> None:
        for place in ("runs", "reports"):
            shutil.rmtree(folder / place, ignore_errors=True)

    def reproduced(commit: str) -> tuple[float, float]:
        git(folder, "checkout", "--quiet", commit)
        return timed(["reproduce", name, *more], folder, fine=(0, 4))  # 4: it has no golden

    compare: Callable[[], tuple[float, float]] = lambda: timed(  # noqa: E731
        ["compare", name, "--a", "main~1", "--b", "main", *more], folder
    )
    without_runs()
    found = {"both sides new": compare()}
    without_runs()
    first = reproduced("main~1")
    found["one side known"] = compare()
    shutil.rmtree(folder / "runs")
    second = reproduced("main")
    found["one reproduce"] = (statistics.mean([first[0], second[0]]), statistics.mean([first[1], second[1]]))
    found["two reproduces"] = (first[0] + second[0], first[1] + second[1])
    return found


def main() -> int:
    """Measure, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recipe", help="a recipe of this repository, with a trainer")
    parser.add_argument("--backend", choices=("docker", "local"), default="local")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the program takes, about")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    compileall.compile_dir(PROJECT / "reprokit", quiet=1)  # as an installed tool is
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as temporary:
        folder = Path(temporary) / "project"
        folder.mkdir()
        name = repository(folder, recipe=options.recipe, seconds=options.seconds)
        git(folder, "checkout", "--quiet", "-B", "main")
        more = ["--backend", options.backend]
        rounds = [one_round(folder, name, more) for _ in range(options.repeats)]
    medians = {
        what: [statistics.median(one[what][at] for one in rounds) for at in (0, 1)] for what in rounds[0]
    }
    # A share is of one round: what else the machine does changes from round to round.
    bounds = {what: bound for what, bound in BOUNDS.items() if options.recipe or what == "both sides new"}
    shares = {
        what: [statistics.median(one[what][at] / one[of][at] for one in rounds) for at in (0, 1)]
        for what, (_, of) in bounds.items()
    }
    print(f"{'':18} {'wall':>9} {'CPU':>9}")
    for what, (wall, used) in medians.items():
        print(f"{what:18} {wall:8.1f}s {used:8.1f}s")
    for what, (bound, of) in bounds.items():
        print(f"{what}: {shares[what][0]:.2f} of {of} ({shares[what][1]:.2f} in CPU time), bound {bound}")
    told = {"medians": medians, "shares": shares, "rounds": rounds}
    print(json.dumps({"benchmark": "compare_sides", **told}))
    return int(any(shares[what][0] > bound for what, (bound, _) in bounds.items()))


if __name__ == "__main__":
    sys.exit(main())
