"""What unpinned runs of one side leave in caches, which a run of the other side must not open."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reprokit.harness.running.environments.shared_places import SharedPlaces
from reprokit.harness.running.plan import RunPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """What is looked at of the runs of a side, and what those of the other side have left.

    Attributes:
        shared: None for pinned runs, which can write to no cache.
        written: Files that the other side's runs wrote.
    """

    shared: SharedPlaces | None = None
    written: frozenset[str] = frozenset()

    @property
    def for_other_side(self) -> frozenset[str]:
        """What the runs of this side wrote, once they have ended."""
        return self.shared.written() if self.shared is not None else frozenset()


def watched_for(plan: RunPlan, left: LeftBehind) -> RunPlan:
    """The same runs, watched for whether they open what was left."""
    specs = tuple(
        replace(spec, other_tree=replace(spec.other_tree, written=left.written)) if spec.other_tree else spec
        for spec in plan.specs
    )
    return replace(plan, specs=specs, shared=left.shared)
