"""Checkpoints of older layouts, migrated to the current one.

Layout 0, without ``schema``, is the one that tutorials teach (``model_state_dict``, ``optimizer_state_dict``,
``epoch`` and ``*_rng_state``); 1 is the current one. What an older layout did not keep is not made up:
``problems_of`` names it afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reprokit.checkpoints.tensors import Tensor
from reprokit.errors import CheckpointError

CURRENT = 1

_PARTS = {
    "model_state_dict": "model",
    "optimizer_state_dict": "optimizer",
    "scheduler_state_dict": "scheduler",
}
_RANDOM = {"python_rng_state": "python", "numpy_rng_state": "numpy", "torch_rng_state": "torch"}
_CUDA, _EPOCH = "cuda_rng_state", "epoch"
_STEPS = ("step", "global_step", "timesteps", _EPOCH)
_GENERATOR = ("bit_generator", "key", "pos", "has_gauss", "gauss")  # numpy.random.get_state()'s tuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """A checkpoint in the current layout."""

    state: dict[Any, Any]  # the checkpoint
    changes: tuple[str, ...] = ()  # what was moved where, a sentence each; empty where nothing was


def migrated(state: Mapping[Any, Any]) -> Migrated:
    """Migrate a checkpoint to the current layout; a plain dict of parameters stays as it is.

    Raises:
        CheckpointError: Its layout is unknown, or NumPy's random state is malformed.
    """
    schema = state.get("schema")
    if schema is None and "model_state_dict" in state:
        return _from_0(state)
    if schema is None or (type(schema) is int and schema == CURRENT):
        return Migrated(state=dict(state))
    raise CheckpointError(
        "the checkpoint has an unknown layout",
        expected=f"schema {CURRENT} or older",
        actual=f"{schema!r:.40}",
        fix="convert it with the version of reprokit that wrote it",
    )


def _from_0(old: Mapping[Any, Any]) -> Migrated:
    taken = {*_PARTS, *_RANDOM, _CUDA}
    counted = next((name for name in _STEPS if type(old.get(name)) is int), None)
    moves = [(name, part) for name, part in _PARTS.items() if name in old]
    moves += [(name, f"random.{one}") for name, one in _RANDOM.items() if name in old]
    moves += [(counted, "step")] if counted else []
    random: dict[str, Any] = {
        "python": _tagged(old.get("python_rng_state")),
        "numpy": _numpy_generator(old.get("numpy_rng_state")),
        "torch": old.get("torch_rng_state"),
        "generators": {},
    }
    if old.get(_CUDA) is not None:
        random["cuda"] = old[_CUDA]
        moves.append((_CUDA, "random.cuda"))
    state: dict[Any, Any] = {"schema": CURRENT}
    if counted:
        state["step"] = old[counted]
    state |= {part: old.get(name) for name, part in _PARTS.items()}
    state["random"] = random
    state["extra"] = {name: value for name, value in old.items() if name not in taken}
    moves += [(str(name), f"extra.{name}") for name in state["extra"] if name != counted]
    return Migrated(state=state, changes=tuple(f"layout 0 → 1: {name} is {part}" for name, part in moves))


def _tagged(value: Any) -> Any:
    """Tuples and arrays tagged as ``runtime.random_state`` tags them."""
    if isinstance(value, tuple):
        return {"__tuple__": [_tagged(item) for item in value]}
    return {"__array__": value} if isinstance(value, Tensor) else value


def _numpy_generator(old: Any) -> Any:
    """The tuple that ``numpy.random.get_state()`` gives, as its dict."""
    if old is None:
        return None
    if isinstance(old, Mapping):
        return dict(old)
    if not isinstance(old, tuple | list) or len(old) != len(_GENERATOR):
        raise CheckpointError("NumPy's random state is malformed", actual=f"{old!r:.40}")
    name, key, position, has_gauss, gauss = old
    return {
        "bit_generator": name,
        "state": {"key": _tagged(key), "pos": position},
        "has_gauss": has_gauss,
        "gauss": gauss,
    }
