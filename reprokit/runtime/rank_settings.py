"""How many processes train one model together, and where they meet; whoever starts them needs no torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

#: Exit code of a rank that lost another one: the reason is the other's.
LOST_PEER = 86
ALL_REDUCE, FIXED_ORDER = "all_reduce", "fixed_order"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSettings:
    """How many train together, and how.

    Attributes:
        world_size: Processes.
        reduction: ``all_reduce`` or ``fixed_order``.
        shards: Parts of every batch with ``fixed_order``: a power of two, not less than the ranks.
        timeout_s: A rank that lets the others wait for longer has failed.
    """

    world_size: int = 1
    reduction: str = ALL_REDUCE
    shards: int = 1
    timeout_s: float = 40.0

    @property
    def is_fixed(self) -> bool:
        """Whether every number of ranks gives the same bits."""
        return self.reduction == FIXED_ORDER

    def as_saved(self) -> dict[str, Any]:
        """What of it decides the numbers: a checkpoint holds it."""
        return {name: value for name, value in asdict(self).items() if name != "timeout_s"}


def own_folder(meeting: Path, rank: int) -> Path:
    """Where a rank other than the first writes what the run has from the first."""
    return meeting / f"rank{rank}"
