"""Checks that one step of a training program repeats, by doing it twice.

    >>> verify_determinism(lambda: training_step(model, adam, batch), model=model, optimizer=adam)
    StepComparison(differences=())

It is for a project's own tests; no verb calls it. Both steps start from the same parameters, moments
and random states, and run in one process: a step that repeats here can still differ between processes
(hash order, clock, file order).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from reprokit.core.records import named_leaves
from reprokit.errors import CannotRunError
from reprokit.runtime import random_state
from reprokit.runtime.checkpoint import Stateful
from reprokit.runtime.random_state import Generators
from reprokit.runtime.trace import digest, random_digests


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDifference:
    """One thing that came out differently.

    Attributes:
        what: ``output``, ``gradient``, ``parameter``, ``buffer``, ``optimizer`` or ``random``.
        name: Which: a parameter's name, a path in the output, a generator.
        elements: How many elements differ, or None for what has none.
        max_abs_error: The largest difference, or None for what is no number.
    """

    what: str
    name: str
    elements: int | None = None
    max_abs_error: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepComparison:
    """What came of doing a step twice; ``differences`` are in execution order: output first."""

    differences: tuple[StepDifference, ...] = field(default_factory=tuple)

    @property
    def repeats(self) -> bool:
        return not self.differences


def verify_determinism(
    step: Callable[[], Any],
    *,
    model: torch.nn.Module,
    optimizer: Stateful | None = None,
    generators: Generators | None = None,
    environments: Sequence[Any] = (),
) -> StepComparison:
    """Do a step twice from the same state, and compare everything that it leaves behind.

    Args:
        step: Takes nothing; what it returns (tensors, numbers, lists and dicts of them) is compared.
        model: What it trains. Put back to where it was before this function returns.
        optimizer: What it trains with, likewise.
        generators: Name → generator that it draws from, next to the global ones.
        environments: Environments that it steps.

    Returns:
        The differences, none when the step repeats.

    Raises:
        CannotRunError: The two steps returned different kinds of things.
    """
    subject = _Subject(
        model=model, optimizer=optimizer, generators=generators or {}, environments=tuple(environments)
    )
    start = subject.take()
    found = []
    for _ in range(2):
        found.append(subject.aftermath(step()))
        subject.put_back(start)
    return StepComparison(differences=tuple(_differences(*found)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    model: torch.nn.Module
    optimizer: Stateful | None
    generators: Generators
    environments: tuple[Any, ...]

    def take(self) -> dict[str, Any]:
        gradients = {name: one.grad for name, one in self.model.named_parameters()}
        state = {
            "model": self.model.state_dict(),
            "gradients": {name: None if one is None else one.detach() for name, one in gradients.items()},
            "optimizer": None if self.optimizer is None else self.optimizer.state_dict(),
            "random": random_state.capture(generators=self.generators, environments=self.environments),
        }
        return copy.deepcopy(state)

    def put_back(self, start: dict[str, Any]) -> None:
        state = copy.deepcopy(start)
        self.model.load_state_dict(state["model"])
        for name, parameter in self.model.named_parameters():
            saved = state["gradients"][name]
            if saved is None or parameter.grad is None:
                parameter.grad = saved
            else:
                parameter.grad.copy_(saved)  # in place: gradients may be views of one flat vector
        if self.optimizer is not None:
            self.optimizer.load_state_dict(state["optimizer"])
        random_state.restore(state["random"], generators=self.generators, environments=self.environments)

    def aftermath(self, output: Any) -> dict[tuple[str, str], Any]:
        """What a step returned and left behind: (what, name) → value, in execution order."""
        left: dict[tuple[str, str], Any] = {("output", path): value for path, value in _leaves(output)}
        parameters = list(self.model.named_parameters())
        gradients = [(name, one.grad) for name, one in parameters if one.grad is not None]
        left |= {("gradient", name): one.detach().clone() for name, one in gradients}
        left |= {("parameter", name): one.detach().clone() for name, one in parameters}
        left |= {("buffer", name): one.detach().clone() for name, one in self.model.named_buffers()}
        if self.optimizer is not None:
            left |= {("optimizer", path): value for path, value in _leaves(self.optimizer.state_dict())}
        states = random_digests(generators=self.generators, environments=self.environments)
        return left | {("random", name): value for name, value in states.items()}


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    for name, one in named_leaves(value):
        yield name or "output", one.detach().clone() if isinstance(one, torch.Tensor) else one


def _differences(
    first: Mapping[tuple[str, str], Any], second: Mapping[tuple[str, str], Any]
) -> Iterator[StepDifference]:
    if list(first) != list(second):
        odd = sorted(set(first) ^ set(second))
        names = ", ".join(f"{what} {name}" for what, name in odd) or "another order"
        raise CannotRunError("the two steps returned or changed different things", actual=names)
    for (what, name), expected in first.items():
        actual = second[what, name]
        if digest(expected) != digest(actual):
            elements, error = _how_far(expected, actual)
            yield StepDifference(what=what, name=name, elements=elements, max_abs_error=error)


def _how_far(expected: Any, actual: Any) -> tuple[int | None, float | None]:
    """How many elements differ, and by how much at most; None for what is no number."""
    numbers = [_as_array(value) for value in (expected, actual)]
    if any(number is None for number in numbers):
        return None, None
    one, other = numbers
    if one.shape != other.shape:
        return None, None
    differs = one.view(np.uint64) != other.view(np.uint64)
    return int(np.count_nonzero(differs)), float(np.abs(one - other).max(initial=0.0))


def _as_array(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return np.atleast_1d(value.detach().to("cpu", torch.float64).numpy())
    is_number = isinstance(value, bool | int | float | np.ndarray | np.number)
    return np.atleast_1d(np.array(value, dtype=np.float64)) if is_number else None
