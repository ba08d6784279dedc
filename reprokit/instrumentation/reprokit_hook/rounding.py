"""A twin: a run that differs from another by nothing but rounding, or by a control that must be seen.

Twins multiply by ``1 + u ε``: ``u`` is even in [-1, 1] and comes from a generator of the twin's own, ``ε`` is
that of the value's own dtype, so that the precision of the program stays as it is. The kind ``updates`` does
so with parameters and gradients at every update, ``modules`` with gradients and with what modules that have
parameters put out in training; both begin with the initial parameters. The kind ``control`` rounds nothing
and multiplies the learning rate of every optimizer while it takes its step. The kind ``first`` changes
nothing and ends the program after its first update, which every kind records.

The order is one variable, such as ``updates:seed=3:start=0:rate=1:stop=20``. ``start`` is the number of
updates that are left as they are; after ``stop`` updates, where it is there, the program is ended.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

#: The variable of the order.
TWIN = "REPROKIT_TWIN"
#: The fact of the trace, before the name of the process.
FACT = "rounding "
UPDATES, MODULES, CONTROL, FIRST = "updates", "modules", "control", "first"
#: Never reached: nothing is changed.
NEVER = 10**9
#: Updates that a program may call without an optimizer.
_KERNELS = ("_fused_adam_", "_fused_adamw_", "_fused_sgd_", "_fused_adagrad_")


def watch(watch: Any, order: str) -> None:
    """Round in this process, as soon as it has imported a library that trains."""
    from . import imports, rounding_first, rounding_fits, rounding_jax, rounding_keras, rounding_sklearn

    kind, *parts = order.split(":")
    numbers = dict(part.split("=", 1) for part in parts)
    facts = watch.facts[FACT + watch.process] = {
        "kind": kind,
        "updates": 0,
        "fits": 0,
        "rounded": 0,
        "epsilon": 0.0,
    }
    first = rounding_first.FirstUpdate(facts, out=watch.out, process=watch.process)
    twin = _Twin(facts, kind=kind, numbers=numbers, first=first)
    imports.after("torch", twin.listen)
    seed, start, stop = int(numbers["seed"]), int(numbers["start"]), int(numbers.get("stop", 0))
    rate = float(numbers["rate"])
    fits = rounding_fits.Fits(facts, control=kind == CONTROL, seed=seed, start=start, rate=rate)
    for module in rounding_fits.MODULES:
        imports.after(module, fits.listen)
    control = rate if kind == CONTROL else None
    gradients = rounding_jax.Gradients(facts, kind=kind, seed=seed, start=start, rate=control)
    imports.after("jax", gradients.listen)
    imports.after("optax", gradients.listen_optax)
    keras = rounding_keras.KerasFits(facts, seed=seed, start=start, rate=control, stop=stop)
    imports.after("keras.src.models.model", keras.listen)
    estimators = rounding_sklearn.Estimators(facts, seed=seed, start=start, rate=control, stop=stop)
    imports.after(rounding_sklearn.OPTIMIZERS, estimators.listen_networks)
    imports.after(rounding_sklearn.LINEAR, estimators.listen_linear)


class _Twin:
    def __init__(self, facts: dict[str, Any], *, kind: str, numbers: dict[str, str], first: Any) -> None:
        self._facts, self._kind, self._first = facts, kind, first
        self._seed, self._start = int(numbers["seed"]), int(numbers["start"])
        self._rate = float(numbers["rate"])
        self._stop = int(numbers.get("stop", 0))
        self._begun: Any = weakref.WeakSet()
        self._in_step = 0
        self._learning_rates: dict[int, list[tuple[Any, Any]]] = {}

    def listen(self, torch: Any) -> None:
        """Follow every optimizer and every module."""
        self._torch = torch
        self._generator = torch.Generator()
        self._generator.manual_seed(self._seed)
        from torch.nn.modules import module as modules  # type: ignore[import-not-found, unused-ignore]
        from torch.optim import optimizer as optim  # type: ignore[import-not-found, unused-ignore]

        optim.register_optimizer_step_pre_hook(lambda one, *_: self._before(one))
        optim.register_optimizer_step_post_hook(lambda one, *_: self._after(one))
        for name in _KERNELS:
            natural = getattr(torch, name, None)
            if natural is not None:
                setattr(torch, name, self._kernel(natural))
        if self._kind != CONTROL:
            modules.register_module_forward_pre_hook(lambda one, _: self._begin(one))
        if self._kind == MODULES:
            modules.register_module_forward_hook(lambda one, _, out: self._put_out(one, out))

    @property
    def _works(self) -> bool:
        return bool(self._facts["updates"] >= self._start)

    def _kernel(self, natural: Callable[..., Any]) -> Callable[..., Any]:
        """An update by PyTorch's kernel alone, where no optimizer calls it."""
        first = self._first

        @functools.wraps(natural)
        def update(parameters: Any, gradients: Any, *others: Any, **options: Any) -> Any:
            if self._in_step:
                return natural(parameters, gradients, *others, **options)
            works = self._works
            self._look(parameters, first.before)
            if works and self._kind == CONTROL and options.get("lr"):
                options["lr"] = options["lr"] * self._rate
                self._facts["rounded"] += 1
            elif works and self._kind != CONTROL:
                self._round_all(gradients)
            made = natural(parameters, gradients, *others, **options)
            self._look(parameters, first.after)
            if works and self._kind == UPDATES:
                self._round_all(parameters)
            self._count()
            return made

        return update

    def _round_all(self, tensors: Iterable[Any]) -> None:
        for one in tensors:
            self._round(one)

    def _before(self, optimizer: Any) -> None:
        self._in_step += 1
        self._look(_parameters(optimizer), self._first.before)
        if not self._works:
            return
        if self._kind == CONTROL:
            changed = [(group, group["lr"]) for group in optimizer.param_groups if group.get("lr")]
            self._learning_rates[id(optimizer)] = changed
            for group, rate in changed:
                group["lr"] = rate * self._rate
            self._facts["rounded"] += len(changed)
            return
        self._round_all(one.grad for one in _parameters(optimizer) if one.grad is not None)

    def _after(self, optimizer: Any) -> None:
        self._in_step -= 1
        works = self._works
        self._look(_parameters(optimizer), self._first.after)
        for group, rate in self._learning_rates.pop(id(optimizer), ()):
            group["lr"] = rate
        if works and self._kind == UPDATES:
            self._round_all(_parameters(optimizer))
        self._count()

    def _count(self) -> None:
        """One update is over. Once, the program is ended as by itself, so that it closes its log."""
        self._facts["updates"] += 1
        is_over = self._stop and self._facts["updates"] >= self._stop
        if self._kind == FIRST:
            is_over = self._first.is_seen
        if is_over and not self._facts.get("ended"):
            self._facts["ended"] = True
            raise SystemExit(0)

    def _look(self, parameters: Iterable[Any], act: Callable[[Iterable[Any]], None]) -> None:
        """Let the first update be recorded; what cannot be read is not recorded, and the program goes on."""
        with suppress(Exception), self._torch.no_grad():
            act(one for one in parameters if self._is_rounded(one))

    def _begin(self, module: Any) -> None:
        """Before its first use: its initial parameters."""
        if self._start or module in self._begun:
            return
        self._begun.add(module)
        self._round_all(_own_parameters(module))

    def _put_out(self, module: Any, out: Any) -> Any:
        if not (module.training and self._works and any(True for _ in _own_parameters(module))):
            return None
        if isinstance(out, tuple) and type(out) is tuple:
            return tuple(map(self._rounded, out))
        return self._rounded(out)

    def _rounded(self, value: Any) -> Any:
        """The same with its gradient, rounded; what is no tensor of floating numbers as it is."""
        if not self._is_rounded(value):
            return value
        with self._torch.no_grad():
            before = value.detach()
            off = before.clone()
            self._round(off)
            off -= before
        return value + off

    def _round(self, tensor: Any) -> None:
        if not self._is_rounded(tensor):
            return
        torch = self._torch
        with torch.no_grad(), suppress(RuntimeError):  # a tensor that cannot be written in place
            epsilon = float(torch.finfo(tensor.dtype).eps)
            share = torch.rand(tensor.shape, generator=self._generator, dtype=torch.float64) * 2 - 1
            exact = tensor.detach().double() * (1 + share.to(tensor.device) * epsilon)
            tensor.copy_(exact.to(tensor.dtype))
            self._facts["rounded"] += 1
            self._facts["epsilon"] = max(self._facts["epsilon"], epsilon)

    def _is_rounded(self, value: Any) -> bool:
        torch = self._torch
        return (
            isinstance(value, torch.Tensor)
            and value.is_floating_point()
            and value.layout == torch.strided
            and not value.is_meta
        )


def _parameters(optimizer: Any) -> Iterator[Any]:
    for group in optimizer.param_groups:
        yield from group["params"]


def _own_parameters(module: Any) -> Iterator[Any]:
    return (one for one in module._parameters.values() if one is not None)
