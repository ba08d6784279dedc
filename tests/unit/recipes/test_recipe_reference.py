"""docs/reference/recipe.md says everything that the schema knows, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from reprokit.recipes.schema import RecipeModel
from reprokit.recipes.validation import key_paths

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "recipe.md"


def documented() -> set[str]:
    return set(re.findall(r"^\| `([^`]+)` \|", REFERENCE.read_text(), flags=re.MULTILINE))


def known() -> set[str]:
    return {".".join(path) for path in key_paths(RecipeModel)}


def test_every_key_of_the_schema_is_documented():
    assert known() - documented() == set()


def test_no_key_is_documented_that_the_schema_does_not_know():
    assert documented() - known() == set()


def test_the_example_in_the_reference_is_a_valid_recipe(folder):
    example = re.search(r"```yaml\n(.*?)```", REFERENCE.read_text(), flags=re.DOTALL)
    assert example is not None
    folder.write(example[1])
    assert folder.load().title
