"""What each worker of a ``DataLoader`` draws from: two that draw the same numbers are no two workers.

Looked at after ``worker_init_fn``: the global generators, and those that the data set itself holds, which
every worker has a copy of. Whether a worker has drawn from one is seen at its end, by its state.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any

from . import digests
from .light_seeds import where

_DEEPEST = 4


def watch(module: Any, light: Any) -> None:
    """Listen to workers of ``torch.utils.data.dataloader``, in the process of each of them."""
    kind = module._DatasetKind
    natural = kind.create_fetcher

    def create_fetcher(which: Any, data_set: Any, *more: Any) -> Any:
        info = sys.modules["torch.utils.data"].get_worker_info()
        if info is not None:
            try:
                _begin(light, info, data_set)
            except Exception as error:  # said in the record; the program must not fail by it
                light.torch["ledger_problem"] = f"a worker's generators could not be read: {error!r}"
        return natural(which, data_set, *more)

    kind.create_fetcher = staticmethod(create_fetcher)


def _begin(light: Any, info: Any, data_set: Any) -> None:
    file, line, function, _ = where()
    began = dict(_states(data_set))
    record: dict[str, Any] = {"worker": info.id, "of": info.num_workers, "iterator": info.seed - info.id}
    record |= {"file": file, "line": line, "function": function, "data_set": type(data_set).__qualname__}
    light.torch["worker"] = record
    light.torch["generators"] = {name: {"began": one, "drawn": False} for name, one in began.items()}

    def ended() -> None:
        for name, one in _states(data_set):
            if name in began:
                light.torch["generators"][name]["drawn"] = one != began[name]

    light.at_end.append(ended)


def _states(data_set: Any) -> Iterator[tuple[str, str]]:
    """A digest of every generator that a worker can draw from by what it has."""
    numpy, torch = sys.modules.get("numpy"), sys.modules["torch"]
    yield "Python's random", digests.of(repr(random.getstate()))
    if numpy is not None:
        yield "NumPy's global generator", digests.of(repr(numpy.random.mtrand._rand.get_state(legacy=False)))
    yield "PyTorch's default generator", digests.of(torch.default_generator.get_state())
    deep, path = 0, type(data_set).__qualname__
    while data_set is not None and deep < _DEEPEST:
        for name, one in vars(data_set).items():
            state = _state(one, numpy, torch)
            if state is not None:
                yield f"{path}.{name}", digests.of(state)
        data_set, deep, path = vars(data_set).get("dataset"), deep + 1, f"{path}.dataset"


def _state(one: Any, numpy: Any, torch: Any) -> Any:
    if isinstance(one, random.Random):
        return repr(one.getstate())
    if isinstance(one, torch._C.Generator):
        return one.get_state()
    if numpy is not None and isinstance(one, numpy.random.Generator):
        return repr(one.bit_generator.state)
    if numpy is not None and isinstance(one, numpy.random.RandomState):
        return repr(one.get_state(legacy=False))
    return None
