"""Variation ``cpu_count``: more cores than there are, as Python tells them."""

from reprokit.variations import RunPlace, Variation

ORDER = 20
SAYS = "the number of cores that the program sees"


def vary(there: RunPlace) -> Variation:  # noqa: ARG001 - the same anywhere
    """The change."""
    return Variation(category="environment", fix="make the number of workers a setting", vary=("cpu_count",))
