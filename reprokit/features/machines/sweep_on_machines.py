"""A sweep on the machines of an engine, and continuing with one whose tool has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType

from reprokit import extensions, workspace
from reprokit.core.records import SCHEMA_VERSION
from reprokit.errors import ReportError, UsageError
from reprokit.features.machines import place
from reprokit.features.machines.elsewhere import RemoteMembers, carry_out_elsewhere
from reprokit.features.machines.machines import on_machines, settled_before
from reprokit.harness.sweep import Sweep, sweep
from reprokit.harness.sweeping.carry_out import SweepMembers, SweepSession
from reprokit.harness.sweeping.groups import SweepGroup
from reprokit.harness.sweeping.what_was_asked import LOCAL, SweepAsked
from reprokit.layout import ASKED, MACHINES, read_json
from reprokit.request import Request

_REQUEST = ("backend", "base", "timeout_s", "strict", "command")


class SweepOnMachines:
    """What the engine of sweeps asks for, as ``OtherMachines`` says it."""

    def __init__(self, asked: SweepAsked, *, session: SweepSession) -> None:
        """Connect to nothing yet.

        Raises:
            UsageError: There is no such engine.
        """
        if asked.on not in place.places():
            expected = " or ".join((LOCAL, *place.places()))
            raise UsageError(
                f"nothing is run on {asked.on!r}",
                where="--on",
                expected=expected,
                fix=extensions.hint_of_unnamed() or None,
            )
        self._asked, self._session = asked, session
        self._place: place.Place | None = None

    def __enter__(self) -> SweepOnMachines:
        folder = self._session.project.runs_dir / MACHINES
        self._place = place.open_place(
            self._asked.on, settings=self._asked.place_settings or {}, folder=folder
        )
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._connected.close()

    @property
    def _connected(self) -> place.Place:
        assert self._place is not None  # noqa: S101  within the block
        return self._place

    def settled_before(self, groups: Sequence[SweepGroup]) -> list[SweepGroup] | None:
        """Groups as they stand on what the machines answered last time; None where that is not known."""
        return settled_before(groups, on=self._asked.on, project=self._session.project)

    def asked(self, groups: Sequence[SweepGroup]) -> list[SweepGroup]:
        """Groups as they stand on the machines, every one of which was asked."""
        project, progress = self._session.project, self._session.progress
        return on_machines(groups, place=self._connected, project=project, progress=progress)

    def keep(self, folder: Path, request: Request) -> None:
        """Keep the arguments of ``sweep``, so that ``runs attach`` can ask again.

        Raises:
            WorkspaceError: The folder cannot be written.
        """
        told = {name: getattr(request, name) for name in _REQUEST}
        workspace.write_json(
            folder / ASKED, {"schema": SCHEMA_VERSION, "sweep": asdict(self._asked), "request": told}
        )

    def carry_out(
        self, board: SweepMembers, groups: Mapping[int, SweepGroup], *, folder: Path, jobs: int | None
    ) -> None:
        """Run members, and wait for them."""
        crew = RemoteMembers(
            board=board,
            groups=groups,
            place=self._connected,
            folder=folder,
            project=self._session.project,
            progress=self._session.progress,
        )
        carry_out_elsewhere(crew, jobs=jobs)


def attach(record: Path, *, session: SweepSession) -> Sweep:
    """Go on with a sweep on other machines whose tool has ended: follow what runs, make what is missing.

    Args:
        record: The sweep's folder, or its ``sweep.json``.
        session: The project, and the progress that is shown; runs are where the sweep's record is.

    Raises:
        ReportError: It is no sweep on other machines.
        WorkspaceBusyError: The tool that began it is still at work.
    """
    folder = (record if record.is_dir() else record.parent).resolve()
    asked, request = _read_asked(folder)
    session = replace(session, project=replace(session.project, runs_dir=folder.parents[1]))
    return sweep(asked, request, session=session)


def _read_asked(folder: Path) -> tuple[SweepAsked, Request]:
    """The arguments of ``sweep``, but for the folders and the progress display.

    Raises:
        ReportError: The folder is not that of a sweep on other machines.
    """
    found = read_json(folder / ASKED)
    try:
        return SweepAsked(**found["sweep"]), Request(**{name: found["request"][name] for name in _REQUEST})
    except (KeyError, TypeError) as error:
        raise ReportError(
            "this is not a sweep on other machines",
            where=str(folder),
            fix="name one of runs/sweeps that has an asked.json, or give the `reprokit sweep` command again",
        ) from error
