"""What this machine's repeats said of PyTorch's claims: kept in the cache, shown before a recipe runs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reprokit.core.determinism_claims import environment, is_any_false, keep_differences
from reprokit.core.environments.false_claims import false_calls
from reprokit.errors import ReportError, ReprokitError
from reprokit.images.cache import cache_folder
from reprokit.probes.claims_schema import MAX_BYTES, are_findings, mistake_in, parse
from reprokit.workspace import cannot_write, write_atomic

_FOLDER = "numerics-claims"
_LONGEST_DEVICE = 80  # of the 255 characters that a file's name may have


def keep(found: Mapping[str, Any], *, cache: Path | None = None) -> None:
    """Keep the findings of one environment, with what was found there earlier.

    Another number of threads, build of PyTorch or driver is another environment: what was found false there
    stays known.

    Args:
        found: As ``reprokit.features.numerics.inside.determinism_claims`` prints them.
        cache: None for the user's.

    Raises:
        ReportError: They, or they and the earlier ones together, are not what could be read again.
    """
    folder = cache_folder(cache) / _FOLDER
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    place = folder / _kept_name(found)
    earlier = _read(place)
    whole = keep_differences(found, earlier) if earlier else found
    write_atomic(place, to_keep(json.dumps(whole), place=place, earlier=earlier))


def to_keep(text: str, *, place: Path, earlier: Any = None) -> bytes:
    """A file of findings, which is refused where it could not be read again.

    Args:
        text: JSON.
        place: Where it is to be kept.
        earlier: What is there, if anything.

    Raises:
        ReportError: Too large, or a mistake is in it.
    """
    data = text.encode()
    try:
        mistake = mistake_in(parse(data))
    except ValueError as error:
        mistake = str(error)
    if mistake:
        fix = "move that file away, then keep the findings again" if earlier else None
        together = " together with those that are there" if earlier else ""
        raise ReportError(f"these findings{together} cannot be kept: {mistake}", where=str(place), fix=fix)
    return data


def file_name(found: Mapping[str, Any]) -> str:
    """One for each device and PyTorch: ``cpu-x86_64_amd-epyc_torch-2.13.0.json``."""
    device = re.sub(r"[^a-z0-9]+", "-", str(found["device"]).lower()).strip("-")[:_LONGEST_DEVICE]
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
    false = [(found, [row for row in found["rows"] if is_any_false([row])]) for found in measured]
    told: set[str] = set()
    for name, source in files if measured else ():
        for found, rows in false:
            for call in false_calls(source, rows):
                sentence = (
                    f"{name}:{call.line} calls {call.operation}, whose determinism PyTorch claims; that is "
                    f"false on {found['device']} with torch {found['torch']} ({call.why}); "
                    "`reprokit env numerics claims` measured it"
                )
                if sentence not in told:  # it is the same for every number of threads
                    told.add(sentence)
                    yield sentence


def _kept_name(found: Mapping[str, Any]) -> str:
    """One for each environment: ``cpu-x86_64_amd-epyc_torch-2.13.0_0123456789abcdef.json``."""
    digest = hashlib.sha256(json.dumps(environment(found), sort_keys=True).encode()).hexdigest()
    return f"{file_name(found).removesuffix('.json')}_{digest[:16]}.json"


def _kept(platform: str, cache: Path | None) -> list[Path]:
    try:
        folder = cache_folder(cache) / _FOLDER
    except ReprokitError:  # without a cache nothing is known, and a run may need none
        return []
    return sorted(folder.glob(f"{platform}_*_torch-*.json"))


def _read(place: Path) -> Any:
    """The findings; None where there are none, or none that can be relied on."""
    try:
        if not place.is_file():  # a pipe would be waited for
            return None
        with place.open("rb") as stream:
            found = parse(stream.read(MAX_BYTES + 1))
    except (OSError, ValueError):
        return None
    return found if are_findings(found) else None
