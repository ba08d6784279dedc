"""How a recipe's program is started: command line, variables, files, and what ``run.json`` says of it.

Here a recipe's trainer or command becomes a program; runs, seeds and conditions are added in ``plan``. The
files that a recipe declares under ``data`` lie next to recipe.yaml and go into every run folder. One that
differs from its declared digest is refused before anything starts; a trainer checks it once more
(``runtime.data_files``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import images
from reprokit.core import numerics
from reprokit.core.records import Realisation, digest_bytes
from reprokit.errors import RecipeError, UsageError
from reprokit.execution import accelerators
from reprokit.execution.placeholders import refuse_near_misses
from reprokit.harness.running.environments import preparation, recipe_data
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.environments.recipe_data import FetchedData
from reprokit.harness.running.numbers import digest_facts, recipe_digests
from reprokit.harness.running.programs.program_files import ProgramFile, digests_by_name, program_files
from reprokit.harness.running.programs.program_output import PROGRAM_MOUNT, WORK
from reprokit.layout import CONFIG, PROGRAM, RECIPE, SOURCE
from reprokit.recipes import NO_VARIANT, PARTS, Program, Recipe
from reprokit.redaction import redact_command

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
#: For several processes that train one model.
_LAUNCH_RANKS = tuple("reprokit.runtime.launch_ranks" if word == _LAUNCH[2] else word for word in _LAUNCH)
#: What a command line calls the Python of its environment.
_PYTHONS = ("python", "python3")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
_FORM = "{name: levels.json, sha256: 'sha256:…', steps: [how it was made]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What is the same in all runs of a recipe.

    Attributes:
        command: Its words up to those of a kind of run.
        script: The words after those.
        environment: Variables set before it starts.
        files: Host-owned files of every run folder: relative name → content.
        facts: Keys that go into every ``run.json``.
        mounts: What the program may read: name → absolute path, or path below the run folder.
        working_dir: Where it starts; None for the run folder's ``output``.
        executables: Those of ``files`` that can be executed.
        fetched: Data of the cache that it reads.
    """

    command: tuple[str, ...]
    script: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, bytes]
    facts: Mapping[str, Any]
    mounts: Mapping[str, str]
    working_dir: str | None = None
    executables: tuple[str, ...] = ()
    fetched: tuple[FetchedData, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file: its name next to recipe.yaml, its digest, its content."""

    name: str
    sha256: str
    content: bytes


def launch_of(recipe: Recipe, environment: Environment, *, profile_step: int | None = None) -> Launch:
    """The trainer or the command of a recipe as a program.

    Args:
        recipe: The validated recipe, overrides applied.
        environment: Where it runs; a recipe that was read from a run's folder has no ``images/`` next to it.
        profile_step: Profile, and look at the update that begins at or after this step; None for neither.

    Raises:
        RecipeError, DataError: Data that the recipe declares is missing or other than declared.
    """
    if recipe.program is not None:
        return _launch_of_command(recipe, recipe.program, environment)
    realisation = environment.realisation
    trainer, data = trainer_of(recipe), declared(recipe)
    found = recipe_data.fetched(recipe) if isinstance(recipe.data, Mapping) else ()
    launcher = _LAUNCH_RANKS if recipe.ranks and recipe.ranks["world_size"] > 1 else _LAUNCH
    return Launch(
        command=(*launcher, *_options(recipe, data, found, profile_step=profile_step)),
        script=("--", f"{{mounts}}/recipes/trainers/{trainer.name}"),
        environment={
            **numerics.variables(recipe.numerics, hash_seed=0),
            **_of_device(recipe, pins_kernels=True),
            "PYTHONPATH": "{mounts}",
            "PYTHONUNBUFFERED": "1",
        },
        files={CONFIG: recipe.config_yaml().encode(), **_sources(recipe, data=data)},
        facts={
            "numerics": recipe.numerics,
            "modified": list(recipe.modified),
            **({"platform_asked": recipe.platform} if recipe.platform else {}),
            **digest_facts(recipe, needed(recipe, realisation), package=environment.package),
            "recipe_data": dict(recipe.plain),
            "training_config": dict(recipe.training_config),
            **(recipe_data.recorded([*data, *found]) if data or found else {}),
            **(preparation.recorded(recipe, realisation) if recipe.plain.get("prepare") else {}),
            **(recipe_data.shared_rows(recipe, found) if recipe.plain.get("disjoint") else {}),
        },
        fetched=found,
        mounts={"reprokit": str(environment.package), "recipes": SOURCE, CONFIG: CONFIG},
    )


def sources_of(recipe: Recipe) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The files under ``source/`` of every run folder, and the names of those that can be executed.

    Raises:
        RecipeError: Data that the recipe declares is missing or other than declared.
    """
    files = program_files(recipe, recipe.project_dir) if recipe.program else ()
    executables = tuple(f"{PROGRAM}/{file.name}" for file in files if file.executable)
    return _sources(recipe, data=declared(recipe), files=files), executables


def _launch_of_command(recipe: Recipe, program: Program, environment: Environment) -> Launch:
    realisation = environment.realisation
    refuse_near_misses(program.command)
    files, data = program_files(recipe, recipe.project_dir), declared(recipe)
    found = recipe_data.fetched(recipe) if isinstance(recipe.data, Mapping) else ()
    python = "{python}" if realisation else None
    first = python if python and program.command[0] in _PYTHONS else program.command[0]
    base = f"{{run_dir}}/{WORK}" if program.collect else f"{{{PROGRAM_MOUNT}}}"
    redacted = list(redact_command(program.command))
    return Launch(
        command=(first, *program.command[1:]),
        script=(),
        environment={
            **(
                _of_environment(recipe, realisation, environment.root or recipe.project_dir)
                if realisation
                else {}
            ),
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",  # the program's files stay as they were digested
            **program.variables,
        },
        files={CONFIG: recipe.config_yaml().encode(), **_sources(recipe, data=data, files=files)},
        facts={
            "numerics": recipe.numerics,
            "modified": list(recipe.modified),
            **({"platform_asked": recipe.platform} if recipe.platform else {}),
            "recipe_digest": recipe.digest,
            "digests": {
                **recipe_digests(recipe, files=files),
                **({"lock": realisation.lock_digest} if realisation else {}),
            },
            "recipe_data": dict(recipe.plain),
            "outputs": list(program.outputs),
            "training_config": dict(recipe.training_config),
            "program": {
                "command": redacted,
                "working_dir": program.working_dir,
                "files": digests_by_name(files),
            },
            **(recipe_data.recorded([*data, *found]) if data or found else {}),
            **(preparation.recorded(recipe, realisation) if recipe.plain.get("prepare") else {}),
            **(recipe_data.shared_rows(recipe, found) if recipe.plain.get("disjoint") else {}),
        },
        fetched=found,
        mounts={PROGRAM_MOUNT: PROGRAM, **({"data": f"{SOURCE}/{recipe.name}"} if data else {})},
        working_dir=base if program.working_dir == "." else f"{base}/{program.working_dir}",
        executables=tuple(f"{PROGRAM}/{file.name}" for file in files if file.executable),
    )


def _sources(
    recipe: Recipe, *, data: Sequence[DataFile], files: Sequence[ProgramFile] = ()
) -> dict[str, bytes]:
    trainer = recipe.trainer
    return {
        f"{SOURCE}/{recipe.name}/{RECIPE}": recipe.file.read_bytes(),
        **({f"{SOURCE}/trainers/{trainer.name}": trainer.read_bytes()} if trainer else {}),
        **{f"{SOURCE}/{PARTS}/{part.name}": part.content for part in recipe.parts},
        **{f"{PROGRAM}/{file.name}": file.content for file in files},
        **{f"{SOURCE}/{recipe.name}/{one.name}": one.content for one in data},
    }


def variables_of(recipe: Recipe) -> dict[str, str]:
    """The variables that a run of a recipe has before anything is varied, as far as they are known here."""
    found = (
        dict(os.environ) if recipe.variant == NO_VARIANT else numerics.variables(recipe.numerics, hash_seed=0)
    )
    return {**found, **(recipe.program.variables if recipe.program else {})}


def _of_device(recipe: Recipe, *, pins_kernels: bool) -> dict[str, str]:
    """The variables that the program must be given for its device; none for a CPU."""
    if recipe.device == "cpu":
        return {}
    return accelerators.variables(recipe.device, platform=recipe.platform, pins_kernels=pins_kernels)


def _of_environment(recipe: Recipe, realisation: Realisation, environments: Path) -> dict[str, str]:
    """The profile of the numerics, and where the repository's own packages are imported from."""
    own = images.variables(realisation, project=environments, tree=f"{{{PROGRAM_MOUNT}}}")
    imports = {name: value for name, value in own.items() if name == "PYTHONPATH"}
    return {
        **numerics.variables(recipe.numerics, hash_seed=0),
        **_of_device(recipe, pins_kernels=False),
        **imports,
    }


def needed(recipe: Recipe, realisation: Realisation | None) -> Realisation:
    """The pinned environment, without which a trainer does not run.

    Raises:
        UsageError: There is none.
    """
    if realisation is None:
        raise UsageError("a trainer needs a pinned environment", where=recipe.where("variant"))
    return realisation


def trainer_of(recipe: Recipe) -> Path:
    """The trainer's file.

    Raises:
        UsageError: The recipe runs a command in its place.
    """
    if recipe.trainer is None:
        raise UsageError(f"{recipe.name} runs a command, not a trainer", where=str(recipe.file))
    return recipe.trainer


def _options(
    recipe: Recipe, data: Sequence[DataFile], found: Sequence[FetchedData], *, profile_step: int | None
) -> Iterator[str]:
    if recipe.keep_checkpoints is not None:
        yield from ("--keep-checkpoints", str(recipe.keep_checkpoints))
    if recipe.ranks is not None:
        ranks = recipe.ranks
        yield from ("--ranks", str(ranks["world_size"]), "--reduction", str(ranks["reduction"]))
        yield from ("--shards", str(ranks["shards"]), "--rank-timeout", str(ranks["timeout_s"]))
    for one in data:
        yield from ("--data", one.name, one.sha256, f"{{mounts}}/recipes/{recipe.name}/{one.name}")
    for file in found:
        yield from ("--data", file.name, file.contents, f"{{mounts}}/{recipe_data.FOLDER}/{file.name}")
    if profile_step is not None:
        yield from ("--profile-step", str(profile_step))


def declared(recipe: Recipe) -> tuple[DataFile, ...]:
    """Every file that the recipe declares next to it, read and compared with its digest.

    Raises:
        RecipeError: An entry names no file, or the file is missing or another one.
    """
    if isinstance(recipe.data, str | Mapping):
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
    project = recipe.project_dir.resolve()
    if not path.resolve().is_relative_to(project):  # every run folder would get a copy of it
        raise RecipeError(
            f"the data {name} is a link that leads out of {project}",
            where=where,
            fix="put the file itself there",
        )
    if path.exists() and not path.is_file():  # a pipe would never end
        raise RecipeError(
            f"the data {name} is not a plain file", where=where, fix="put the file itself there"
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RecipeError(
            f"the data {name} cannot be read: {error.strerror}",
            where=where,
            fix=f"put it next to {recipe.file.name}",
        ) from error
    if digest_bytes(content) != sha256:
        raise RecipeError(
            f"the data {name} is not the declared file",
            where=where,
            expected=sha256,
            actual=digest_bytes(content),
            fix=f"put the declared file back, or declare this one: {path}",
        )
    return DataFile(name=name, sha256=sha256, content=content)
