"""A recipe is copied into every run and report: no secret may stand in it.

>>> [str(mistake) for mistake in secrets_in("api_key: hunter2", {}, (), where="recipe.yaml")][0][:14]
'recipe.yaml:1:'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reprokit.errors import RecipeError
from reprokit.redaction import redact, redact_text

_FIX = (
    "where a program wants one before it trains, a placeholder is enough: NAME=<token>, because a run has no "
    "network; any other has to read the secret itself, where it is needed"
)


def secrets_in(text: str, data: Any, overrides: Sequence[str], *, where: str) -> Iterator[RecipeError]:
    """One mistake for each line, setting or override that holds a secret; the secret is not repeated."""
    found = False
    for number, line in enumerate(text.splitlines(), start=1):
        if redact_text(line) != line:
            found = True
            yield RecipeError("a recipe cannot hold a secret", where=f"{where}:{number}", fix=_FIX)
    for override in overrides:
        if redact_text(override) != override:
            found = True
            name = override.partition("=")[0]
            yield RecipeError("a setting cannot be a secret", where=f"--set ({redact_text(name)})", fix=_FIX)
    if not found and redact(data) != data:
        yield RecipeError("a recipe cannot hold a secret", where=where, fix=_FIX)
