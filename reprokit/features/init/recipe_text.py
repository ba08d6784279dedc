"""The text of a recipe that ``init`` writes: what a person would have written, with the reason next to it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

#: Not what YAML reads as a number: ``-1``, ``.5``, ``-.inf``.
_PLAIN_WORD = re.compile(r"(?:[A-Za-z_/]|\.{1,2}/|--?(?=[A-Za-z]))[\w./+=-]*")
_NOT_TEXT = frozenset({"null", "true", "false", "~", "yes", "no", "on", "off", "-"})


def recipe_text(values: Mapping[str, Any]) -> str:
    r"""YAML of a recipe's keys, in their order; empty lists and None are left out.

    >>> recipe_text({"command": ["python", "train.py", "{seed}"], "seeds": [1], "collect": []})
    'command: [python, train.py, "{seed}"]\nseeds: [1]\n'
    """
    lines = []
    for key, value in values.items():
        if value in (None, [], (), {}):
            continue
        if isinstance(value, Sequence) and not isinstance(value, str) and isinstance(value[0], Mapping):
            lines.append(f"{key}:")
            lines += [_item(entry) for entry in value]
        else:
            lines.append(f"{key}: {_flow(value)}")
    return "".join(f"{line}\n" for line in lines)


def _item(entry: Mapping[str, Any]) -> str:
    first, *others = (f"{key}: {_flow(value)}" for key, value in entry.items())
    return "\n".join([f"  - {first}", *(f"    {other}" for other in others)])


def _flow(value: Any) -> str:
    if isinstance(value, str):
        plain = _PLAIN_WORD.fullmatch(value) and value.lower() not in _NOT_TEXT
        return value if plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, Sequence):
        return f"[{', '.join(_flow(one) for one in value)}]"
    return json.dumps(value, ensure_ascii=False)
