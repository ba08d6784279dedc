"""How long the page of a report with 20 metrics of 20,000 records takes, and how large it is.

    python benchmarks/report_page.py

Two runs and a golden that differ in every value, so that no curve is shared: the largest page that such runs
have. CPU seconds, median of five, from the parts of the report to the text. Ends with 1 when the
page takes more than 2 s or 1 MB.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from reprokit import adapters
from reprokit.core.checklist import Report, Verdict
from reprokit.core.report_parts import DrawnCurve, ReportComparisons
from reprokit.reports.formats.to_html import to_html

_METRICS, _RECORDS, _REPEATS = 20, 20_000, 5
_POINTS = 400  # of each curve in a report
_MOST_S, _MOST_BYTES = 2.0, 1_000_000


def curves(folder: Path) -> dict[str, list[DrawnCurve]]:
    """The curves of a golden and two runs, as a report keeps them."""
    found: dict[str, list[DrawnCurve]] = {}
    for seed, label in enumerate(("run 1", "run 2", "golden")):
        draw = random.Random(seed)
        file = folder / f"{seed}.jsonl"
        with file.open("w") as stream:
            for step in range(_RECORDS):
                values = {f"group/metric_{at}": draw.gauss(0, 1) for at in range(_METRICS)}
                stream.write(json.dumps({"step": step * 128, **values}) + "\n")
        for name, one in adapters.read_series(file, max_points=_POINTS).items():
            found.setdefault(name, []).append(DrawnCurve(label=label, steps=one.steps, values=one.values))
    return found


def report(found: dict[str, list[DrawnCurve]]) -> Report:
    """A report of nothing but curves."""
    return Report(
        verdict=Verdict.NO_GOLDEN,
        exit_code=4,
        sentence="Two runs.",
        next_command="",
        recipe="page",
        platform="cpu-x86_64",
        seed=1,
        runs=("a", "b"),
        golden=None,
        environment_diff=(),
        divergence=None,
        checks=(),
        timing={},
        curves=found,
        environment={},
        comparisons=ReportComparisons(),
        created_at="",
        command="",
        rerun="",
    )


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds, which a busy machine changes little."""
    work()  # templates are compiled once
    taken = []
    for _ in range(_REPEATS):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return median(taken)


def main() -> int:
    """Print both figures; 1 where a bound is missed."""
    with tempfile.TemporaryDirectory() as folder:
        found = curves(Path(folder))
    drawn = report(found)
    size = len(to_html(drawn).encode())
    took = seconds(lambda: to_html(drawn))
    print(f"page of {_METRICS} metrics × {_RECORDS:,} records: {took:.2f} s, {size / 1e6:.3f} MB")
    return int(took > _MOST_S or size > _MOST_BYTES)


if __name__ == "__main__":
    sys.exit(main())
