"""What records say of an extension that was loaded: who it was, and what of it can have had a say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class RecordedExtension(NamedTuple):
    """One extension.

    Attributes:
        name: Of its distribution.
        version: The exact one.
        digest: SHA-256 over its modules.
        log_formats: The names of the log formats that it brings.
        places: Those of the places.
    """

    name: str
    version: str
    digest: str
    log_formats: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedExtension:
    """An extension that was loaded when runs were made or judged, and what it had to do with them.

    Attributes:
        name: Of its distribution.
        version: The exact one.
        digest: SHA-256 over its modules.
        had_say: In what was compared: clauses such as ``its log format pbslog read metrics.pbs``.
        beside: What else it did, which no verdict follows from: likewise.
    """

    name: str
    version: str
    digest: str
    had_say: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"
