"""Whether a result was made from the files that lie here now: bundles and promotions ask alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from reprokit import images, recipes, runs
from reprokit.core.inputs import INPUTS, changed
from reprokit.errors import ReprokitError
from reprokit.harness.running.numbers import PACKAGE, code_digests
from reprokit.harness.running.programs.program_files import digests_by_name, program_files
from reprokit.images import packages
from reprokit.project import Project
from reprokit.recipes import NO_VARIANT, Recipe


def changed_inputs(
    digests: Mapping[str, str], recipe: Recipe, root: Path, *, package: Path = PACKAGE
) -> dict[str, tuple[str, str]]:
    """What of a result's code and lock is different here: name of the input → its digest then, and now.

    Args:
        digests: Input → digest, as recorded.
        recipe: As the tree has it, overrides applied.
        root: The folder that holds ``images/``.
        package: The ``reprokit`` that a trainer imports its runtime from.

    Raises:
        ReprokitError: Something of it cannot be read.
    """
    today = code_digests(recipe, package=package)
    recorded = {name: digest for name, digest in digests.items() if name in INPUTS}
    if recipe.variant == NO_VARIANT:
        recorded.pop("lock", None)  # of the packages that were installed, which no file pins
    else:
        lock = images.locks.read_lock(root).variant(recipe.variant)
        today["lock"] = packages.digest_of(lock.packages_path)
    return {name: (recorded.get(name, "none"), today.get(name, "none")) for name in changed(recorded, today)}


def changed_since_runs(folders: Iterable[Path], project: Project) -> tuple[str, ...]:
    """What the runs of a recipe were made from and is different here: inputs, a program's files by name.

    None where the recipe is not here, cannot be read, or the run is of a plain command.
    """
    found: dict[str, None] = {}
    for folder in folders:
        record = runs.read(folder, verify=False).record
        if record.plain_command:
            continue
        try:
            recipe = recipes.load(
                str(record.recipe), recipes_dir=project.recipes_dir, overrides=recipes.asked_of(record)
            )
            names = changed_inputs(record.digests, recipe, project.root)
            files = digests_by_name(program_files(recipe, project.root)) if "program" in names else {}
        except ReprokitError:
            continue
        then = record.program.files if record.program else {}
        for name in names:
            of_program = sorted(one for one in {*then, *files} if then.get(one) != files.get(one))
            told = of_program if name == "program" and of_program else [INPUTS[name]]
            found |= dict.fromkeys(told)
    return tuple(found)
