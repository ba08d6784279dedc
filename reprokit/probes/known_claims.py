"""What this machine's repeats said of PyTorch's claims: kept in the cache, told before a recipe runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reprokit.core.determinism_claims import keep_differences
from reprokit.core.false_claims import false_calls
from reprokit.errors import ReprokitError
from reprokit.images.cache import cache_folder
from reprokit.probes.claims_schema import are_findings
from reprokit.workspace import write_atomic

_FOLDER = "numerics-claims"


def keep(found: Mapping[str, Any], *, cache: Path | None = None) -> None:
    """Keep the findings of one device and PyTorch, with what was found earlier.

    Args:
        found: As ``reprokit.probes.determinism_claims`` prints them.
        cache: None for the user's.
    """
    folder = cache_folder(cache) / _FOLDER
    folder.mkdir(exist_ok=True)
    place = folder / file_name(found)
    earlier = _read(place)
    write_atomic(place, json.dumps(keep_differences(found, earlier) if earlier else found).encode())


def file_name(found: Mapping[str, Any]) -> str:
    """One for each device and PyTorch: ``cpu-x86_64_amd-epyc_torch-2.13.0.json``."""
    device = re.sub(r"[^a-z0-9]+", "-", str(found["device"]).lower()).strip("-")
    return f"{found['platform']}_{device or 'unknown'}_torch-{found['torch']}.json"


def is_any_known(*, cache: Path | None = None) -> bool:
    """Whether anything was measured here, or taken in from another machine."""
    return bool(_kept("*", cache))


def calls_of_false_claims(
    files: Iterable[tuple[str, bytes]], platform: str, *, cache: Path | None = None
) -> Iterator[str]:
    """For each call of an operation whose claim is false on a platform: a sentence for people.

    Args:
        files: What a recipe runs: name for people, content; what is no Python has no calls.
        platform: Where it is to run.
        cache: None for the user's.
    """
    measured = [found for place in _kept(platform, cache) if (found := _read(place))]
    for name, source in files if measured else ():
        for found in measured:
            for call in false_calls(source, found["rows"]):
                yield (
                    f"{name}:{call.line} calls {call.operation}, of which PyTorch's claim of determinism is "
                    f"false on {found['device']} with torch {found['torch']} ({call.why}); "
                    "`reprokit numerics claims` measured it"
                )


def _kept(platform: str, cache: Path | None) -> list[Path]:
    try:
        folder = cache_folder(cache) / _FOLDER
    except ReprokitError:  # without a cache nothing is known, and a run may need none
        return []
    return sorted(folder.glob(f"{platform}_*_torch-*.json"))


def _read(place: Path) -> Any:
    """The findings; None where there are none, or none that can be relied on."""
    try:
        found = json.loads(place.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if are_findings(found) else None
