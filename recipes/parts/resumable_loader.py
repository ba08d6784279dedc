"""A ``DataLoader`` that goes on where it stopped: the same batches, and the same draws in its workers.

    >>> plain = DataLoader(rows, 64, shuffle=True, generator=order)
    >>> loader = ResumableLoader(plain, generators={"order": order})
    >>> loader.load_state_dict(extra["loader"])

It remembers what every random generator stood at when an epoch began, and how many batches were handed out
since. To go on it begins that epoch again from those states and goes past those batches, which costs reading
them: samplers, prefetching and workers then stand where they stood, whatever they have drawn. Persistent
workers carry their generators from epoch to epoch: for them it goes past every epoch since the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch.utils.data import DataLoader

from reprokit.runtime import random_state
from reprokit.runtime.random_state import Generators


class ResumableLoader:
    """Iterates over a loader, once an epoch.

    Args:
        loader: What makes the batches. Its data set and sampler keep nothing from epoch to epoch.
        generators: Name → generator that its sampler or itself draws from, beside the global ones.
    """

    def __init__(self, loader: DataLoader[Any], *, generators: Generators | None = None) -> None:
        self._loader, self._generators = loader, dict(generators or {})
        self._begun: list[dict[str, Any]] = []
        self._handed = 0
        self._resumed = False

    def __iter__(self) -> Iterator[Any]:
        """One epoch; after ``load_state_dict`` the rest of the one that was under way."""
        if self._resumed:
            self._resumed = False
            batches = self._where_it_stood()
        else:
            begun = self._begun if self._loader.persistent_workers else []
            self._begun, self._handed = [*begun, random_state.capture(generators=self._generators)], 0
            batches = iter(self._loader)
        for batch in batches:
            self._handed += 1
            yield batch

    def state_dict(self) -> dict[str, Any]:
        """Its place: between two batches, or between two epochs."""
        return {"begun": list(self._begun), "handed": self._handed}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from there with the next epoch that is iterated over.

        The random states of the program are restored before that, since the loader puts them back in turn.
        """
        self._begun, self._handed = list(state["begun"]), int(state["handed"])
        self._resumed = bool(self._begun)

    def _where_it_stood(self) -> Iterator[Any]:
        now = random_state.capture(generators=self._generators)
        for state in self._begun[:-1]:
            random_state.restore(state, generators=self._generators)
            for _ in self._loader:
                pass
        random_state.restore(self._begun[-1], generators=self._generators)
        batches = iter(self._loader)
        for _ in range(self._handed):
            next(batches)
        random_state.restore(now, generators=self._generators)
        return batches
