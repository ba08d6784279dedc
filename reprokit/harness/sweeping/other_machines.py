"""What the engine of sweeps asks of the feature that makes runs on other machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

from reprokit.errors import UsageError
from reprokit.feature import offered
from reprokit.harness.sweeping.carry_out import SweepMembers, SweepSession
from reprokit.harness.sweeping.groups import SweepGroup
from reprokit.harness.sweeping.what_was_asked import LOCAL, SweepAsked
from reprokit.request import Request


class OtherMachines(Protocol):
    """The machines of one engine; a context manager that connects to it."""

    def __enter__(self) -> OtherMachines: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def settled_before(self, groups: Sequence[SweepGroup]) -> list[SweepGroup] | None:
        """Groups as they stand on what the machines answered last time; None where that is not known."""

    def asked(self, groups: Sequence[SweepGroup]) -> list[SweepGroup]:
        """Groups as they stand on the machines, every one of which was asked."""

    def keep(self, folder: Path, request: Request) -> None:
        """Keep in the sweep's folder what is needed to find its runs again."""

    def carry_out(
        self, board: SweepMembers, groups: Mapping[int, SweepGroup], *, folder: Path, jobs: int | None
    ) -> None:
        """Run members, and wait for them."""


def other_machines(asked: SweepAsked, *, session: SweepSession) -> OtherMachines | None:
    """The machines that a sweep is to be made on; None for this one.

    Raises:
        UsageError: There is no such engine.
    """
    if asked.on == LOCAL:
        return None
    make = offered("other_machines")
    if make is None:
        raise UsageError(f"nothing is run on {asked.on!r}", where="--on", expected=LOCAL)
    found: OtherMachines = make(asked, session=session)
    return found
