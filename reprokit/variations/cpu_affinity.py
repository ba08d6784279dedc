"""Variation ``cpu_affinity``: the last of the cores alone."""

from reprokit.variations import RunPlace, Variation, VariationNotMade

ORDER = 190
SAYS = "the cores that the program may run on"


def vary(there: RunPlace) -> Variation | VariationNotMade:
    """The change; it takes two cores."""
    if len(there.cores) < 2:
        why = f"there {'is one core' if there.cores else 'are no cores that could be chosen'} here"
        return VariationNotMade(why=why)
    return Variation(
        category="concurrency",
        fix="take no number of workers or threads from the cores",
        start=("--cores", str(there.cores[-1])),
        shows={"cores": ([there.cores[-1]],)},
    )
