"""The steps under ``prepare`` of a recipe: what each stands on, and what a run's record says of it.

Nothing is prepared here: a run uses what `reprokit data prepare` made, as it uses what was fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprokit.core.records import Realisation, digest_bytes
from reprokit.data import step_launcher
from reprokit.data.preparation import StepInputs, record_of
from reprokit.errors import RecipeError
from reprokit.images.cache import cache_folder
from reprokit.recipes import PARTS, Recipe

#: Where a step finds the Python files next to recipe.yaml, the project's parts, and its launcher.
CODE, LAUNCHER = "recipe", "step_launcher.py"
_MOST_FILES = 1000


def outputs_of(recipe: Recipe, step: str) -> dict[str, Mapping[str, Any]]:
    """Name → declaration of each file that a step makes."""
    entries = recipe.data if isinstance(recipe.data, Mapping) else {}
    return {name: entry for name, entry in entries.items() if entry.get("prepared") == step}


def code_of(recipe: Recipe) -> dict[str, bytes]:
    """Every file that a step can import, by its place next to the launcher.

    Raises:
        RecipeError: There are too many, or one cannot be read.
    """
    launcher = Path(step_launcher.__file__).read_bytes()
    parts = recipe.file.parent.parent / PARTS
    files = {LAUNCHER: launcher}
    for root, place in ((recipe.file.parent, CODE), (parts, f"recipes/{PARTS}")):
        for path in sorted(root.rglob("*.py")) if root.is_dir() else ():
            if path.is_symlink() or not path.is_file() or "__pycache__" in path.parts:
                continue
            try:
                files[f"{place}/{path.relative_to(root).as_posix()}"] = path.read_bytes()
            except OSError as error:
                raise RecipeError(f"it cannot be read: {error.strerror}", where=str(path)) from error
    if len(files) > _MOST_FILES:
        raise RecipeError(
            f"more than {_MOST_FILES} Python files next to a recipe that prepares", where=str(root)
        )
    return files


def inputs_of(
    recipe: Recipe, step: str, *, code: Mapping[str, bytes], realisation: Realisation
) -> StepInputs:
    """All that a step's files can depend on.

    Raises:
        RecipeError: Its script is not among the files next to the recipe.
    """
    said = recipe.plain["prepare"][step]
    if said["script"] and f"{CODE}/{said['script']}" not in code:
        raise RecipeError(
            f"there is no {said['script']} next to {recipe.file.name}",
            where=recipe.where(f"prepare.{step}.script"),
        )
    entries = recipe.plain["data"]
    return StepInputs(
        step=step,
        runs=said["script"] or said["function"],
        code={name: digest_bytes(content) for name, content in code.items()},
        inputs={name: entries[name]["sha256"] for name in said["inputs"]},
        settings=said["settings"],
        seed=said["seed"],
        environment={
            "variant": realisation.variant,
            "lock": realisation.lock_digest,
            "numerics": recipe.numerics,
        },
    )


def recorded(recipe: Recipe, realisation: Realisation | None) -> dict[str, Any]:
    """What ``run.json`` says of the preparation of a recipe's data; {} where it declares none."""
    if not recipe.plain.get("prepare"):
        return {}
    if realisation is None:
        return {"preparation": {}}
    code, cache = code_of(recipe), cache_folder(None)
    found = {}
    for step in recipe.plain["prepare"]:
        inputs = inputs_of(recipe, step, code=code, realisation=realisation)
        known = record_of(inputs, cache=cache)
        found[step] = {"key": inputs.key, "preparations": 0} if known is None else known.as_data()
    return {"preparation": found}
