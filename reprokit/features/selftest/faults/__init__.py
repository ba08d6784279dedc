"""How faults are planted, one module for each kind of file.

Each fault is a function of the stage, a generator and the places, that says in one line what it did; one that
these runs have no place for raises. Which verdict it must lead to is said by ``table`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import TypeAlias

from reprokit.features.selftest.planting import Stage

__all__ = ["Plant", "together"]

Plant: TypeAlias = Callable[[Stage, Random, Sequence[Path]], str]


def together(*plants: Plant) -> Plant:
    """Several faults at once."""

    def plant(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
        return "; ".join(one(stage, rng, places) for one in plants)

    return plant
