"""The schema of recipe.yaml as JSON Schema, for editors that complete and underline while one types.

An editor sees shapes, names and limits; ``reprokit recipe check`` compares a recipe with everything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reprokit.errors import RecipeError
from reprokit.recipes.loading import TRAINERS
from reprokit.recipes.mistakes import did_you_mean
from reprokit.recipes.schema import RecipeModel
from reprokit.recipes.source_file import read_bytes
from reprokit.recipes.trainer_config import read_sections
from reprokit.recipes.validation import whole_model

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def editor_schema(*, recipes_dir: Path, trainer: str | None = None) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a recipe; with ``trainer``, of a recipe with that trainer's sections.

    Raises:
        RecipeError: There is no such trainer, or its settings cannot be read.
    """
    if trainer is not None:
        return {"$schema": DRAFT, **whole_model(_sections(trainer, recipes_dir)).model_json_schema()}
    found = {"$schema": DRAFT, **RecipeModel.model_json_schema()}
    known = list(found["properties"])
    # A trainer has sections of its own, which this schema does not hold.
    found.pop("additionalProperties")
    return {**found, "if": {"required": ["command"]}, "then": {"propertyNames": {"enum": known}}}


def _sections(trainer: str, recipes_dir: Path) -> dict[str, Any]:
    file = recipes_dir / TRAINERS / f"{trainer}.py"
    known = [path.stem for path in (recipes_dir / TRAINERS).glob("*.py") if not path.stem.startswith("_")]
    if trainer not in known:
        raise RecipeError(f"no trainer {trainer!r}", where=str(file.parent), fix=did_you_mean(trainer, known))
    return read_sections(read_bytes(file), where=str(file))
