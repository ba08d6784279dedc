"""Digests of everything that decides the next update, in execution order.

    >>> with Trace(run_dir / "trace.jsonl") as trace:
    ...     trace.update(step=4096, parameters=dict(model.named_parameters()), optimizer=adam.state_dict())

A digest is 128 bits of BLAKE2b over type, shape and bytes, so ``-0.0`` and ``0.0`` differ and a NaN
equals only its own bits.
"""

from __future__ import annotations

import array
import hashlib
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprokit.errors import CannotRunError
from reprokit.runtime import devices, random_state
from reprokit.runtime.ledger import Arrived, Ledger
from reprokit.runtime.metrics import LineWriter
from reprokit.runtime.random_state import Generators
from reprokit.runtime.samples import as_ids
from reprokit.runtime.seeding import seed_in_use

#: Name → tensor, or plain data and the tensors in it; or what returns such, or pairs of both.
Named = Mapping[str, Any] | Callable[[], Mapping[str, Any] | Iterable[tuple[str, Any]]]

_DIGEST_BYTES = 16
_FIRST_IN_FULL = 8
_MOST_SEEDS = 4


class Trace(LineWriter):
    """Writes ``trace.jsonl``: one record an update. A context manager.

    Args:
        path: The new file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._updates = 0
        self._every = 1
        #: Whether other ranks train along, so that no update is one without a collective.
        self.expects_collectives = False
        self._collectives: list[dict[str, Any]] = []
        self._seeds: dict[str, list[int | str | None]] = {}
        self._alike: dict[str, set[tuple[str, str]]] = {}
        self._ledger = Ledger()
        self._waiting: list[dict[str, Any]] = []

    def resume_at(self, update: int) -> None:
        """Number the updates from here on: so many were done before the program stopped."""
        self._updates = update

    @property
    def updates(self) -> int:
        """How many updates were traced, those before a resume included."""
        return self._updates

    @property
    def seeds_in_use(self) -> dict[str, list[int | str | None]]:
        """Environment → the seeds that it was found with after an update, each once, first come first."""
        return {name: list(seeds) for name, seeds in self._seeds.items()}

    @property
    def alike(self) -> list[list[str]]:
        """Pairs of environments, or of rollouts, that were equal after every update: clones of each other."""
        return [list(pair) for pairs in self._alike.values() for pair in sorted(pairs)]

    def sends(self, name: str, *, operation: str, values: torch.Tensor) -> None:
        """Record what this rank gives to a collective; its digest where that of parameters is due, too."""
        given = {"sent": digest(values)} if self._is_in_full(self._updates + 1) else {}
        self._collectives.append({"name": name, "operation": operation, **given})

    def receives(self, values: torch.Tensor) -> None:
        """Record what it got back from the last one."""
        if self._is_in_full(self._updates + 1):
            self._collectives[-1]["received"] = digest(values)

    def _is_in_full(self, update: int) -> bool:
        return update <= _FIRST_IN_FULL or (update - 1) % self._every == 0

    def update(
        self,
        *,
        step: int,
        parameters: Named,
        gradients: Named | None = None,
        optimizer: Named | None = None,
        generators: Generators | None = None,
        environments: Sequence[Any] = (),
        samples: Sequence[int] | np.ndarray[Any, Any] | torch.Tensor | None = None,
        arrived: Arrived = (),
        rollouts: Sequence[Any] = (),
        every: int = 1,
    ) -> None:
        """Record what the program stands at after one update.

        Args:
            step: Steps done.
            parameters: Name → tensor; digested one by one, so that a difference has a name. Or what returns
                them, such as ``model.named_parameters``: it is called only where they are digested.
            gradients: The last ones, likewise.
            optimizer: Its state dict, or what returns it.
            generators: Name → generator beside the global ones.
            environments: The training environments, simulator included.
            samples: Ids of the samples that went into this update, in order, those of all its
                micro-batches one after the other. Of a program without data None, which records nothing.
            arrived: Inputs, labels, …, before any augmentation, a row an id; their digests are recorded.
            rollouts: What was drawn side by side for this update, such as episodes or completions of one
                prompt: tensors or plain data, of which no two should always be equal.
            every: Parameters, gradients, optimizer and random states are digested in the first eight updates
                and then in one of so many, counted from the first: beside a short update, digests would take
                the most time. The others are written together with the next one that has them, with a
                checkpoint, or at the end. A golden keeps one record of eight, so it should be a multiple
                of eight.

        Raises:
            MetricsError: The samples are no integers, or not one row arrived for each.
            DataError: An id stands for another content than earlier in this run.
            CannotRunError: Other ranks train along, and this one has shared nothing with them.
        """
        self._updates, self._every = self._updates + 1, every
        record: dict[str, Any] = {"update": self._updates, "step": step}
        if samples is not None:
            self._ledger.add(self._updates, as_ids(samples), arrived)
            record["samples"] = None  # its place in the record; flush has what stands there
        if self.expects_collectives:
            record["collectives"] = self._taken()
        in_full = self._is_in_full(self._updates)
        if in_full:
            given = {"parameters": parameters, "gradients": gradients, "optimizer": optimizer}
            record |= {kind: _digests(named) for kind, named in given.items() if named is not None}
        self._look_at_seeds(environments)
        if rollouts:
            record["rollouts"] = {f"rollout[{n}]": digest(one) for n, one in enumerate(rollouts)}
            self._look_for_clones("rollouts", record["rollouts"])
        if in_full:
            record["random"] = random_digests(generators=generators, environments=environments)
        if len(environments) > 1 and in_full:
            names = [f"environment[{index}]" for index in range(len(environments))]
            self._look_for_clones("environments", {name: record["random"][name] for name in names})
        self._waiting.append(record)
        if in_full or self._ledger.full:
            self.flush()

    def _taken(self) -> list[dict[str, Any]]:
        """The collectives of this update, in order."""
        found, self._collectives = self._collectives, []
        if not found:
            raise CannotRunError(
                "the recipe asks for ranks, and the trainer adds nothing up over them",
                fix="add gradients up by run.ranks.add_up, or leave `ranks` out of the recipe",
            )
        return found

    def flush(self) -> None:
        """Write the updates that wait to be digested together.

        Raises:
            MetricsError: What arrived for a sample has no rows of numbers.
            DataError: An id stands for another content than earlier in this run; the updates before it are
                written.
            WorkspaceError: The disk is full or gone.
        """
        waiting, self._waiting = self._waiting, []
        sampled, wrong = self._ledger.take()
        remaining = iter(sampled)
        ready = []
        for record in waiting:
            if "samples" in record:
                record["samples"] = next(remaining, None)
                if record["samples"] is None:
                    break
            ready.append(record)
        self.extend(ready)
        if wrong is not None:
            raise wrong

    def close(self) -> None:
        """Write what waits, and close the file; safe to call twice."""
        try:
            self.flush()
        finally:
            super().close()

    def _look_for_clones(self, kind: str, digests: Mapping[str, str]) -> None:
        """Keep the pairs that were equal each time."""
        first: dict[str, str] = {}
        equal = {
            (before, name) for name, one in digests.items() if (before := first.setdefault(one, name)) != name
        }
        self._alike[kind] = equal & self._alike.get(kind, equal)

    def _look_at_seeds(self, environments: Sequence[Any]) -> None:
        for index, environment in enumerate(environments):
            seen, seed = self._seeds.setdefault(f"environment[{index}]", []), seed_in_use(environment)
            if seed not in seen and len(seen) < _MOST_SEEDS:
                seen.append(seed)


def digest(value: Any) -> str:
    """128 bits of BLAKE2b over a tensor, or over plain data and the tensors in it, as 32 hex digits."""
    blake = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    _feed(blake, value)
    return blake.hexdigest()


def _digests(named: Named) -> dict[str, str]:
    return {name: digest(value) for name, value in dict(named() if callable(named) else named).items()}


def random_digests(
    *, generators: Generators | None = None, environments: Sequence[Any] = ()
) -> dict[str, str]:
    """A digest of every random state: the global ones, the given ones, and the environments'."""
    version, words, spare = random.getstate()
    digests = {
        "python": digest([version, array.array("I", words).tobytes(), spare]),
        "numpy": digest(np.random.get_state(legacy=False)),  # noqa: NPY002 - the global one is meant
        "torch": digest(torch.get_rng_state()),
    }
    digests |= {name: digest(state) for name, state in devices.generator_states().items()}
    for name, generator in (generators or {}).items():
        digests[name] = digest(random_state.generator_state(generator))
    for index, environment in enumerate(environments):
        digests[f"environment[{index}]"] = digest(random_state.environment_state(environment))
    return digests


def _feed(blake: Any, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        tensor = value.detach().cpu().contiguous()
        blake.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
        blake.update(tensor.flatten().view(torch.uint8).numpy() if tensor.numel() else b"")
    elif isinstance(value, np.ndarray):
        blake.update(f"{value.dtype}{value.shape}".encode())
        blake.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, bytes):
        blake.update(b"%d:" % len(value) + value)
    elif isinstance(value, Mapping):
        blake.update(b"{")
        for key, item in value.items():
            blake.update(json.dumps(str(key)).encode())
            _feed(blake, item)
        blake.update(b"}")
    elif isinstance(value, list | tuple):
        blake.update(b"[")
        for item in value:
            _feed(blake, item)
        blake.update(b"]")
    else:
        blake.update(f"{type(value).__name__}={value!r};".encode())
