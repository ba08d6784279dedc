"""What ``init`` found of a program, and the files that it would write."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A recipe for someone's program.

    Attributes:
        name: The recipe's.
        files: Path below the project's folder → content, as they would be written.
        found: What was found, a line each: what → a sentence.
        problem: Why the program is not reproducible as it is, one sentence; "" where it is.
        next_commands: What to type next.
        changed: Whether anything would be written.
    """

    name: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    found: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    next_commands: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.files)

    def as_data(self) -> dict[str, Any]:
        """As plain JSON data: names of the files, not their contents."""
        return {
            "recipe": self.name,
            "files": sorted(self.files),
            "found": dict(self.found),
            "problem": self.problem,
            "next": list(self.next_commands),
        }


def next_commands(name: str, problem: str) -> tuple[str, ...]:
    """What a person types next."""
    if problem:
        return (f"reprokit diagnose {name}",)
    return (
        'git add --all && git commit --message "Add a recipe"',
        f"reprokit reproduce {name}",
        f'reprokit golden promote {name} --reason "first golden"',
    )


def results_to_ignore(written: Sequence[str], tracked: Sequence[str]) -> tuple[str, ...]:
    """Lines of a ``.gitignore`` for what a program wrote in the project; never a folder with tracked files.

    A tracked result has no line: git would go on to track it.
    """
    lines: dict[str, None] = {}
    for name in written:
        top = name.partition("/")[0]
        is_shared = any(file.startswith(f"{top}/") for file in tracked)
        if name not in tracked:
            line = name if "/" not in name or is_shared else f"{top}/"
            lines["/" + re.sub(r"([\\*?\[])", r"\\\1", line)] = None
    return tuple(lines)


def ignores(text: str, line: str) -> bool:
    """Whether a ``.gitignore`` has a line, however it spells it."""
    plain = line.strip("/")
    return any(line.strip().strip("/") == plain for line in text.splitlines())
