"""Rebuilds the image that a report names and compares the IDs.

>>> rebuild(lock, Path("reports/cartpole_baseline/T"), cache=cache, on_progress=print).identical
True
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.errors import ReportError
from reprokit.images.building import bases, build, image_store
from reprokit.images.building.build_steps import BuildConditions, made
from reprokit.images.cache import Progress
from reprokit.images.locks import Lock
from reprokit.images.packages import digest_of
from reprokit.layout import RECORD, REPORT


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """The image ID that a report names, the ID of the rebuilt image, and inputs that changed in between."""

    variant: str
    named: str
    rebuilt: str
    reasons: tuple[str, ...]

    @property
    def identical(self) -> bool:
        return self.named == self.rebuilt


def rebuild(lock: Lock, report: Path, *, cache: Path, on_progress: Progress) -> Rebuilt:
    """Build from this checkout's locks with no cache, and compare with the image ID of a report.

    ``report`` is a report's folder, its ``report.json``, or a run folder. Check out the report's commit for
    an old one.

    Raises:
        ReportError: It names no container image.
        EngineError: No engine answers.
        ImageError: The build failed.
    """
    image = _image_of(report)
    variant, named = lock.variant(str(image["variant"])), str(image["digest"])
    base = str(image.get("base") or "")
    kind = bases.BOOTSTRAP if base.startswith(f"{bases.BOOTSTRAP}:") else bases.REGISTRY
    with image_store.connected() as client:
        where: dict[str, Any] = {"cache": cache, "on_progress": on_progress}
        ingredients = build.ingredients_of(client, lock, variant, kind=kind, **where)
        with made(client, ingredients, conditions=BuildConditions(), **where) as found:
            rebuilt = found.id
    now = {"lock": digest_of(variant.packages_path), "base": ingredients.base.title}
    then = {"lock": str(image["lock_digest"]), "base": base}
    changed = [key for key in now if now[key] != then[key]]
    reasons = tuple(f"the {key} was {then[key]}, and is {now[key]} here" for key in changed)
    return Rebuilt(variant=variant.name, named=named, rebuilt=rebuilt, reasons=reasons)


def _image_of(report: Path) -> Mapping[str, Any]:
    """The image as the first run of a report recorded it."""
    path = report / REPORT if (report / REPORT).is_file() else report
    if path.is_file():
        runs = _read(path).get("runs") or []
        if not runs:
            raise ReportError("the report names no run", where=str(path))
        first = Path(str(runs[0]))
        path = first if first.is_absolute() else path.parent / first
    record = _read(path / RECORD)
    image = record.get("image")
    if not isinstance(image, dict) or image.get("kind") != "image":
        raise ReportError(
            "the run did not use a container image", where=str(path), fix="name a run of --backend docker"
        )
    return image


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReportError(
            "neither a report nor a run folder",
            where=str(path),
            actual=str(error),
            fix="name one: reports/RECIPE/TIME, or runs/RECIPE/RUN",
        ) from error
    return found if isinstance(found, dict) else {}
