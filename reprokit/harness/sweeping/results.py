"""The one number by which a person follows a training: the return that it reached last."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprokit import adapters
from reprokit.core.comparing.metric_names import RESULT_WORDS
from reprokit.errors import MetricsError
from reprokit.layout import METRICS
from reprokit.recipes import Recipe


def chosen_return(values: Mapping[str, Any], recipe: Recipe) -> tuple[str, float] | None:
    """A metric and its value: one that the recipe expects a result of, else one that is called a return."""
    numbers = {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }
    named = [name for word in RESULT_WORDS for name in sorted(numbers) if word in name.lower()]
    expected = [name for name in recipe.expected if name in numbers]
    name = next(iter((*expected, *named)), None)
    return None if name is None else (name, numbers[name])


def last_return(folder: Path, recipe: Recipe) -> tuple[str, float] | None:
    """The same at the end of a run; None where it has no such metric."""
    if not (folder / METRICS).is_file():
        return None
    try:
        return chosen_return(adapters.summarise(folder / METRICS).final_values, recipe)
    except MetricsError:
        return None
