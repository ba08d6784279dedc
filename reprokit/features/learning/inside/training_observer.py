"""Observes the first updates of a training from outside: rewards, states, actions, gradients, NaN.

Environments are wrapped where they are made, and every operation of torch is looked at as it ends;
the trainer is not told.

    >>> seen = Seen()
    >>> with environments_made_by(seen.watched), NanWatch(trainer=Path("ppo.py")) as nan:
    ...     train(config, run)
    >>> seen.to_json()[0]["rewards"]["distinct"]
    [1.0]
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from reprokit.runtime.first_updates import FirstUpdatesTrace

Wrap = Callable[[gymnasium.Env[Any, Any]], gymnasium.Env[Any, Any]]

_MOST_KEPT = 200_000  # observations of one environment
_MOST_DISTINCT = 20
_BINS = 10
_MOST_WAITED = 20  # records before the first that learns
# What hands out memory as it is; under deterministic algorithms it is filled with NaN.
_UNINITIALISED = ("aten.empty", "aten.new_empty", "aten.resize")


class ObservedEnvironments:
    """What the training environments gave and were given, by the environment's id."""

    def __init__(self) -> None:
        self.specs: dict[str, Any] = {}
        self._steps: dict[str, list[tuple[np.ndarray, Any, float, bool, bool]]] = {}

    def watched(self, environment: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
        """The environment, its steps written down; the wrapper holds nothing that a checkpoint would save."""
        name = environment.spec.id if environment.spec else type(environment.unwrapped).__name__
        self.specs.setdefault(name, environment.spec)
        steps = self._steps.setdefault(name, [])

        class Watched(gymnasium.Wrapper[Any, Any, Any, Any]):
            def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
                observation, reward, terminated, truncated, info = super().step(action)
                if len(steps) < _MOST_KEPT:
                    seen = np.array(observation, dtype=np.float64).ravel()
                    steps.append((seen, action, float(reward), bool(terminated), bool(truncated)))
                return observation, reward, terminated, truncated, info

        return Watched(environment)

    def to_json(self) -> list[dict[str, Any]]:
        """One entry an environment: ``id``, ``steps``, ``rewards``, ``episodes``, ``actions``, ``places``."""
        return [_summary(name, steps) for name, steps in self._steps.items() if steps]


@contextmanager
def environments_made_by(wrap: Wrap, *, evaluation: bool = False) -> Iterator[None]:
    """Wrap what ``gymnasium.make`` makes meanwhile; for an ``evaluation``, what ``make_vec`` makes too."""
    make, make_vec = gymnasium.make, gymnasium.make_vec

    def one(*words: Any, **named: Any) -> gymnasium.Env[Any, Any]:
        return wrap(make(*words, **named))

    def several(spec: Any, num_envs: int = 1, **_named: Any) -> Any:
        return gymnasium.vector.SyncVectorEnv([lambda: wrap(make(spec))] * num_envs)

    try:
        gymnasium.make = one
        if evaluation:
            gymnasium.make_vec = several  # type: ignore[assignment]
        yield
    finally:
        gymnasium.make, gymnasium.make_vec = make, make_vec


class NanWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A context that names the first operation that makes a NaN out of numbers, and the trainer's line."""

    def __init__(self, *, trainer: Path) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.trainer = trainer.resolve()
        self.first: dict[str, Any] | None = None
        self._kinds: dict[Any, str] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        kind = self._kinds.setdefault(func, "") or self._kind(func)
        if self.first is not None or kind == "nothing new":
            return func(*args, **kwargs)
        before = kind == "in place" and any(map(_has_nan, _floats((args, kwargs))))
        out = func(*args, **kwargs)
        if any(map(_has_nan, _floats(out))) and not before:
            already = kind != "in place" and any(map(_has_nan, _floats((args, kwargs))))
            if not already:
                node = torch._C._current_autograd_node()  # in a backward pass: whose gradient this is
                of = {"backward": node.name()} if node is not None else {}
                self.first = {"operation": str(func).removesuffix(".default"), **of, **self._place()}
        return out

    def _kind(self, func: Any) -> str:
        """Whether an operation makes values, changes them, or only shows what is there in another shape."""
        returned = [one.alias_info for one in func._schema.returns if one.alias_info is not None]
        written = any(one.is_write for one in returned)
        unfilled = str(func).startswith(_UNINITIALISED)
        kind = "in place" if written else "nothing new" if returned or unfilled else "plain"
        self._kinds[func] = kind
        return kind

    def _place(self) -> dict[str, Any]:
        frame = sys._getframe()  # the only way to the caller's line without a traceback
        inner: Any = frame
        while inner is not None and Path(inner.f_code.co_filename).resolve() != self.trainer:
            inner = inner.f_back
        if inner is None:
            return {"file": None, "line": None, "function": None}
        return {"file": self.trainer.name, "line": inner.f_lineno, "function": inner.f_code.co_name}


class WatchedTrace(FirstUpdatesTrace):
    """A trace that also remembers how long each parameter's gradient was, and where it was not a number.

    Records from before anything is learned (a replay buffer that fills up) are waited for, not counted.
    """

    def __init__(self, path: Path, *, max_updates: int) -> None:
        super().__init__(path, max_updates=max_updates)
        self.norms: dict[str, list[float]] = {}
        self.spoilt: dict[str, Any] | None = None
        self.last_step = 0
        self._learning = 0

    @property
    def full(self) -> bool:
        """Whether enough updates were seen that learned something, or too many that did not."""
        return self._learning >= self.max_updates or self.updates >= self.max_updates + _MOST_WAITED

    def update(self, *, step: int, **state: Any) -> None:
        super().update(step=step, **state)
        norms = {name: float(one.detach().norm()) for name, one in (state.get("gradients") or {}).items()}
        for name, norm in norms.items():
            self.norms.setdefault(name, []).append(norm)
        self._learning += any(norm != 0 for norm in norms.values())
        for name, parameter in state["parameters"].items():
            if self.spoilt is None and _has_nan(parameter.detach()):
                self.spoilt = {"parameter": name, "step": step}
        self.last_step = step


def _summary(name: str, steps: Sequence[tuple[np.ndarray, Any, float, bool, bool]]) -> dict[str, Any]:
    rewards = np.array([reward for _, _, reward, _, _ in steps])
    ends = np.array([terminated for *_, terminated, _ in steps])
    cut = np.array([truncated for *_, truncated in steps])
    distinct = np.unique(rewards)
    actions = Counter(int(action) for _, action, *_ in steps if np.ndim(action) == 0)
    return {
        "id": name,
        "steps": len(steps),
        "rewards": {
            "min": float(rewards.min()),
            "max": float(rewards.max()),
            "mean": float(rewards.mean()),
            "share_zero": float((rewards == 0).mean()),
            "distinct": distinct[:_MOST_DISTINCT].tolist(),
            "num_distinct": len(distinct),
            "mean_at_termination": float(rewards[ends].mean()) if ends.any() else None,
        },
        "episodes": {"terminated": int(ends.sum()), "truncated": int((cut & ~ends).sum())},
        "actions": {str(action): actions[action] / len(steps) for action in sorted(actions)},
        "places": _places(np.stack([seen for seen, *_ in steps])),
    }


def _places(observations: np.ndarray) -> dict[str, Any]:
    """Visited cells of a grid of ten bins a dimension; float64 [steps, length of an observation]."""
    finite = observations[np.isfinite(observations).all(axis=1)]
    if not len(finite):
        return {"not_finite": len(observations), "cells": 0, "share_of_most_visited": 1.0, "ranges": []}
    low, high = finite.min(axis=0), finite.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    cells = np.minimum(((finite - low) / width * _BINS).astype(np.int64), _BINS - 1)
    _, counts = np.unique(cells, axis=0, return_counts=True)
    return {
        "not_finite": int(len(observations) - len(finite)),
        "cells": len(counts),
        "share_of_most_visited": float(counts.max() / len(finite)),
        "ranges": [[float(a), float(b)] for a, b in zip(low, high, strict=True)],
    }


def _floats(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        if value.is_floating_point():
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _floats(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _floats(item)


def _has_nan(tensor: torch.Tensor) -> bool:
    """Whether there is one; a sum that is a number says that there is none, and costs less to take."""
    return math.isnan(tensor.sum()) and bool(torch.isnan(tensor).any())
