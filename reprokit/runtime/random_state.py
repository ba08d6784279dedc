"""Captures and restores every random state of a training program, and the state of its environments.

    >>> before = capture(generators={"noise": generator})
    >>> restore(before, generators={"noise": generator})

The captured state holds tensors, numbers, text, lists and dicts only, so that a checkpoint of it loads
with ``torch.load(weights_only=True)``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from reprokit.errors import CannotRunError
from reprokit.runtime import devices

Generators = Mapping[str, np.random.Generator | torch.Generator]

_NUMBERS = "biuf"  # numpy's kinds: bool, int, unsigned, float
_ARRAY, _SCALAR, _TUPLE, _RANDOM = "__array__", "__scalar__", "__tuple__", "__random__"
# What a wrapper or environment holds that no step changes: inner environment, spaces, registry entry.
_NOT_STATE = frozenset({"env", "spec", "_cached_spec", "metadata", "_metadata", "unwrapped"})
_SPACES = frozenset({"action_space", "observation_space", "_action_space", "_observation_space"})


def capture(*, generators: Generators | None = None, environments: Sequence[Any] = ()) -> dict[str, Any]:
    """The states of all global generators, of the given ones, and of the environments.

    Args:
        generators: Name → generator of numpy or torch beside the global ones.
        environments: Gymnasium environments (not vectorised), in a fixed order.

    Raises:
        CannotRunError: An environment holds something that is no plain data.
    """
    state: dict[str, Any] = {
        "python": _pack(random.getstate(), where="random"),
        "numpy": _pack(np.random.get_state(legacy=False), where="numpy.random"),  # noqa: NPY002
        "torch": torch.get_rng_state(),
        "generators": {name: generator_state(one) for name, one in (generators or {}).items()},
        "environments": [environment_state(one) for one in environments],
    }
    return state | devices.generator_states()


def restore(
    state: Mapping[str, Any], *, generators: Generators | None = None, environments: Sequence[Any] = ()
) -> None:
    """Put back what ``capture`` took, into the same generators and environments.

    Raises:
        CannotRunError: The state lacks one of them, or has one more; named.
    """
    _same_names("generator", state["generators"], generators or {})
    _same_names("environment", range(len(state["environments"])), range(len(environments)))
    random.setstate(_unpack(state["python"]))
    np.random.set_state(_unpack(state["numpy"]))  # noqa: NPY002 - the global one is meant
    torch.set_rng_state(state["torch"])
    devices.restore_generators(state)
    for name, generator in (generators or {}).items():
        _set_generator(generator, state["generators"][name])
    for environment, saved in zip(environments, state["environments"], strict=True):
        restore_environment(environment, saved)


def environment_state(environment: Any) -> list[dict[str, Any]]:
    """What decides an environment's next step: the plain data of every wrapper and of the simulator.

    Raises:
        CannotRunError: One of them holds an object that is no plain data (a simulator's handle).
    """
    return [_layer_state(layer) for layer in _layers(environment)]


def restore_environment(environment: Any, state: Sequence[Mapping[str, Any]]) -> None:
    """Put an environment's state back.

    Raises:
        CannotRunError: The state is of another stack of wrappers.
    """
    layers = _layers(environment)
    names = [type(layer).__name__ for layer in layers]
    if names != [saved["type"] for saved in state]:
        expected = " of ".join(saved["type"] for saved in state)
        raise CannotRunError("the environment is another one", expected=expected, actual=" of ".join(names))
    for layer, saved in zip(layers, state, strict=True):
        for name, value in saved["attributes"].items():
            setattr(layer, name, _unpack(value))
        for name, value in saved["spaces"].items():
            vars(layer)[name]._np_random = _unpack(value)


def _layers(environment: Any) -> list[Any]:
    layers = [environment]
    while "env" in vars(layers[-1]):
        layers.append(layers[-1].env)
    return layers


def _layer_state(layer: Any) -> dict[str, Any]:
    where = type(layer).__name__
    attributes = {
        name: _pack(value, where=f"{where}.{name}")
        for name, value in vars(layer).items()
        if name not in _NOT_STATE and name not in _SPACES
    }
    spaces = {
        name: _pack(space._np_random, where=f"{where}.{name}")
        for name, space in vars(layer).items()
        if name in _SPACES and getattr(space, "_np_random", None) is not None
    }
    return {"type": where, "attributes": attributes, "spaces": spaces}


def _pack(value: Any, *, where: str) -> Any:
    """Plain data that ``weights_only`` loads: tuples, arrays and generators become tagged dicts."""
    if value is None or type(value) in (bool, int, float, str) or isinstance(value, torch.Tensor):
        return value
    if isinstance(value, list):
        return [_pack(item, where=where) for item in value]
    if isinstance(value, tuple):
        return {_TUPLE: [_pack(item, where=where) for item in value]}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _pack(item, where=f"{where}.{key}") for key, item in value.items()}
    return _pack_numpy(value, where=where)


def _pack_numpy(value: Any, *, where: str) -> dict[str, Any]:
    if isinstance(value, np.ndarray) and value.dtype.kind in _NUMBERS:
        return {_ARRAY: torch.from_numpy(np.array(value))}
    if isinstance(value, np.generic) and value.dtype.kind in _NUMBERS:
        return {_SCALAR: torch.from_numpy(np.array([value]))}
    if isinstance(value, np.random.Generator):
        return {_RANDOM: _pack(value.bit_generator.state, where=where)}
    raise CannotRunError(
        "its state cannot be saved as plain data",
        where=where,
        expected="numbers, text, arrays, generators, and lists and dicts of them",
        actual=type(value).__name__,
        fix="use an environment whose whole state is plain data, or do not resume",
    )


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpack(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    for tag, unpack in _TAGS.items():
        if tag in value:
            return unpack(value[tag])
    return {key: _unpack(item) for key, item in value.items()}


def _numpy_generator(state: Mapping[str, Any]) -> np.random.Generator:
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)


_TAGS: Mapping[str, Callable[[Any], Any]] = {
    _ARRAY: lambda tensor: tensor.numpy().copy(),
    _SCALAR: lambda tensor: tensor.numpy()[0],
    _TUPLE: lambda items: tuple(_unpack(items)),
    _RANDOM: lambda state: _numpy_generator(_unpack(state)),
}


def generator_state(generator: np.random.Generator | torch.Generator) -> Any:
    """Where a generator stands, as plain data."""
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    return _pack(generator.bit_generator.state, where="generator")


def _set_generator(generator: np.random.Generator | torch.Generator, state: Any) -> None:
    if isinstance(generator, torch.Generator):
        generator.set_state(state)
    else:
        generator.bit_generator.state = _unpack(state)


def _same_names(what: str, saved: Any, given: Any) -> None:
    lacking = [name for name in given if name not in saved]
    extra = [name for name in saved if name not in given]
    if lacking or extra:
        which, name = ("has no", lacking[0]) if lacking else ("has one more", extra[0])
        raise CannotRunError(f"the saved random state {which} {what} {name!r}")
