"""The tolerances that rounding needs, as lines: a row a metric and window, and what a recipe would say."""

from __future__ import annotations

import json
from collections.abc import Iterator

from reprokit.features.compare.rounding.tolerance import Bound, Proposal
from reprokit.reports.tables import aligned, shown


def page_lines(found: Proposal) -> Iterator[str]:
    """What a terminal shows."""
    yield f"{found.num_twins} runs of {shown(found.recipe)}, seed {found.seed}, rounded otherwise:"
    head = ("metric", "means of", "rtol", "false alarms", "learning rate + 0.1 %")
    yield from (
        f"  {line}" for line in aligned([head, *(_cells(one, found.num_twins) for one in found.bounds)])
    )
    if not found.proposed:
        yield "Nothing is proposed: every tolerance that rounding needs hides a learning rate 0.1 % higher."
        return
    yield "Proposed, and not written:"
    yield "tolerances:"
    yield "  metrics:"
    for name, one in found.proposed.items():
        parts = ", ".join(f"{key}: {value:g}" for key, value in one.items())
        yield f"    {json.dumps(name)}: {{{parts}}}"
    yield "Then: reprokit golden promote, since a golden grants no more than it was promoted with."


def _cells(one: Bound, num_twins: int) -> tuple[str, ...]:
    window = "each value" if one.mean_of == 1 else str(one.mean_of)
    if one.rtol is None:
        return shown(one.metric), window, "none", shown(one.why), ""
    wrong = f"{one.false_alarms} of {num_twins}, at most {one.at_most:.0%}"
    return shown(one.metric), window, f"{one.rtol:g}", wrong, "seen" if one.sees_control else "hidden"
