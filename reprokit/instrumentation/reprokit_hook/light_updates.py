"""PyTorch: samples, and digests of all parameters, after each step of an optimizer.

Parameters have the names that the module has for them which holds them. All steps are recorded up to the
10,000th, then every tenth, then every hundredth; of a model of more than 32 MiB every second one, of more
than 64 MiB every third one, and so on. Which ones follows from their number and the size of the model alone,
so that two runs record the same.
"""

from __future__ import annotations

import gc
import hashlib
import os
import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from . import digests, imports, read_ahead
from .loader_ledger import LoaderLedger
from .rank_streams import RankStreams

_DIGESTED_BYTES = 32 << 20
_ALL_UP_TO = 10_000


class Parameters:
    """The trace: one record for a step of any optimizer."""

    def __init__(self, torch: Any, light: Any, seeding: Any) -> None:
        self._torch, self._light, self._seeding = torch, light, seeding
        self._steps = 0
        self._ledger = LoaderLedger()
        self._streams = RankStreams(light)
        light.at_end.append(self._loaders)
        self._named: dict[int, list[tuple[str, Any]]] = {}
        self._numbers: dict[int, int] = {}

    def listen(self) -> None:
        from torch.optim import optimizer as optim  # type: ignore[import-not-found, unused-ignore]

        optim.register_optimizer_step_pre_hook(lambda one, *_: self._begins(one))
        optim.register_optimizer_step_post_hook(lambda one, *_: self._stepped(one))
        os.register_at_fork(after_in_child=self._ledger.restart)
        os.register_at_fork(after_in_child=self._streams.restart)
        imports.after("torch.utils.data.dataloader", self._ledger.watch)
        imports.after("accelerate.data_loader", lambda module: read_ahead.watch(module, self._ledger))

    def _begins(self, optimizer: Any) -> None:
        """The first step is to come: what it begins with says where a resumed program continues."""
        if "began_with" not in self._light.torch:
            with suppress(Exception):  # the program must not fail by it
                named = {name: _digest(one) for name, one in _names(self._torch, optimizer)}
                self._light.torch["began_with"] = named

    def _loaders(self) -> None:
        """At the end: every loader that handed out something, by its line."""
        if self._ledger.loaders:
            self._light.torch["loaders"] = self._ledger.loaders
        if self._ledger.problem:
            self._light.torch["ledger_problem"] = self._ledger.problem

    def _stepped(self, optimizer: Any) -> None:
        """An optimizer has taken a step."""
        try:
            self._record(optimizer)
        except Exception as error:  # said in the record; the program must not fail by it
            self._light.torch["problem"] = f"the parameters could not be read: {error!r}"

    def _record(self, optimizer: Any) -> None:
        self._seeding.look()
        facts = self._light.torch
        if "steps" not in facts:  # of a child that was forked since
            self._steps = 0
        self._steps += 1
        facts["steps"] = self._steps
        key = id(optimizer)
        count = len(list(_parameters(optimizer)))
        if key not in self._named or len(self._named[key]) != count:
            self._numbers.setdefault(key, len(self._numbers))
            self._named[key] = list(_names(self._torch, optimizer))
        named = self._named[key]
        num_bytes = sum(one.numel() * one.element_size() for _, one in named)
        every = max(1, -(-num_bytes // _DIGESTED_BYTES)) * _thinned(self._steps)
        if self._steps > 1 and self._steps % every:
            return  # its samples are told with the next one that is
        facts["traced"] = facts.get("traced", 0) + 1
        record: dict[str, Any] = {"update": self._steps, "step": self._steps}
        if self._light.process != "0":
            record["process"] = self._light.process
        if self._numbers[key]:
            record["of_optimizer"] = self._numbers[key]
        record.update(self._ledger.take())
        record["parameters"] = {name: _digest(one) for name, one in named}
        record["random"] = dict(self._states())
        self._streams.update(record)
        self._light.line(record)

    def _states(self) -> Iterator[tuple[str, str]]:
        """Digests of the global generators that were seeded; of PyTorch's also where it was drawn from."""
        if self._light.random.is_seeded:
            yield "python", _digest(repr(random.getstate()))
        numpy = self._light.numpy
        if numpy is not None and numpy.is_seeded:
            yield "numpy", _digest(numpy.state())
        if self._seeding.is_used:
            yield "torch", _digest(state_of(self._torch.default_generator))


def state_of(generator: Any) -> bytes:
    """What a generator of PyTorch will draw."""
    return bytes(generator.get_state().numpy().tobytes())


def _digest(value: Any) -> str:
    """128 bits, as in the traces of trainers."""
    seen = hashlib.blake2b(digest_size=16)
    digests.feed(seen, value)
    return seen.hexdigest()


def _thinned(step: int) -> int:
    every = 1
    while step > _ALL_UP_TO * every:
        every *= 10
    return every


def _parameters(optimizer: Any) -> Iterator[Any]:
    for group in optimizer.param_groups:
        yield from group["params"]


def _names(torch: Any, optimizer: Any) -> Iterator[tuple[str, Any]]:
    """Every parameter of an optimizer with a name that is the same in every run, each name once."""
    names = _names_in_modules(torch, {id(parameter) for parameter in _parameters(optimizer)})
    taken: set[str] = set()
    for index, one in enumerate(_parameters(optimizer)):
        name = names.get(id(one), f"parameter {index}")
        name = f"{name} ({index})" if name in taken else name
        taken.add(name)
        yield name, one


def _names_in_modules(torch: Any, wanted: set[int]) -> dict[int, str]:
    """Names from the module that holds most of them, then from that which holds most of the others."""
    kind, found = torch.nn.Module, {}
    candidates = []
    for one in gc.get_objects():
        if issubclass(type(one), kind):
            all_named = kind.named_parameters(one)
            held = {id(tensor): name for name, tensor in all_named if id(tensor) in wanted}
            if held:
                candidates.append((-len(held), -sum(1 for _ in one.modules()), type(one).__qualname__, held))
    candidates.sort(key=lambda one: one[:3])
    for number, (*_, name, held) in enumerate(candidates):
        new = {key: one for key, one in held.items() if key not in found}
        prefix = f"{name}." if number else ""
        found.update({key: f"{prefix}{one}" for key, one in new.items()})
    return found
