"""A run that may become a golden, or a member of an ensemble, and what it must meet by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit.core.environment_record import EnvironmentRecord
from reprokit.core.extension_record import RecordedExtension
from reprokit.core.inputs import names_in
from reprokit.core.provenance import OtherSeeds
from reprokit.errors import GoldenError


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenCandidate:
    """A run that may become a golden, together with others that agree with it."""

    path: Path  # the run folder
    complete: bool  # COMPLETE is there and every digest in it matches
    recipe: str  # as `run.json` says
    seed: int  # as `run.json` says
    platform: str  # as the environment record says
    modified: tuple[str, ...]  # overrides that were applied
    # Whether the source tree held changes that neither a commit nor the index has; None when unknown
    dirty: bool | None
    metrics: Path  # its `metrics.jsonl`
    trace: Path | None  # its `trace.jsonl`; None for an unmodified program that is not watched
    digests: Mapping[str, str]  # SHA-256 of each input of its numbers (`core.inputs`)
    image: Mapping[str, str | None]  # `kind`, `digest` and `base` of the environment that it ran in
    fingerprint: str  # hash of the facts that can change numbers
    fingerprint_facts: Mapping[str, Any]  # those facts
    environment: EnvironmentRecord  # what of the environment record is worth keeping, and fit to be published
    # The training configuration, so that a later run can say which setting changed
    config: Mapping[str, Any] = field(default_factory=dict)
    program: Mapping[str, str] = field(default_factory=dict)  # likewise the files that a command sees
    sources: Mapping[str, str] = field(default_factory=dict)  # where its metrics came from: name → format
    # Code outside the repository that a program of the caller's Python can import; None where no one looked
    outside_code: Mapping[str, Any] | None = None
    command: tuple[str, ...] = ()  # of a plain command, which alone says what was run
    # Likewise another seed, and the metrics that are others with it; None where no one looked
    responds: OtherSeeds | None = None
    # The extensions that were loaded when it was made
    extensions: tuple[RecordedExtension, ...] = ()
    cpu: str = ""  # the kind of CPU that its golden is to hold on alone; "" for all of its platform

    @property
    def records(self) -> tuple[Path, ...]:
        """Its files of records."""
        return (self.metrics,) if self.trace is None else (self.metrics, self.trace)


def check_run(run: GoldenCandidate, *, allow_dirty: bool, again: str = "run again") -> None:
    """Refuse a run that is not whole, not the recipe's own, or of sources that no one can get back.

    ``again`` says how such a run is made again.

    Raises:
        GoldenError: It is one of these.
    """
    where = str(run.path)
    if not run.complete:
        what = "the run is incomplete, or a file of it was changed since"
        raise GoldenError(what, where=where, fix="run the recipe again")
    if not run.metrics.is_file():
        fix = "have the program write its metrics into the folder that {run_dir} names"
        raise GoldenError("the run left no metrics that can be compared", where=where, fix=fix)
    if run.modified:
        fix = "write the setting into the recipe and run it again"
        raise GoldenError(f"the run was modified: {', '.join(run.modified)}", where=where, fix=fix)
    if run.dirty is not False and not allow_dirty:
        what = "the source tree had uncommitted changes" if run.dirty else "the source is not under git"
        first = "commit or stage them" if run.dirty else "put it under git"
        raise GoldenError(what, where=where, fix=f"{first} and {again}, or pass --allow-dirty")
    if lacking := [name for name in names_in(run.digests) if name not in run.digests]:
        raise GoldenError(f"run.json has no digest of {', '.join(lacking)}", where=where)


def check_alike(first: GoldenCandidate, other: GoldenCandidate, *, shared: Sequence[str]) -> None:
    """Refuse two runs that do not have these attributes in common.

    Raises:
        GoldenError: They differ in one of them.
    """
    for what in shared:
        expected, actual = getattr(first, what), getattr(other, what)
        if expected != actual:
            other_of = f"the runs differ in their {what}"
            raise GoldenError(other_of, where=str(other.path), expected=str(expected), actual=str(actual))
