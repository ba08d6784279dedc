"""From a name to a recipe: find the file, read it, apply overrides, read the trainer, validate."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from reprokit import extensions
from reprokit.core.records import digest, digest_bytes
from reprokit.core.statistics.windows import LAST
from reprokit.core.tolerance import Tolerance
from reprokit.errors import CannotJudgeError, RecipeError, UsageError
from reprokit.layout import RECIPE
from reprokit.recipes.data_entries import data_identity
from reprokit.recipes.document import Document, read_text
from reprokit.recipes.imports import PartFile, digest_of_parts, imported_parts
from reprokit.recipes.mistakes import combined, did_you_mean
from reprokit.recipes.on_platform import (
    declared,
    on_platform,
    origin_on_platform,
    platform_of,
    without_later_keys,
)
from reprokit.recipes.overrides import apply, parse
from reprokit.recipes.recipe import (
    CheckRules,
    ExpectedResult,
    PatternTolerances,
    Program,
    Recipe,
    RecipeLimits,
    RelaxedRow,
    StatisticalMetric,
)
from reprokit.recipes.schema import DEVICES, OF_COMMANDS, RecipeModel
from reprokit.recipes.schema_types import PLAIN_NAME
from reprokit.recipes.secrets import secrets_in
from reprokit.recipes.setting_origin import SettingOrigins, dotted
from reprokit.recipes.source_file import decoded, must_be_inside, read_bytes
from reprokit.recipes.trainer_config import read_sections
from reprokit.recipes.validation import Validated, own_keys, validate
from reprokit.records.newer import refuse_newer_schema

TRAINERS = "trainers"
#: What a recipe of a command has in place of a trainer's settings.
_CONFIGURATION = ("command", "env", "working_dir")
#: Keys of such a recipe that cannot change a number.
_NOT_NUMBERS = frozenset({"resume", "unresponsive"})
#: Keys with their defaults that recipes of before did not have: the digests of those stay as they were.
_LATER = (("instrument", None),)
#: The same of all recipes: where they have their default, a recipe's data is what it was before.
_LATER_KEYS: tuple[tuple[str, Any], ...] = (
    ("prepare", {}),
    ("disjoint", []),
    ("machines", "refuse"),
    ("ranks", None),
    ("platform_settings", {}),
    ("same_under", []),
    ("extensions", []),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trainer:
    """A trainer's file and its parts, read once: what is digested is what was checked."""

    path: Path
    digest: str
    parts: tuple[PartFile, ...]
    sections: dict[str, type[BaseModel]]


def load(name: str, *, recipes_dir: Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read and check a recipe, overrides (``path=value``) applied as if the file had said them.

    ``name`` is a recipe's name, or a path: one with a separator in it, or that ends in ``.yaml``. The
    trainers of a path are those of the folder two above it, if that has any, else those of ``recipes_dir``.

    Raises:
        RecipeError: Anything at all is wrong; all mistakes together where possible.
        CannotJudgeError: It names an extension that is not loaded.
    """
    file, root = _locate(name, recipes_dir)
    content = read_bytes(file)
    where = str(file)
    text = decoded(content, where=where)
    document = _mapping(text, where=where)
    changes = [parse(text) for text in overrides]
    platform, changes = platform_of(changes)
    as_written = SettingOrigins(file=where, lines=document.lines)
    data = apply(on_platform(document.data, platform, own_keys=own_keys(), origin=as_written), changes)
    origin = origin_on_platform(document.data, platform, as_written)
    origin = replace(origin, overrides=tuple(change.path for change in changes))
    of_command = "command" in data
    at_schema = as_written.where(("schema",))
    refuse_newer_schema(data.get("schema"), name=RECIPE, where=at_schema, error=RecipeError)
    _must_be_loaded(data, where=where)  # before what only they know is refused as unknown
    trainer, mistakes = (None, []) if of_command else _try_trainer(data.get("trainer"), root, origin)
    mistakes += secrets_in(text, data, overrides, where=where)
    sections = trainer.sections if trainer else {} if of_command else None
    validated = validate(data, sections=sections, origin=origin)
    if isinstance(validated, list):
        mistakes += validated
    elif not platform:
        mistakes += _elsewhere(document.data, sections, as_written)
    named = None if isinstance(validated, list) else validated.recipe.name
    if named not in {None, name} and file == recipes_dir / name / RECIPE:
        mistakes.append(
            RecipeError(
                "the recipe and its folder have different names",
                where=origin.where(("name",)),
                expected=name,
                actual=named,
            )
        )
    if mistakes or (trainer is None and not of_command) or isinstance(validated, list):
        raise combined(mistakes, where=where)
    return _recipe(
        validated,
        file=file,
        trainer=trainer,
        document=document,
        file_digest=digest_bytes(content),
        modified=tuple(change.text for change in changes),
        platform=platform,
    )


def _must_be_loaded(data: Mapping[str, Any], *, where: str) -> None:
    """Refuse a recipe whose runs only an extension makes or reads that is not loaded as it names it.

    Raises:
        CannotJudgeError: One is not.
    """
    said = data.get("extensions")
    for text in said if isinstance(said, list) else ():
        try:
            named = extensions.parse(text)
        except UsageError:
            continue  # its form is checked with all others
        if why := extensions.why_not_loaded({"name": named.name, "version": named.version}):
            raise CannotJudgeError(
                f"the recipe names it, and {why}",
                where=where,
                fix=f'[tool.reprokit] extensions = ["{named.name}=={named.version}"] in pyproject.toml',
            )


def _elsewhere(
    data: dict[str, Any], sections: dict[str, type[BaseModel]] | None, origin: SettingOrigins
) -> list[RecipeError]:
    """The mistakes in what a recipe, right by itself, sets on its other platforms: not only reported there.

    Of the file as it stands: overrides are meant for the platform that is asked for.
    """
    mistakes: list[RecipeError] = []
    for platform in declared(data):
        there = origin_on_platform(data, platform, origin)
        try:
            found = on_platform(data, platform, own_keys=own_keys(), origin=origin)
        except RecipeError as mistake:
            mistakes.append(mistake)
            continue
        validated = validate(found, sections=sections, origin=there)
        mistakes += validated if isinstance(validated, list) else []
    return mistakes


def list_names(recipes_dir: Path) -> list[str]:
    """The recipes in a folder, sorted: every subfolder with a ``recipe.yaml``, but ``.…`` and ``_…``.

    One of a name that no recipe can have is among them, so that it is an error, and not left out of a gate.

    Raises:
        RecipeError: There is no such folder.
    """
    if not recipes_dir.is_dir():
        raise RecipeError(
            "there is no folder of recipes",
            where=str(recipes_dir),
            fix="make a recipe: reprokit init -- python train.py",
        )
    found = (os.fsencode(path.parent.name) for path in recipes_dir.glob(f"[!._]*/{RECIPE}"))
    return sorted(name.decode("utf-8", "backslashreplace") for name in found)


def read_mapping(path: Path) -> dict[str, Any]:
    """A YAML file of keys and values, read as strictly as a recipe: for a run's ``config.yaml``.

    Raises:
        RecipeError: It is not such a file.
    """
    data: dict[str, Any] = _mapping(decoded(read_bytes(path), where=str(path)), where=str(path)).data
    return data


def _mapping(text: str, *, where: str) -> Document:
    """A YAML document whose top level is keys and values; else a RecipeError."""
    document = read_text(text, where=where)
    if document.data is None:
        raise RecipeError("the file is empty", where=where, expected="keys and values")
    if not isinstance(document.data, dict):
        raise RecipeError("the top level must be keys and values", where=f"{where}:{document.lines[()]}")
    return document


def _locate(name: str, recipes_dir: Path) -> tuple[Path, Path]:
    """The recipe's file, and the folder whose ``trainers/`` it uses."""
    if os.sep in name or name.endswith((".yaml", ".yml")):
        file = Path(name)
        above = file.absolute().parent.parent
        return file, above if (above / TRAINERS).is_dir() else recipes_dir
    if not re.fullmatch(PLAIN_NAME, name):
        raise RecipeError(
            f"{name!r} cannot be a recipe's name",
            where=str(recipes_dir),
            expected="up to 64 letters, digits, - and _, the first one a letter or a digit",
            fix="rename its folder, or remove recipe.yaml from it",
        )
    file = recipes_dir / name / RECIPE
    if not _is_there(file):
        known = list_names(recipes_dir)
        raise RecipeError(
            f"there is no recipe {name!r}", where=str(recipes_dir), fix=did_you_mean(name, known)
        )
    must_be_inside(file, recipes_dir, where=str(file))
    return file, recipes_dir


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder above it that this user may not search
        return False


def _try_trainer(name: Any, root: Path, origin: SettingOrigins) -> tuple[_Trainer | None, list[RecipeError]]:
    if not isinstance(name, str) or not re.fullmatch(PLAIN_NAME, name):
        return None, []  # the schema tells
    try:
        return _trainer(name, root, where=origin.where(("trainer",))), []
    except RecipeError as mistake:
        return None, [mistake]


def _trainer(name: str, root: Path, *, where: str) -> _Trainer:
    path = root / TRAINERS / f"{name}.py"
    if not _is_there(path):
        known = [
            other.stem for other in (root / TRAINERS).glob("*.py") if re.fullmatch(PLAIN_NAME, other.stem)
        ]
        raise RecipeError(f"there is no trainer {path}", where=where, fix=did_you_mean(name, known))
    must_be_inside(path, root, where=where)
    content = read_bytes(path)
    sections = read_sections(content, where=str(path))
    taken = sorted(set(sections) & own_keys())
    if taken:
        raise RecipeError(
            f"Config cannot have the section {taken[0]!r}: a recipe has a key of that name", where=str(path)
        )
    parts = imported_parts(content, where=str(path), recipes_dir=root)
    return _Trainer(path=path, digest=digest_bytes(content), parts=parts, sections=sections)


def _recipe(
    validated: Validated,
    *,
    file: Path,
    trainer: _Trainer | None,
    document: Document,
    file_digest: str,
    modified: tuple[str, ...],
    platform: str,
) -> Recipe:
    said = validated.recipe
    device = said.device or (said.variant if said.variant in DEVICES else "cpu")
    numerics = said.numerics or ("portable" if trainer else "native")
    plain = said.model_dump(mode="json", by_alias=True) | {"device": device, "numerics": numerics}
    foreign = ("command", *OF_COMMANDS) if trainer else ("trainer",)
    plain = {key: value for key, value in plain.items() if key not in foreign}
    each = plain["platform_settings"].items()
    plain["platform_settings"] = {name: without_later_keys(settings) for name, settings in each}
    for key, usual in _LATER_KEYS:
        if plain[key] == usual:
            del plain[key]
    del plain["sinks"]  # where metrics are shown is no part of what a recipe computes
    plain["expected"] = {name: _without_default_window(one) for name, one in plain["expected"].items()}
    config = validated.config if trainer else {key: plain[key] for key in _CONFIGURATION}
    numbers = {key: plain[key] for key in ("numerics", "device", "variant")}
    numbers["data"] = data_identity(plain["data"])
    if trainer is None:
        given = [key for key in OF_COMMANDS if key not in _NOT_NUMBERS and (key, plain[key]) not in _LATER]
        numbers |= {key: plain[key] for key in ("command", *given)}
    else:
        numbers |= {"trainer": trainer.digest, "config": config}
        if said.ranks is not None:
            numbers["ranks"] = {**plain["ranks"], "timeout_s": None}  # no number depends on it
        if trainer.parts:  # so that a recipe without any keeps the digest that it had before there were parts
            numbers["parts"] = digest_of_parts(trainer.parts)
    return Recipe(
        name=said.name,
        title=said.title,
        description=said.description,
        path=file.parent,
        file=file,
        variant=said.variant,
        device=device,
        numerics=numerics,
        trainer=trainer.path if trainer else None,
        parts=trainer.parts if trainer else (),
        program=None if trainer else _program(said),
        seeds=tuple(said.seeds),
        platforms=tuple(said.platforms),
        platform=platform,
        expected={name: ExpectedResult(**one.model_dump()) for name, one in said.expected.items()},
        tolerances=_tolerances(said),
        statistical=_statistical(said),
        repeatable=said.repeatable,
        nondeterminism=None if said.nondeterminism is None else tuple(said.nondeterminism),
        immune_to=tuple(said.immune_to),
        same_under=tuple(one.model_dump(by_alias=True) for one in said.same_under),
        machines=said.machines,
        sinks=tuple(said.sinks),
        limits=RecipeLimits(**said.limits.model_dump()),
        checks=CheckRules(
            relax=tuple(RelaxedRow(**one.model_dump()) for one in said.checks.relax),
            require=tuple(said.checks.require),
        ),
        keep_checkpoints=said.checkpoints.keep,
        ranks=plain.get("ranks"),
        data=tuple(plain["data"]) if isinstance(said.data, list) else plain["data"],
        training_config=config,
        modified=modified,
        lines={dotted(path): line for path, line in document.lines.items() if path},
        digest=digest(numbers),
        file_digest=file_digest,
        plain=plain,
    )


def _without_default_window(expected: dict[str, Any]) -> dict[str, Any]:
    """As recipes had it before results could name a window, so that those stay the data that they were."""
    return {key: value for key, value in expected.items() if (key, value) != ("window", LAST)}


def _program(said: RecipeModel) -> Program:
    return Program(
        command=tuple(said.command or ()),
        variables=said.env,
        working_dir=said.working_dir,
        sees=None if said.sees is None else tuple(said.sees),
        collect=tuple(said.collect),
        volatile=tuple((one.metric, one.because) for one in said.volatile),
        outputs=tuple(said.outputs),
        printed=None if said.printed is None else tuple(said.printed),
        stop_args=None if said.resume is None else tuple(said.resume.stop_args),
        resume_args=None if said.resume is None else tuple(said.resume.resume_args),
        network=said.network is not None,
        instrument=said.instrument,
    )


def _tolerances(said: RecipeModel) -> PatternTolerances:
    return PatternTolerances(
        default=Tolerance(**said.tolerances.default.model_dump()),
        metrics={name: Tolerance(**one.model_dump()) for name, one in said.tolerances.metrics.items()},
    )


def _statistical(said: RecipeModel) -> tuple[StatisticalMetric, ...]:
    entries = said.statistical if isinstance(said.statistical, list) else [said.statistical]
    return tuple(
        StatisticalMetric(**{**entry.model_dump(), "platforms": tuple(entry.platforms)})
        for entry in entries
        if entry is not None
    )
