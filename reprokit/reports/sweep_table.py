"""A sweep as lines: a row for each member, and how many are finished."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from reprokit.reports.tables import few_digits, shown, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reprokit.runs.sweeps import Member

_PLANS = {
    "reuse": "finished already: used as it is",
    "run": "to be run",
    "retry": "to be tried again",
    "not_started": "cannot be run",
}
AGAIN = "The same command tries the others again, and runs nothing twice that is finished."
_DONE = {"reuse": "finished earlier", "run": "run now", "retry": "tried again now", "not_started": "not run"}


def sweep_lines(
    members: Sequence[Member], actions: Sequence[str], *, name: str, path: object, dry_run: bool
) -> Iterator[str]:
    """The members of a sweep, below the names of the columns; why one is not finished; what to do next."""
    yield from table(member_rows(members, actions, dry_run=dry_run))
    yield from why_unfinished(members)
    done = sum(member.state == "complete" for member in members)
    if dry_run:
        yield f"{done} of {len(members)} members are finished; nothing was run."
        return
    yield f"{done} of {len(members)} members are finished. Sweep {shown(name)}: {shown(path, limit=1000)}"
    if done < len(members):
        yield AGAIN


def why_unfinished(members: Sequence[Member]) -> Iterator[str]:
    """Why members are not finished, of those that say so."""
    for member in members:
        if member.state != "complete" and member.message:
            yield f"{shown(member.label)}: {shown(member.message, limit=1000)}"


def member_rows(members: Sequence[Member], actions: Sequence[str], *, dry_run: bool) -> list[dict[str, Any]]:
    """A row for each member: name of the column → value, None for none."""
    words = _PLANS if dry_run else _DONE
    rows = [
        {
            "recipe": member.recipe,
            "settings": " ".join(member.settings),
            "seed": member.seed,
            "state": str(member.state),
            "this call": words[action],
            "last return": None if member.last_return is None else few_digits(member.last_return[1]),
            "run": member.run,
        }
        for member, action in zip(members, actions, strict=True)
    ]
    if any(member.settings for member in members):
        return rows
    return [{key: value for key, value in row.items() if key != "settings"} for row in rows]
