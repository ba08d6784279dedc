"""Recipes: ``recipes/<name>/recipe.yaml``, what to run and what must repeat.

ruamel.yaml is imported here and nowhere else.
"""

from reprokit.recipes.added_words import command_with, words_of
from reprokit.recipes.data_entries import data_identity
from reprokit.recipes.derived import derived_text
from reprokit.recipes.editor_schema import editor_schema
from reprokit.recipes.imports import PARTS, digest_of_parts
from reprokit.recipes.loading import list_names, load, read_mapping
from reprokit.recipes.overrides import PLATFORM, asked_of, platform_asked, with_platform
from reprokit.recipes.overrides import parse as parse_override
from reprokit.recipes.recipe import (
    CheckRules,
    ExpectedResult,
    NarrowerTolerances,
    Program,
    Recipe,
    RecipeLimits,
    RelaxedRow,
    StatisticalMetric,
    tolerances_from,
)
from reprokit.recipes.schema import NO_VARIANT
from reprokit.recipes.search_space import Distribution, read_search_space

__all__ = [
    "NO_VARIANT",
    "PARTS",
    "PLATFORM",
    "CheckRules",
    "Distribution",
    "ExpectedResult",
    "NarrowerTolerances",
    "Program",
    "Recipe",
    "RecipeLimits",
    "RelaxedRow",
    "StatisticalMetric",
    "asked_of",
    "command_with",
    "data_identity",
    "derived_text",
    "digest_of_parts",
    "editor_schema",
    "list_names",
    "load",
    "parse_override",
    "platform_asked",
    "read_mapping",
    "read_search_space",
    "tolerances_from",
    "with_platform",
    "words_of",
]
