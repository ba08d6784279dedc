"""What a recipe sets otherwise on one of its platforms, put in place of what it sets elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reprokit.errors import RecipeError
from reprokit.recipes.document import KeyPath
from reprokit.recipes.mistakes import quoted
from reprokit.recipes.overrides import PLATFORM, Override
from reprokit.recipes.setting_origin import SettingOrigins

SECTION, SETTINGS = "platform_settings", "settings"
#: Keys of the schema that recipes of before did not have, with what they hold where no one says them.
_LATER: tuple[tuple[str, Any], ...] = ((SETTINGS, {}), ("expected", None))


def platform_of(changes: Sequence[Override]) -> tuple[str, list[Override]]:
    """The platform that was asked for as ``platform=NAME``, or ""; and the other overrides."""
    asked = [str(change.value) for change in changes if change.path == (PLATFORM,)]
    return "".join(asked[-1:]), [change for change in changes if change.path != (PLATFORM,)]


def on_platform(
    data: dict[str, Any], platform: str, *, own_keys: Collection[str], origin: SettingOrigins
) -> dict[str, Any]:
    """A recipe's data as it is on a platform; as it stands, where none was asked for.

    Args:
        data: The whole recipe.
        platform: Its name, or "".
        own_keys: The recipe's own keys: what no trainer's section is called.
        origin: The recipe's file, and the lines of it.

    Raises:
        RecipeError: It does not say how it is judged there, or sets what is no setting of a trainer.
    """
    if not platform:
        return data
    sections = data.get(SECTION)
    found = sections.get(platform) if isinstance(sections, dict) else None
    if found is not None and not isinstance(found, dict):
        what = f"{SECTION}.{platform} must be a section with keys of its own"
        where = origin.where((SECTION, platform))
        raise RecipeError(what, where=where, actual=quoted(found), fix="`{variant: …, device: …}`")
    if found is None and platform in _platforms(data):
        return data  # judged there as it stands
    if found is None:
        known = [*_platforms(data), *declared(data)]
        what = f"the recipe does not say how it is judged on the platform {platform}"
        expected = f"one of {', '.join(dict.fromkeys(known))}"
        fix = f"add `platform_settings: {{{platform}: {{variant: …, device: …, numerics: native}}}}`"
        raise RecipeError(what, where=origin.where((SECTION,)), expected=expected, fix=fix)
    result = {**data, **{key: found[key] for key in _plain_keys(found)}}
    for name, value in _settings(found).items():
        section, _, key = str(name).partition(".")
        if not key or section in own_keys:
            what = f"{SECTION}.{platform}.{SETTINGS} has {name!r}, which is not a setting of a trainer"
            expected = "section.key, such as training.total_timesteps"
            where = origin.where((SECTION, platform, SETTINGS, name))
            raise RecipeError(what, where=where, expected=expected)
        before = result.get(section, {})
        if isinstance(before, dict):  # the schema tells of anything else
            result[section] = {**before, key: value}
    return result


def origin_on_platform(data: Mapping[str, Any], platform: str, origin: SettingOrigins) -> SettingOrigins:
    """Where each setting comes from on a platform: what its section sets has the lines that it has there."""
    sections = data.get(SECTION)
    found = sections.get(platform) if isinstance(sections, dict) else None
    moved: dict[KeyPath, KeyPath] = {(SECTION, platform, key): (key,) for key in _plain_keys(found)}
    for name in _settings(found):
        moved[SECTION, platform, SETTINGS, name] = tuple(str(name).split(".", 1))
    set_there = frozenset(moved.values())
    lines = {
        path: line
        for path, line in origin.lines.items()
        if path[:1] not in set_there and path[:2] not in set_there
    }
    for path, line in origin.lines.items():
        for length in (3, 4):
            if len(path) >= length and path[:length] in moved:
                lines[(*moved[path[:length]], *path[length:])] = line
    return replace(origin, lines=lines, of_platform=set_there)


def declared(data: Mapping[str, Any]) -> list[str]:
    """The platforms for which a recipe has settings of their own, as far as they can be read."""
    sections = data.get(SECTION)
    if not isinstance(sections, dict):
        return []
    return [str(name) for name, found in sections.items() if isinstance(found, dict)]


def _platforms(data: Mapping[str, Any]) -> list[str]:
    found = data.get("platforms")
    return [str(one) for one in found] if isinstance(found, list) else []


def without_later_keys(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A platform's settings without defaults, so that those of recipes of before stay the data they were."""
    return {key: value for key, value in settings.items() if (key, value) not in _LATER}


def _settings(found: Any) -> Mapping[str, Any]:
    settings = found.get(SETTINGS) if isinstance(found, dict) else None
    return settings if isinstance(settings, dict) else {}


def _plain_keys(found: Any) -> list[str]:
    """The keys of the recipe that a platform sets otherwise, its trainer's settings apart."""
    keys = found.items() if isinstance(found, dict) else ()
    return [key for key, value in keys if key != SETTINGS and value is not None]
