"""What usually does not matter, as far as a program's options or a trainer's settings have it.

Worker counts, threads, parts of a batch, compilation: entries of ``same_under`` that are worth a try. None of
them is known to hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reprokit.features.init.find_options import DeclaredOption, declared_options
from reprokit.recipes import Recipe

_COUNTS = (
    *("num-workers", "workers", "n-workers", "data-workers", "num-data-workers", "dataloader-workers"),
    *("dataloader-num-workers", "loader-workers", "num-loader-workers", "preprocessing-num-workers"),
    *("n-jobs", "num-jobs", "jobs", "num-proc", "num-procs", "nproc", "prefetch-factor", "prefetch"),
    *("threads", "num-threads", "n-threads", "nthreads", "nthread", "torch-threads", "num-cpu"),
)
_PARTS = (
    *("gradient-accumulation-steps", "grad-accumulation-steps", "accumulation-steps", "accum-iter"),
    *("gradient-accumulation", "accumulate-grad-batches", "grad-accum", "accumulate"),
)
_BATCHES = ("per-device-train-batch-size", "train-batch-size", "micro-batch-size", "batch-size", "batch")
_SWITCHES = ("compile", "torch-compile", "use-compile", "jit", "pin-memory", "persistent-workers")
_MODES = ("compile",)  # of trainers: the mode of torch.compile, or null

Entry = Mapping[str, Any]


def usual_claims(recipe: Recipe, *, source: str) -> tuple[Entry, ...]:
    """What to try on a recipe, each thing once.

    Args:
        recipe: It.
        source: The program that its command starts; "" of a trainer, and where that is no Python.
    """
    if recipe.program is None:
        found = [*_of_settings(recipe.training_config, ()), *_of_ranks(recipe)]
    else:
        found = list(_of_options(declared_options(source), recipe.program.command))
    if recipe.ranks is None:
        found.append({"threads": 1 if _threads_of(recipe) == "2" else 2})
    return tuple({str(entry): entry for entry in found}.values())


def _threads_of(recipe: Recipe) -> str:
    return recipe.program.variables.get("OMP_NUM_THREADS", "") if recipe.program else ""


def _of_options(options: Sequence[DeclaredOption], command: Sequence[str]) -> Iterator[Entry]:
    """The words that change one of a program's options to another value."""
    by_name = {_plain(one.typed): one for one in reversed(options)}
    for name in _COUNTS:
        if (one := by_name.get(name)) is not None and not one.is_flag:
            yield {"args": f"{one.typed} {_other_count(_value(one, command))}"}
    for name in _SWITCHES:
        if (one := by_name.get(name)) is not None and one.is_flag and one.typed not in command:
            yield {"args": one.typed}
    batch = next((by_name[name] for name in _BATCHES if name in by_name), None)
    for name in _PARTS:
        if (one := by_name.get(name)) is not None and not one.is_flag:
            parts = 2 * (_value(one, command) or 1)
            size = _value(batch, command) if batch else None
            if batch and size and size % 2 == 0:
                yield {"args": f"{batch.typed} {size // 2} {one.typed} {parts}"}
            yield {"args": f"{one.typed} {parts}"}


def _of_settings(settings: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[Entry]:
    """The same of a trainer's settings."""
    for key, value in settings.items():
        name, place = _plain(key), ".".join((*path, key))
        if isinstance(value, Mapping):
            yield from _of_settings(value, (*path, key))
        elif name in _MODES and value is None:
            yield {"set": [f"{place}=default"]}
        elif name in _SWITCHES and value is False:
            yield {"set": [f"{place}=true"]}
        elif isinstance(value, int) and name in _COUNTS:
            yield {"set": [f"{place}={_other_count(value)}"]}
        elif isinstance(value, int) and name in _PARTS:
            yield {"set": [f"{place}={2 * value}"]}


def _of_ranks(recipe: Recipe) -> Iterator[Entry]:
    if recipe.ranks is not None:
        yield {"set": [f"ranks.world_size={1 if recipe.ranks['world_size'] != 1 else 2}"]}


def _other_count(count: int | None) -> int:
    """Two, or one where it is two already; zero workers often means that the program itself does it all."""
    return 1 if count == 2 else 2


def _value(option: DeclaredOption, command: Sequence[str]) -> int | None:
    """What the option is: as the command has it, else by default; None where that is no number."""
    found = option.default
    for at, word in enumerate(command):
        name, equals, value = word.partition("=")
        if name == option.typed:
            found = value if equals else next(iter(command[at + 1 :]), None)
    try:
        return None if isinstance(found, bool) or found is None else int(found)
    except (TypeError, ValueError):
        return None


def _plain(name: str) -> str:
    return name.lstrip("-").replace("_", "-").lower()
