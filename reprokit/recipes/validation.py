"""Recipe data checked against the schema: every mistake at once, each with its place and near miss."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from reprokit.errors import RecipeError
from reprokit.recipes.data_entries import KINDS_OF_DATA
from reprokit.recipes.document import KeyPath
from reprokit.recipes.mistakes import did_you_mean, near_miss, quoted
from reprokit.recipes.on_platform import SECTION, SETTINGS
from reprokit.recipes.schema import DEVICES, NO_VARIANT, OF_COMMANDS, ONE, SEVERAL, RecipeModel, Statistical
from reprokit.recipes.setting_origin import SettingOrigins, dotted

ANY = "*"
#: Folder of the program's files, next to the recipe's own in a run (``layout.PROGRAM``).
_TAKEN = "program"
_LOWER_PRECISIONS = ("bfloat16", "float16")
_NATIVE = "write `numerics: native`"

# What a value must be, to follow "must be". Any other kind of error speaks for itself.
_RULES: Mapping[str, str] = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a section with keys of its own",
    "model_type": "a section with keys of its own",
    "none_required": "null",
    "string_too_long": "at most {max_length} characters",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
    "literal_error": "{expected}",
    "value_error": "{error}",
    "greater_than": "more than {gt:.16g}",
    "greater_than_equal": "at least {ge:.16g}",
    "less_than": "less than {lt:.16g}",
    "less_than_equal": "at most {le:.16g}",
    "multiple_of": "a multiple of {multiple_of:.16g}",
}


class _WithoutTrainer(RecipeModel):
    """For a recipe whose trainer cannot be read: its sections are left alone."""

    model_config = ConfigDict(extra="ignore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """A recipe that keeps the schema."""

    recipe: RecipeModel  # the recipe's own keys
    config: dict[str, Any]  # the trainer's sections as plain JSON data, defaults filled in


def validate(
    data: Mapping[str, Any], *, sections: Mapping[str, type[BaseModel]] | None, origin: SettingOrigins
) -> Validated | list[RecipeError]:
    """The recipe, or every mistake in the order of the file; ``sections`` None where they are unknown."""
    model = whole_model(sections)
    try:
        recipe = model.model_validate(data)
    except ValidationError as error:
        return _mistakes_in(error, data, model, origin)
    dumped = recipe.model_dump(mode="json", by_alias=True)
    config = {name: dumped[name] for name in sections or {}}
    mistakes = [*_contradictions(recipe, origin), *_not_portable(recipe, config, origin)]
    return mistakes or Validated(recipe=recipe, config=config)


def whole_model(sections: Mapping[str, type[BaseModel]] | None) -> type[RecipeModel]:
    """The model of a whole recipe: its own keys, and the trainer's sections next to them."""
    if sections is None:
        return _WithoutTrainer
    return _model_of(tuple(sections.items()))


@functools.lru_cache(maxsize=8)  # nothing but the sections decides, and a model takes long to make
def _model_of(sections: tuple[tuple[str, type[BaseModel]], ...]) -> type[RecipeModel]:
    fields: dict[str, Any] = {
        f"section{index}": (section, Field(alias=name, default_factory=dict, validate_default=True))
        for index, (name, section) in enumerate(sections)
    }
    return create_model("Recipe", __base__=RecipeModel, **fields)


def own_keys() -> set[str]:
    """The keys of every recipe, which no trainer's section can be called."""
    return {path[0] for path in key_paths(RecipeModel)}


def key_paths(annotation: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every path that a model knows; ``*`` stands for a free key or an item of a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            path = (*at, field.alias or name)
            yield path
            yield from key_paths(field.annotation, path)
    elif get_origin(annotation) in {dict, list}:
        yield from key_paths(get_args(annotation)[-1], (*at, ANY))
    else:
        for inner in get_args(annotation):
            yield from key_paths(inner, at)


def _mistakes_in(
    error: ValidationError, data: Any, model: type[BaseModel], origin: SettingOrigins
) -> list[RecipeError]:
    paths = list(key_paths(model))
    wrong: dict[KeyPath, list[str]] = {}
    found: list[tuple[int, RecipeError]] = []
    for detail in error.errors():
        path = tuple(part for part in detail["loc"] if part not in {ONE, SEVERAL, *KINDS_OF_DATA})
        if detail["type"] == "extra_forbidden":
            found.append((origin.line(path), _unknown(path, paths, data, origin)))
        elif detail["type"] == "missing":
            is_key = isinstance(path[-1], str)
            what = f"{dotted(path)} is missing" if is_key else f"{dotted(path[:-1])} is too short"
            found.append((origin.line(path), RecipeError(what, where=origin.where(path))))
        else:
            wrong.setdefault(_within(path, data), []).append(_rule(detail))
    for path, rules in wrong.items():
        found.append((origin.line(path), _wrong(path, rules, _value_at(path, data), origin)))
    return [mistake for _, mistake in sorted(found, key=lambda pair: pair[0])]


def _unknown(
    path: KeyPath, paths: list[tuple[str, ...]], data: Mapping[str, Any], origin: SettingOrigins
) -> RecipeError:
    *above, key = (str(part) for part in path)
    siblings = {known[-1] for known in paths if len(known) == len(path) and _fits(known[:-1], above)}
    elsewhere = [".".join(known) for known in paths if known[-1] == key and ANY not in known]
    if near_miss(key, siblings) is None and elsewhere:
        fix = _belongs(key if key in elsewhere else elsewhere[0], key, above)
    elif near_miss(key, siblings) is None and "command" in data and (option := origin.option_of(path)):
        fix = (
            f'an option of the program: `reprokit sweep {data.get("name", "NAME")} --args "--{option} VALUE"`'
        )
    else:
        fix = did_you_mean(key, siblings - {ANY})
    place = f" in {'.'.join(above)}" if above else ""
    return RecipeError(f"unknown key {key!r}{place}", where=origin.where(path), fix=fix)


def _belongs(known: str, key: str, above: list[str]) -> str:
    """Where a key goes that is there somewhere else in a recipe: at the dotted path ``known``."""
    if above[:1] == [SECTION] and known.partition(".")[0] not in own_keys():
        setting = known if "." in known else f"{known}.KEY"
        return f"write `{SETTINGS}: {{{setting}: …}}` there, for a setting of the trainer"
    return f"{key!r} goes to the recipe's top level" if known == key else f"did you mean {known!r}?"


def _fits(known: tuple[str, ...], path: list[str]) -> bool:
    return all(part in {ANY, actual} for part, actual in zip(known, path, strict=True))


def _wrong(path: KeyPath, rules: list[str], value: Any, origin: SettingOrigins) -> RecipeError:
    fix = None
    if isinstance(value, str) and any("number" in rule for rule in rules):
        fix = "write it without quotes, underscores or units"
    what = f"{dotted(path) or 'the recipe'} must be {' or '.join(dict.fromkeys(rules))}"
    of_a_section = isinstance(value, dict) and all(rule.startswith("given ") for rule in rules)
    actual = None if of_a_section else quoted(value)  # such a rule says what the section is given
    return RecipeError(what, where=origin.where(path), actual=actual, fix=fix)


def _rule(detail: ErrorDetails) -> str:
    rule = _RULES.get(detail["type"])
    return detail["msg"] if rule is None else rule.format(**detail.get("ctx", {}))


def _within(path: KeyPath, data: Any) -> KeyPath:
    """The part of a path that the data has: pydantic appends the names of union members."""
    for length, part in enumerate(path):
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return path[:length]
    return path


def _value_at(path: KeyPath, data: Any) -> Any:
    for part in path:
        data = data[part]
    return data


def _contradictions(recipe: RecipeModel, origin: SettingOrigins) -> Iterator[RecipeError]:
    """What each key allows, but not together."""
    yield from _of_trainer_or_command(recipe, origin)
    if recipe.device not in {None, "cpu", recipe.variant} and recipe.variant in DEVICES:
        what = f"the device {recipe.device} is not in the variant {recipe.variant}"
        expected = " or ".join(dict.fromkeys(["cpu", recipe.variant]))
        where = origin.where_any(("device",), ("variant",))
        yield RecipeError(what, where=where, expected=expected)
    if recipe.ranks is not None and recipe.device not in {None, "cpu"}:
        what = f"ranks train on the CPU, and the device is {recipe.device}"
        where = origin.where_any(("ranks",), ("device",))
        yield RecipeError(what, where=where, expected="`device: cpu`")
    for platform in sorted(set(recipe.tolerances.platforms) - set(recipe.platforms)):
        what = f"tolerances for {platform}, which is not one of the recipe's platforms"
        where = origin.where(("tolerances", "platforms", platform))
        yield RecipeError(what, where=where, expected=" or ".join(recipe.platforms))
    for platform in sorted(set(recipe.platform_settings) - set(recipe.platforms)):
        what = f"settings for {platform}, which is not one of the recipe's platforms"
        where = origin.where(("platform_settings", platform))
        yield RecipeError(what, where=where, expected=" or ".join(recipe.platforms))
    yield from _of_statistics(recipe, origin)
    relaxed = [entry.check for entry in recipe.checks.relax]
    for index, check in enumerate(relaxed):
        path = ("checks", "relax", index)
        if check in relaxed[:index]:
            yield RecipeError(f"the row {check!r} is relaxed twice", where=origin.where(path))
        if check in recipe.checks.require:
            yield RecipeError(f"the row {check!r} is relaxed and required", where=origin.where(path))


def _not_portable(
    recipe: RecipeModel, config: Mapping[str, Any], origin: SettingOrigins
) -> Iterator[RecipeError]:
    """Settings of a trainer that no portable profile can promise the same bits for on every CPU."""
    training = config.get("training")
    if recipe.numerics == "native" or not isinstance(training, Mapping):
        return
    if training.get("precision") in _LOWER_PRECISIONS:
        what = f"portable numerics and training.precision {training['precision']}"
        why = "which kernels compute it follows from the CPU"
        where = origin.where_any(("training", "precision"), ("numerics",))
        yield RecipeError(f"{what}: {why}", where=where, fix=_NATIVE)
    if training.get("compile"):
        what = "portable numerics and training.compile: the code that is generated follows from the CPU"
        where = origin.where_any(("training", "compile"), ("numerics",))
        yield RecipeError(what, where=where, fix=_NATIVE)


def _of_statistics(recipe: RecipeModel, origin: SettingOrigins) -> Iterator[RecipeError]:
    """Metrics of the statistical gate, each once, and platforms that the recipe has."""
    said = recipe.statistical
    entries: list[tuple[KeyPath, Statistical]] = (
        [(("statistical", at), one) for at, one in enumerate(said)]
        if isinstance(said, list)
        else [(("statistical",), said)]
        if said
        else []
    )
    seen: set[tuple[str, str]] = set()
    for path, entry in entries:
        if (entry.metric, entry.window) in seen:
            what = f"{entry.metric!r} is there twice with the window {entry.window}"
            yield RecipeError(what, where=origin.where(path))
        seen.add((entry.metric, entry.window))
        for platform in sorted(set(entry.platforms) - set(recipe.platforms)):
            what = f"the ensemble is to decide on {platform}, which is not one of the recipe's platforms"
            where = origin.where((*path, "platforms"))
            yield RecipeError(what, where=where, expected=" or ".join(recipe.platforms))
    for platform in sorted(set(recipe.repeatable) - set(recipe.platforms)):
        what = f"runs cannot repeat on {platform}, which is not one of the recipe's platforms"
        where = origin.where(("repeatable", platform))
        yield RecipeError(what, where=where, expected=" or ".join(recipe.platforms))


def _of_trainer_or_command(recipe: RecipeModel, origin: SettingOrigins) -> Iterator[RecipeError]:
    """A recipe has a trainer or a command, and only the keys that go with it."""
    if (recipe.trainer is None) is (recipe.command is None):
        what = "a recipe has a trainer or a command, not both"
        if recipe.trainer is None:
            what = "the recipe does not say what to run"
        where = origin.where(("command",))
        yield RecipeError(
            what, where=where, expected='`trainer: ppo` or `command: [python, train.py, "{seed}"]`'
        )
    elif recipe.trainer is not None:
        for key in sorted(recipe.model_fields_set & set(OF_COMMANDS)):
            yield RecipeError(f"{key} belongs to a recipe with `command`", where=origin.where((key,)))
    elif recipe.ranks is not None:
        what = "ranks belong to a recipe with `trainer`"
        yield RecipeError(what, where=origin.where(("ranks",)), fix="start them in the command: torchrun …")
    elif recipe.variant == NO_VARIANT and recipe.numerics == "portable":
        what = "portable numerics need a pinned environment, and the variant is none"
        yield RecipeError(what, where=origin.where(("numerics",)), fix=_NATIVE)
    if recipe.command is not None and recipe.name == _TAKEN:
        what = f"the name {_TAKEN!r} is taken: a run keeps the program's files under it"
        yield RecipeError(what, where=origin.where(("name",)), fix="choose another name")
    if recipe.trainer is not None and recipe.variant == NO_VARIANT:
        yield RecipeError("a trainer needs a pinned environment", where=origin.where(("variant",)))
