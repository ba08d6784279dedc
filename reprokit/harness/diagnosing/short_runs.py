"""Runs that are stopped once they have passed the record in which two runs first differ.

Only a program that writes its records as it goes can be cut; what it would have written later is not
compared, so a cause that is found by cut runs is confirmed by whole ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from reprokit import adapters
from reprokit.core import problems
from reprokit.core.comparing.clock_metrics import speaks_of_time
from reprokit.core.comparing.difference import Comparison
from reprokit.harness.diagnosing.conditions import InstrumentedRun
from reprokit.layout import METRICS, OUTPUT
from reprokit.recipes import Program

#: A run that takes less than this is not cut: nothing to speak of would be saved.
_WORTH_S = 5.0
#: Adapter → lines before the first record.
_HEADS = {"jsonl": 0, "csv": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where runs are cut.

    Attributes:
        name: The metrics file, relative to a run's output.
        lines: How many of its lines are compared.
        beginnings: Run → a folder with what is compared of these lines.
    """

    name: str
    lines: int
    beginnings: Mapping[str, Path]

    def check(self, output: Path) -> None:
        """Raise ``FarEnough`` once a run has written all of these lines."""
        path = output / self.name
        whole = [line for line in _first_lines(path, self.lines) if line.endswith(b"\n")]
        if len(whole) >= self.lines:
            raise FarEnough(self)

    def shorten(self, output: Path) -> None:
        """Leave these lines of a run's metrics alone."""
        path = output / self.name
        path.write_bytes(b"".join(_first_lines(path, self.lines)))


class FarEnough(Exception):  # noqa: N818 - not an error
    """A run has written the record in which the first two differ.

    Args:
        cut: Where it is cut.
    """

    def __init__(self, cut: Cut) -> None:
        super().__init__()
        self.cut = cut


def cut_for(
    first: InstrumentedRun,
    other: InstrumentedRun,
    found: Comparison,
    *,
    folder: Path,
    program: Program | None = None,
) -> Cut | None:
    """Where further runs can be cut; None where they cannot, or where that saves less than half.

    Args:
        first: A run.
        other: One that differs from it.
        found: How they compare. Metrics of the clock are known only by whole runs.
        folder: For the beginnings of the two.
        program: The unmodified program of a recipe, whose metrics the host writes, or None.
    """
    outputs = first.folder / OUTPUT, other.folder / OUTPUT
    pairs, log = adapters.pair_runs(*outputs)
    where = found.divergence
    if where is None or where.metric is None or first.duration_s < _WORTH_S or len(pairs) != 1:
        return None
    if any(one.mismatches and speaks_of_time(name) for name, one in found.per_metric.items()):
        return None
    source, twin = pairs[0]
    names = {one.path.relative_to(output) for one, output in zip((source, twin), outputs, strict=True)}
    if log.has(problems.DIFFERENCE) or source.adapter not in _HEADS or len(names) != 1:
        return None
    head, records = _HEADS[source.adapter], where.record + 1
    written = len(source.path.read_bytes().splitlines())
    if 2 * (head + records) > written or not _has_its_records_alone(first, program, records=written - head):
        return None
    name = names.pop()
    begun = {run.label: folder / "beginnings" / run.label for run in (first, other)}
    for run in (first, other):
        if program is not None:
            _begin(run.folder / METRICS, begun[run.label] / METRICS, lines=records)
        else:
            _begin(run.folder / OUTPUT / name, begun[run.label] / name, lines=head + records)
    return Cut(name=str(name), lines=head + records, beginnings=begun)


def _has_its_records_alone(run: InstrumentedRun, program: Program | None, *, records: int) -> bool:
    """Whether what is compared of a run is its metrics file, record by record.

    The host makes the metrics of a recipe's program from all of its sources, and of files that it leaves.
    """
    if program is None:
        return True
    if program.collect or program.outputs or program.printed is not None:
        return False
    return len((run.folder / METRICS).read_bytes().splitlines()) == records


def _begin(path: Path, kept: Path, *, lines: int) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(b"".join(_first_lines(path, lines)))


def _first_lines(path: Path, lines: int) -> list[bytes]:
    if not path.is_file():
        return []
    with path.open("rb") as stream:
        return list(islice(stream, lines))
