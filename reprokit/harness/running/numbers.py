"""What a recipe's numbers stand on, as digests and as paths: the one definition that all stories use.

Three questions, three answers:

- ``digests_of``: what can change the numbers of *this* recipe. A golden and every ``run.json`` hold these
  digests; where one differs, the report says what changed and no stopped run continues. Probes and
  instrumentation are none of it: nothing of them is loaded before a judged training has ended. Only where a
  recipe says ``instrument`` its program is watched from the first line on, and the instrumentation counts.
- ``mounted_digest``: the whole package that a run could import from. ``run.json`` records it, and a run
  during which it changes is not complete (``execute``). It is no part of a golden, and keeps no run from
  being resumed.
- ``tree_digest``: what could give a run in *another tree* other numbers. That tree may bring a ``reprokit``
  of its own, which then starts the run too (variables, limits, mounts), and may lay it out otherwise than
  this one: so all of its package counts, whatever is where. A commit that touches only, say, the command line
  is trained once more than needed; two commits that differ are never taken for equal.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import reprokit
from reprokit.core.records import Realisation, RunSpec, digest
from reprokit.execution import source_files
from reprokit.harness.running.programs.program_files import (
    ProgramFile,
    digest_of_files,
    left_out,
    program_files,
)
from reprokit.project import Project, settings_of
from reprokit.workspace import sha256_of_path

if TYPE_CHECKING:
    from reprokit.recipes import Recipe

PACKAGE = Path(reprokit.__file__).parent
#: What runs alongside every training and can change its numbers, below the package.
_RUNTIME = ("runtime", "core/numerics.py")
#: What a container image is made from besides; a project with virtual environments only may do without.
_OF_CONTAINERS = ("images/Dockerfile", "images/base")


def digest_facts(recipe: Recipe, realisation: Realisation, *, package: Path = PACKAGE) -> dict[str, Any]:
    """What ``run.json`` says of them."""
    return {
        "recipe_digest": recipe.digest,
        "digests": digests_of(recipe, realisation, package=package),
        "mounted_digest": mounted_digest(package),
    }


def digests_of(recipe: Recipe, realisation: Realisation, *, package: Path = PACKAGE) -> dict[str, str]:
    """Digest of each input (``core.inputs``) of a run."""
    return {**code_digests(recipe, package=package), "lock": realisation.lock_digest}


def code_digests(recipe: Recipe, *, package: Path = PACKAGE) -> dict[str, str]:
    """The same without the environment, which is known only once it is there.

    Raises:
        WorkspaceError: A file or folder that they stand on is not there.
    """
    if recipe.trainer is None:
        return recipe_digests(recipe)
    return {
        **recipe_digests(recipe),
        "runtime": digest([sha256_of_path(package / name, pattern="*.py") for name in _RUNTIME]),
    }


def recipe_digests(recipe: Recipe, *, files: tuple[ProgramFile, ...] | None = None) -> dict[str, str]:
    """The same of what lies in the folder of recipes, and of the files that an unmodified program sees."""
    if recipe.trainer is None:
        seen = program_files(recipe, recipe.project_dir) if files is None else files
        config = digest(recipe.training_config)
        found = {"recipe": recipe.digest, "program": digest_of_files(seen), "config": config}
        if recipe.is_watched:
            found["instrumentation"] = sha256_of_path(PACKAGE / "instrumentation", pattern="*.py")
        return found
    from reprokit.recipes import digest_of_parts

    return {
        "recipe": recipe.digest,
        "trainer": sha256_of_path(recipe.trainer),
        **({"parts": digest_of_parts(recipe.parts)} if recipe.parts else {}),
        "config": digest(recipe.training_config),
    }


def mounted_digest(package: Path = PACKAGE) -> str:
    """Digest of everything that is mounted into a run as ``reprokit``: its files, no byte-code among them.

    Raises:
        WorkspaceError: There is no such folder, or nothing in it.
    """
    return source_files.digest_of(package)


def mounted_package(spec: RunSpec) -> Path | None:
    """The package that a run could import from; None for a plain command."""
    return next((Path(mount.path) for mount in spec.mounts if mount.name == "reprokit"), None)


def tree_digest(root: Path, recipe: Recipe) -> str:
    """Digest of all that a recipe's run in another tree stands on.

    Args:
        root: The project's folder in that tree.
        recipe: As that tree has it, overrides applied.

    Raises:
        WorkspaceError: The tree has no environment for the recipe.
    """
    from reprokit.recipes import NO_VARIANT

    environment = environment_digest(root, recipe.variant) if recipe.variant != NO_VARIANT else ""
    if recipe.trainer is None:
        return digest([recipe_digests(recipe), environment])
    return digest([recipe.digest, environment, mounted_digest(package_of(root))])


def environment_digest(root: Path, variant: str) -> str:
    """Digest of what an environment is made from.

    Raises:
        WorkspaceError: The tree has no such variant.
    """
    optional = (root / path for path in _OF_CONTAINERS)
    needed = (root / path for path in _needed_by_all(variant, root))
    return digest(
        [
            *map(sha256_of_path, needed),
            *(sha256_of_path(path) for path in optional if path.exists()),
        ]
    )


def package_of(root: Path) -> Path:
    """The ``reprokit`` that runs a tree: the tree's own, or this one."""
    return _own_package(root) or PACKAGE


def paths_of(recipe: Recipe, project: Project) -> list[str]:
    """What ``digests_of`` digests, as files and folders from the project's root; for git."""
    if recipe.trainer is None:
        return _of_command(recipe, project)
    own = [f"reprokit/{name}" for name in _RUNTIME] if _own_package(project.root) else []
    return [*_outside_package(recipe, project), *own]


def trainers_paths(root: Path) -> tuple[str, ...]:
    """Where all that ``digests_of`` digests lies, of any recipe with a trainer in a tree."""
    told = settings_of(root)
    own = ("__main__.py", *_RUNTIME)
    return (told.recipes, told.images, *(f"{PACKAGE.name}/{name}" for name in own))


def tree_paths_of(recipe: Recipe, project: Project) -> list[str]:
    """The same for ``tree_digest``."""
    if recipe.trainer is None:
        return _of_command(recipe, project)
    return [*_outside_package(recipe, project), *(["reprokit"] if _own_package(project.root) else [])]


def _outside_package(recipe: Recipe, project: Project) -> list[str]:
    sources = (*([recipe.trainer] if recipe.trainer else []), *(part.path for part in recipe.parts))
    within = [path.resolve() for path in sources if path.resolve().is_relative_to(project.root)]
    return [
        f"recipes/{recipe.name}",
        *_needed_by_all(recipe.variant, project.root),
        *_OF_CONTAINERS,
        *(path.relative_to(project.root).as_posix() for path in within),
    ]


def _of_command(recipe: Recipe, project: Project) -> list[str]:
    """The recipe, its environment, and every file that its program sees or saw, as git's patterns."""
    if recipe.program and recipe.program.sees:
        return [*_outside_package(recipe, project), *recipe.program.sees]
    return [".", *(f":(exclude){name}" for name in left_out(settings_of(project.root)))]


def _needed_by_all(variant: str, root: Path) -> tuple[str, ...]:
    """What every environment of a variant is made from; one of a person's own has all of it in its folder."""
    from reprokit.images.locks import VARIANT
    from reprokit.recipes import NO_VARIANT

    if variant == NO_VARIANT:
        return ()
    images_dir = settings_of(root).images
    own = (root / images_dir / variant / VARIANT).is_file()
    return (f"{images_dir}/{variant}",) if own else (f"{images_dir}/{variant}", f"{images_dir}/lock.toml")


def _own_package(root: Path) -> Path | None:
    own = root / "reprokit"
    return own if (own / "__main__.py").is_file() else None
