"""Every update of PyTorch's parameters: digests of what went in and what came out.

An update is a step of any ``torch.optim`` optimizer, or a call of one of the fused kernels behind them.
Digested, only where ``TrainingProgress`` says so: the inputs of modules while gradients are on, batches of
loaders, gradients, the optimizer's state and settings, parameters, and the state of every random generator.
"""

from __future__ import annotations

import functools
from time import perf_counter
from typing import Any

from . import digests
from .frames import own_caller
from .progress import TrainingProgress
from .watch import Watch

_FUSED = ("_fused_adam_", "_fused_adamw_", "_fused_sgd_", "_fused_adagrad_")


def watch_learning(torch: Any, watch: Watch, progress: TrainingProgress) -> None:
    """Listen to optimizers and fused kernels, and to modules where the next update is due."""
    from torch.optim import optimizer as optim  # type: ignore[import-not-found, unused-ignore]

    progress.generators.began(torch)
    updates = _Updates(torch, watch, progress)
    optim.register_optimizer_step_pre_hook(
        lambda one, args, options: updates.begin(*_of_optimizer(one), closed=not _closure(args, options))
    )
    optim.register_optimizer_step_post_hook(lambda one, *_: updates.end(_parameters(one)))
    for name in _FUSED:
        if hasattr(torch, name):
            setattr(torch, name, updates.around(getattr(torch, name)))
    progress.changed.append(updates.listen)
    updates.listen()


class _Updates:
    def __init__(self, torch: Any, watch: Watch, progress: TrainingProgress) -> None:
        self._torch, self._watch, self._progress = torch, watch, progress
        self._inside = 0
        self._given: dict[str, str] = {}
        self._handles: list[Any] = []
        self._deep = 0
        self._seen = digests.new()
        self._spent = 0.0

    def begin(self, gradients: Any, optimizer: Any, parameters: Any, *, closed: bool = True) -> None:
        """What goes into an update; ``closed`` where nothing else does."""
        self._inside += 1
        if self._inside > 1 or not self._progress.due:
            return
        began = perf_counter()
        self._given = {"gradients": digests.of(gradients), "optimizer": digests.of(optimizer)}
        if self._progress.mode == "deep" and closed:
            self._given["before"] = digests.of(parameters, self._progress.generators.states())
        self._spent += perf_counter() - began

    def end(self, parameters: Any) -> None:
        self._inside -= 1
        if self._inside:
            return
        began, streams = perf_counter(), {}
        if self._given:
            batch = {} if self._progress.fine else {"batch": self._seen.hexdigest()}
            before = self._given.pop("before", "")
            streams = {**batch, **self._given, "parameters": digests.of(parameters)}
            if before:
                given = digests.of(before, *self._given.values())
                made = streams["parameters"]
                self._watch.note_operation("the optimizer's step", own_caller(), given=given, made=made)
            states = self._progress.generators.states()
            streams.update({f"state of {name}": one for name, one in states.items()})
            self._given, self._seen = {}, digests.new()
        spent, self._spent = self._spent + perf_counter() - began, 0.0
        self._progress.updated(streams, spent=spent)

    def around(self, natural: Any) -> Any:
        """A fused kernel as an update, where no optimizer calls it."""

        @functools.wraps(natural)
        def update(params: Any, grads: Any, *states: Any, **settings: Any) -> Any:
            if self._inside:
                return natural(params, grads, *states, **settings)
            self.begin(grads, (states, settings), params)
            try:
                return natural(params, grads, *states, **settings)
            finally:
                self.end(params)

        return update

    def listen(self) -> None:
        """Look at what modules are given for as long as the next update is due."""
        modules = self._torch.nn.modules.module
        if self._progress.due and not self._handles:
            self._deep, self._seen = 0, digests.new()
            self._handles = [
                modules.register_module_forward_pre_hook(self._enter),
                modules.register_module_forward_hook(self._leave, always_call=True),
            ]
        elif not self._progress.due:
            for handle in self._handles:
                handle.remove()
            self._handles = []

    def _enter(self, module: Any, given: Any) -> None:
        self._deep += 1
        if self._deep > 1 or not self._torch.is_grad_enabled():
            return
        began = perf_counter()
        if self._progress.fine:
            digest = digests.of(given)
            self._progress.tell("batch", {"batch": digest})
            if self._progress.mode == "deep":
                name = f"what {type(module).__name__} is given"
                self._watch.note_operation(name, own_caller(), given="", made=digest)
        else:
            digests.feed(self._seen, given)
        self._spent += perf_counter() - began

    def _leave(self, *_: Any) -> None:
        self._deep = max(0, self._deep - 1)


def _of_optimizer(optimizer: Any) -> tuple[Any, Any, Any]:
    parameters = _parameters(optimizer)
    groups = optimizer.param_groups
    settings = [{name: one for name, one in group.items() if name != "params"} for group in groups]
    states = [optimizer.state.get(parameter, {}) for parameter in parameters]
    return [parameter.grad for parameter in parameters], (settings, states), parameters


def _closure(args: Any, options: Any) -> bool:
    """Whether a step computes gradients of its own, from a batch that the optimizer is not given."""
    return any(one is not None for one in (*args[1:], options.get("closure")))


def _parameters(optimizer: Any) -> list[Any]:
    return [one for group in optimizer.param_groups for one in group["params"]]


def watch_loaders(module: Any, progress: TrainingProgress) -> None:
    """What every ``DataLoader`` hands out; and whether an epoch held the same samples, in whatever order."""
    kind = module._BaseDataLoaderIter
    natural = kind.__next__

    def handed(self: Any) -> Any:
        sums: list[int] = vars(self).setdefault("_reprokit_samples", [])
        try:
            batch = natural(self)
        except StopIteration:
            if sums:
                progress.tell("epoch", {"samples": f"{sum(sums) % 2**96:x}"})
                sums.clear()
            raise
        if (progress.due and progress.fine) or sums:
            sums.append(_samples(batch))
        if progress.due and progress.fine:
            progress.tell("loader", {"batch of the loader": digests.of(batch)})
        return batch

    kind.__next__ = handed


def _samples(batch: Any) -> int:
    """The sum of the digests of a batch's samples: another order gives the same one."""
    parts = list(batch) if isinstance(batch, (list, tuple)) else [batch]
    columns = list(batch.values()) if isinstance(batch, dict) else parts
    try:
        rows = list(zip(*columns))
    except TypeError:  # no rows: a batch of the program's own making
        rows = [(batch,)]
    return sum(int(digests.of(*row), 16) for row in rows)
