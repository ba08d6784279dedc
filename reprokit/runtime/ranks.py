"""Ranks: processes that train one model together, each on a part of every batch.

    >>> def of_part(part: slice) -> Tensor:  # leaves the part's gradients, returns its measures
    ...
    >>> loss, accuracy = run.ranks.add_up(of_part, adam.gradients, count=len(batch), num_measures=2)

Every rank holds the whole model and draws the same batch, so that all of them take the same step. What else
a trainer does (evaluations, metrics) every rank does too: none waits for another outside of a collective.

With ``all_reduce`` a rank has one part of a batch, and gloo adds the parts up: in an order that depends on
the number of ranks. With ``fixed_order`` a batch is cut into ``shards`` whatever that number is, and they
are added up as a binary tree (``pairwise_sum``): every number of ranks gives the same bits.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed

from reprokit.errors import CannotRunError
from reprokit.runtime.checkpoint import CheckpointStore, Stateful
from reprokit.runtime.rank_settings import ALL_REDUCE, FIXED_ORDER, RankSettings
from reprokit.runtime.rank_status import END, START, StatusWriter
from reprokit.runtime.trace import Trace, digest

#: Who watches the ranks ends them after ``timeout_s``; gloo itself waits for so much longer.
_LONGER_S = 60.0


class LostPeerError(BaseException):
    """Another rank is gone; not an Exception, so that a trainer's own ``except Exception`` lets it pass."""


class Ranks:
    """This process among those that train together.

    Args:
        trace: Told of every collective.
        settings: None for a process that trains alone.
        rank: Its number, from 0.
        meeting: The folder where the ranks meet; needed for more than one.
    """

    def __init__(
        self,
        trace: Trace,
        settings: RankSettings | None = None,
        *,
        rank: int = 0,
        meeting: Path | None = None,
    ) -> None:
        self.settings = settings or RankSettings()
        self.rank = rank
        self._is_alone = settings is None
        self._trace = trace
        self._meeting = meeting
        self._status = None if meeting is None else StatusWriter(meeting, rank=rank)
        trace.expects_collectives = not self._is_alone

    @property
    def world_size(self) -> int:
        """How many ranks there are."""
        return self.settings.world_size

    @property
    def num_parts(self) -> int:
        """How many parts a batch has, those of all ranks together."""
        return self.settings.shards if self.settings.is_fixed else self.world_size

    def share_of(self, count: int) -> slice:
        """Which of ``count`` samples of a batch are this rank's: those of its shards, side by side."""
        return _part(self.rank, self.world_size, count)

    def add_up(
        self, of_part: Callable[[slice], Tensor], gradients: Tensor, *, count: int, num_measures: int
    ) -> Tensor:
        """Gradients and measures of a batch, added up over its parts on all ranks.

        Args:
            of_part: Adds the gradients of some samples of the batch to ``gradients``, each part weighted by
                its share of the batch, and returns its measures, float32 [num_measures], likewise.
            gradients: Those of all parameters, as one vector: overwritten with the sums.
            count: Samples in the batch.
            num_measures: Numbers that ``of_part`` returns, 1 or more.

        Returns:
            The sums of the measures, float32 [num_measures].
        """

        def computed(part: slice) -> Tensor:
            gradients.zero_()
            return of_part(part) if part.start < part.stop else gradients.new_zeros(num_measures)

        if not self.settings.is_fixed:
            measures = computed(self.share_of(count))
            if not self._is_alone:
                self._all_reduce("gradients", gradients)
                self._all_reduce("measures", measures)
            return measures
        shards = self.settings.shards
        each = shards // self.world_size
        own = (_part(shard, shards, count) for shard in range(self.rank * each, (self.rank + 1) * each))
        sums = pairwise_sum(torch.cat([computed(part), gradients]) for part in own)
        gradients.copy_(self._fixed_order("gradients", sums[num_measures:]))
        return self._fixed_order("measures", sums[:num_measures])

    def _all_reduce(self, name: str, values: Tensor) -> None:
        """Add up ``values`` of all ranks, in place."""
        self._trace.sends(name, operation=ALL_REDUCE, values=values)
        self._collective(name, lambda: distributed.all_reduce(values))
        self._trace.receives(values)

    def _fixed_order(self, name: str, values: Tensor) -> Tensor:
        """The sums of ``values`` of all ranks, added up in the order of the shards."""
        self._trace.sends(name, operation=FIXED_ORDER, values=values)
        if self.world_size > 1:
            found = values.new_empty(self.world_size, len(values))
            own = values.contiguous()
            self._collective(name, lambda: distributed.all_gather(list(found.unbind(0)), own))
            values = pairwise_sum(found)
        self._trace.receives(values)
        return values

    def _collective(self, name: str, call: Callable[[], object], *, after: bool = False) -> None:
        """Do something that all ranks do together: ``after`` an update, or in the next one.

        Raises:
            LostPeerError: Another rank is gone.
        """
        if self._status is None:
            return
        update = self._trace.updates + (0 if after else 1)
        try:
            with self._status.waiting(name, update=update):
                call()
        except RuntimeError as error:
            what = f"in the collective {name!r} of update {update}"
            raise LostPeerError(f"{what}: {error}") from error

    def join(self) -> None:
        """Meet the other ranks, on the loopback interface: a container has no other."""
        if self._meeting is None or self.world_size == 1:
            return
        meeting = self._meeting
        os.environ["GLOO_SOCKET_IFNAME"] = _loopback()
        self._collective(
            START,
            lambda: distributed.init_process_group(
                "gloo",
                store=distributed.FileStore(str(meeting / "store"), self.world_size),  # type: ignore[attr-defined]  # public, says its documentation
                rank=self.rank,
                world_size=self.world_size,
                timeout=timedelta(seconds=self.settings.timeout_s + _LONGER_S),
            ),
        )

    def leave(self) -> None:
        """Wait until all ranks have come to their end."""
        if self._meeting is not None and self.world_size > 1:
            self._collective(END, distributed.barrier)
            distributed.destroy_process_group()

    def with_all(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """A checkpoint, with what it takes to resume every rank: on as many ranks, or on others."""
        states = [state["random"]]
        if self._meeting is not None and self.world_size > 1:
            name = f"random-{state['step']}"
            files = [self._meeting / f"{name}-{rank}.pt" for rank in range(self.world_size)]
            torch.save(state["random"], files[self.rank])
            self._collective("random states", distributed.barrier, after=True)
            if self.rank == 0:
                states = [torch.load(file, weights_only=True) for file in files]
        return {**state, "ranks": {**self.settings.as_saved(), "random": states}}

    def own(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """A checkpoint, as this rank goes on from it.

        Raises:
            CannotRunError: It is of another number of ranks, and these add up in another order.
        """
        saved = dict(state.get("ranks") or {})
        states = saved.pop("random", [state.get("random")])
        mine = {} if self._is_alone else self.settings.as_saved()
        if {**saved, "world_size": 0} != {**mine, "world_size": 0} or (
            saved != mine and not self.settings.is_fixed
        ):
            raise CannotRunError(
                "the checkpoint is of other ranks, which add up gradients in another order",
                expected=_told(mine),
                actual=_told(saved),
                fix="resume on as many ranks; only with `reduction: fixed_order` their number may change",
            )
        return {**state, "random": states[self.rank if self.rank < len(states) else 0]}


class RankCheckpoints(CheckpointStore):
    """Checkpoints of ranks: the first one writes them, with the random states of all.

    Attributes:
        models: Name → digest of the model that this rank held, and of its optimizer's state.
    """

    def __init__(self, folder: Path, *, keep: int | None, before: Callable[[], None], ranks: Ranks) -> None:
        super().__init__(folder, keep=keep, before=before)
        self.models: dict[str, str] = {}
        self._ranks = ranks

    def save(self, state: Mapping[str, Any]) -> Path:
        """As ``CheckpointStore.save``; all ranks call it at the same step."""
        path = super().save(self._ranks.with_all(state))
        self.models[path.name] = digest([state["model"], state["optimizer"]])
        return path

    def save_final(self, model: Stateful) -> Path:
        """As ``CheckpointStore.save_final``."""
        path = super().save_final(model)
        self.models[path.name] = digest(model.state_dict())
        return path

    def _write(self, name: str, state: Mapping[str, Any], *, step: int | None) -> Path:
        if self._ranks.rank == 0:
            return super()._write(name, state, step=step)
        self._before()
        return self.folder / name


def pairwise_sum(vectors: Iterable[Tensor]) -> Tensor:
    """The sum of as many vectors as a power of two: of neighbours first, then of these sums, and so on.

    The sum of the sums of equal parts, one after the other, has the same bits. At most one vector a level of
    the tree is held.
    """
    sums: list[Tensor] = []
    for number, vector in enumerate(vectors, start=1):
        total, left = vector, number
        while left % 2 == 0:
            total, left = sums.pop() + total, left // 2
        sums.append(total)
    (total,) = sums
    return total


def _part(number: int, of: int, count: int) -> slice:
    """Part ``number`` of ``of`` parts of ``count`` samples, which differ by one sample at most."""
    return slice(number * count // of, (number + 1) * count // of)


def _loopback() -> str:
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name.startswith("lo")), names[0])


def _told(saved: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in saved.items()) or "one process"
