"""What each environment of a vector draws from: two that began with one state are played twice.

Looked at after a vector was reset: the generator that Gymnasium has made for each environment. Whether one
has drawn from it is seen by its state at the end of the process. An ``AsyncVectorEnv`` has a process for each
environment, which says of the last generator made there what it began with.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from . import digests, imports
from .light_seeds import Place, where

_MOST = 1_000
_VECTORS = {
    "gymnasium.vector.sync_vector_env": "SyncVectorEnv",
    "stable_baselines3.common.vec_env.dummy_vec_env": "DummyVecEnv",
}


def watch(light: Any) -> None:
    """Listen to vectors of environments, whenever their modules are imported."""
    streams = VectorStreams(light)
    imports.after("gymnasium.utils.seeding", streams.watch_generators)
    imports.after("gymnasium.vector.async_vector_env", streams.watch_worker)
    for module, name in _VECTORS.items():
        imports.after(module, functools.partial(streams.watch_vector, name=name))


class VectorStreams:
    """Of one process."""

    def __init__(self, light: Any) -> None:
        self._light = light
        light.at_end.append(self._end)
        os.register_at_fork(after_in_child=self._restart)
        self._restart()

    def _restart(self) -> None:
        #: Generators of environments, in the order in which they were made, with what each began with.
        self._made: list[tuple[Any, str]] = []
        self._vectors: list[tuple[list[Any], dict[str, Any]]] = []
        self._worker: tuple[int, Place] | None = None

    def watch_generators(self, module: Any) -> None:
        """``gymnasium.utils.seeding``: every generator that an environment is given."""
        natural = module.np_random

        @functools.wraps(natural)
        def np_random(*args: Any, **options: Any) -> Any:
            found = natural(*args, **options)
            if len(self._made) < _MOST:
                self._made.append((found[0], _state(found[0])))
            return found

        module.np_random = np_random

    def watch_vector(self, module: Any, *, name: str) -> None:
        """A class whose ``envs`` are played in this process."""
        kind = getattr(module, name)
        natural: Callable[..., Any] = kind.reset

        @functools.wraps(natural)
        def reset(vector: Any, *args: Any, **options: Any) -> Any:
            found = natural(vector, *args, **options)
            try:
                self._look(vector, name)
            except Exception as error:  # said in the record; the program must not fail by it
                self._light.seeds.unseen.append(f"the environments of a {name} could not be read: {error!r}")
            return found

        kind.reset = reset

    def watch_worker(self, module: Any) -> None:
        """The process that plays one environment of an ``AsyncVectorEnv``."""
        natural = module._async_worker

        @functools.wraps(natural)
        def work(index: int, *args: Any, **options: Any) -> None:
            self._worker, self._made = (index, where()), []
            natural(index, *args, **options)

        module._async_worker = work

    def _look(self, vector: Any, name: str) -> None:
        """After a reset; again only where environments were given other generators than before."""
        generators = [getattr(env.unwrapped, "_np_random", None) for env in vector.envs]
        before, vars(vector)["_reprokit_seen"] = vars(vector).get("_reprokit_seen"), [*map(id, generators)]
        if len(generators) < 2 or len(self._vectors) >= _MOST or before == [*map(id, generators)]:
            return
        file, line, function, _ = where()
        entry = {"vector": name, "file": file, "line": line, "function": function}
        entry["environments"] = [
            {"began": self._began(generator), "drawn": False} for generator in generators
        ]
        self._vectors.append((generators, entry))

    def _began(self, generator: Any) -> str:
        """What it stood at when it was made; "" where no one saw that, so that it is no one's clone."""
        return next((state for one, state in reversed(self._made) if one is generator), "")

    def _end(self) -> None:
        for generators, entry in self._vectors:
            for one, environment in zip(generators, entry["environments"]):
                environment["drawn"] = bool(environment["began"]) and _state(one) != environment["began"]
        self._light.vectors = [entry for _, entry in self._vectors]
        if self._worker is not None and self._made:
            index, (file, line, function, _) = self._worker
            generator, began = self._made[-1]
            place = {"vector": "AsyncVectorEnv", "file": file, "line": line, "function": function}
            drawn = _state(generator) != began
            self._light.vector_worker = {**place, "index": index, "began": began, "drawn": drawn}


def _state(generator: Any) -> str:
    return digests.of(generator.bit_generator.state)
