"""The hook inside a program: records which sources of randomness it uses, and from which of its lines.

``start`` reads its orders from the file that REPROKIT_HOOK names, and writes ``trace-<process>.json`` to the
folder that the orders name. Where REPROKIT_HOOK is ``light``, there are no orders: see ``light``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .watch import Watch

__all__ = ["current", "start"]

#: In place of a file of orders: the watch of a judged run, which changes nothing.
LIGHT = "light"
#: The level at which the conditions of a process are recorded, and nothing is changed.
LOOK = "look"

_current: list[Watch] = []


def current() -> Watch | None:
    """The watch of this process; None before it began."""
    return _current[0] if _current else None


def start() -> None:
    """Begin the watch in this process; its children begin their own."""
    if os.environ["REPROKIT_HOOK"] == LIGHT:
        from . import light

        light.start(out=os.environ["REPROKIT_HOOK_OUT"], probe=os.environ["REPROKIT_HOOK_PROBE"])
        return
    _start_to_diagnose()


def _start_to_diagnose() -> None:
    from . import (
        ast_transform,
        conditions,
        implicit_defaults,
        imports,
        limits,
        numpy_sources,
        outside_files,
        processes,
        stdlib_sources,
        torch_sources,
    )
    from .watch import Watch

    try:
        watch = Watch.from_orders(os.environ["REPROKIT_HOOK"])
    except FileNotFoundError:  # the orders or the traces are gone; the program continues
        return
    _current[:] = [watch]
    watch.facts[f"conditions {watch.process}"] = conditions.seen(
        variables=watch.orders.get("variables") or (), varies=watch.vary, output=watch.output
    )
    if watch.orders.get("level") == LOOK:
        _be_a_twin(watch)
        return
    if watch.orders.get("calls"):
        from . import calls

        _name_processes(watch)
        imports.begin()
        calls.begin(watch)
        return
    begun = _follow_training(watch)
    limits.watch(watch)
    stdlib_sources.watch(watch)
    outside_files.watch(watch)
    processes.watch_open(watch)
    implicit_defaults.watch(watch)
    _watch_completion(watch)
    imports.after("numpy.random", lambda module: numpy_sources.watch_numpy_random(module, watch))
    imports.after("subprocess", lambda module: processes.watch_subprocess(module, watch))
    _name_processes(watch)
    imports.after("tempfile", lambda module: processes.watch_temporary(module, watch))
    imports.after("torch", lambda module: torch_sources.watch_torch(module, watch))
    if watch.varies("batch_composition"):
        from . import batch_parts

        imports.after("torch", lambda module: batch_parts.split(module.nn.functional))
    if watch.orders.get("level") == "loops":
        from . import resumed_samples

        resumed_samples.watch(watch)
    imports.begin()
    ast_transform.begin(watch)
    begun()


def _be_a_twin(watch: Watch) -> None:
    from . import imports, rounding

    if os.environ.get(rounding.TWIN):
        rounding.watch(watch, os.environ[rounding.TWIN])
        imports.begin()


def _name_processes(watch: Watch) -> None:
    """Give each process that this one spawns, and code that goes there, the same name in every run."""
    from . import imports, process_names, shipped_code

    shipped_code.watch()
    spawning = process_names.Spawning(watch)
    imports.after("subprocess", spawning.watch_subprocess)
    imports.after("multiprocessing.util", spawning.watch_spawning)


def _follow_training(watch: Watch) -> Callable[[], None]:
    """Record updates, loaders and environments, where that is ordered; returns what is to be called last."""
    from . import gym_envs, imports, torch_updates
    from .draws import Draws
    from .progress import TrainingProgress

    if not watch.orders.get("progress"):
        return lambda: None
    progress = watch.progress = TrainingProgress(watch.orders["progress"], watch.process)
    loaders, vectors = "torch.utils.data.dataloader", "gymnasium.vector.vector_env"
    imports.after("torch", lambda module: torch_updates.watch_learning(module, watch, progress))
    imports.after(loaders, lambda module: torch_updates.watch_loaders(module, progress))
    imports.after("gymnasium.core", lambda module: gym_envs.watch_environments(module, watch, progress))
    imports.after(vectors, lambda module: gym_envs.watch_vectors(module, watch, progress))
    if progress.mode != "deep":
        return lambda: None
    draws = Draws(watch, progress)
    progress.changed.append(draws.listen)
    return draws.listen


def _watch_completion(watch: Watch) -> None:
    """Record the order in which threads, tasks, pools and queues complete."""
    from . import futures, imports, pools, queues, ray_results, threads

    threads.watch(watch)
    imports.after("concurrent.futures", lambda module: futures.watch_futures(module, watch))
    for kind in ("thread", "process"):
        imports.after(f"concurrent.futures.{kind}", lambda module: futures.watch_executors(module, watch))
    imports.after("multiprocessing.pool", lambda module: pools.watch_pools(module, watch))
    imports.after("multiprocessing.pool", lambda module: pools.watch_callbacks(module, watch))
    imports.after("asyncio.tasks", lambda module: futures.watch_asyncio(module, watch))
    imports.after("multiprocessing.queues", lambda module: queues.watch_queues(module, watch))
    imports.after("queue", lambda module: queues.watch_queues(module, watch))
    imports.after("ray", lambda module: ray_results.watch_ray(module, watch))
