"""The inputs that can change a recipe's numbers, by the names of their digests in ``run.json``.

A trainer that imports no part has no digest of parts; goldens and runs that are older than parts have none.
A recipe of a command has a digest of its program in place of those of trainer, parts and runtime, and none of
its instrumentation unless it asks for that.

    >>> changed({"trainer": "sha256:1", "lock": "sha256:2"}, {"trainer": "sha256:3", "lock": "sha256:2"})
    ('trainer',)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Name of the digest → what it is of, for a sentence.
INPUTS: Mapping[str, str] = {
    "recipe": "the recipe",
    "program": "the program (the files that it sees)",
    "trainer": "the trainer",
    "parts": "the parts that the trainer imports (recipes/parts)",
    "runtime": "the runtime of the trainers (reprokit/runtime)",
    "instrumentation": "the instrumentation (reprokit/instrumentation)",
    "config": "the configuration",
    "lock": "the lock of the environment",
}
_OF_TRAINERS = ("recipe", "trainer", "runtime", "config", "lock")
_OF_COMMANDS = ("recipe", "program", "config", "lock")


def changed(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of all inputs whose digest is not what it was, one that only one side has included."""
    return tuple(name for name in INPUTS if then.get(name) != now.get(name))


def names_in(digests: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of all inputs that must have a digest, or have one here."""
    needed = _OF_COMMANDS if "program" in digests else _OF_TRAINERS
    return tuple(name for name in INPUTS if name in digests or name in needed)
