"""Variation ``clock``: clocks a day ahead, as Python reads them."""

from reprokit.variations import RunPlace, Variation

ORDER = 50
SAYS = "the date"


def vary(there: RunPlace) -> Variation:  # noqa: ARG001 - the same anywhere
    """The change."""
    return Variation(category="clock", fix="count steps instead of seconds", vary=("clock",))
