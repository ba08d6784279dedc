"""The name of a window in a recipe: which number of a run's curve a result is, such as ``mean_last_10``."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from reprokit.core.statistics.windows import WINDOW_NAMES, Window
from reprokit.recipes.mistakes import near_miss


def _window(name: str) -> str:
    try:
        Window.parse(name)
    except ValueError as error:
        near = near_miss(name, _with_number_of(name))
        hint = f"did you mean {near!r}?" if near else ", ".join(WINDOW_NAMES)
        raise PydanticCustomError("rule", "the name of a window ({hint})", {"hint": hint}) from error
    return name


def _with_number_of(name: str) -> list[str]:
    """Every window; those that take a number, with the one that the name ends in."""
    number = re.search(r"[0-9]+(\.[0-9]+)?$", name)
    known = [re.sub("[NX]$", number[0], one) if number else one for one in WINDOW_NAMES]
    return [one for one in known if one != name]  # `mean_last_0` is not what was meant


WindowName = Annotated[str, AfterValidator(_window)]
