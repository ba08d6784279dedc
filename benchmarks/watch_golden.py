"""What `--watch-golden` costs a `verify`, and what it saves: pairs of runs, with and without a planted fault.

`cartpole_baseline` with its own settings, 25 updates, in a project of its own and in a virtual environment,
the two runs side by side.

- Overhead: CPU time of looking at the metrics of both runs, against the CPU time of both trainings, where the
  runs equal the golden and so go to their end.
- Share: how much of the time of a whole run a stopped one took, with another learning rate from update 3 on.
  Start-up, the time that a whole run takes next to what its own clock tells, is left out of both.

Medians of the repeats. Exits 1 where the overhead is above 1 % or the share above 15 %.

    python benchmarks/watch_golden.py [--repeats N] [--epochs N]

``--epochs`` makes each update longer or shorter (10 in the recipe): the metrics are looked at twice a second.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from reprokit.core.checklist import Report
from reprokit.golden import Promotion
from reprokit.harness import Project, Request, reproduce
from reprokit.harness.curation import promote
from reprokit.harness.running.watch_golden import GoldenWatch
from reprokit.session import Session

PROJECT = Path(__file__).resolve().parent.parent
RECIPE = "cartpole_baseline"
FAULTY = 3
MOST_OVERHEAD, MOST_SHARE = 0.01, 0.15
UPDATE = "        record = update(model, adam, batch, settings)"
FAULT = f"        if run.trace.updates == {FAULTY - 1}:\n            adam.learning_rate *= 2\n{UPDATE}"


class Quiet:
    """No one follows."""

    def phase(self, name: str) -> None: ...

    def update(
        self, run_label: str, step: int, total: int | None, *, steps_per_s: float | None, eta_s: float | None
    ) -> None: ...

    def alive(self, run_label: str, seen: str) -> None: ...

    def note(self, text: str) -> None:
        sys.stderr.write(f"  {text}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as made:
        project = project_in(Path(made), epochs=options.epochs)
        first = run(project, watched=False)
        whole = times_of(first)
        promote(
            [Path(one) for one in first.runs],
            project=project,
            promotion=Promotion(
                reason="benchmark",
                created_at=datetime.now(UTC).isoformat(timespec="seconds"),
                allow_dirty=True,
                allow_failed=True,
            ),
        )
        overheads = [overhead(project) for _ in range(options.repeats)]
        trainer = project.root / "recipes" / "trainers" / "ppo.py"
        trainer.write_text(trainer.read_text().replace(UPDATE, FAULT))
        shares = [share for _ in range(options.repeats) for share in shares_used(project, whole)]
    return report(overheads, shares, whole)


def project_in(folder: Path, *, epochs: int) -> Project:
    """A project with the recipe, its trainer and the lock of its environment."""
    for name in ("recipes", "images"):
        shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    recipe = folder / "recipes" / RECIPE / "recipe.yaml"
    recipe.write_text(re.sub(r"n_epochs: \d+", f"n_epochs: {epochs}", recipe.read_text()))
    return Project.around(folder)


def run(project: Project, *, watched: bool) -> Report:
    asked = Request(backend="local", watch_golden=watched, command="benchmark")
    return reproduce(RECIPE, asked, session=Session(project=project, progress=Quiet()))[0]


def overhead(project: Project) -> float:
    """CPU time of looking, as a share of that of the trainings that were looked at."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with measured_looks() as spent:
        told = run(project, watched=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if any(record_of(folder)["outcome"] != "completed" for folder in told.runs):
        sys.exit(f"runs that equal the golden did not end: {told.sentence}")
    trained = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return sum(spent) / trained


@contextmanager
def measured_looks() -> Iterator[list[float]]:
    """CPU seconds of every look at the metrics of a run, in the thread that looks."""
    spent: list[float] = []
    look = GoldenWatch.look

    def timed(*arguments, **options):
        began = time.thread_time()
        try:
            return look(*arguments, **options)
        finally:
            spent.append(time.thread_time() - began)

    GoldenWatch.look = timed
    try:
        yield spent
    finally:
        GoldenWatch.look = look


def shares_used(project: Project, whole: tuple[float, float]) -> Iterator[float]:
    """How much of a whole run each stopped one took, start-up left out of both."""
    starting, training = whole
    told = run(project, watched=True)
    if told.verdict != "REGRESSION":
        sys.exit(f"the planted fault is {told.verdict}: {told.sentence}")
    for folder in told.runs:
        record = record_of(folder)
        if record["outcome"] != "stopped_at_golden":
            sys.exit(f"{folder} was not stopped: {record['outcome']}")
        yield (record["duration_s"] - starting) / training


def times_of(whole: Report) -> tuple[float, float]:
    """Seconds of start-up, and of the rest, of whole runs: medians."""
    totals = [record_of(folder)["duration_s"] for folder in whole.runs]
    clocks = [
        json.loads((Path(folder) / "timing.jsonl").read_text().splitlines()[-1])["elapsed_s"]
        for folder in whole.runs
    ]
    started = [total - clock for total, clock in zip(totals, clocks, strict=True)]
    return statistics.median(started), statistics.median(clocks)


def record_of(folder: str) -> dict:
    return json.loads((Path(folder) / "run.json").read_text())


def report(overheads: list[float], shares: list[float], whole: tuple[float, float]) -> int:
    costs, used = statistics.median(overheads), statistics.median(shares)
    starting, training = whole
    told = [
        f"a whole run: {starting:.1f} s of start-up and {training:.1f} s of training",
        f"overhead, {len(overheads)} pairs: {costs:.3%} of the CPU time (worst {max(overheads):.3%})",
        f"used with a fault in update {FAULTY}, {len(shares)} runs: {used:.1%} (worst {max(shares):.1%})",
    ]
    sys.stdout.write("\n".join(told) + "\n")
    return int(costs > MOST_OVERHEAD or used > MOST_SHARE)


if __name__ == "__main__":
    sys.exit(main())
