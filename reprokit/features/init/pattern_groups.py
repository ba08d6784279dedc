"""Names of the groups of a regular expression that is proposed for what a program prints."""

from __future__ import annotations

import re
from collections.abc import Sequence

VALUE = r"[-+\w.]+"

_STEPS = ("step", "global_step", "iteration", "iter", "update", "epoch", "batch", "episode")


def group_names(names: Sequence[str]) -> list[str]:
    """A group for each name, none twice; the likeliest of them is ``step``.

    >>> group_names(["epoch", "train/loss", "train-loss"])
    ['step', 'train_loss', 'train_loss_']
    """
    step = next((name for wanted in _STEPS for name in names if name.lower() == wanted), None)
    found: list[str] = []
    for name in names:
        found.append("step" if name == step else _unused(name, found))
    return found


def _unused(name: str, taken: Sequence[str]) -> str:
    word = re.sub(r"\W+", "_", name).strip("_") or "value"
    word = f"_{word}" if word[0].isdigit() else word
    word = f"{word}_" if word == "step" else word
    while word in taken:
        word += "_"
    return word
