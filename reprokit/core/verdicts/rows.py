"""One row of the checklist: what a check offers, what it finds, and which rows a recipe may waive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from reprokit.core.evidence import Evidence, RunEvidence, problems_of_runs

# What the good verdicts mean. A recipe that could relax these would pass without being reproduced.
VERDICT_ROWS = frozenset({"repeatable", "equals_golden", "unmodified"})

#: How the ids of rows begin that extensions bring. Such a row never decides anything.
FOREIGN = "extension/"


class Status(StrEnum):
    """What a check says. Never a bool: "could not be judged" is not "failed".

    >>> Status.SKIPPED is Status("SKIPPED")
    True
    """

    PASSED = "PASSED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check makes of the evidence; the caller adds whose row it is.

    Attributes:
        reason: One sentence: why this status. Never empty.
        remedy: What to do when not PASSED; empty when PASSED.
        evidence: The facts the status follows from, as JSON.
        applies: False when the row has nothing to judge here (no data, no recipe); SKIPPED then.

    >>> passed("all is well").status.value
    'PASSED'
    """

    status: Status
    reason: str
    remedy: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    applies: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One row of the checklist.

    Attributes:
        id: Stable, lower case with underscores; what recipes and other tools refer to.
        required: False for advisory rows (unless strict), for rows that the recipe relaxes, and for
            rows that do not apply (a check says so itself: no data, no recipe).
    """

    id: str
    title: str
    status: Status
    reason: str
    remedy: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    required: bool = True


class Check(Protocol):
    """What a module under ``reprokit/checks`` offers.

    It may also say (``says``):

    - ``NEEDS_TRAINER = True``: of an unmodified program there is nothing that the row could judge,
    - ``NEEDS_WATCH = True``: there is only where its recipe has ``instrument``,
    - ``DECLARED_BY = "key"``: there is only where its recipe has this key, or ``ASKED_BY`` names the field of
      the evidence that is not None because someone asked for the row,
    - ``NEEDS_WHOLE_RUNS = True``: only runs that went to their end can be judged,
    - ``ON_REQUEST = True``: advisory, and not required by ``--strict`` unless someone requested it.

    Attributes:
        ORDER: Place in the checklist, unique.
        ADVISORY: True when the row counts only under ``--strict`` or when a recipe requires it.
        NEEDS_RECIPE: True when a plain command has nothing that the row could judge.
    """

    ID: str
    TITLE: str
    ORDER: int
    ADVISORY: bool
    NEEDS_RECIPE: bool

    def check(self, evidence: Evidence) -> Finding:
        """Judge the evidence. May raise: the caller turns that into ERROR."""


def says(check: Check, what: str) -> Any:
    """What a row says of itself beyond what every row must; None where it says nothing."""
    return getattr(check, what, None)


def passed(reason: str, /, **evidence: Any) -> Finding:
    """The promise of the row is kept.

    >>> passed("all runs were made at one place", place="pbs").evidence
    {'place': 'pbs'}
    """
    return Finding(status=Status.PASSED, reason=reason, evidence=evidence)


def failed(reason: str, remedy: str, /, **evidence: Any) -> Finding:
    """The promise of the row is broken.

    >>> failed("two places", "make all at one place").remedy
    'make all at one place'
    """
    return Finding(status=Status.FAILED, reason=reason, remedy=remedy, evidence=evidence)


def failed_runs(
    evidence: Evidence, problem_of: Callable[[RunEvidence], str | None], remedy: str
) -> Finding | None:
    """The promise is broken in a run, as ``problem_of`` says of it in one sentence; None when in none."""
    problems = problems_of_runs(evidence, problem_of)
    return failed(problems[0], remedy, all=list(problems)) if problems else None


def skipped(reason: str, remedy: str, /, **evidence: Any) -> Finding:
    """The row could be judged, and was not: no one asked, or no one could look.

    >>> skipped("no run says where it was made", "run it again").status.value
    'SKIPPED'
    """
    return Finding(status=Status.SKIPPED, reason=reason, remedy=remedy, evidence=evidence)


def not_applicable(reason: str, remedy: str, /, **evidence: Any) -> Finding:
    """There is nothing here that the row could judge; it is never required then."""
    return Finding(status=Status.SKIPPED, reason=reason, remedy=remedy, evidence=evidence, applies=False)


def unjudged(reason: str, remedy: str, /, **evidence: Any) -> Finding:
    """The evidence that the row needs is missing or contradicts itself: ERROR.

    >>> unjudged("the log is not there", "run it again").status.value
    'ERROR'
    """
    return Finding(status=Status.ERROR, reason=reason, remedy=remedy, evidence=evidence)


def counted(number: int, what: str) -> str:
    """How many of something, in words.

    >>> counted(1, "record"), counted(1200, "record")
    ('1 record', '1,200 records')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def listed(names: Iterable[str], most: int = 3) -> str:
    """The first names, and how many more there are.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most:,} more" if len(every) > most else "")


def relaxations(recipe: Mapping[str, Any] | None) -> dict[str, str]:
    """Rows that a recipe relaxes, each with its reason; an entry without one relaxes nothing.

    >>> relaxations({"checks": {"relax": [{"check": "versions_locked", "because": "no lock yet"}]}})
    {'versions_locked': 'no lock yet'}
    """
    found = {}
    for entry in _entries(recipe, "relax"):
        name, because = (
            (entry.get("check"), entry.get("because")) if isinstance(entry, Mapping) else (None, None)
        )
        if (
            isinstance(name, str)
            and isinstance(because, str)
            and because.strip()
            and name not in VERDICT_ROWS
        ):
            found[name] = because.strip()
    return found


def requirements(recipe: Mapping[str, Any] | None) -> frozenset[str]:
    """Advisory rows that a recipe requires."""
    return frozenset(name for name in _entries(recipe, "require") if isinstance(name, str))


def _entries(recipe: Mapping[str, Any] | None, key: str) -> Sequence[Any]:
    section = (recipe or {}).get("checks")
    entries = section.get(key) if isinstance(section, Mapping) else None
    return entries if isinstance(entries, list | tuple) else ()
