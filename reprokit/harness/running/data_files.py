"""The files that a recipe declares under ``data``: they lie beside recipe.yaml and go into every run folder.

A file that differs from its declared digest is refused before anything starts; the program that trains checks
it once more (``runtime.data_files``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reprokit.core.records import digest_bytes
from reprokit.errors import RecipeError
from reprokit.recipes import Recipe

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
_FORM = "{name: levels.json, sha256: 'sha256:…', steps: [how it was made]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file: its name beside recipe.yaml, its digest, its content."""

    name: str
    sha256: str
    content: bytes


def declared(recipe: Recipe) -> tuple[DataFile, ...]:
    """Every file that the recipe declares, read and held against its digest.

    Raises:
        RecipeError: An entry names no file, or the file is missing or another one.
    """
    if isinstance(recipe.data, str):
        return ()
    return tuple(_read(recipe, entry) for entry in recipe.data)


def _read(recipe: Recipe, entry: Any) -> DataFile:
    where = recipe.where("data")
    name, sha256 = (entry.get("name"), entry.get("sha256")) if isinstance(entry, Mapping) else (None, None)
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name == recipe.file.name:
        raise RecipeError("data without a file's name", where=where, expected=_FORM, actual=repr(entry))
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise RecipeError(f"the data {name} has no SHA-256", where=where, expected=_FORM, actual=repr(sha256))
    path = recipe.file.parent / name
    project = recipe.file.parents[2].resolve()
    if not path.resolve().is_relative_to(project):  # every run folder would get a copy of it
        raise RecipeError(
            f"the data {name} is a link that leads out of {project}",
            where=where,
            fix="put the file itself there",
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RecipeError(
            f"the data {name} cannot be read: {error.strerror}",
            where=where,
            fix=f"put it beside {recipe.file.name}",
        ) from error
    if digest_bytes(content) != sha256:
        raise RecipeError(
            f"the data {name} is another file than declared",
            where=where,
            expected=sha256,
            actual=digest_bytes(content),
            fix=f"put the declared file back, or declare this one: {path}",
        )
    return DataFile(name=name, sha256=sha256, content=content)
