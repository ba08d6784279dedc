"""Whether a variant's image comes out the same when it is built again under other conditions.

Every build starts from nothing: no cache, no network, nothing of the image in use.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker import DockerClient

from reprokit.errors import UsageError
from reprokit.features.rebuild.image_difference import ImageDifference, first_difference
from reprokit.images.building import bases, build, builders, image_store
from reprokit.images.building.build_steps import BuildConditions, Ingredients, made
from reprokit.images.building.canonical import CanonicalImage
from reprokit.images.cache import Progress
from reprokit.images.locks import Lock, Variant, read_lock
from reprokit.project import project_folder

_DAY_S = 86_400
_ZONES = ("UTC", "Pacific/Kiritimati", "America/St_Johns", "Asia/Kathmandu")
_LOCALES = ("C.UTF-8", "C", "POSIX")
_MODES = (0o644, 0o600, 0o664, 0o640)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedBuild:
    """One of the builds that were compared: what was varied, by which builder, and the image ID."""

    title: str
    builder: str
    id: str
    took_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildComparison:
    """The builds of a variant, compared."""

    variant: str
    base: str
    builds: tuple[ComparedBuild, ...]  # in order, up to the first that differs
    difference: ImageDifference | None  # the first difference, or None where all are the same image
    in_engine: str | None  # ID of the image of this content that the engine has, or None

    @property
    def is_one(self) -> bool:
        """Whether every build is the same image, by ID, and no file differs."""
        return self.difference is None and len({build.id for build in self.builds}) == 1

    @property
    def holds(self) -> bool:
        """Whether every build is the same image as the one in use."""
        return self.is_one and self.in_engine in {None, self.builds[0].id}


def verify(
    lock: Lock,
    variant: Variant,
    *,
    base: str,
    num_builds: int,
    use: Sequence[str] = (),
    cache: Path,
    on_progress: Progress,
) -> BuildComparison:
    """Build several times (2 or more) under variations and compare.

    ``use`` names the builders to take in turn; empty for all that are available here.

    Raises:
        UsageError: Fewer than two builds.
        EngineError: No engine answers.
        ImageError: A build failed.
    """
    if num_builds < 2:
        what = "at least two builds are needed for a comparison"
        raise UsageError(what, expected="--builds 2 or more", actual=str(num_builds))
    lock = lock.based_for(variant)
    with image_store.connected() as client:
        kind = bases.choose(client, lock, variant, wanted=base, on_progress=on_progress)
        where: dict[str, Any] = {"cache": cache, "on_progress": on_progress}
        ingredients = build.ingredients_of(client, lock, variant, kind=kind, **where)
        found = image_store.find(client, image_store.CONTENT, ingredients.content, tag=ingredients.tag)
        planned = conditions(num_builds, use or builders.available(), epoch=lock.bootstrap.epoch)
        builds, difference = _compare(client, ingredients, planned, **where)
    return BuildComparison(
        variant=variant.name,
        base=ingredients.base.title,
        builds=builds,
        difference=difference,
        in_engine=None if found is None else found.id,
    )


def conditions(num_builds: int, use: Sequence[str], *, epoch: int) -> tuple[BuildConditions, ...]:
    """The builds to make: the first without variation, each other one varied in everything that may vary."""
    others = (
        BuildConditions(
            title=f"another folder, user {1000 + n}, files of day {n} with mode {_MODES[n % 4]:o}, "
            f"TZ {_ZONES[n % 4]}, LC_ALL {_LOCALES[n % 3]}" + (", one core" if n % 2 else ""),
            builder=use[n % len(use)],
            mtime=epoch + n * _DAY_S,
            uid=1000 + n,
            owner=f"builder{n}",
            mode=_MODES[n % 4],
            is_reversed=bool(n % 2),
            cores="0" if n % 2 else "",
            variables={"TZ": _ZONES[n % 4], "LC_ALL": _LOCALES[n % 3]},
        )
        for n in range(1, num_builds)
    )
    return (BuildConditions(builder=use[0]), *others)


def _compare(
    client: DockerClient,
    ingredients: Ingredients,
    planned: Sequence[BuildConditions],
    *,
    cache: Path,
    on_progress: Progress,
) -> tuple[tuple[ComparedBuild, ...], ImageDifference | None]:
    where: dict[str, Any] = {"cache": cache, "on_progress": on_progress}
    started = time.monotonic()
    with made(client, ingredients, conditions=planned[0], **where) as first:
        builds = [_row(planned[0], first, started)]
        on_progress(f"build 1 of {len(planned)}: {first.id}")
        for number, one in enumerate(planned[1:], start=2):
            on_progress(f"build {number} of {len(planned)}: {one.builder}, {one.title}")
            started = time.monotonic()
            with (
                tempfile.TemporaryDirectory(prefix="another folder ", dir=cache) as name,
                made(client, _copied(ingredients, Path(name)), conditions=one, **where) as other,
            ):
                builds.append(_row(one, other, started))
                on_progress(f"build {number} of {len(planned)}: {other.id}")
                if difference := first_difference(first, other):
                    return tuple(builds), difference
    return tuple(builds), None


def _row(one: BuildConditions, image: CanonicalImage, started: float) -> ComparedBuild:
    return ComparedBuild(title=one.title, builder=one.builder, id=image.id, took_s=time.monotonic() - started)


def _copied(ingredients: Ingredients, folder: Path) -> Ingredients:
    """The same ingredients in another folder; big files are linked where possible."""
    wheels = folder / "wheels"
    shutil.copytree(project_folder(ingredients.lock.root, "images"), folder / "images")
    shutil.copytree(ingredients.wheels, wheels, copy_function=_link)
    lock = read_lock(folder)
    variant = lock.variant(ingredients.variant.name)
    return dataclasses.replace(ingredients, lock=lock.based_for(variant), variant=variant, wheels=wheels)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
