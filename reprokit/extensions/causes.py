"""Causes that extensions propose beside those of ``diagnose``: none of them is more certain than its own."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reprokit.core.extension_record import ReportedProposal
from reprokit.extensions.registry import LoadedExtension, at_work, brought_or_why

_MOST_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A cause that an extension thinks likely.

    Attributes:
        what: A sentence without a full stop: ``reads the job id that PBS gives``.
        fix: What to do about it.
        file: Of the program, as the diagnosis names it; None where no line is known.
        line: Counted from 1.

    >>> Proposal(what="reads the job id", fix="use the seed", file="train.py", line=3).line
    3
    """

    what: str
    fix: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCause:
    """A kind of cause that an extension knows.

    Attributes:
        propose: From a diagnosis, as ``reprokit diagnose --json`` prints it: a proposal, or None where it is
            not this cause. Asked only where runs differ; may raise, which the diagnosis then says.

    >>> cause = NamedCause(propose=lambda found: Proposal(what="x", fix="y") if found["taps"] else None)
    >>> cause.propose({"taps": []}) is None
    True
    """

    propose: Callable[[Mapping[str, Any]], Proposal | None]


@dataclass(frozen=True, slots=True)
class ForeignCause:
    """A cause of a loaded extension, or ``why`` it cannot be asked."""

    extension: LoadedExtension
    category: str
    cause: NamedCause | None
    why: str


def foreign_causes(core: Collection[str]) -> tuple[ForeignCause, ...]:
    """The causes that the loaded extensions bring.

    Raises:
        UsageError: One is called as a category of ``core``.
    """
    taken = {spelling for name in core for spelling in (name, name.replace("_", "-"))}
    return tuple(
        ForeignCause(extension, name, cause, why)
        for extension, name, cause, why in brought_or_why("causes", core=taken, form=NamedCause)
    )


def proposals(causes: Sequence[ForeignCause], found: Mapping[str, Any]) -> tuple[ReportedProposal, ...]:
    """What they propose of a diagnosis, which none of them can change."""
    return tuple(filter(None, (_asked(one, found) for one in causes)))


def _asked(one: ForeignCause, found: Mapping[str, Any]) -> ReportedProposal | None:
    named = one.extension.named
    empty = ReportedProposal(extension=named.name, version=named.version, category=one.category)
    if one.cause is None:
        return replace(empty, problem=f"it {one.why}")
    try:
        with at_work():
            proposal: object = one.cause.propose(copy.deepcopy(dict(found)))
        if proposal is None:
            return None
        if problem := problem_of(proposal):
            return replace(empty, problem=f"it is faulty: {problem}")
        return _weighed(empty, proposal, found)
    except (Exception, SystemExit) as error:  # of others: whatever it raises, the diagnosis stands
        return replace(empty, problem=f"it is faulty: {type(error).__name__}: {error}")


def problem_of(proposal: object) -> str:
    """Why this is no proposal, a clause; "" where it is one."""
    if not isinstance(proposal, Proposal):
        return f"it gave a {type(proposal).__name__}, not a Proposal"
    texts = (proposal.what, proposal.fix, *([] if proposal.file is None else [proposal.file]))
    if any(type(text) is not str or not text.strip() for text in texts):
        return "what, fix and file are texts"
    if any(len(text) > _MOST_CHARACTERS for text in texts):
        return f"a text has more than {_MOST_CHARACTERS:,} characters"
    if (proposal.file is None) != (proposal.line is None):
        return "a file and a line belong together"
    if proposal.line is not None and (type(proposal.line) is not int or proposal.line < 1):
        return "line is a number from 1 on"
    return ""


def _weighed(empty: ReportedProposal, proposal: Any, found: Mapping[str, Any]) -> ReportedProposal:
    """The proposal, as certain as the tool's own cause at the same line, and no more."""
    own = next(_causes_at(proposal, found), {})
    return replace(
        empty,
        what=proposal.what,
        fix=proposal.fix,
        file=proposal.file,
        line=proposal.line,
        confidence=str(own.get("confidence", "low")),
        held_by=str(own.get("category", "")),
        ruled_out="" if own else next(_ruled_out_at(proposal, found), ""),
    )


def _causes_at(proposal: Proposal, found: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for cause in found["causes"]:
        is_there = proposal.file is not None and (cause["file"], cause["line"]) == (
            proposal.file,
            proposal.line,
        )
        if is_there and cause["category"] != "unknown":
            yield cause


def _ruled_out_at(proposal: Proposal, found: Mapping[str, Any]) -> Iterator[str]:
    """How the line was ruled out, by the words in which the diagnosis names it."""
    if proposal.file is not None:
        there = re.compile(rf"(?<![\w/.-]){re.escape(f'{proposal.file}:{proposal.line}')}(?!\d)")
        yield from (str(one["how"]) for one in found["ruled_out"] if there.search(str(one["what"])))
