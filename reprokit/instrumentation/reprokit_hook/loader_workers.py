"""What each worker of a ``DataLoader`` draws from: two that draw the same numbers are no two workers.

Looked at after ``worker_init_fn``: the global generators, and those that the data set and its parts hold or
that the process has otherwise, of which every worker has a copy. Whether a worker has drawn from one is seen
at its end, by its state.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any

from . import digests, worker_generators
from .light_seeds import where


def watch(module: Any, light: Any) -> None:
    """Listen to workers of ``torch.utils.data.dataloader``, in the process of each of them."""
    kind = module._DatasetKind
    natural = kind.create_fetcher

    def create_fetcher(which: Any, data_set: Any, *more: Any) -> Any:
        info = sys.modules["torch.utils.data"].get_worker_info()
        if info is not None:
            try:
                _begin(light, info, data_set, more[1] if len(more) > 1 else None)
            except Exception as error:  # said in the record; the program must not fail by it
                light.torch["worker_problem"] = f"a worker's generators could not be read: {error!r}"
        return natural(which, data_set, *more)

    kind.create_fetcher = staticmethod(create_fetcher)


def _begin(light: Any, info: Any, data_set: Any, collate: Any) -> None:
    file, line, function, _ = where()
    held = worker_generators.found(_roots(data_set, collate))
    began = dict(_states(held))
    record: dict[str, Any] = {"worker": info.id, "of": info.num_workers, "iterator": info.seed - info.id}
    kind = type(data_set).__qualname__
    record.update({"file": file, "line": line, "function": function, "data_set": kind})
    light.torch["worker"] = record
    light.torch["generators"] = {name: {"began": one, "drawn": False} for name, one in began.items()}

    def ended() -> None:
        try:
            for name, one in _states(held):
                light.torch["generators"][name]["drawn"] = one != began[name]
        except Exception as error:  # as above
            light.torch["worker_problem"] = f"a worker's generators could not be read: {error!r}"

    light.at_end.append(ended)


def _roots(data_set: Any, collate: Any) -> dict[str, Any]:
    kinds, main = worker_generators.kinds(), vars(sys.modules["__main__"])
    of_main = {f"__main__.{name}": one for name, one in main.items() if issubclass(type(one), kinds)}
    return {type(data_set).__qualname__: data_set, "collate_fn": collate, **of_main}


def _states(held: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """A digest of the global generators, and of those that were found."""
    numpy, torch = sys.modules.get("numpy"), sys.modules["torch"]
    yield "Python's random", digests.of(repr(random.getstate()))
    if numpy is not None:
        yield "NumPy's global generator", digests.of(repr(numpy.random.mtrand._rand.get_state(legacy=False)))
    yield "PyTorch's default generator", digests.of(torch.default_generator.get_state())
    for name, one in held.items():
        yield name, worker_generators.state(one)
