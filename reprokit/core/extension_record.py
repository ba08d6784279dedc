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


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionTable:
    """A table of a report section: the names of its columns, and rows as long as these.

    >>> SectionTable(head=("Run", "Node"), rows=(("1", "n1"),)).rows[0][1]
    'n1'
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedSection:
    """What an extension wrote into a report: text that is shown as its own, and that nothing follows from.

    Attributes:
        extension: Name of the distribution.
        version: The exact one.
        name: What the extension calls the section.
        title: Its heading.
        paragraphs: Come first.
        tables: Come after them.
        problem: Why there is nothing of it; "" where there is.
    """

    extension: str
    version: str
    name: str
    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[SectionTable, ...] = ()
    problem: str = ""

    @property
    def label(self) -> str:
        return f"{self.extension} {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedProposal:
    """A cause that an extension proposes beside those that ``diagnose`` found.

    Attributes:
        extension: Name of the distribution.
        version: The exact one.
        category: The extension's name for such a cause.
        what: A sentence without a full stop.
        fix: What to do about it.
        file: Of the program, or None where no line is known.
        confidence: That of the tool's own cause at the same line; ``low`` where it has none there.
        held_by: The category of that cause; "" where no experiment of the tool supports the proposal.
        ruled_out: How the tool has ruled out that line; "" where it has not.
        problem: Why there is no proposal, though there should be an answer; "" where there is one.
    """

    extension: str
    version: str
    category: str
    what: str = ""
    fix: str = ""
    file: str | None = None
    line: int | None = None
    confidence: str = "low"
    held_by: str = ""
    ruled_out: str = ""
    problem: str = ""

    @property
    def label(self) -> str:
        return f"{self.extension} {self.version}"

    @property
    def standing(self) -> str:
        """How much the tool itself found of it, a clause."""
        if self.held_by:
            return f"{self.confidence} as reprokit's own cause at this line, {self.held_by}"
        if self.ruled_out:
            return f"low: reprokit ruled this line out: {self.ruled_out}"
        return "low: no experiment of reprokit holds it"
