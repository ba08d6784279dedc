"""PyTorch's default generator until it is seeded, ``torch.seed``, files that it saves, and its operations."""

from __future__ import annotations

import functools
from typing import Any

from . import outside_files, torch_draws
from .frames import own_caller, site_of
from .watch import Watch


def _note_saved(module: Any, watch: Watch) -> None:
    """Files that ``torch.save`` writes: its own code opens them, unseen by Python."""
    natural = module.save

    @functools.wraps(natural)
    def save(obj: Any, f: Any, *args: Any, **options: Any) -> None:
        outside_files.written(f, watch)
        natural(obj, f, *args, **options)

    module.save = module.serialization.save = save


def watch_torch(module: Any, watch: Watch) -> None:
    """Watch the default generator, ``torch.seed``, and operations where that is asked for."""
    from torch.utils import _python_dispatch as dispatch  # type: ignore[import-not-found, unused-ignore]

    watch.facts["torch"] = str(module.__version__)
    torch_draws.watch_draws(
        module, dispatch, watch, most=None if watch.orders.get("draws") else torch_draws.MOST_OPERATIONS
    )
    _note_saved(module, watch)
    natural = module.seed

    def seed() -> int:
        frame = own_caller()
        if frame is None:
            return int(natural())
        made = int.from_bytes(watch.entropy(site_of(frame, "torch_unseeded"), 7), "little")
        module.manual_seed(made)
        return made

    module.seed = module.random.seed = seed
    if watch.orders.get("level") == "deep":
        from .torch_operations import watch_operations

        watch_operations(module, dispatch, watch)
