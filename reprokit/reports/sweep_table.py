"""A sweep as lines: a row for each member, and how many are finished."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from reprokit.core.setting_names import told_apart
from reprokit.reports.tables import few_digits, folded, narrowed, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reprokit.runs.sweeps import SweepMember

_PLANS = {
    "reuse": "finished already: used as it is",
    "run": "to be run",
    "retry": "to be tried again",
    "not_started": "cannot be run",
}
AGAIN = "The same command tries the others again, and runs nothing twice that is finished."
_DONE = {"reuse": "finished earlier", "run": "run now", "retry": "tried again now", "not_started": "not run"}


def sweep_lines(
    members: Sequence[SweepMember],
    actions: Sequence[str],
    *,
    name: str,
    path: object,
    dry_run: bool,
    warnings: Sequence[str] = (),
) -> Iterator[str]:
    """How many members of a sweep are finished, each below the names of the columns; why one is not."""
    done = sum(member.state == "complete" for member in members)
    if dry_run:
        yield f"{done} of {len(members)} members are finished; nothing was run."
    else:
        yield f"{done} of {len(members)} members are finished. Sweep {shown(name)}:"
        yield shown(path, limit=1000)
        if done < len(members):
            yield folded(AGAIN, indent=2)
    yield from (folded(line, indent=2) for line in (*why_unfinished(members), *mixed_lines(members)))
    yield from (folded(f"Warning: {shown(line, limit=10_000)}", indent=2) for line in warnings)
    yield ""
    if common := common_settings(members):
        yield folded(f"Every member has {shown(common, limit=10_000)}", indent=2)
    # What sweep.json says too has no room on a narrow terminal.
    rows = member_rows(members, actions, dry_run=dry_run)
    yield from narrowed(rows, without=("run", "this call", "machines", _last_head(members)))


def _last_head(members: Sequence[SweepMember]) -> str:
    """What the column of the last results is called: by the metric, where it is one."""
    metrics = {member.last_return[0] for member in members if member.last_return is not None}
    return f"last {next(iter(metrics))}" if len(metrics) == 1 else "last result"


def common_settings(members: Sequence[SweepMember]) -> str:
    """The settings that all members have, or ""."""
    common = [
        setting for setting in members[0].settings if all(setting in other.settings for other in members)
    ]
    return " ".join(common)


def mixed_lines(members: Sequence[SweepMember]) -> Iterator[str]:
    """That machines of several kinds made the runs, each on any of them; nothing of another sweep."""
    if not any(member.mixed for member in members):
        return
    kinds: dict[str, int] = {}
    for member in members:
        if member.state == "complete" and member.kind:
            kinds[member.kind] = kinds.get(member.kind, 0) + 1
    of_each = ", ".join(f"{shown(_kind(kind))}: {count} finished" for kind, count in kinds.items())
    yield (
        "MIXED: members may run on machines that do not compute alike, so they differ by more than seeds and "
        f"settings ({of_each or 'none is finished'}). No golden and no ensemble can be promoted from them."
    )


def _kind(kind: str) -> str:
    return kind.removeprefix("sha256:")[:8]


def why_unfinished(members: Sequence[SweepMember]) -> Iterator[str]:
    """Why members are not finished, of those that say so."""
    for member in members:
        if member.state != "complete" and member.message:
            yield f"{shown(member.label, limit=1000)}: {shown(member.message, limit=1000)}"


def member_rows(
    members: Sequence[SweepMember], actions: Sequence[str], *, dry_run: bool
) -> list[dict[str, Any]]:
    """A row for each member: name of the column → value, None for none; of its settings those that differ."""
    words = _PLANS if dry_run else _DONE
    last = _last_head(members)
    apart = told_apart([member.settings for member in members])
    rows = [
        {
            "recipe": member.recipe,
            "settings": settings,
            "seed": member.seed,
            "machines": _kind(member.kind) or ("any" if member.mixed else ""),
            "state": str(member.state),
            "this call": words[action],
            last: None if member.last_return is None else few_digits(member.last_return[1]),
            "run": member.run,
        }
        for member, action, settings in zip(members, actions, apart, strict=True)
    ]
    absent = {name for name in ("settings", "machines", last) if not any(row[name] for row in rows)}
    return [{key: value for key, value in row.items() if key not in absent} for row in rows]
