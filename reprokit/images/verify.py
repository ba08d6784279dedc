"""Whether a variant's image is the same however often, wherever and by whomever it is built.

This module knows what to change between two builds; it refuses to know what a build does. Every
build starts from nothing: no cache, no network, nothing of the image that is in use.

    >>> verify(lock, variant, base="auto", num_builds=2, cache=cache, on_progress=print).difference
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

from docker import DockerClient

from reprokit.errors import UsageError
from reprokit.images import bases, build, builders, image_store
from reprokit.images.build_steps import Ingredients, Surroundings, made
from reprokit.images.cache import Progress
from reprokit.images.canonical import Canonical
from reprokit.images.image_difference import ImageDifference, first_difference
from reprokit.images.locks import Lock, Variant, read_lock

_DAY_S = 86_400
_ZONES = ("UTC", "Pacific/Kiritimati", "America/St_Johns", "Asia/Kathmandu")
_LOCALES = ("C.UTF-8", "C", "POSIX")
_MODES = (0o644, 0o600, 0o664, 0o640)


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One of the builds that were compared.

    Attributes:
        title: What was different about it.
        builder: ``classic`` or ``buildkit``.
        id: The image ID that came out.
        took_s: Seconds from the first step to the ID.
    """

    title: str
    builder: str
    id: str
    took_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What came of building again.

    Attributes:
        variant: Which environment.
        base: What it was built on.
        builds: In order; after the first that differs there is none.
        difference: The first difference, or None where all are one image.
        in_engine: ID of the image of this content that the engine has, or None.
    """

    variant: str
    base: str
    builds: tuple[Build, ...]
    difference: ImageDifference | None
    in_engine: str | None

    @property
    def is_one(self) -> bool:
        """Whether every build is the same image: by its ID, whatever the comparison of files found."""
        return self.difference is None and len({build.id for build in self.builds}) == 1

    @property
    def holds(self) -> bool:
        """Whether every build is the same image, and the one in use is that one."""
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
) -> Verified:
    """Build several times under variations and compare.

    Args:
        lock: ``images/lock.toml``.
        variant: Which environment.
        base: ``auto``, ``registry`` or ``bootstrap``.
        num_builds: At least 2.
        use: Builders to take in turn; empty for those that can be used here.
        cache: The cache folder.
        on_progress: Called with a line now and then.

    Raises:
        UsageError: Fewer than two builds.
        EngineError: No engine answers.
        ImageError: A build failed.
    """
    if num_builds < 2:
        raise UsageError(
            "one build compares with nothing", expected="--builds 2 or more", actual=str(num_builds)
        )
    with image_store.connected() as client:
        kind = bases.choose(client, lock, wanted=base, on_progress=on_progress)
        ingredients = build.ingredients_of(
            client, lock, variant, kind=kind, cache=cache, on_progress=on_progress
        )
        found = image_store.find(client, image_store.CONTENT, ingredients.content, tag=ingredients.tag)
        planned = surroundings(num_builds, use or builders.available(), epoch=lock.bootstrap.epoch)
        builds, difference = _compare(client, ingredients, planned, cache, on_progress)
    return Verified(
        variant=variant.name,
        base=ingredients.base.title,
        builds=builds,
        difference=difference,
        in_engine=None if found is None else found.id,
    )


def surroundings(num_builds: int, use: Sequence[str], *, epoch: int) -> tuple[Surroundings, ...]:
    """The builds to make: the first as always, each other one unlike it in everything that may vary."""
    others = (
        Surroundings(
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
    return (Surroundings(builder=use[0]), *others)


def _compare(
    client: DockerClient,
    ingredients: Ingredients,
    planned: Sequence[Surroundings],
    cache: Path,
    on_progress: Progress,
) -> tuple[tuple[Build, ...], ImageDifference | None]:
    started = time.monotonic()
    with made(client, ingredients, surroundings=planned[0], cache=cache, on_progress=on_progress) as first:
        builds = [_row(planned[0], first, started)]
        on_progress(f"build 1 of {len(planned)}: {first.id}")
        for number, one in enumerate(planned[1:], start=2):
            on_progress(f"build {number} of {len(planned)}: {one.builder}, {one.title}")
            started = time.monotonic()
            with (
                tempfile.TemporaryDirectory(prefix="another folder ", dir=cache) as name,
                made(
                    client,
                    _elsewhere(ingredients, Path(name)),
                    surroundings=one,
                    cache=cache,
                    on_progress=on_progress,
                ) as other,
            ):
                builds.append(_row(one, other, started))
                on_progress(f"build {number} of {len(planned)}: {other.id}")
                if difference := first_difference(first, other):
                    return tuple(builds), difference
    return tuple(builds), None


def _row(one: Surroundings, image: Canonical, started: float) -> Build:
    return Build(title=one.title, builder=one.builder, id=image.id, took_s=time.monotonic() - started)


def _elsewhere(ingredients: Ingredients, folder: Path) -> Ingredients:
    """The same ingredients in another folder; big files are linked where that is possible."""
    wheels = folder / "wheels"
    shutil.copytree(ingredients.lock.path.parent, folder / "images")
    shutil.copytree(ingredients.wheels, wheels, copy_function=_link)
    lock = read_lock(folder)
    return dataclasses.replace(
        ingredients, lock=lock, variant=lock.variant(ingredients.variant.name), wheels=wheels
    )


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
