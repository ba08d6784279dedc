r"""Patterns that find metrics in what a program prints: ``loss=0.5``, ``Epoch 3: accuracy 0.97``.

>>> propose_patterns("epoch 1 loss: 0.5\nepoch 2 loss: 0.25\n")
('epoch[\\s:=]+(?P<step>[-+\\w.]+).*?loss[\\s:=]+(?P<loss>[-+\\w.]+)',)
"""

from __future__ import annotations

import re
from collections import Counter

_NAMED_NUMBER = re.compile(
    r"(?<![\w.])(?P<name>[A-Za-z][\w./-]*)\s*[:=\s]\s*"
    r"(?P<number>[-+]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf)(?![\w.])",
)
_STEPS = ("step", "global_step", "iteration", "iter", "update", "epoch", "batch", "episode")
_VALUE = r"[-+\w.]+"
_LINE_ENDS = re.compile(r"[\r\n]+")
_MOST_LINES, _LONGEST_LINE, _MOST_PATTERNS = 100_000, 2_000, 8


def propose_patterns(text: str) -> tuple[str, ...]:
    """Regular expressions whose named groups are metrics, one for each kind of line.

    Lines count that name the same numbers at least twice, with a fraction among them; where there is none,
    any line that names a number does.
    """
    kinds: Counter[tuple[str, ...]] = Counter()
    fractions: set[tuple[str, ...]] = set()
    for line in _LINE_ENDS.split(text)[:_MOST_LINES]:
        found = list(_NAMED_NUMBER.finditer(line[:_LONGEST_LINE]))
        names = tuple(match["name"] for match in found)
        if names and len(set(names)) == len(names):
            kinds[names] += 1
            if any(re.search(r"[.eE]|nan|inf", match["number"]) for match in found):
                fractions.add(names)
    regular = [names for names, count in kinds.items() if count > 1 and names in fractions]
    chosen = regular or [names for names in kinds if names in fractions] or list(kinds)
    return tuple(_pattern(names) for names in chosen[:_MOST_PATTERNS])


def _pattern(names: tuple[str, ...]) -> str:
    step = next((name for wanted in _STEPS for name in names if name.lower() == wanted), None)
    taken: set[str] = set()
    parts = []
    for name in names:
        group = "step" if name == step else _group(name, taken)
        taken.add(group)
        parts.append(rf"{re.escape(name)}[\s:=]+(?P<{group}>{_VALUE})")
    return ".*?".join(parts)


def _group(name: str, taken: set[str]) -> str:
    """A name that a regular expression's group may have, and that no other one here has."""
    word = re.sub(r"\W+", "_", name).strip("_") or "value"
    word = f"{word}_" if word == "step" else word
    while word in taken:
        word += "_"
    return word
