"""What extensions propose of a finished diagnosis: beside its causes, and with no say in its verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reprokit import extensions
from reprokit.diagnosis import CATEGORIES
from reprokit.extensions.causes import NamedCause, foreign_causes, proposals
from reprokit.harness.diagnosing.diagnosis import DIFFERS, Diagnosis


def must_be_sound() -> None:
    """Refuse, before anything is run, a cause that is called as one of the tool's own, or is not there.

    Raises:
        UsageError: One is.
    """
    foreign_causes(CATEGORIES)
    extensions.must_be_there("causes", form=NamedCause)


def with_proposals(found: Diagnosis, *, note: Callable[[str], None]) -> Diagnosis:
    """The diagnosis with what extensions propose, and who was loaded; a faulty one is noted by name."""
    loaded = tuple(
        {"name": one.name, "version": one.version, "digest": one.digest} for one in extensions.recorded()
    )
    if not loaded:
        return found
    told = proposals(foreign_causes(CATEGORIES), found.as_data()) if found.verdict == DIFFERS else ()
    for one in told:
        if one.problem:
            note(f"Warning: the cause {one.category} of the extension {one.label}: {one.problem}")
    return replace(found, extensions=loaded, proposals=told)
