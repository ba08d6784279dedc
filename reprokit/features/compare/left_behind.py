"""What unpinned runs of one side leave in caches, which a run of the other side must not open."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from reprokit.core.records import OtherTree, WrittenFiles
from reprokit.harness.running.environments.shared_places import SharedPlaces
from reprokit.harness.running.plan import RunPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """What is looked at of the runs of a side, and what those of the other side have left.

    Attributes:
        shared: None for pinned runs, which can write to no cache.
        written: What the other side's runs wrote.
        began: When the runs of this side began, seconds since 1970.
    """

    shared: SharedPlaces | None = None
    written: WrittenFiles = field(default_factory=WrittenFiles)
    began: float = field(default_factory=time.time)

    @property
    def for_other_side(self) -> WrittenFiles:
        """What the runs of this side wrote, once they have ended."""
        if self.shared is None:
            return WrittenFiles()
        files, folders = self.shared.written(), self.shared.caches()
        return WrittenFiles(files=files, folders=folders, since=self.began, until=time.time())


def watched_for(plan: RunPlan, left: LeftBehind, *, runs_dir: Path) -> RunPlan:
    """The same runs, watched for whether they open what was left, and files of other runs."""
    watched = (spec.other_tree or OtherTree.of_runs(runs_dir) for spec in plan.specs)
    specs = tuple(
        replace(spec, other_tree=replace(tree, written=left.written, lists=True))
        for spec, tree in zip(plan.specs, watched, strict=True)
    )
    return replace(plan, specs=specs, shared=left.shared or plan.shared)
