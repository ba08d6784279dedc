"""Which tool judged: its own reports are checked word for word, those of another version in what counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reprokit import __version__
from reprokit.harness.running.numbers import mounted_digest

NAME = "reprokit"


@dataclass(frozen=True, slots=True)
class AuditDifference:
    """One thing that is not as a report says.

    Attributes:
        says: The sentence.
        by_version: Another version of the tool can be why.
    """

    says: str
    by_version: bool = False


def this_tool() -> dict[str, str]:
    """Name, version, and the digest of all files that it consists of."""
    return {"name": NAME, "version": __version__, "code": mounted_digest()}


def version_of(tool: Mapping[str, str] | None) -> str:
    """What a report says of its tool, for a person."""
    return f"{NAME} {tool.get('version', '')}" if tool else f"a {NAME} that did not say its version"
