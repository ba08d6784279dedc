"""Which runs of earlier commands say anything of a run that is judged now.

An unmodified program on this host also reads variables and files that no digest is of, such as a data set
next to the repository. An earlier run of it with another seed was made under the same conditions where the
run before it with the judged seed has the judged run's metrics.
"""

from __future__ import annotations

import filecmp
from dataclasses import dataclass
from pathlib import Path

from reprokit import runs
from reprokit.core import fingerprint
from reprokit.core.run_record import RunRecord
from reprokit.harness.running.run_inputs import holds_all_inputs
from reprokit.layout import METRICS
from reprokit.records import environment_json, run_json


def have_same_inputs(first: Path, other: Path) -> bool:
    """Whether two runs have the same inputs but for the seed, and an environment that computes the same."""
    mine, theirs = (_inputs(run_json.recorded(folder)) for folder in (first, other))
    return mine == theirs and fingerprint.same(*map(environment_json.recorded, (first, other)))


def _inputs(record: RunRecord) -> tuple[object, ...]:
    outside = record.outside_code if record.image is None else None  # a pinned program's is judged by a row
    return record.digests, record.modified, record.plain_command, outside


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRuns:
    """The runs that tell whether others were made under the conditions of a judged run.

    Attributes:
        first: The run that is judged.
        of_seed: Run folders with its seed, itself among them, the newest first; None where its inputs hold
            all that its numbers can depend on.
    """

    first: Path
    of_seed: tuple[Path, ...] | None

    def show_same_conditions(self, other: Path) -> bool:
        """Whether the run before ``other`` that could have the judged run's metrics has them."""
        if self.of_seed is None:
            return True
        before = (one for one in self.of_seed if _begun(one) <= _begun(other))
        found = next((one for one in before if self._is_another(one)), None)
        return found is not None and filecmp.cmp(found / METRICS, self.first / METRICS, shallow=False)

    def _is_another(self, folder: Path) -> bool:
        is_there = (folder / METRICS).is_file() and have_same_inputs(self.first, folder)
        return is_there and runs.read(folder).complete


def earlier_runs(first: Path) -> EarlierRuns:
    """The runs next to a judged one that tell when others were made under its conditions."""
    mine = run_json.recorded(first)
    if holds_all_inputs(mine):
        return EarlierRuns(first=first, of_seed=None)
    recorded = {folder: run_json.recorded(folder) for folder in first.parent.iterdir() if folder.is_dir()}
    of_seed = (folder for folder, one in recorded.items() if one.seed == mine.seed and one.is_whole)
    return EarlierRuns(first=first, of_seed=tuple(sorted(of_seed, key=_begun, reverse=True)))


def _begun(folder: Path) -> str:
    return run_json.recorded(folder).started_at or ""
