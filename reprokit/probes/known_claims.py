"""What this machine's repeats said of PyTorch's claims: kept in the cache, told before a recipe runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reprokit.core.determinism_claims import SCHEMA, keep_differences
from reprokit.core.false_claims import false_calls
from reprokit.errors import ReprokitError
from reprokit.images.cache import cache_folder
from reprokit.recipes import Recipe
from reprokit.workspace import write_atomic

_FOLDER = "numerics-claims"


def keep(found: Mapping[str, Any], *, cache: Path | None = None) -> None:
    """Keep the findings of one device and PyTorch, with the differences that were seen earlier.

    Args:
        found: As ``reprokit.probes.determinism_claims`` prints them, of all operations.
        cache: None for the user's.
    """
    folder = cache_folder(cache) / _FOLDER
    folder.mkdir(exist_ok=True)
    place = folder / file_name(found)
    write_atomic(place, json.dumps(keep_differences(found, _read(place) or {})).encode())


def file_name(found: Mapping[str, Any]) -> str:
    """One for each device and PyTorch: ``cpu-x86_64_amd-epyc_torch-2.13.0.json``."""
    device = re.sub(r"[^a-z0-9]+", "-", str(found["device"]).lower()).strip("-")
    return f"{found['platform']}_{device or 'unknown'}_torch-{found['torch']}.json"


def calls_of_false_claims(recipe: Recipe, platform: str, *, cache: Path | None = None) -> Iterator[str]:
    """For each call of a recipe's code of an operation whose claim is false there: a sentence for people."""
    try:
        folder = cache_folder(cache) / _FOLDER
    except ReprokitError:  # without a cache nothing is known, and a run may need none
        return
    files = [(str(one.path), one.content) for one in recipe.parts]
    if recipe.trainer is not None:
        files.insert(0, (str(recipe.trainer), recipe.trainer.read_bytes()))
    for place in sorted(folder.glob(f"{platform}_*_torch-*.json")):
        found = _read(place)
        for name, source in files if found else ():
            for call in false_calls(source, found["rows"]):
                yield (
                    f"{name}:{call.line} calls {call.operation}, of which PyTorch's claim of determinism is "
                    f"false on {found['device']} with torch {found['torch']} ({call.why}); "
                    "`reprokit numerics claims` measured it"
                )


def _read(place: Path) -> Any:
    """The findings; None where there are none that can be read."""
    try:
        found = json.loads(place.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("schema") == SCHEMA else None
