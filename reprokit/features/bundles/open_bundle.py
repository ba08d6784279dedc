"""A bundle unpacked as a project of its own, checked before anything of it is run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit import __version__, golden, images, recipes
from reprokit.errors import BundleError, EngineError, UsageError
from reprokit.features.bundles.bundled_data import must_be_declared, put_into_cache
from reprokit.features.bundles.bundled_records import must_bear_each_other_out
from reprokit.features.bundles.gather_files import must_stand_on
from reprokit.features.bundles.manifest import BundleManifest
from reprokit.features.bundles.reading import ALTERED, unpack
from reprokit.harness.running.environments.environment import choose_backend
from reprokit.harness.running.numbers import PACKAGE, code_digests
from reprokit.images.foreign_lock import must_be_as_shipped
from reprokit.layout import SOURCE
from reprokit.project import Project
from reprokit.recipes import NO_VARIANT, Recipe
from reprokit.request import Request

_NOTE_OF_LOCAL = (
    "--backend local: the bundle's code runs on this machine with your rights and no container around it. It "
    "can read your files, keys and tokens among them, use the network, and change or delete what you can"
)
_NOTE_OF_PACKAGE = (
    "the bundle's own reprokit runs next to the training, because its runtime differs from the one here; no "
    "digest in golden or records covers the rest of it: read package/ in the bundle"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBundle:
    """A bundle whose files agree with its manifest and with each other; nothing of it was run.

    Attributes:
        manifest: What it says of itself.
        recipe: Its recipe, overrides applied.
        sha256: Digest of the archive.
        package: The ``reprokit`` in it, which may not be there.
    """

    manifest: BundleManifest
    recipe: Recipe
    sha256: str
    package: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBundle:
    """A bundle, unpacked.

    Attributes:
        project: Its code, environment and golden, with the reviewer's folders for runs and reports.
        recipe: What is to be run.
        request: As asked, with the bundle's seed and settings, and the backend that was chosen.
    """

    project: Project
    recipe: Recipe
    request: Request


def checked(file: Path, folder: Path, *, sha256: str | None) -> CheckedBundle:
    """Unpack a bundle into an empty folder, and compare all that it holds; nothing of it is run.

    Args:
        file: The archive.
        folder: Where to.
        sha256: The digest that the archive must have; None for any.

    Raises:
        BundleError: It is damaged, was altered, or does not fit together.
        ReprokitError: Something in it cannot be read.
    """
    found = unpack(file.absolute(), folder, sha256=sha256)
    manifest = found.manifest
    own = folder / "package" / "reprokit"
    try:
        recipe = recipes.load(manifest.recipe, recipes_dir=folder / SOURCE, overrides=manifest.modified)
        _must_fit_together(manifest, recipe, folder, package=own if own.is_dir() else PACKAGE)
        must_bear_each_other_out(manifest, folder)
        must_be_declared(recipe, folder)
    except UsageError as error:
        raise _of_archive(error, file, folder) from error
    return CheckedBundle(manifest=manifest, recipe=recipe, sha256=found.sha256, package=own)


def _of_archive(error: UsageError, file: Path, folder: Path) -> BundleError:
    """The same for someone who has the archive: where in it, and not how its author would mend it."""

    def shown(text: str | None) -> str | None:
        return text and text.replace(f"{folder}/", "").replace(str(folder), file.name)

    where = shown(error.where)
    return BundleError(
        str(shown(error.what)),
        where=file.name if where in {None, file.name} else f"{file.name}: {where}",
        expected=shown(error.expected),
        actual=shown(error.actual),
        fix=error.fix if isinstance(error, BundleError) and error.fix else ALTERED,
    )


def opened(
    file: Path,
    folder: Path,
    request: Request,
    *,
    sha256: str | None,
    home: Project,
    on_progress: Callable[[str], None],
) -> OpenBundle:
    """Unpack a bundle into an empty folder, check it, and put its data and packages where runs find them.

    Args:
        file: The archive.
        folder: Where to.
        request: Backend, repeats and limits; ``auto`` means a container here, and nothing else.
        sha256: The digest that the archive must have; None for any.
        home: The reviewer's project, where runs and reports go.
        on_progress: Told what is done.

    Raises:
        BundleError: It is damaged, was altered, or does not fit together.
        EngineError: No container engine answers, or nothing says what image to run.
        ReprokitError: Something in it cannot be read, or its environment cannot be made here.
    """
    found = checked(file, folder, sha256=sha256)
    manifest, recipe = found.manifest, found.recipe
    put_into_cache(recipe, folder, on_progress=on_progress)
    request = replace(request, seed=manifest.seed, overrides=manifest.modified)
    request = replace(request, backend=_backend(recipe, request.backend, on_progress=on_progress))
    if recipe.variant != NO_VARIANT:
        must_be_as_shipped(folder, recipe.variant, vendored=manifest.vendored)
    if manifest.vendored:
        images.resolve(
            recipe.variant,
            project=folder,
            kind="image" if request.backend == "docker" else "venv",
            build=images.BuildOptions(vendored=folder / "vendored"),
            on_progress=on_progress,
        )
    project = Project(
        root=folder,
        recipes_dir=folder / SOURCE,
        golden_dir=folder / "golden",
        runs_dir=home.runs_dir,
        reports_dir=home.reports_dir,
        package=_package_of_runs(recipe, found.package, on_progress=on_progress),
        bundle={
            "file": file.name,
            "path": str(file),
            "sha256": found.sha256,
            **({"sha256_asked": sha256} if sha256 else {}),
            **_commit_of(manifest),
        },
    )
    return OpenBundle(project=project, recipe=recipe, request=request)


def _commit_of(manifest: BundleManifest) -> dict[str, str]:
    """The commit that its author names, which nothing here shows."""
    return {"commit": manifest.commit} if re.fullmatch("[0-9a-f]{40,64}", manifest.commit or "") else {}


def _must_fit_together(manifest: BundleManifest, recipe: Recipe, folder: Path, *, package: Path) -> None:
    """Refuse a bundle whose code is not what its own golden and records name.

    Raises:
        BundleError: It is not.
    """
    if recipe.variant != manifest.variant:
        raise BundleError(
            "the manifest and the recipe name different environments",
            expected=manifest.variant,
            actual=recipe.variant,
        )
    fix = ALTERED
    if manifest.tool != __version__:
        fix += f"; if that is the same, use reprokit {manifest.tool}, which it was made with"
    must_stand_on(manifest.digests, recipe, folder, what=manifest.of, fix=fix, package=package)
    for row in golden.list_all(folder / "golden"):
        blessed = golden.load(row.path).provenance
        named = (blessed.recipe, blessed.platform, blessed.seed)
        if named != (manifest.recipe, manifest.platform, manifest.seed):
            raise BundleError("the bundle holds a golden that is not its own", where=str(row.path))
        must_stand_on(blessed.digests, recipe, folder, what="golden", fix=fix, package=package)


def _package_of_runs(recipe: Recipe, theirs: Path, *, on_progress: Callable[[str], None]) -> Path | None:
    """The bundle's ``reprokit``, where only it has the runtime that the numbers stand on; None for this one.

    No digest in a golden covers the rest of that package, which could print any numbers.
    """
    if not theirs.is_dir() or code_digests(recipe, package=theirs) == code_digests(recipe):
        return None
    on_progress(_NOTE_OF_PACKAGE)
    return theirs


def _backend(recipe: Recipe, wanted: str, *, on_progress: Callable[[str], None]) -> str:
    """``docker``, or ``local`` where someone typed it: a bundle is someone else's code.

    Raises:
        EngineError: No engine answers, or the recipe has no image or asks for the network.
    """
    if wanted == "local":
        on_progress(_NOTE_OF_LOCAL)
        return "local"
    fix = "read source/ in the bundle; then `--backend local`, which runs it with your rights"
    if recipe.variant == NO_VARIANT:
        raise EngineError("the bundle's recipe has no environment that a container is made of", fix=fix)
    if recipe.program is not None and recipe.program.network:
        raise EngineError(
            "the bundle's recipe asks for the network, which its container does not have", fix=fix
        )
    return choose_backend("docker")
