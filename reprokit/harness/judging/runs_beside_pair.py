"""The runs that are made alongside the pair whose agreement is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from reprokit.harness.judging.rounding_of_pair import twin_folders
from reprokit.harness.judging.seed_response import runs_with_other_seeds
from reprokit.harness.judging.sweep_evidence import runs_of_sweeps
from reprokit.records import run_json
from reprokit.runs.listing import key_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsBesidePair:
    """Runs of the same recipe that are compared with the pair.

    Attributes:
        stopped: The run that was killed on its way, or None.
        resumed: The run that continued from it, or None.
        places: Of each of several places the run that was killed there, and the one that continued from it.
        varied: The runs under different conditions.
        same_under: The runs with what must not matter.
        twins: Such a run that differs and may do so by rounding → what twins of the first were made.
        other_seeds: The runs with other seeds that show whether a metric responds, up to two.
        seeds: Those that sweeps made of the same with other seeds, finished or failed.
        new_seeds: Those that were made for the ensemble, perhaps none; None where it was not asked.
    """

    stopped: Path | None = None
    resumed: Path | None = None
    places: tuple[tuple[Path, ...], ...] = ()
    varied: tuple[Path, ...] = ()
    same_under: tuple[Path, ...] = ()
    twins: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    other_seeds: tuple[Path, ...] = ()
    seeds: tuple[Path, ...] = ()
    new_seeds: tuple[Path, ...] | None = None

    @property
    def interrupted(self) -> tuple[Path, ...]:
        """The stopped and the resumed run, as far as there are any."""
        return tuple(one for one in (self.stopped, self.resumed) if one)

    @property
    def folders(self) -> tuple[Path, ...]:
        """All of them."""
        twins = (folder for told in self.twins.values() for folder in twin_folders(told))
        alike = (*chain.from_iterable(self.places), *self.varied, *self.same_under, *twins)
        return (*self.interrupted, *alike, *self.other_seeds, *self.seeds, *(self.new_seeds or ()))


def runs_at_hand(first: Path) -> RunsBesidePair:
    """What lies alongside the first run of a pair: runs of sweeps, and what the rows of a program need.

    That is, of an unmodified program, a resumed run where its recipe says how it is resumed, and runs with
    other seeds.
    """
    record, seeds = run_json.recorded(first), runs_of_sweeps(first)
    if not record.program:
        return RunsBesidePair(seeds=seeds)
    declared = record.recipe_data.get("resume")
    stopped, resumed = _resumed(first) if declared else (None, None)
    other_seeds = runs_with_other_seeds(first)
    return RunsBesidePair(stopped=stopped, resumed=resumed, other_seeds=other_seeds, seeds=seeds)


def _resumed(first: Path) -> tuple[Path | None, Path | None]:
    """The newest run of the same that was resumed, and the one that it was resumed from."""
    mine = run_json.recorded(first)
    for folder in sorted(first.parent.iterdir(), key=lambda path: path.name, reverse=True):
        record = run_json.recorded(folder)
        point = record.resumed_from
        if point is None or (record.digests, record.seed) != (mine.digests, mine.seed):
            continue
        stopped = first.parent / Path(str(point.run)).name
        of_first = point.run == key_of(first.resolve())
        if of_first or run_json.recorded(stopped).stopped_by is not None:
            return stopped, folder
    return None, None
