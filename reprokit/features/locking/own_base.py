"""What the image of an environment is built on: the distribution's release that has its Python, pinned."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

from reprokit import extras
from reprokit.errors import CannotRunError, ImageError
from reprokit.features.locking.variant_file import Declared
from reprokit.images import cache, locks
from reprokit.images.building import bootstrap, debian_packages
from reprokit.images.building.suites import (
    MOVING_SUITES,
    PYTHON_OF_SUITE,
    SUITE_OF_PYTHON,
    USUAL_SUITE,
    packages_for,
    second_python,
)
from reprokit.images.cache import Progress
from reprokit.packaged import packaged

OFFICIAL = "docker.io/library/python"
_PROBE_S = 3


def with_bases(declared: Declared, *, on_progress: Progress) -> Declared:
    """With bases that have its Python: a release of the distribution, and a registry's image by its digest.

    What there is none of stays as it was, and so does a release that is not known here.
    """
    bases = dict(declared.base)
    had, wanted = bases["bootstrap"], SUITE_OF_PYTHON.get(declared.python)
    if had["suite"] in PYTHON_OF_SUITE and wanted:
        packages = packages_for(declared.python, had["packages"])
        bases["bootstrap"] = {**had, "suite": wanted, "packages": packages}
    image = bases["registry"]["image"]
    if image == OFFICIAL and not bases["registry"]["tag"].startswith(f"{declared.python}-"):
        tag = f"{declared.python}-slim-{USUAL_SUITE}"
        if digest := digest_in_registry(f"{image}:{tag}"):
            bases["registry"] = {"image": image, "tag": tag, "digest": digest}
            on_progress(f"base: {image}:{tag}@{digest}")
    return dataclasses.replace(declared, base=bases)


def bring_base(folder: Path, declared: Declared, *, is_same: bool, on_progress: Progress) -> None:
    """Copy the Dockerfile and the base's packages; of another release or with more packages, pin today's.

    A release is pinned where an engine answers: only an image needs it, and it takes minutes.

    Args:
        folder: The environment that is being made, with its ``variant.toml``.
        declared: What that says.
        is_same: Whether the packages that are there are of the same release and Python.
        on_progress: Called with one line for a person now and then.

    Raises:
        ImageError: The distribution has no such package, or what is asked for cannot be pinned.
    """
    templates, machine = packaged("images"), declared.machines[0]
    if not (folder / "Dockerfile").is_file():
        shutil.copyfile(templates / "Dockerfile", folder / "Dockerfile")
    suite, pinned = declared.base["bootstrap"]["suite"], folder / "base" / f"{machine}.lock"
    pinned.parent.mkdir(exist_ok=True)
    if not is_same:
        pinned.unlink(missing_ok=True)
    template = templates / "base" / ("" if suite == USUAL_SUITE else suite) / pinned.name
    second = second_python(declared.base["bootstrap"]["packages"])
    is_known = suite in PYTHON_OF_SUITE and template.is_file() and not second
    if is_known and not pinned.is_file() and not declared.system_packages:
        shutil.copyfile(template, pinned)
    have = debian_packages.read_base_lock(pinned) if pinned.is_file() else ()
    fits = all(any(_is_that(one, asked) for one in have) for asked in declared.system_packages)
    if not fits:
        _pin(folder, pinned, declared, on_progress=on_progress)
    elif not have and suite in PYTHON_OF_SUITE and suite != USUAL_SUITE:
        if not _engine_answers():
            why = "no container engine answers, so nothing is pinned for an image"
            on_progress(f"{why}; where one does: reprokit image lock {folder.name}")
            return
        try:
            _pin(folder, pinned, declared, on_progress=on_progress)
        except ImageError as error:  # the virtual environment needs none
            on_progress(f"no image of it can be built yet: {error.told()}")


def digest_in_registry(reference: str) -> str:
    """The digest that a registry has for a name today; "" where no engine answers or reaches it."""
    if not extras.is_installed("docker"):
        return ""
    from reprokit.images.building import image_store  # needs an extra

    try:
        with image_store.connected(timeout_s=_PROBE_S) as client:
            found = client.api.inspect_distribution(reference)  # type: ignore[no-untyped-call]
    except CannotRunError:
        return ""
    return str((found.get("Descriptor") or {}).get("digest") or "")


def _engine_answers() -> bool:
    if not extras.is_installed("docker"):
        return False
    from reprokit.images.building import image_store  # needs an extra

    try:
        with image_store.connected(timeout_s=_PROBE_S):
            return True
    except CannotRunError:
        return False


def _pin(folder: Path, pinned: Path, declared: Declared, *, on_progress: Progress) -> None:
    suite, machine = declared.base["bootstrap"]["suite"], declared.machines[0]
    if suite == USUAL_SUITE:  # the release whose lists of packages the host has, if any
        debian_packages.check_offered(declared.system_packages, where=declared.sources[0])
    what = ", ".join(declared.system_packages) or f"{suite}, which has Python {declared.python}"
    on_progress(f"pinning the distribution's packages: {what}")
    found = bootstrap.solve_base(
        locks.lock_of_own(folder), machine=machine, cache=cache.cache_folder(None), on_progress=on_progress
    )
    pinned.write_text(debian_packages.lock_text(found), encoding="utf-8")
    if suite in MOVING_SUITES:
        on_progress(
            f"{suite} is not finished, so its archive drops these versions soon: keep them with "
            f"`reprokit image vendor {folder.name} FOLDER`"
        )


def _is_that(have: debian_packages.Deb, asked: str) -> bool:
    name, _, version = asked.partition("=")
    return have.name == name and version in {"", have.version}
