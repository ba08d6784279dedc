"""Further places that metrics go to while runs train, of the feature that has them.

They follow the files of a run from outside: no number and no verdict depends on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reprokit.feature import offered
from reprokit.harness.running.engine import OnBegun, not_told
from reprokit.session import Session


def follow_runs(name: str, sinks: Sequence[str], *, is_live: bool, session: Session) -> OnBegun:
    """What is to be told of each run of a recipe that begins.

    Args:
        name: The recipe, or what the runs of a command are filed under.
        sinks: Where metrics go to; none: nothing follows.
        is_live: Whether the runs write what is recorded while they train.
        session: Keeps what follows until the verdict is there.
    """
    names = tuple(dict.fromkeys(sinks))
    make = offered("live_sinks") if names else None
    if make is None:
        if names:
            session.progress.note(
                f"warning: nothing goes to {' and '.join(names)}: no feature does that here"
            )
        return not_told
    found = make(names, project=session.project, is_live=is_live, note=session.progress.note)
    session.sinks.setdefault(name, []).append(found)
    return found.follow  # type: ignore[no-any-return]


def close_sinks(folders: Sequence[Path], *, session: Session) -> None:
    """Tell what follows these runs that the newest report on them is there, or that none comes."""
    for name in {folder.parent.name for folder in folders}:
        for found in session.sinks.pop(name, ()):
            found.close()
            session.progress.note(f"{name}: logs for {' and '.join(found.names)} are in {found.place}")
