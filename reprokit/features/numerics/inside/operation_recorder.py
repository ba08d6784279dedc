"""Records which operations a training calls, with some of their inputs.

It listens in two places: PyTorch's dispatcher, which every operation on a tensor passes (backward pass and
optimizer included), and the functions of numpy's namespace.

    $ python -m reprokit.features.numerics.inside.operation_recorder --output calls.pt -- \
          --run-dir out --config config.yaml --seed 42 --max-updates 1 -- trainers/ppo.py

It does not see operators and methods of numpy arrays (``a @ b``, ``a.mean()``), numpy functions
that a module imported by name, or what a compiled extension computes by itself.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from reprokit.features.numerics.inside import recorded_calls
from reprokit.features.numerics.inside.recorded_calls import NotRecordableError
from reprokit.runtime import launch

VERSION = 1

_MOST_BYTES = 192 << 20
_MOST_CALLS_A_SIGNATURE = 3

_NUMPY_FUNCTIONS = (
    "convolve",
    "cumsum",
    "dot",
    "einsum",
    "inner",
    "interp",
    "mean",
    "median",
    "outer",
    "percentile",
    "prod",
    "std",
    "sum",
    "tensordot",
    "var",
    "vdot",
)
_NUMPY_LINALG = ("cholesky", "eig", "eigh", "inv", "lstsq", "norm", "pinv", "qr", "solve", "svd")


class CallRecorder:
    """Calls seen so far: every one counted, a few of each signature kept with their inputs."""

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.kept: list[dict[str, Any]] = []
        self._seen: collections.Counter[Any] = collections.Counter()
        self._bytes = 0

    def hear(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, computes: bool = True
    ) -> None:
        """Count a call; keep the 1st, 2nd and 4th of its signature, unless it computes nothing (a view)."""
        self.counts[name] += 1
        if not computes:
            return
        key = (name, recorded_calls.signature((tuple(args), kwargs)))
        self._seen[key] += 1
        count = self._seen[key]
        size = recorded_calls.num_bytes((tuple(args), kwargs))
        if count & (count - 1) or count >> _MOST_CALLS_A_SIGNATURE or self._bytes + size > _MOST_BYTES:
            return
        with contextlib.suppress(NotRecordableError):
            call = {"name": name, "args": recorded_calls.encode(tuple(args))}
            self.kept.append({**call, "kwargs": recorded_calls.encode(kwargs)})
            self._bytes += size

    def as_data(self) -> dict[str, Any]:
        mode = torch.get_deterministic_debug_mode()
        return {"version": VERSION, "deterministic": mode, "calls": self.kept, "counts": dict(self.counts)}


class _Listening(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch does not say
    def __init__(self, calls: CallRecorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._calls = calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._calls.hear(str(func), args, kwargs or {}, computes=not func.is_view)
        return func(*args, **(kwargs or {}))


class _Heard:
    """A function of numpy that records its calls, and is otherwise the function itself."""

    def __init__(self, name: str, function: Callable[..., Any], calls: CallRecorder) -> None:
        self._name, self._function, self._calls = name, function, calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._calls.hear(self._name, args, kwargs)
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


@contextlib.contextmanager
def listening() -> Iterator[CallRecorder]:
    """Inside, every operation that this module can see is recorded."""
    calls = CallRecorder()
    ufuncs = [name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)]
    places = [(np, "numpy.", name) for name in (*ufuncs, *_NUMPY_FUNCTIONS)]
    places += [(np.linalg, "numpy.linalg.", name) for name in _NUMPY_LINALG]
    originals = [(module, name, getattr(module, name)) for module, _, name in places]
    try:
        for (module, prefix, name), (_, _, function) in zip(places, originals, strict=True):
            setattr(module, name, _Heard(prefix + name, function, calls))
        with _Listening(calls):
            yield calls
    finally:
        for module, name, function in originals:
            setattr(module, name, function)


def main(arguments: Sequence[str]) -> int:
    """Run ``launch`` with the rest of the command line, and write what was called."""
    parser = argparse.ArgumentParser(prog="python -m reprokit.features.numerics.inside.operation_recorder")
    parser.add_argument("--output", type=Path, required=True, help="file for the calls")
    at = [*arguments, "--"].index("--")
    options = parser.parse_args(arguments[:at])
    with listening() as calls:
        code = launch.main(arguments[at + 1 :])
    recorded_calls.save(options.output, calls.as_data())
    counts = json.dumps(dict(calls.counts.most_common()), indent=1) + "\n"
    options.output.with_suffix(".json").write_text(counts, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
