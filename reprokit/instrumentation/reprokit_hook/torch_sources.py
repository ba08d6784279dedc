"""PyTorch's default generator until it is seeded, whoever draws from it.

Every random operation without a generator of its own draws from a state of its call site: the program's own
line, however deep in PyTorch the draw happens. Once the program has seeded PyTorch, nothing is recorded.
"""

from __future__ import annotations

import functools
from typing import Any

from . import outside_files
from .frames import own_caller, site_of
from .watch import Watch, unit


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
    if watch.orders.get("draws"):
        _unseeded_mode(module, dispatch, watch).__enter__()
    else:
        _note_draws(module, watch)
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


def _note_draws(module: Any, watch: Watch) -> None:
    """Whether anything is drawn before the program seeds: only then is every operation looked at."""
    began = _state(module)
    seeded: list[bool] = []

    def look() -> None:
        if not seeded:
            watch.facts["torch_drew"] = began != _state(module)

    natural = module.manual_seed

    @functools.wraps(natural)
    def manual_seed(seed: Any) -> Any:
        look()
        seeded.append(True)
        return natural(seed)

    module.manual_seed = module.random.manual_seed = manual_seed
    watch.at_end.append(look)


def _state(torch: Any) -> bytes:
    """The default generator's state, read without an operation that anyone would watch."""
    return bytes(torch.default_generator.get_state().numpy().tobytes())


def _unseeded_mode(torch: Any, dispatch: Any, watch: Watch) -> Any:
    began_with = torch.default_generator.initial_seed()
    of_site: dict[str, Any] = {}
    seeded_tag = torch.Tag.nondeterministic_seeded

    class Unseeded(dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined, unused-ignore]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            options = kwargs or {}
            if seeded_tag not in func.tags or options.get("generator") is not None:
                return func(*args, **options)
            generator = torch.default_generator
            frame = own_caller() if generator.initial_seed() == began_with else None
            if frame is None or any(isinstance(arg, torch.Generator) for arg in args):
                return func(*args, **options)
            site = site_of(frame, "torch_unseeded")
            name = f"{watch.context}{unit(site)}"
            before = generator.get_state()
            if name not in of_site:
                generator.manual_seed(watch.random(site).getrandbits(60))
            else:
                generator.set_state(of_site[name])
            try:
                return func(*args, **options)
            finally:
                of_site[name] = generator.get_state()
                generator.set_state(before)
                what = f"torch.{func._schema.name.split('::')[-1]}"
                watch.seen(site, f"{watch.random(site).getrandbits(64):x}", what=what)

    return Unseeded()
