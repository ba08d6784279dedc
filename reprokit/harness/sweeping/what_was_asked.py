"""What a sweep is asked for; on other machines it is kept, so that ``runs attach`` can ask again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from reprokit import workspace
from reprokit.core.records import SCHEMA_VERSION
from reprokit.errors import ReportError
from reprokit.layout import ASKED, read_json
from reprokit.request import Request
from reprokit.where import LOCAL

_REQUEST = ("backend", "base", "timeout_s", "strict", "command")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepAsked:
    """Which members a sweep has, and where they are run.

    Attributes:
        names: Recipes.
        seeds: As ``parse_seeds`` reads them; None for those that each recipe declares.
        settings: ``path=value,value``; the members are every combination of the values.
        jobs: How many members at one time; None for about as many as there are cores, one on an accelerator.
        on: Where runs are made: ``local``, ``ray`` or ``slurm``.
        place_settings: What that engine is to be told: ``address`` of Ray; ``partition``, … of Slurm.
    """

    names: Sequence[str]
    seeds: str | None = None
    settings: Sequence[str] = ()
    jobs: int | None = None
    on: str = LOCAL
    place_settings: Mapping[str, str] | None = None


def write_asked(folder: Path, asked: SweepAsked, request: Request) -> None:
    """Keep the arguments of ``sweep``.

    Raises:
        WorkspaceError: The folder cannot be written.
    """
    told = {name: getattr(request, name) for name in _REQUEST}
    workspace.write_json(folder / ASKED, {"schema": SCHEMA_VERSION, "sweep": asdict(asked), "request": told})


def read_asked(folder: Path) -> tuple[SweepAsked, Request]:
    """The arguments of ``sweep``, but for the folders and the progress display.

    Raises:
        ReportError: The folder is not that of a sweep on other machines.
    """
    found = read_json(folder / ASKED)
    try:
        return SweepAsked(**found["sweep"]), Request(**{name: found["request"][name] for name in _REQUEST})
    except (KeyError, TypeError) as error:
        raise ReportError(
            "this is no sweep on other machines",
            where=str(folder),
            fix="name one of runs/sweeps that has an asked.json, or give the `reprokit sweep` command again",
        ) from error
