"""A recipe of another name with some settings changed; its comments and the order of its keys stay."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from reprokit.recipes.source_file import decoded, read_bytes

_WIDTH = 110


def derived_text(file: Path, *, name: str, settings: Mapping[str, Any], comment: str) -> str:
    """The text of a recipe that is another one with other settings.

    Args:
        file: The other one's ``recipe.yaml``.
        name: Its name.
        settings: Dotted path → value.
        comment: What its first line says.

    Raises:
        RecipeError: The file cannot be read.
    """
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = _WIDTH
    data = yaml.load(decoded(read_bytes(file), where=str(file)))
    data["name"] = name
    for path, value in settings.items():
        *above, last = path.split(".")
        section = data
        for key in above:
            section = section.setdefault(key, {})
        section[last] = str(value) if above == ["env"] else value
    text = io.StringIO()
    yaml.dump(data, text)
    return f"# {comment}\n{text.getvalue()}"
