"""The pinned environments under ``images/``, built as container images or as virtual environments.

Both are made from the same wheels, checked against the same hashes, and found again by a digest of
their content, never by a tag.

    >>> resolve("cpu", project=Path("."), kind="image", on_progress=print).reference
    'sha256:8f0d…'
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from reprokit import extras, layout
from reprokit.core.records import Realisation
from reprokit.errors import ReprokitError, UsageError

__all__ = [
    "BuildOptions",
    "cache",
    "changed_since",
    "forecast",
    "housekeeping",
    "inventory",
    "kept_with_runs",
    "locks",
    "resolve",
    "variables",
    "vendor",
    "why_no_image",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """Of what an environment is made, and how, where it is not there yet.

    Attributes:
        base: Of an image: ``auto``, ``registry`` or ``bootstrap``.
        builder: Of an image: ``classic`` or ``buildkit``.
        vendored: A folder of `vendor.fill` that everything is taken from, or None.
    """

    base: str = "auto"
    builder: str = "classic"
    vendored: Path | None = None


def resolve(
    variant: str,
    *,
    project: Path,
    kind: Literal["image", "venv"],
    build: BuildOptions = BuildOptions(),
    cache_dir: Path | None = None,
    on_progress: Callable[[str], None],
) -> Realisation:
    """Find a variant's environment, or build it; finding takes well under a second.

    Several callers at once are safe: one builds it, the others wait. What an interrupted or killed caller
    leaves is never taken for complete. ``variant`` is a key of ``images/lock.toml`` or a folder under
    ``images/``; ``build`` says of what and how it is made; ``on_progress`` is called with lines for a
    person, also from another thread.

    Raises:
        RecipeError: There is no such variant.
        UsageError: The vendored folder is another environment's, or a registry's base is wanted with it.
        EngineError: An image is wanted and no engine answers.
        ImageError: It cannot be made; the message says why and what to do.
        WorkspaceError: The cache cannot be written.
    """
    extras.must_have(*(("docker", "packaging", "pip") if kind == "image" else ("uv", "packaging", "pip")))
    from reprokit.images import cache, locks, vendor, venvs, wheels  # noqa: PLC0415  (start-up time)

    base, vendored = build.base, build.vendored
    lock = locks.read_lock(project)
    chosen = lock.variant(variant)
    folder = cache.cache_folder(cache_dir)
    if chosen.fallback and vendored is None and not wheels.can_be_had(chosen, cache=folder):
        on_progress(
            f"{', '.join(chosen.indexes)} cannot be reached: using {chosen.fallback} instead of {variant}"
        )
        chosen = lock.variant(chosen.fallback)
    if vendored is not None:
        if base == "registry":
            raise UsageError(
                "a vendored folder has a base from distribution packages, not from a registry",
                where=str(vendored),
                expected="--image-from bootstrap, or none",
                actual="--image-from registry",
            )
        vendor.take(lock, chosen, vendored, machine=platform.machine(), cache=folder)
        base = "bootstrap"
    if kind == "venv":
        return venvs.realise(chosen, cache=folder, on_progress=on_progress)
    from reprokit.images.building.build import realise  # noqa: PLC0415  (the docker SDK)

    return realise(lock, chosen, base=base, builder=build.builder, cache=folder, on_progress=on_progress)


def why_no_image(variant: str, *, project: Path) -> str:
    """Why no image of a variant can be built: no base has its Python, or its packages; "" where one has.

    What is wrong otherwise is said where the environment is made.
    """
    from reprokit.images import locks  # noqa: PLC0415  (start-up time)
    from reprokit.images.building import bases  # noqa: PLC0415  (the docker SDK)

    try:
        lock = locks.read_lock(project)
        chosen = lock.variant(variant)
        bases.fitting_kinds(lock.based_for(chosen), chosen, wanted=bases.AUTO)
    except bases.NoBaseError as error:
        versions = f": {error.actual}, and not {error.expected}" if error.expected else ""
        return f"{error.what}{versions}"
    except ReprokitError:
        return ""
    return ""


def variables(realisation: Realisation, *, project: Path, tree: str) -> dict[str, str]:
    """What a program's environment variables must hold so that it runs in an environment.

    Args:
        realisation: The environment.
        project: The folder that holds ``images/``.
        tree: The repository as the program sees it: its path on the host, or inside a container.

    Returns:
        ``PYTHONPATH`` where the repository itself is installed as editable; for a virtual environment
        ``PATH`` with it first and ``VIRTUAL_ENV``, which an image has by itself.
    """
    from reprokit.images import locks  # noqa: PLC0415  (start-up time)

    folders = locks.read_lock(project).variant(realisation.variant).imports_from
    imports = {"PYTHONPATH": os.pathsep.join(os.path.normpath(f"{tree}/{folder}") for folder in folders)}
    found = imports if folders else {}
    if realisation.kind != "venv":
        return found
    path = os.pathsep.join((f"{realisation.reference}/bin", os.environ.get("PATH", os.defpath)))
    return {**found, "PATH": path, "VIRTUAL_ENV": realisation.reference}


def kept_with_runs(
    realisation: Realisation, *, project: Path, whole: bool
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What every run folder keeps of an environment: its lock, an image's documents, what is installed.

    Returns:
        Facts for ``run.json``: whether a virtual environment holds what was installed from its lock, each
        file read again with ``whole``. And files: no lock where the one in ``images/`` has changed since the
        environment was made; no documents of a virtual environment, or of an image built on another machine.

    Raises:
        ImageError: ``images/`` cannot be read.
        WorkspaceError: The cache cannot be reached.
    """
    from reprokit.images import cache, locks, packages, venvs  # noqa: PLC0415  (start-up time)

    variant = locks.read_lock(project).variant(realisation.variant)
    path = variant.packages_path
    same = packages.digest_of(path) == realisation.lock_digest
    lock = {layout.LOCK: path.read_bytes()} if same else {}
    if realisation.kind == "image":
        from reprokit.images.checking import image_documents  # noqa: PLC0415  (the docker SDK)

        return {}, {**lock, **image_documents.files_of(realisation.digest, cache=cache.cache_folder(None))}
    folder = Path(realisation.reference)
    if not folder.is_dir():
        return {}, lock
    found = venvs.installed(variant, folder, cache=folder.parent.parent, whole=whole)
    return {"installed": found.as_fact()}, lock


def changed_since(installed: Mapping[str, Any], realisation: Realisation) -> tuple[str, ...]:
    """What of a virtual environment is not as it was before its runs, a sentence each.

    Args:
        installed: The fact of that name that ``kept_with_runs`` gave; nothing is looked at where that says
            that files were foreign already, or where there is none, as of an image.
        realisation: The environment.
    """
    from reprokit.images import installed_files  # noqa: PLC0415  (start-up time)

    state = installed.get("state")
    return installed_files.changed_since(state, Path(realisation.reference)) if state else ()
