"""Runs recorded operations again, one by one, and compares the results with those of another CPU.

An operation that gets the same inputs and gives other bits is a cause by itself: nothing before it can be.
Operations that do not repeat here, return uninitialised memory (``empty``), or cannot be run outside their
training are not judged.

    $ python -m reprokit.features.numerics.inside.operation_replay calls.pt --write answers.pt   # natively
    $ qemu-x86_64 -cpu EPYC python -m reprokit.features.numerics.inside.operation_replay calls.pt \
          --against answers.pt --output differing.json

Besides its recorded inputs, a function of one tensor is also run on 16,384 fixed numbers:
a few results of a small network may happen to agree.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprokit.features.numerics.inside import recorded_calls
from reprokit.probes.fixed_inputs import float32s, float64s

_MANY = 16_384
_WIDE = {torch.float32: float32s, torch.float64: float64s}
_FAILURES = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)

Answer = list[torch.Tensor] | None


def answers(data: dict[str, Any]) -> list[Answer]:
    """The result of each recorded call and of each generated one; None for what cannot be judged."""
    torch.set_deterministic_debug_mode(data["deterministic"])
    return [_twice(call) for call in variants(data["calls"])]


def compared_with(data: dict[str, Any], expected: Sequence[Answer]) -> list[dict[str, Any]]:
    """Operations that differ from the ``answers`` of another CPU, those on inputs of the training first.

    Returns:
        One entry an operation: ``operation``, ``calls``, ``inputs`` (``recorded`` or ``generated``),
        ``differing`` and ``elements`` (of the call that shows it most), ``shape``, ``dtype``.
    """
    torch.set_deterministic_debug_mode(data["deterministic"])
    found: dict[str, dict[str, Any]] = {}
    for call, theirs in zip(variants(data["calls"]), expected, strict=True):
        ours = None if theirs is None else _once(call)
        if theirs is None or ours is None:  # not to be judged, there or here
            continue
        differing, elements = recorded_calls.differing(theirs, ours)
        if differing:
            name = call["name"]
            entry = {"operation": name, "calls": data["counts"].get(name, 0), "inputs": call["inputs"]}
            entry |= {"differing": differing, "elements": elements, **_first_tensor(call)}
            found[name] = max(found.get(name, entry), entry, key=_weight)
    return sorted(found.values(), key=_weight, reverse=True)


def variants(calls: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every recorded call, and after it the same operation on many fixed numbers where that makes sense."""
    generated: set[tuple[str, str]] = set()
    for call in calls:
        yield {**call, "inputs": "recorded"}
        wide = _widened(call)
        if wide is not None and (key := (call["name"], str(wide[1]))) not in generated:
            generated.add(key)
            yield {**call, "args": wide[0], "inputs": "generated"}


def _widened(call: dict[str, Any]) -> tuple[Any, torch.dtype] | None:
    """The arguments with the first, the only one of tensors, replaced by many numbers of its kind."""
    args = call["args"]["tuple"]
    if not args or not isinstance(args[0], dict) or not {"tensor", "array", "list"} & set(args[0]):
        return None
    tensors = list(recorded_calls.leaves(recorded_calls.decode(args[0])))
    others = recorded_calls.decode({"list": args[1:]}), recorded_calls.decode(call["kwargs"])
    if not tensors or recorded_calls.num_bytes(others) or tensors[0].dtype not in _WIDE:
        return None
    positive = all(bool((tensor >= 0).all()) for tensor in tensors)
    numbers = torch.from_numpy(_WIDE[tensors[0].dtype](_MANY, stream=80))
    numbers = numbers.abs() if positive else numbers
    (kind,) = args[0]
    wide = {kind: numbers if kind in {"tensor", "array"} else [{"tensor": numbers}]}
    return {"tuple": [wide, *args[1:]]}, tensors[0].dtype


def _twice(call: dict[str, Any]) -> Answer:
    if "empty" in call["name"] or "resize" in call["name"]:
        return None
    first, second = _once(call), _once(call)
    if first is None or second is None or recorded_calls.differing(first, second)[0]:
        return None
    return first


def _once(call: dict[str, Any]) -> Answer:
    """Everything that a call returns, or writes into what it was given; None where it cannot be made."""
    function = _function(call["name"])
    args, kwargs = recorded_calls.decode(call["args"]), recorded_calls.decode(call["kwargs"])
    torch.manual_seed(0)
    try:
        with torch.no_grad(), np.errstate(all="ignore"):
            result = function(*args, **kwargs)
    except _FAILURES:
        return None
    schema = getattr(function, "_schema", None)
    given = [args, kwargs] if schema is not None and schema.is_mutable else []
    returned = list(recorded_calls.leaves(result))
    places = {tensor.data_ptr() for tensor in returned}
    written = [tensor for tensor in recorded_calls.leaves(given) if tensor.data_ptr() not in places]
    return [tensor.clone() for tensor in (*returned, *written)]


def _function(name: str) -> Callable[..., Any]:
    """``aten.sqrt.default`` → torch's, ``numpy.linalg.norm`` → numpy's."""
    library, _, rest = name.partition(".")
    root: Any = np if library == "numpy" else getattr(torch.ops, library)
    function: Callable[..., Any] = functools.reduce(getattr, rest.split("."), root)
    return function


def _weight(entry: dict[str, Any]) -> tuple[bool, float]:
    return entry["inputs"] == "recorded", entry["differing"] / entry["elements"]


def _first_tensor(call: dict[str, Any]) -> dict[str, Any]:
    tensor = next(recorded_calls.leaves(recorded_calls.decode(call["args"])), None)
    if tensor is None:
        return {"shape": [], "dtype": ""}
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}


def main(arguments: Sequence[str]) -> int:
    """Write the answers of this CPU, or compare them with another's."""
    parser = argparse.ArgumentParser(prog="python -m reprokit.features.numerics.inside.operation_replay")
    parser.add_argument("calls", type=Path, help="calls written by operation_recorder")
    parser.add_argument("--write", type=Path, help="write the answers of this CPU")
    parser.add_argument("--against", type=Path, help="answers of another CPU")
    parser.add_argument("--output", type=Path, help="where to say what differs")
    options = parser.parse_args(arguments)
    data = recorded_calls.load(options.calls)
    if options.write:
        recorded_calls.save(options.write, answers(data))
    if options.against:
        found = {"differing": compared_with(data, recorded_calls.load(options.against))}
        options.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
