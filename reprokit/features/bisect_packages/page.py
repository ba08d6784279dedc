"""The answer of ``bisect --packages`` as lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from reprokit.reports.tables import bytes_text, shown

if TYPE_CHECKING:
    from reprokit.features.bisect_packages.bisect_packages import PackageBisection

_ABSENT = "(none)"


def page_lines(found: PackageBisection) -> Iterator[str]:
    """Which packages moved the numbers, which releases, and what was run to find them."""
    yield shown(found.sentence)
    for _, group in groupby(found.packages, key=lambda one: one.cause):
        moved = list(group)
        for one in moved:
            yield f"  {shown(one.name)} {shown(one.good or _ABSENT)} → {shown(one.bad or _ABSENT)}"
        if len(moved) > 1:
            yield "  These move together: in between nothing fits, or nothing runs."
        for release in moved[0].untested:
            yield f"  not known of {shown(release)}: it does not run"
        good, bad = (shown(lock) for lock in moved[0].locks)
        yield f"  Next: reprokit compare {shown(found.recipe)} --a-lock {good} --b-lock {bad}"
    yield from (shown(note) for note in found.notes)
    trained = sum(one.trained for one in found.tested)
    yield f"{found.environments} environments, {trained} of them run now:"
    for test in found.tested:
        detail = f"  ({shown(test.detail)})" if test.detail else ""
        yield f"  {test.result:<4}  {shown(test.what)}{detail}"
    if found.kept_bytes:
        yield f"{bytes_text(found.kept_bytes)} of environments stay in the cache: reprokit image prune"
