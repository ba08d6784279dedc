"""Recipes: ``recipes/<name>/recipe.yaml``, what to run and what must repeat.

ruamel.yaml is imported here and nowhere else.
"""

from reprokit.recipes.editor_schema import editor_schema
from reprokit.recipes.imports import PARTS, digest_of_parts
from reprokit.recipes.loading import list_names, load, read_mapping
from reprokit.recipes.recipe import (
    CheckRules,
    Expected,
    NarrowerTolerances,
    Program,
    Recipe,
    RecipeLimits,
    Relaxation,
    StatisticalMetric,
    tolerances_from,
)
from reprokit.recipes.schema import NO_VARIANT

__all__ = [
    "NO_VARIANT",
    "PARTS",
    "CheckRules",
    "Expected",
    "NarrowerTolerances",
    "Program",
    "Recipe",
    "RecipeLimits",
    "Relaxation",
    "StatisticalMetric",
    "digest_of_parts",
    "editor_schema",
    "list_names",
    "load",
    "read_mapping",
    "tolerances_from",
]
