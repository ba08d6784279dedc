"""Variation ``completion_order``: tasks of pools complete in another order."""

from reprokit.variations import RunPlace, Variation

ORDER = 40
SAYS = "the order in which tasks complete"


def vary(there: RunPlace) -> Variation:  # noqa: ARG001 - the same anywhere
    """The change."""
    return Variation(
        category="concurrency",
        fix="take results in the order in which they were asked for",
        vary=("completion_order",),
    )
