"""``NAME==VERSION``: how a project names an extension.

>>> parse("PBS.queue==1.0")
NamedExtension(name='pbs-queue', version='1.0')
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reprokit.errors import UsageError

# Exactly one version: no wildcard, no range, no marker.
_NAMED = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)==([A-Za-z0-9][A-Za-z0-9.!+_-]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedExtension:
    """A distribution and its exact version; the name as package indexes normalise it."""

    name: str
    version: str

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def package(self) -> str:
        """What its one import package must be called."""
        return self.name.replace("-", "_")


def parse(text: object, *, where: str = "[tool.reprokit] extensions") -> NamedExtension:
    """One entry of the list.

    Raises:
        UsageError: It does not name exactly one version.
    """
    found = _NAMED.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise UsageError(
            "an extension is not named with its exact version",
            where=where,
            expected='"NAME==VERSION"',
            actual=repr(text),
        )
    return NamedExtension(name=normalised(found[1]), version=found[2])


def normalised(name: str) -> str:
    """The name of a distribution as package indexes compare it (PyPA, *Name normalization*)."""
    return re.sub(r"[-_.]+", "-", name).lower()
