"""Variation ``load``: another program is busy on one of the cores all the while."""

from reprokit.variations import RunPlace, Variation, VariationNotMade

ORDER = 200
SAYS = "what else the machine is busy with"


def vary(there: RunPlace) -> Variation | VariationNotMade:
    """The change; it takes two cores."""
    if len(there.cores) < 2:
        return VariationNotMade(why="there is no other core here that could be kept busy")
    return Variation(
        category="concurrency",
        fix="let no number depend on who is first",
        start=("--load", str(there.cores[0])),
    )
