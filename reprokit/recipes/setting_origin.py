"""Where a setting comes from: a line of recipe.yaml, or a ``--set`` on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reprokit.recipes.document import KeyPath


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingOrigins:
    """Where every setting of one recipe comes from."""

    file: str  # the recipe's file, as a person named it
    lines: Mapping[KeyPath, int]  # path → line in it, counted from 1
    overrides: tuple[KeyPath, ...] = ()  # paths that were set on the command line
    of_platform: frozenset[KeyPath] = frozenset()  # paths that the settings of a platform set

    def where(self, path: KeyPath) -> str:
        """``file:line`` of a setting, or of the nearest section above it; or its ``--set``."""
        for override in reversed(self.overrides):
            if path[: len(override)] == override or (
                path not in self.lines and override[: len(path)] == path
            ):
                return f"--set {dotted(override)}"
        return f"{self.file}:{self.line(path)}"

    def option_of(self, path: KeyPath) -> str:
        """The last part of what ``--set`` sets at a path, as an option of a program; "" for a line."""
        found = (override for override in self.overrides if path == override[: len(path)])
        return next((str(override[-1]) for override in found), "")

    def where_any(self, *paths: KeyPath) -> str:
        """The same of settings that contradict each other: of one that a platform sets, else of the first."""
        return self.where(next((path for path in paths if path in self.of_platform), paths[0]))

    def line(self, path: KeyPath) -> int:
        """The line of a setting, or of the nearest section above it that the file holds."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def dotted(path: KeyPath) -> str:
    """A path as a person writes it: ``training.learning_rate``."""
    return ".".join(str(part) for part in path)
