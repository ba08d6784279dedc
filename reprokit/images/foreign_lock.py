"""An environment that someone else declared: what of it this host may be asked to fetch, build and open.

A package lock names files by their hashes, and what they do, they do inside a container. Building a base and
an image is other work: it runs on this host, or in a build container that is not hardened. So all that it
follows (the Dockerfile, the distribution packages, the bases, the package indexes, what an accelerator needs
of the host) must be what this reprokit brings itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from reprokit.errors import ImageError
from reprokit.images.locks import Lock, Variant, must_be_name, read_lock
from reprokit.images.packages import digest_of
from reprokit.packaged import packaged

_PYTHON, _GLIBC = re.compile(r"3\.[0-9]{1,2}"), re.compile(r"2\.[0-9]{1,2}")


def must_be_as_shipped(project: Path, name: str, *, vendored: bool) -> None:
    """Refuse an environment whose making follows anything but what this reprokit brings.

    Args:
        project: The folder that holds ``images/``.
        name: The variant.
        vendored: Whether its packages come with it, so that no index is asked.

    Raises:
        ImageError: Something is declared otherwise; the message names it.
        RecipeError: There is no such variant.
    """
    must_be_name(name, where=str(project))
    lock, ours = read_lock(project), read_lock(packaged("images").parent)
    variant = lock.variant(name)
    problem = next(_differing(lock, variant, ours, vendored=vendored), "")
    if problem:
        raise ImageError(
            f"{problem} of the environment {name!r} differs from what this reprokit brings, and the "
            "environment would be made from it",
            where=str(variant.declared_in),
            fix="use the version of reprokit that the bundle names; or look at images/ in the bundle, and "
            "make the environment in a project of your own",
        )
    if variant.fallback is not None:
        must_be_as_shipped(project, variant.fallback, vendored=vendored)


def _differing(lock: Lock, variant: Variant, ours: Lock, *, vendored: bool) -> Iterator[str]:
    based, same = lock.based_for(variant), ours.variants.get(variant.name)
    if not _PYTHON.fullmatch(variant.python) or not _GLIBC.fullmatch(variant.glibc):
        yield "the version of Python or of glibc"
    if digest_of(based.dockerfile) != digest_of(ours.dockerfile):
        yield "the Dockerfile"
    if based.registry != ours.registry:
        yield "the base image"
    if (based.bootstrap.suite, based.bootstrap.timestamp) != (ours.bootstrap.suite, ours.bootstrap.timestamp):
        yield "the distribution"
    yield from _differing_packages(based, variant, ours)
    known = {index for one in ours.variants.values() for index in one.indexes}
    if not vendored and not set(variant.indexes) <= known:
        yield "a package index"
    if dict(variant.relaxations) != (dict(same.relaxations) if same else {}):
        yield "what it opens of the host"
    if variant.accepted_images and (same is None or variant.accepted_images != same.accepted_images):
        yield "an image that was built elsewhere"


def _differing_packages(based: Lock, variant: Variant, ours: Lock) -> Iterator[str]:
    """Their installation scripts run on this host."""
    further = (package for one in ours.variants.values() for package in one.system_packages)
    if not set(based.bootstrap.packages) <= {*ours.bootstrap.packages, *further}:
        yield "the list of distribution packages"
    shipped = {digest_of(path) for path in (ours.path.parent / "base").glob("*.lock")}
    for machine in variant.machines:
        path = based.base_packages(machine)
        if path.is_file() and digest_of(path) not in shipped:
            yield "the lock of the distribution packages"
