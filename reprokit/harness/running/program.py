"""The program that a recipe runs: its command line, variables, files, and what ``run.json`` says of it.

Here a recipe's trainer becomes a program; runs, seeds and surroundings are added in ``plan``. The files that
a recipe declares under ``data`` lie beside recipe.yaml and go into every run folder. One that differs from
its declared digest is refused before anything starts; the program that trains checks it once more
(``runtime.data_files``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reprokit.core import numerics
from reprokit.core.records import Realisation, digest_bytes
from reprokit.errors import RecipeError
from reprokit.harness.running.numbers import digest_facts
from reprokit.layout import CONFIG
from reprokit.recipes import PARTS, Recipe

_LAUNCH = (
    "{python}",
    "-m",
    "reprokit.runtime.launch",
    "--run-dir",
    "{run_dir}",
    "--config",
    "{mounts}/config.yaml",
    "--seed",
    "{seed}",
    "--device",
    "{device}",
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
_FORM = "{name: levels.json, sha256: 'sha256:…', steps: [how it was made]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is the same in all runs of a recipe.

    Attributes:
        command: Its words up to those of a kind of run.
        script: The words after those.
        environment: Variables set before it starts.
        files: Host-owned files of every run folder: relative name → content.
        facts: Keys that go into every ``run.json``.
    """

    command: tuple[str, ...]
    script: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, bytes]
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file: its name beside recipe.yaml, its digest, its content."""

    name: str
    sha256: str
    content: bytes


def program_of(recipe: Recipe, realisation: Realisation, *, profile_step: int | None) -> Program:
    """The trainer of a recipe as a program.

    Args:
        recipe: The validated recipe, overrides applied.
        realisation: The environment that it runs in.
        profile_step: Profile, and look at the update that begins at or after this step; None for neither.

    Raises:
        RecipeError: Data that the recipe declares is missing or other than declared.
    """
    data = declared(recipe)
    return Program(
        command=(*_LAUNCH, *_options(recipe, data, profile_step=profile_step)),
        script=("--", f"{{mounts}}/recipes/trainers/{recipe.trainer.name}"),
        environment={
            **numerics.variables(recipe.numerics, hash_seed=0),
            "PYTHONPATH": "{mounts}",
            "PYTHONUNBUFFERED": "1",
        },
        files={
            CONFIG: recipe.config_yaml().encode(),
            f"source/{recipe.name}/recipe.yaml": recipe.file.read_bytes(),
            f"source/trainers/{recipe.trainer.name}": recipe.trainer.read_bytes(),
            **{f"source/{PARTS}/{part.name}": part.content for part in recipe.parts},
            **{f"source/{recipe.name}/{one.name}": one.content for one in data},
        },
        facts={
            "numerics": recipe.numerics,
            "modified": list(recipe.modified),
            **digest_facts(recipe, realisation),
            "recipe_data": dict(recipe.plain),
            "training_config": dict(recipe.training_config),
            **({"data": {one.name: one.sha256 for one in data}} if data else {}),
        },
    )


def _options(recipe: Recipe, data: Sequence[DataFile], *, profile_step: int | None) -> Iterator[str]:
    if recipe.keep_checkpoints is not None:
        yield from ("--keep-checkpoints", str(recipe.keep_checkpoints))
    for one in data:
        yield from ("--data", one.name, one.sha256, f"{{mounts}}/recipes/{recipe.name}/{one.name}")
    if profile_step is not None:
        yield from ("--profile-step", str(profile_step))


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
