"""A sweep as lines: a row for each member, and how many are finished."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reprokit.reports.tables import shown, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reprokit.runs.sweeps import Member

_PLANS = {
    "reuse": "finished already: used as it is",
    "run": "to be run",
    "retry": "to be tried again",
    "not_started": "cannot be run",
}
_DONE = {"reuse": "finished earlier", "run": "run now", "retry": "tried again now", "not_started": "not run"}


def sweep_lines(
    members: Sequence[Member], actions: Sequence[str], *, name: str, path: object, dry_run: bool
) -> Iterator[str]:
    """The members of a sweep, below the names of the columns; why one is not finished; what to do next."""
    words = _PLANS if dry_run else _DONE
    rows = [
        {
            "recipe": member.recipe,
            "settings": " ".join(member.settings),
            "seed": member.seed,
            "state": str(member.state),
            "this call": words[action],
            "last return": None if member.last_return is None else f"{member.last_return[1]:,.2f}",
            "run": member.run,
        }
        for member, action in zip(members, actions, strict=True)
    ]
    if not any(member.settings for member in members):
        rows = [{key: value for key, value in row.items() if key != "settings"} for row in rows]
    yield from table(rows)
    unfinished = [member for member in members if member.state != "complete"]
    for member in unfinished:
        if member.message:
            yield f"{shown(member.label)}: {shown(member.message, limit=1000)}"
    done = len(members) - len(unfinished)
    if dry_run:
        yield f"{done} of {len(members)} members are finished; nothing was run."
        return
    yield f"{done} of {len(members)} members are finished. Sweep {shown(name)}: {shown(path, limit=1000)}"
    if unfinished:
        yield "The same command tries the others again, and runs nothing twice that is finished."
